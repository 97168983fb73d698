"""Activation: which entries of the books fire for this build, in which order, and why the others do not.

Behaviour is SillyTavern 1.19's (`sillytavern.md` 22 to 41). A scan makes passes: the first over the chat, further ones over the
text of what fired (recursion), over older messages (minimum activations), or for entries that wait for a recursion level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

import msgspec

from innkeeper.lore.compiled import CompiledEntry, CompiledLore
from innkeeper.lore.decorators import ACTIVATE, SUPPRESS
from innkeeper.lore.keys import KeySearch
from innkeeper.lore.matcher import ScanSources, ScanText
from innkeeper.lore.near_misses import NearMisses
from innkeeper.lore.selection import GroupRules, LoreBudget, choose
from innkeeper.lore.settings import MAX_LOOPS, MAX_SCAN_DEPTH, LoreSettings
from innkeeper.lore.timed import TimedEffects
from innkeeper.lore.verdict import Reason, Verdict, is_near
from innkeeper.macros.engine.ranges import MacroRange, made_pieces
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.block import Origin, OriginAsset, Piece
from innkeeper.prompt.determinism import RandomStream
from innkeeper.prompt.text import shorten


class LoreInput(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of a scan.

    ``messages`` are newest first, as they are searched (names already in front). ``substitute`` expands macros in keys and
    contents; where ``expand`` is given, that does it in contents, and says what each macro made. ``count`` counts tokens as
    the budget does; ``budget`` is in tokens. ``length`` is how many messages of the chat are not hidden. ``count_part`` and
    ``count_overhead`` split ``count`` for tokenizers whose counts add up over lines (see `LoreBudget`). ``forced`` names
    entries as ``book.uid``, and so does ``searched``, those that a search has found. ``report`` is told (what, why) of
    keys that could not be run.
    """

    settings: LoreSettings
    messages: Sequence[str]
    sources: ScanSources
    budget: int
    length: int
    random: RandomStream
    count: Callable[[str], int]
    count_part: Callable[[str], int] | None = None
    count_overhead: int = 0
    substitute: Callable[[str], str]
    expand: Callable[[str, Origin], tuple[str, Sequence[MacroRange]]] | None = None
    report: Callable[[str, str], None]
    generation: str = "normal"
    character: str = ""
    character_tags: tuple[str, ...] = ()
    forced: frozenset[str] = frozenset()
    searched: frozenset[str] = frozenset()
    state: Any = None
    live: bool = True
    whole_chat: Callable[[], Sequence[str]] | None = None
    """All messages as they are searched, newest first, for near misses; without it those of ``messages``."""
    each_text: bool = False
    """Whether keys and contents without macros are expanded too, since expanding any text has effects."""
    double_removal: bool = True


class Activated(msgspec.Struct, frozen=True):
    """An entry that fired, with its text after macros and the ``ranges`` of it that macros made."""

    compiled: CompiledEntry
    content: str
    ranges: tuple[MacroRange, ...] = ()

    @property
    def book(self) -> str:
        """The book's name."""
        return self.compiled.book

    @property
    def uid(self) -> int | str:
        """The entry's id in its book."""
        return self.compiled.uid

    @property
    def origin(self) -> Origin:
        """The origin of its text."""
        return Origin(OriginAsset.LOREBOOK, field="content", entry=str(self.uid), name=self.book)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The text by origin: parts that a macro produced apart, under the macro's name."""
        return made_pieces(self.content, self.ranges, self.origin)


@dataclass(frozen=True, slots=True)
class LoreResult:
    """The fired entries in activation order, and the decision about every entry (`verdicts`, made on demand)."""

    activated: tuple[Activated, ...] = ()
    overflowed: bool = False
    budget: int = 0
    loops: int = 0
    state: Mapping[str, Any] = field(default_factory=dict)
    _scan: _Scan | None = None
    unplaced: Callable[[Activated], str] | None = None
    """Why an entry that fired is not in the prompt, in words; empty for one that is."""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One verdict per entry, in scan order."""
        return () if self._scan is None else self._scan.verdicts(self.unplaced)

    @property
    def near(self) -> tuple[Verdict, ...]:
        """The verdicts of the entries that are in, and of those that a key or a timer brought near; much quicker than all."""
        return () if self._scan is None else self._scan.near(self.unplaced)

    @property
    def entries(self) -> Iterable[CompiledEntry]:
        """The entries in the order of `verdicts`."""
        return () if self._scan is None else self._scan.lore.entries

    @property
    def searched(self) -> tuple[str, ...]:
        """The messages that were searched, newest first, as they were searched."""
        return () if self._scan is None else self._scan.text.messages

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts."""
        return {
            "activated": [{"book": item.book, "uid": item.uid} for item in self.activated],
            "overflowed": self.overflowed,
            "budget": self.budget,
            "loops": self.loops,
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
        }


