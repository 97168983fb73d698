"""Activation: which entries fire, in which order, within which budget, and why the others do not.

Behaviour is RisuAI's (`risuai.md` 9). Passes over the list go on until one adds no text that others search. A pass looks at the
entries in order, and what fires is searched by those behind it in the same pass. Only entries that a text concerns are looked
at; that changes the speed and nothing else, as the others have no key in any text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any, Final

import msgspec

from innkeeper.lore.verdict import Verdict
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.determinism import RandomStream
from innkeeper.taverns.risu.lore.compiled import KeyQuery, ReadyEntry, ReadyLore
from innkeeper.taverns.risu.lore.entry import CHILD
from innkeeper.taverns.risu.lore.ranking import ActiveLore, RisuReason, in_order, within_budget
from innkeeper.text.javascript.random_numbers import word_chances
from innkeeper.text.javascript.values import number_text
from innkeeper.text.jsregex import RegexRunner

_MATCHED_PREFIX: Final = "__internal_ka_"
_LEAVING_PREFIX: Final = "__internal_da_"
_HASH_COUNTER: Final = 5555
_STEPS_A_LOOK: Final = 15


class LoreQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of a scan. ``messages`` are (role, text), oldest first; ``greeting`` counts from 0, the usual one.

    ``budget`` is in tokens and ``depth`` in messages. ``variables`` are those of the chat, to which records of matches are
    written. ``report`` is told (what, why) of keys that could not be run.
    """

    messages: Sequence[tuple[str, str]]
    budget: float
    depth: float
    recursive: bool = True
    greeting: int = 0
    variables: MutableMapping[str, Any]
    random: RandomStream
    count: Callable[[str], int]
    counted_by: str = ""
    """What tokens are counted by, where that is the same in every scan; entries are then made ready once."""
    report: Callable[[str, str], None]
    first_text_only: bool = False
    """Whether a regular expression is run on the first searched text alone."""
    leak: bool = False
    """Whether a decorator that records matches, once read, records those of every entry that fires after it."""


class LoreMatch(msgspec.Struct, frozen=True, gc=False):
    """A key that matched: the message (its index in the searched window, and its role) or entry, and the key."""

    source: str
    key: str


@dataclass(frozen=True, slots=True)
class LoreOutcome:
    """The entries that are used, in their final order, and the keys that matched, in the order of the search."""

    active: tuple[ActiveLore, ...]
    matches: tuple[LoreMatch, ...]
    _scan: _Activation

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The decision about every entry, in the order of the list."""
        return tuple(self._scan.verdicts())

    @property
    def activated(self) -> tuple[ActiveLore, ...]:
        """The entries that are used, as other taverns call them."""
        return self.active

    @property
    def budget(self) -> float:
        """Tokens that entries may take."""
        return self._scan.query.budget

    @property
    def loops(self) -> int:
        """How often the list was gone through."""
        return self._scan.loop

    @property
    def overflowed(self) -> bool:
        """Whether an entry was left out for want of room."""
        return RisuReason.BUDGET in self._scan.reasons.values()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts."""
        return {
            "activated": [{"book": each.compiled.entry.book, "uid": each.compiled.entry.uid} for each in self.active],
            "overflowed": self.overflowed,
            "budget": self.budget,
            "loops": self.loops,
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
        }


def scan(lore: ReadyLore, query: LoreQuery) -> LoreOutcome:
    """Scan. Never raises for anything an entry says; a key that cannot be run is reported and does not match."""
    return _Activation(lore, query).run()


