"""Timed effects: sticky, cooldown and delay, as state that goes in with a build and comes out of it.

Lengths are counted in messages of the chat that are not hidden. State is ``{"sticky": {"book.uid": effect}, "cooldown": …}``
(`sillytavern.md` 39), as in the ``timedWorldInfo`` of SillyTavern's chats. An effect belongs to the entry whose content hash
it holds, ends when the chat has ``end`` messages, and is forgotten when the chat has not grown since it began, unless it is
protected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final

import msgspec

from innkeeper.lore.compiled import CompiledEntry
from innkeeper.prompt.data import thaw
from innkeeper.prompt.request import to_json

__all__ = ["Effect", "TimedEffects"]

_KINDS: Final = ("sticky", "cooldown")

_FOREIGN: Final = ""
"""Stands for a hash that is a number, as SillyTavern's are."""


class Effect(msgspec.Struct, frozen=True, omit_defaults=True):
    """One running effect of one entry: from ``start`` messages to ``end``."""

    hash: str
    start: int
    end: int
    protected: bool = False


class TimedEffects:
    """The effects of one build: read from the state before the scan, extended by what fired after it.

    ``live=False`` (a dry run) neither reads nor changes the state, which is handed on as it came; delays hold all the same.
    """

    def __init__(self, state: Any, length: int, entries: Iterable[CompiledEntry], *, live: bool = True) -> None:
        self.length = length
        self.live = live
        self._state = state
        self._effects: dict[str, dict[str, Effect]] = {kind: _read(state, kind) if live else {} for kind in _KINDS}
        if live and any(self._effects.values()):
            timed = {entry_hash(entry): entry for entry in entries if _is_timed(entry)}
            self._adopt({entry.key: found for found, entry in timed.items()})
            self._check(timed)
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
        """Start the effects of what fired; one that already runs is left alone."""
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

    def _adopt(self, hashes: Mapping[str, str]) -> None:
        """Effects as SillyTavern stores them belong to the entry of their key: its hash of an entry is not ours."""
        for effects in self._effects.values():
            for key in [key for key, effect in effects.items() if effect.hash == _FOREIGN and key in hashes]:
                effects[key] = msgspec.structs.replace(effects[key], hash=hashes[key])

    def _check(self, by_hash: Mapping[str, CompiledEntry]) -> None:
        for kind in _KINDS:
            effects = self._effects[kind]
            for key, effect in list(effects.items()):
                entry = by_hash.get(effect.hash)
                if self.length <= effect.start and not effect.protected:
                    del effects[key]
                elif entry is None or not getattr(entry.entry, kind):
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


def entry_hash(entry: CompiledEntry) -> str:
    """What identifies an entry's whole content across builds."""
    return blake2b(to_json(entry.entry.raw) + entry.key.encode(errors="replace"), digest_size=8).hexdigest()


def _is_timed(entry: CompiledEntry) -> bool:
    return bool(entry.entry.sticky or entry.entry.cooldown)


def _read(state: Any, kind: str) -> dict[str, Effect]:
    """The effects of one kind in a state from outside; whatever is malformed is left out."""
    found = state.get(kind) if isinstance(state, Mapping) else None
    effects = {}
    for key, raw in found.items() if isinstance(found, Mapping) else ():
        try:
            foreign = {"hash": _FOREIGN} if isinstance(raw.get("hash"), (int, float)) else {}
            effects[str(key)] = msgspec.convert({**raw, **foreign}, Effect, strict=False)
        except (msgspec.ValidationError, AttributeError, TypeError, ValueError):
            continue
    return effects