class _ScanPass(Enum):
    FIRST = "first"
    RECURSION = "recursion"
    MIN_ACTIVATIONS = "min_activations"


_NOTHING: Final[dict[str, Any]] = {}
_STEPS_A_LOOK: Final = 15
_STEPS_A_VERDICT: Final = 30
_STEPS_A_KEY: Final = 20


def scan(lore: CompiledLore, query: LoreInput) -> LoreResult:
    """Scan. Never raises for anything an entry says; a key that cannot be run is reported and does not match."""
    if not lore.entries:
        return LoreResult(
            budget=query.budget, state=TimedEffects(query.state, query.length, (), live=query.live).to_dict()
        )
    return _Scan(lore, query).run()


class _Scan:
    """One scan at work. ``reasons[index]`` is the latest decision about each entry, with its numbers in ``facts``."""

    def __init__(self, lore: CompiledLore, query: LoreInput) -> None:
        self.lore, self.query, self.settings = lore, query, query.settings
        self.text = ScanText(query.messages[:MAX_SCAN_DEPTH], query.sources)
        self.timed = TimedEffects(query.state, query.length, map(lore.entries.__getitem__, lore.timed), live=query.live)
        self.keys = KeySearch(lore, self.text, self.settings, query.substitute, query.report, each=query.each_text)
        self.budget = LoreBudget(query.budget, query.count, query.count_part, query.count_overhead)
        self.reasons: dict[int, Reason] = {}
        self.facts: dict[int, dict[str, Any]] = {}
        self.fired: dict[int, Activated] = {}
        self.failed: set[int] = set()
        self.contents: dict[int, Activated] = {}
        self.kind, self.loop = _ScanPass.FIRST, 0
        self.level = lore.levels[0] if lore.levels else 0
        self.levels_left = list(lore.levels[1:])
        self._taken: dict[str, CompiledEntry] = {}
        self._open: set[int] = set()
        self._held: dict[int, list[int]] = {}
        self._take_up(self._always_tried())

    # ------------------------------------------------------------------------------------------------------- passes

    def run(self) -> LoreResult:
        """Make passes until nothing asks for another."""
        more = True
        while more and self.loop < MAX_LOOPS and not (0 < self.settings.max_recursion_steps <= self.loop):
            self.loop += 1
            self.keys.begin(recursion=self.kind is not _ScanPass.MIN_ACTIVATIONS)
            new = self._candidates()
            fresh = self._admit(new)
            more = self._next(fresh)
        self.timed.begin(item.compiled for item in self.fired.values())
        activated = tuple(self.fired.values())
        return LoreResult(activated, self.budget.overflowed, self.query.budget, self.loop, self.timed.to_dict(), self)

    def _next(self, fresh: list[Activated]) -> bool:
        """Choose the next pass; whether there is one. A pass for minimum activations leaves recursion text unread."""
        spreading = [item for item in fresh if not item.compiled.entry.prevent_recursion]
        unread = self.kind is _ScanPass.MIN_ACTIVATIONS and bool(self.text.recursion)
        depth, furthest = self.keys.depth, self.settings.min_activations_depth_max
        at_the_end = 0 < furthest < depth or depth > len(self.query.messages)
        # The order is SillyTavern's: recursion before older messages, both before entries that wait for a level.
        if self.settings.recursive and not self.budget.overflowed and (spreading or unread):
            self.kind = _ScanPass.RECURSION
        elif not self.budget.overflowed and len(self.fired) < self.settings.min_activations and not at_the_end:
            self.kind = _ScanPass.MIN_ACTIVATIONS
            self.keys.skew += 1
        elif self.levels_left:
            self.kind = _ScanPass.RECURSION
            self.level = self.levels_left.pop(0)
            self._open.update(self._held.pop(self.level, ()))
        else:
            return False
        if spreading:
            texts = [item.content for item in spreading]
            self.text.recursion.append("\n".join(texts))
            self.budget.spread(texts)
        return True

    # ------------------------------------------------------------------------------------------------- candidates

    def _always_tried(self) -> list[int]:
        """Places that every pass looks at, whatever the hits: constants, decorated, slow keys, sticky, forced."""
        if self.query.each_text:
            return list(range(len(self.lore.entries)))
        named = self.timed.running | self.query.forced | self.query.searched
        return [*self.lore.always, *self.lore.indices(named)]

    def _candidates(self) -> list[CompiledEntry]:
        """The entries that fire in this pass, sticky ones first, otherwise in scan order."""
        for number in self.keys.fresh_hits():
            self._take_up(self.lore.by_pattern.get(number, ()))
        charge("lore", _STEPS_A_LOOK * len(self._open))
        # By index, so in scan order: groups, chance and the budget below decide in it.
        new = [entry for index in sorted(self._open) if self._fires(entry := self.lore.entries[index])]
        return sorted(new, key=lambda entry: self.timed.sticky(entry) is None) if self.timed.running else new

    def _take_up(self, indices: Iterable[int]) -> None:
        """Look at these places from now on, at those that wait for a later recursion level only when it is reached."""
        levels = self.lore.waiting
        for index in indices:
            if index in self.fired or index in self.failed:
                continue
            level = levels.get(index, 0) if levels else 0
            if level > self.level and self.timed.sticky(self.lore.entries[index]) is None:
                self._held.setdefault(level, []).append(index)
            else:
                self._open.add(index)

    def _fires(self, entry: CompiledEntry) -> bool:
        reason = self._stopped(entry) or self._started(entry)
        if reason is None:
            reason = self._by_keys(entry)
        self.reasons[entry.index] = reason
        return reason in (Reason.KEY, Reason.CONSTANT, Reason.STICKY, Reason.DECORATOR, Reason.FORCED, Reason.SEARCHED)

    def _stopped(self, entry: CompiledEntry) -> Reason | None:
        """The first rule that keeps an entry out of this pass before its keys are looked at."""
        if entry.free and not self.timed.running:
            return None
        return self._off(entry) or self._timed_or_waiting(entry)

    def _off(self, entry: CompiledEntry) -> Reason | None:
        if not entry.entry.enabled:
            return Reason.DISABLED
        triggers, generation = entry.entry.triggers, self.query.generation
        if triggers and generation not in triggers:
            return self._because(entry, Reason.TRIGGER, triggers=triggers, generation=generation)
        return None if self._for_character(entry) else Reason.CHARACTER

    def _timed_or_waiting(self, entry: CompiledEntry) -> Reason | None:
        sticky = self.timed.sticky(entry) is not None
        if self.timed.delayed(entry):
            return self._because(entry, Reason.DELAY, until=entry.entry.delay, length=self.query.length)
        cooldown = self.timed.cooldown(entry)
        if cooldown is not None and not sticky:
            return self._because(entry, Reason.COOLDOWN, until=cooldown.end)
        return None if sticky else self._waiting(entry)

    def _waiting(self, entry: CompiledEntry) -> Reason | None:
        level, recursing = entry.entry.delay_until_recursion, self.kind is _ScanPass.RECURSION
        if level and not recursing:
            return Reason.ONLY_RECURSION
        if level > self.level and recursing:
            return self._because(entry, Reason.RECURSION_LEVEL, level=level, reached=self.level)
        if recursing and self.settings.recursive and entry.entry.exclude_recursion:
            # what stopped it in the first pass says more than that it is out of this one
            return self.reasons.get(entry.index, Reason.NO_RECURSION)
        return None

    def _for_character(self, entry: CompiledEntry) -> bool:
        people = entry.entry.character_filter
        if people.names and (self.query.character in people.names) is people.exclude:
            return False
        return not people.tags or bool(set(people.tags) & set(self.query.character_tags)) is not people.exclude

    def _started(self, entry: CompiledEntry) -> Reason | None:
        """Return the reason that fires an entry without a look at its keys."""
        if entry.free and not (self.query.forced or self.query.searched) and not self.timed.running:
            return None
        if ACTIVATE in entry.decorators:
            return self._because(entry, Reason.DECORATOR, loop=self.loop)
        if SUPPRESS in entry.decorators:
            return Reason.SUPPRESSED
        if entry.key in self.query.forced or entry.key in self.query.searched:
            return Reason.FORCED if entry.key in self.query.forced else Reason.SEARCHED
        if entry.entry.constant:
            return self._because(entry, Reason.CONSTANT, loop=self.loop)
        sticky = self.timed.sticky(entry)
        return self._because(entry, Reason.STICKY, until=sticky.end) if sticky is not None else None

    def _because(self, entry: CompiledEntry, reason: Reason, **facts: Any) -> Reason:
        self.facts[entry.index] = facts
        return reason

    def _by_keys(self, entry: CompiledEntry) -> Reason:
        window = self.keys.window(entry)
        if window.depth <= 0:
            return self._because(entry, Reason.NO_DEPTH, depth=window.depth)
        if not entry.primary:
            return Reason.VECTORIZED if entry.entry.vectorized else Reason.NO_KEYS
        test = next((test for test in entry.primary if self.keys.has(test, entry, window)), None)
        if test is None:
            return self._because(entry, Reason.NO_MATCH, depth=window.depth)
        facts = {"key": test.text, "loop": self.loop, "window": window}
        if not self.keys.agrees(entry, window):
            return self._because(entry, Reason.SECONDARY, logic=entry.entry.selective_logic.value, **facts)
        return self._because(entry, Reason.KEY, **facts)

    # -------------------------------------------------------------------------------------------------- admission

    def _admit(self, new: list[CompiledEntry]) -> list[Activated]:
        """Let groups, chance and the budget decide about the candidates, in order; what later passes may scan.

        Text over the budget stays out of the prompt but is scanned all the same (`sillytavern.md` 27).
        """
        settings = self.settings
        rules = GroupRules(
            self.timed,
            self.query.random,
            self.keys.score,
            self._lost,
            settings.use_group_scoring,
            self.query.double_removal,
        )
        choose(new, self._taken, rules)
        self.budget.begin()
        seen = []
        for entry in new:
            if self.budget.overflowed and not entry.entry.ignore_budget:
                # it draws no chance and its macros do not run any more, but recursion reads its text as it is written
                self._lost(entry, Reason.BUDGET, {"tokens": "no room left", "budget": self.query.budget})
                seen.append(Activated(entry, entry.content))
                continue
            if not self._lucky(entry):
                continue
            item = self._activated(entry)
            seen.append(item)
            if entry.entry.ignore_budget:
                self.budget.add(item.content)
            elif (tokens := self.budget.reached_by(item.content)) is not None:
                self.budget.overflowed = True
                self._lost(entry, Reason.BUDGET, {"tokens": tokens, "budget": self.query.budget})
                continue
            self.fired[entry.index] = item
            self._open.discard(entry.index)
            if entry.entry.group:
                self._taken[entry.entry.group] = entry
        return seen

    def _lucky(self, entry: CompiledEntry) -> bool:
        """Draw for the entry's probability; sticky entries and certain ones draw nothing."""
        chance = entry.entry.probability
        if not entry.entry.use_probability or chance == _CERTAIN or self.timed.sticky(entry) is not None:
            return True
        roll = self.query.random.random() * 100
        if chance is not None and roll <= chance:
            return True
        self.failed.add(entry.index)
        self._open.discard(entry.index)
        self._lost(entry, Reason.PROBABILITY, {"roll": roll, "probability": chance})
        return False

    def _activated(self, entry: CompiledEntry) -> Activated:
        """The entry with its text, which is expanded once a scan."""
        if entry.plain and not (self.query.each_text and entry.content):
            return Activated(entry, entry.content)
        if entry.index not in self.contents:
            expand, origin = self.query.expand, Activated(entry, "").origin
            text, ranges = (
                (self.query.substitute(entry.content), ()) if expand is None else expand(entry.content, origin)
            )
            self.contents[entry.index] = Activated(entry, text, tuple(ranges))
        return self.contents[entry.index]

    def _lost(self, entry: CompiledEntry, reason: Reason, facts: dict[str, Any]) -> None:
        self.reasons[entry.index] = reason
        self.facts[entry.index] = facts

    # --------------------------------------------------------------------------------------------------- verdicts

    def verdicts(self, unplaced: Callable[[Activated], str] | None = None) -> tuple[Verdict, ...]:
        """One verdict per entry. Entries no pass looked at have keys that match nowhere, or a rule before them."""
        near = NearMisses(self.lore, self.query.whole_chat or (lambda: self.text.messages))
        return tuple(self._verdict(entry, near, unplaced) for entry in self.lore.entries)

    def near(self, unplaced: Callable[[Activated], str] | None = None) -> tuple[Verdict, ...]:
        """The verdicts of the entries that a pass looked at or a timer holds, but for those without a match."""
        misses = NearMisses(self.lore, lambda: self.text.messages)
        looked_at = {index for index, reason in self.reasons.items() if reason is not Reason.NO_MATCH}
        timed = {index for index in self.lore.timed if self.lore.entries[index].key in self.timed.running}
        verdicts = (self._verdict(self.lore.entries[index], misses, unplaced) for index in sorted(looked_at | timed))
        return tuple(verdict for verdict in verdicts if is_near(verdict))

    def _verdict(self, entry: CompiledEntry, near: NearMisses, unplaced: Callable[[Activated], str] | None) -> Verdict:
        charge("lore", _STEPS_A_VERDICT + _STEPS_A_KEY * (len(entry.primary) + len(entry.secondary)))
        reason = self.reasons.get(entry.index)
        if reason is None:
            reason = self._stopped(entry) or self._silent(entry)
        remarks = self.keys.unsearched(entry)
        if reason is Reason.NO_MATCH:
            depth = self.facts[entry.index]["depth"]
            verdict, remark = self._unmatched(entry, depth), "; ".join(filter(None, (near.of(entry, depth), *remarks)))
            return msgspec.structs.replace(verdict, remark=remark) if remark else verdict
        fired = self.fired.get(entry.index)
        why = unplaced(fired) if unplaced is not None and fired is not None else ""
        if why:
            return Verdict(entry.book, entry.uid, entry.entry.title, Reason.UNPLACED, {"why": why})
        facts = self._for_people(entry, self.facts.get(entry.index, _NOTHING))
        return Verdict(entry.book, entry.uid, entry.entry.title, reason, facts, "; ".join(remarks))

    def _silent(self, entry: CompiledEntry) -> Reason:
        if not entry.primary:
            return Reason.VECTORIZED if entry.entry.vectorized else Reason.NO_KEYS
        window = self.keys.window(entry)
        self.facts.setdefault(entry.index, {"depth": window.depth})
        return Reason.NO_DEPTH if window.depth <= 0 else Reason.NO_MATCH

    def _for_people(self, entry: CompiledEntry, facts: dict[str, Any]) -> dict[str, Any]:
        """The facts for users: instead of the window, where in it the key matched."""
        window = facts.get("window")
        if window is None:
            return facts
        location, span = self.keys.locate(facts["key"], entry, window)
        seen = {key: value for key, value in facts.items() if key != "window"} | {"place": location}
        return seen if span is None else seen | {"span": list(span)}

    def _unmatched(self, entry: CompiledEntry, depth: int) -> Verdict:
        """For an entry whose keys were not seen: which they are, and how much there was to search. From scan to scan the same."""
        count = min(depth, len(self.text.messages))
        known = self.lore.unmatched.get(entry.index)
        if known is not None and known[:2] == (depth, count):
            return known[2]
        keys = ", ".join(f"'{test.text}'" for test in entry.primary[:_KEYS_SHOWN])
        facts = {
            "depth": depth,
            "searched": "1 message" if count == 1 else f"{count} messages",
            "keys": shorten(keys, _KEYS_LENGTH) + (" …" if len(entry.primary) > _KEYS_SHOWN else ""),
        }
        verdict = Verdict(entry.book, entry.uid, entry.entry.title, Reason.NO_MATCH, facts)
        self.lore.unmatched[entry.index] = (depth, count, verdict)
        return verdict


_KEYS_SHOWN: Final = 6
"""How many keys of an entry that did not fire are named."""

_KEYS_LENGTH: Final = 120
_CERTAIN: Final = 100