class _Texts:
    """Searched texts with their names, the numbers of the keys in each, and by number the first text that holds the key."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.names: list[str] = []
        self.hits: list[Collection[int]] = []
        self.first: dict[int, int] = {}

    def add(self, name: str, text: str, hits: Collection[int]) -> None:
        """Take in a text with the numbers that it holds."""
        for number in hits:
            self.first.setdefault(number, len(self.texts))
        self.texts.append(text)
        self.names.append(name)
        self.hits.append(hits)

    def first_match(self, query: KeyQuery) -> LoreMatch | None:
        """The first key of a query in the first text that holds one."""
        first, index, key = self.first, -1, -1
        for at, number in enumerate(query.numbers):
            if number in first and (key < 0 or first[number] < index):
                index, key = first[number], at
        return None if key < 0 else LoreMatch(self.names[index], query.keys[key])


def window_of(messages: Sequence[tuple[str, str]], depth: float) -> Sequence[tuple[str, str]]:
    """Return the messages that a scan depth searches: the last ones, where RisuAI's slice does not begin behind its end.

    A chat with fewer messages than the depth, and with more than half as many, is searched from the difference on.
    """
    if math.isnan(depth):
        return messages
    if depth <= 0:
        return ()
    begin = len(messages) - int(min(depth, 2 * len(messages)))
    return messages[max(begin + len(messages), 0) if begin < 0 else begin :]


class _Activation:
    """One scan at work. ``reasons[index]`` is the latest decision about each entry, with its numbers in ``facts``."""

    def __init__(self, lore: ReadyLore, query: LoreQuery) -> None:
        self.lore, self.query = lore, query
        self.active: dict[int, ActiveLore] = {}
        self.reasons: dict[int, RisuReason] = {}
        self.facts: dict[int, dict[str, Any]] = {}
        self.spread = _Texts()
        self.matches: list[LoreMatch] = []
        self.loop = 0
        self._windows: dict[float, _Texts] = {}
        self._regex = RegexRunner(query.report)
        self._seen = {"keep": False, "leave": False}
        depths = [query.depth if depth is None else depth for depth in lore.depths]
        numbers = frozenset[int]().union(*(self._window(depth).first for depth in depths))
        self._candidates = {*lore.always, *(index for number in numbers for index in lore.by_number.get(number, ()))}

    # ------------------------------------------------------------------------------------------------------- passes

    def run(self) -> LoreOutcome:
        more = bool(self.lore.entries)
        while more:
            self.loop += 1
            more = self._pass()
        chosen, over = within_budget(self.active.values(), self.query.budget)
        used, targets = in_order(chosen)
        for index, spent in over.items():
            facts = {"tokens": self.active[index].tokens, "used": spent, "budget": self.query.budget}
            self.reasons[index], self.facts[index] = RisuReason.BUDGET, facts
        for index, (target, is_merged) in targets.items():
            self.facts[index] = {"target": target}
            self.reasons[index] = RisuReason.MERGED if is_merged else RisuReason.NO_TARGET
        return LoreOutcome(used, tuple(self.matches), self)

    def _pass(self) -> bool:
        """Look at each candidate once, in order; whether another pass is asked for."""
        charge("lore", _STEPS_A_LOOK * (1 + len(self._candidates)))
        waiting = [*self._candidates]
        heapify(waiting)
        again = False
        while waiting:
            at = heappop(waiting)
            entry = self.lore.entries[at]
            reason, facts = self._by_keys(entry) if entry.is_plain else self._decision(entry)
            self.reasons[at], self.facts[at] = reason, facts
            if not reason.fired:
                continue
            self._candidates.discard(at)
            if self._activate(entry):
                again = True
                for index in self._spread(self.active[at]):
                    if index > at:
                        heappush(waiting, index)
        return again

    def _activate(self, entry: ReadyEntry) -> bool:
        """Take an entry in; whether its text is searched from now on."""
        head, key = entry.head, (id(entry), self.query.counted_by)
        active = _ACTIVE.get(key) if self.query.counted_by else None
        if active is None:
            active = ActiveLore.of(entry, self.query.count(head.text))
            _ACTIVE.put(key, active, 0, alive=entry) if self.query.counted_by else None
        self.active[entry.index] = active
        if not (head.forces or self.query.leak):
            return self.query.recursive if head.feeds_recursion is None else head.feeds_recursion
        seen: Mapping[str, bool] = self._seen if self.query.leak else dict.fromkeys(head.forces, True)
        for force, prefix in (("keep", _MATCHED_PREFIX), ("leave", _LEAVING_PREFIX)):
            if seen.get(force):
                self.query.variables[prefix + _record_key(entry)] = "true"
        return self.query.recursive if head.feeds_recursion is None else head.feeds_recursion

    def _spread(self, active: ActiveLore) -> list[int]:
        """Make the text of an entry searched; the entries that it calls up for the first time."""
        calls, spread, new = self.lore.calls_of(active.compiled), self.spread, list[int]()
        for number, indexes in calls.items():
            if number not in spread.first:
                spread.first[number] = len(spread.texts)
                for index in indexes:
                    if index not in self._candidates and index not in self.active:
                        self._candidates.add(index)
                        new.append(index)
        spread.texts.append(active.text)
        spread.names.append(active.name)
        spread.hits.append(calls)
        return new

    # ------------------------------------------------------------------------------------------------------ decision

    def _decision(self, entry: ReadyEntry) -> tuple[RisuReason, dict[str, Any]]:
        if entry.entry.mode == CHILD and (entry.parent < 0 or entry.parent in self.active):
            return RisuReason.CHILD, {}
        if not entry.entry.always_active and not entry.entry.key:
            return RisuReason.NO_KEYS, {}
        stopped = self._stopped(entry)
        forced = self._forced(entry)
        if forced is not None:
            return forced, {"loop": self.loop}
        if stopped is not None:
            return stopped
        if entry.entry.always_active:
            return RisuReason.CONSTANT, {"loop": self.loop}
        return self._by_keys(entry)

    def _stopped(self, entry: ReadyEntry) -> tuple[RisuReason, dict[str, Any]] | None:
        """The last condition that does not hold. Each chance is drawn, whatever the others say."""
        stopped: tuple[RisuReason, dict[str, Any]] | None = None
        length, greeting = len(self.query.messages) + 1, self.query.greeting
        for condition in entry.head.conditions:
            number, name = condition.number, condition.name
            if name == "probability":
                roll = self.query.random.random() * 100
                if roll > number:
                    stopped = RisuReason.PROBABILITY, {"roll": roll, "probability": number}
            elif name == "is_greeting":
                if greeting != number:
                    stopped = RisuReason.GREETING, {"number": number, "greeting": greeting}
            elif length < number if name == "activate_only_after" else not number or math.fmod(length, number):
                stopped = RisuReason.LENGTH, {"name": name, "number": number, "length": length - 1}
        return stopped

    def _forced(self, entry: ReadyEntry) -> RisuReason | None:
        """The last decorator that decides by itself; records of former matches are among them."""
        forced = None
        for force in entry.head.forces:
            if force == "activate":
                forced = RisuReason.ACTIVATED
            elif force == "dont_activate":
                forced = RisuReason.SUPPRESSED
            else:
                self._seen[force] = True
                prefix = _MATCHED_PREFIX if force == "keep" else _LEAVING_PREFIX
                if str(self.query.variables.get(prefix + _record_key(entry))) == "true":
                    forced = RisuReason.MATCHED_BEFORE if force == "keep" else RisuReason.MATCHED_ONCE
        return forced

    def _by_keys(self, entry: ReadyEntry) -> tuple[RisuReason, dict[str, Any]]:
        decided: tuple[RisuReason, dict[str, Any]] = RisuReason.NO_MATCH, {"keys": entry.entry.key}
        for query in entry.queries:
            match = self._match(entry, query)
            if (match is not None) == query.query.excludes:
                return _MISSES[query.query.name], {"keys": ", ".join(query.keys), "name": query.query.name}
            if match is not None and query.query.name == "key":
                decided = RisuReason.KEY, {"key": match.key, "place": match.source, "loop": self.loop}
        return decided

    # -------------------------------------------------------------------------------------------------------- search

    def _match(self, entry: ReadyEntry, query: KeyQuery) -> LoreMatch | None:
        """The first match of a query, which is logged; for one that wants each key in each text, the last."""
        window = self._window(self._depth(entry))
        searched = (window, self.spread) if entry.head.searches_recursion else (window,)
        if query.query.every:
            matches = [*self._matches(query, searched)]
            self.matches += matches
            expected = len(query.keys) * sum(len(part.texts) for part in searched)
            return matches[-1] if matches and len(matches) == expected else None
        if entry.entry.use_regex:
            match = next(self._matches(query, searched), None)
        else:
            match = window.first_match(query)
            if match is None and entry.head.searches_recursion:
                match = self.spread.first_match(query)
        if match is not None:
            self.matches.append(match)
        return match

    def _matches(self, query: KeyQuery, searched: Sequence[_Texts]) -> Iterator[LoreMatch]:
        """Each match, text by text, key by key."""
        texts = [item for part in searched for item in zip(part.names, part.texts, part.hits, strict=True)]
        charge("lore", 1 + len(texts))
        for name, text, hits in texts[:1] if query.patterns and self.query.first_text_only else texts:
            for pattern, key in zip(query.patterns, query.keys, strict=False):
                if pattern is not None and self._regex.valid(pattern) and self._regex.matches(pattern, text):
                    yield LoreMatch(name, key)
            for number, key in zip(query.numbers, query.keys, strict=False):
                if number in hits:
                    yield LoreMatch(name, key)

    def _depth(self, entry: ReadyEntry) -> float:
        return self.query.depth if entry.head.scan_depth is None else entry.head.scan_depth

    def _window(self, depth: float) -> _Texts:
        key = -1.0 if math.isnan(depth) else max(depth, 0)
        if key not in self._windows:
            window = self._windows[key] = _Texts()
            for index, (role, text) in enumerate(window_of(self.query.messages, depth)):
                window.add(f"message {index} by {role}", text, self.lore.hits_of_message(text))
        return self._windows[key]

    def verdicts(self) -> Iterator[Verdict]:
        for entry in self.lore.entries:
            reason, facts = self.reasons.get(entry.index), self.facts.get(entry.index, {})
            if reason is None:
                reason, facts = self._unseen(entry)
            stored = entry.entry
            remark = "its book has switched it off, which RisuAI does not heed" if stored.disabled else ""
            yield Verdict(stored.book, stored.uid, entry.source, reason, facts, remark)

    def _unseen(self, entry: ReadyEntry) -> tuple[RisuReason, dict[str, Any]]:
        """Why an entry that no pass has looked at did not fire."""
        if entry.entry.mode == CHILD or not entry.entry.key:
            return RisuReason.CHILD if entry.entry.mode == CHILD else RisuReason.NO_KEYS, {}
        depth = self._depth(entry)
        if depth <= 0 and not entry.head.searches_recursion:
            return RisuReason.NO_DEPTH, {"depth": depth}
        return self._stopped(entry) or (RisuReason.NO_MATCH, {"keys": entry.entry.key})


_ACTIVE: Final[BoundedCache[tuple[int, str], ActiveLore]] = BoundedCache()
"""Entries as they fire, by their identity and by what their tokens are counted by."""

_MISSES: Final = {
    "key": RisuReason.NO_MATCH,
    "secondary": RisuReason.SECONDARY,
    "additional_keys": RisuReason.ADDITIONAL,
    **dict.fromkeys(("exclude_keys", "exclude_keys_all"), RisuReason.EXCLUDED),
}


def _record_key(entry: ReadyEntry) -> str:
    """The name of an entry in records of matches: its id, or a number of its content."""
    if entry.entry.id:
        return entry.entry.id
    units = tuple(memoryview(entry.entry.content.encode("utf-16-le", "surrogatepass")).cast("H"))
    return number_text(word_chances(units)[_HASH_COUNTER % 1000])
