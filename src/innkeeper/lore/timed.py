"""Timed effects: sticky, cooldown and delay, as state that goes in with a build and comes out of it.

Lengths are counted in messages of the chat that are not hidden. State is ``{"sticky": {"book.uid": effect}, "cooldown": …}``
(`sillytavern.md` 39), which is the ``timedWorldInfo`` of SillyTavern's chats, hashes included. An effect belongs to the entry
whose content hash it holds, ends when the chat has ``end`` messages, and is forgotten when the chat has not grown since it
began, unless it is protected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from innkeeper.content.entry import Spelling
from innkeeper.lore.compiled import CompiledEntry
from innkeeper.lore.decorators import decorator_lines
from innkeeper.prompt.data import thaw
from innkeeper.prompt.typed.once import convert
from innkeeper.text.javascript.random_numbers import string_hash
from innkeeper.text.javascript.values import json_text

_KINDS: Final = ("sticky", "cooldown")


class Effect(msgspec.Struct, frozen=True, omit_defaults=True):
    """One running effect of one entry: from ``start`` messages to ``end``."""

    hash: int
    start: int
    end: int
    protected: bool = False


class TimedEffects:
    """The effects of one build: read from the state before the scan, extended by the entries that fired in it.

    ``live=False`` (a dry run) neither reads nor changes the state, which is handed on as it came; delays hold all the same.
    """

    def __init__(self, state: Any, length: int, entries: Iterable[CompiledEntry], *, live: bool = True) -> None:
        self.length = length
        self.live = live
        self._state = state
        self._effects: dict[str, dict[str, Effect]] = {kind: _read(state, kind) if live else {} for kind in _KINDS}
        if live and any(self._effects.values()):
            self._check(self._owners([entry for entry in entries if entry.entry.sticky or entry.entry.cooldown]))
        self.running = frozenset(key for effects in self._effects.values() for key in effects)
        """The keys of all entries with an effect when the scan begins."""

    def sticky(self, entry: CompiledEntry) -> Effect | None:
        """The running sticky effect of the entry."""
        return self._effects["sticky"].get(entry.key) if self._effects["sticky"] else None

    def cooldown(self, entry: CompiledEntry) -> Effect | None:
        """The running cooldown of the entry."""
        return self._effects["cooldown"].get(entry.key) if self._effects["cooldown"] else None

    def delayed(self, entry: CompiledEntry) -> bool:
        """Whether the chat is still shorter than the entry's delay."""
        return bool(entry.entry.delay) and self.length < (entry.entry.delay or 0)

    def begin(self, fired: Iterable[CompiledEntry]) -> None:
        """Start the effects of the fired entries; a running one is left alone."""
        for entry in fired if self.live else ():
            for kind in _KINDS:
                length = getattr(entry.entry, kind)
                if length and entry.key not in self._effects[kind]:
                    effect = Effect(entry_hash(entry), self.length, self.length + length)
                    self._effects[kind][entry.key] = effect

    def to_dict(self) -> dict[str, Any]:
        """The state to hand to the chat's next build."""
        if not self.live and isinstance(self._state, Mapping):
            return dict(thaw(self._state))
        return {kind: {key: msgspec.to_builtins(e) for key, e in self._effects[kind].items()} for kind in _KINDS}

    def _owners(self, timed: list[CompiledEntry]) -> dict[int, CompiledEntry]:
        """The entries of the running effects by hash. Only where an effect's own key leads nowhere are all entries hashed."""
        by_key = {entry.key: entry for entry in timed}
        for effects in self._effects.values():
            effects |= {key: _settled(effect, by_key.get(key)) for key, effect in effects.items()}
        running = {(key, effect.hash) for effects in self._effects.values() for key, effect in effects.items()}
        owners = {entry_hash(by_key[key]): by_key[key] for key, _ in running if key in by_key}
        return owners if all(owner in owners for _, owner in running) else {entry_hash(item): item for item in timed}

    def _check(self, by_hash: Mapping[int, CompiledEntry]) -> None:
        for kind in _KINDS:
            effects = self._effects[kind]
            for key, effect in list(effects.items()):
                entry = by_hash.get(effect.hash)
                if self.length <= effect.start and not effect.protected:
                    del effects[key]
                elif entry is None or not getattr(entry.entry, kind):
                    # an effect whose entry is not in these books lasts to its end; one that its entry gave up ends now
                    if entry is not None or self.length >= effect.end:
                        del effects[key]
                elif self.length >= effect.end:
                    del effects[key]
                    if kind == "sticky":
                        self._cool_down(entry)

    def _cool_down(self, entry: CompiledEntry) -> None:
        """A sticky effect has ended: its entry's cooldown starts anew, and protected."""
        if entry.entry.cooldown:
            effect = Effect(entry_hash(entry), self.length, self.length + entry.entry.cooldown, protected=True)
            self._effects["cooldown"][entry.key] = effect


_UNKNOWN: Final = -1
"""Stands for a hash that is not a number."""


def entry_hash(entry: CompiledEntry) -> int:
    """The identity of an entry's whole content across builds: SillyTavern's hash of it (measured on SillyTavern 1.19).

    That is of its JSON with the book's name after the id, the decorators at the end, and the content without them.
    """
    raw = entry.entry.raw
    identity = {"uid": raw["uid"], "world": entry.book} if "uid" in raw else {"world": entry.book}
    lines, content = decorator_lines(entry.entry.content)
    return string_hash(json_text({**identity, **raw, "decorators": list(lines), "content": content}))


def _settled(effect: Effect, entry: CompiledEntry | None) -> Effect:
    """The effect with the hash of its key's entry where its own says nothing: a text of before, an entry of another spelling."""
    if entry is None or (effect.hash != _UNKNOWN and entry.entry.spelling is Spelling.WORLD):
        return effect
    return msgspec.structs.replace(effect, hash=entry_hash(entry))


def _read(state: Any, kind: str) -> dict[str, Effect]:
    """The effects of one kind in a state from outside; whatever is malformed is left out."""
    stored = state.get(kind) if isinstance(state, Mapping) else None
    effects = {}
    for key, raw in stored.items() if isinstance(stored, Mapping) else ():
        try:
            known = {} if isinstance(raw.get("hash"), int) else {"hash": _UNKNOWN}
            effects[str(key)] = convert({**raw, **known}, Effect, strict=False)
        except (msgspec.ValidationError, AttributeError, TypeError, ValueError):
            continue
    return effects
