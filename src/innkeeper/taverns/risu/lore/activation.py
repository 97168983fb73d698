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
    count: Callable[[Sequence[str]], Sequence[int]]
    """The tokens of texts, all that are asked for at once."""
    counted_by: str = ""
    """What tokens are counted by, where that is the same in every scan; entries are then counted once."""
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
    """The entries that are used, in their final order."""

    active: tuple[ActiveLore, ...]
    _scan: _Activation

    @property
    def matches(self) -> tuple[LoreMatch, ...]:
        """The keys that matched, in the order of the search."""
        return tuple(self._scan.matches())

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
            "activated": [{"book": each.book, "uid": each.uid} for each in self.active],
            "overflowed": self.overflowed,
            "budget": self.budget,
            "loops": self.loops,
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
        }


def scan(lore: ReadyLore, query: LoreQuery) -> LoreOutcome:
    """Scan. Never raises for anything an entry says; a key that cannot be run is reported and does not match."""
    return _Activation(lore, query).run()


class _Window:
    """The messages that a depth searches, with the numbers of the keys in each; by number the first that holds the key."""

    def __init__(self, messages: Sequence[tuple[str, str]], lore: ReadyLore) -> None:
        self.messages = messages
        self.hits = [lore.hits_of_message(text) for _, text in messages]
        self.first: dict[int, int] = {}
        for index in range(len(messages) - 1, -1, -1):
            self.first.update(dict.fromkeys(self.hits[index], index))

    def name(self, index: int) -> str:
        """How the log calls a message."""
        return f"message {index} by {self.messages[index][0]}"

    def searched(self) -> list[_Searched]:
        """All messages."""
        return [
            (self.name(index), text, hits)
            for index, ((_, text), hits) in enumerate(zip(self.messages, self.hits, strict=True))
        ]


_Searched = tuple[str, str, Collection[int]]
"""A text that is searched: its name, itself, the numbers of the keys that it holds."""


def _first_match(query: KeyQuery, first: Mapping[int, int], length: float = math.inf) -> tuple[int, str] | None:
    """The first text, among so many, that holds a key of a query, and its first key there."""
    match: tuple[int, str] | None = None
    for number, key in zip(query.numbers, query.keys, strict=False):
        index = first.get(number, length)
        if index < length and (match is None or index < match[0]):
            match = int(index), key
    return match


def window_of(messages: Sequence[tuple[str, str]], depth: float) -> Sequence[tuple[str, str]]:
    """Return the messages that a scan depth searches: the last ones, where RisuAI's slice does not begin behind its end.

    A chat with fewer messages than the depth, and with more than half as many, is searched from the difference on.
    """
    return messages[_begin(len(messages), depth) :]


def _begin(length: int, depth: float) -> int:
    """The index of the first message that a scan depth searches, in a chat of this length."""
    if math.isnan(depth):
        return 0
    if depth <= 0:
        return length
    begin = length - int(min(depth, 2 * length))
    return max(begin + length, 0) if begin < 0 else begin


class _Activation:
    """One scan at work. ``reasons[index]`` is the latest decision about each entry, with its numbers in ``facts``."""

    def __init__(self, lore: ReadyLore, query: LoreQuery) -> None:
        self.lore, self.query = lore, query
        self.fired: dict[int, None] = {}
        self.reasons: dict[int, RisuReason] = {}
        self.facts: dict[int, dict[str, Any]] = {}
        self.loop = 0
        self._spread: list[int] = []
        self._first: dict[int, int] = {}
        self._first_of = 0
        self._log: list[LoreMatch | int] = []
        self._simple: dict[int, tuple[int, int]] = {}
        self._windows: dict[float, _Window] = {}
        self._regex = RegexRunner(query.report)
        self._seen = {"keep": False, "leave": False}
        depths = [query.depth if depth is None else depth for depth in lore.depths]
        # where one depth is searched, a key that makes an entry a candidate fires it, if nothing else decides
        self._quick = lore.simple if len(depths) == 1 and not query.leak else frozenset[int]()
        texts = [text for _, text in query.messages]
        self._candidates = {*lore.always}.union(
            *(lore.called_since(texts, _begin(len(texts), depth)) for depth in depths)
        )
        self._known = {*self._candidates}

    # ------------------------------------------------------------------------------------------------------- passes

    def run(self) -> LoreOutcome:
        more = bool(self.lore.entries)
        while more:
            self.loop += 1
            more = self._pass()
        active = self._active()
        chosen, over = within_budget([active[index] for index in self.fired], self.query.budget)
        used, targets = in_order(chosen)
        for index, spent in over.items():
            facts = {"tokens": active[index].tokens, "used": spent, "budget": self.query.budget}
            self.reasons[index], self.facts[index] = RisuReason.BUDGET, facts
        for index, (target, is_merged) in targets.items():
            self.facts[index] = {"target": target}
            self.reasons[index] = RisuReason.MERGED if is_merged else RisuReason.NO_TARGET
        return LoreOutcome(used, self)

    def _active(self) -> Mapping[int, ActiveLore]:
        """What fired, with its tokens."""
        known = self.lore.active_by(self.query.counted_by)
        new = [self.lore.entries[index] for index in self.fired if index not in known]
        texts = [entry.head.text for entry in new if entry.head.text]
        tokens = iter(self.query.count(texts))
        known.update({entry.index: ActiveLore.of(entry, next(tokens) if entry.head.text else 0) for entry in new})
        return known

    def _pass(self) -> bool:
        """Look at each candidate once, in order; whether another pass is asked for."""
        charge("lore", _STEPS_A_LOOK * (1 + len(self._candidates)))
        waiting = [*self._candidates]
        heapify(waiting)
        again = False
        while waiting:
            at = heappop(waiting)
            entry = self.lore.entries[at]
            if at in self._quick:
                self._simple[at] = len(self._spread), self.loop
                self._log.append(at)
            else:
                self.reasons[at], self.facts[at] = self._by_keys(entry) if entry.is_plain else self._decision(entry)
                if not self.reasons[at].fired:
                    continue
            self._candidates.discard(at)
            self.fired[at] = None
            if self._feeds(entry):
                again = True
                self._spread.append(at)
                new = self.lore.called_by(entry) - self._known
                self._known |= new
                self._candidates |= new
                for index in new:
                    if index > at:
                        heappush(waiting, index)
        return again

    def _feeds(self, entry: ReadyEntry) -> bool:
        """Record that an entry fires, where it says so; whether its text is searched from now on."""
        head = entry.head
        if head.forces or self.query.leak:
            seen: Mapping[str, bool] = self._seen if self.query.leak else dict.fromkeys(head.forces, True)
            for force, prefix in (("keep", _MATCHED_PREFIX), ("leave", _LEAVING_PREFIX)):
                if seen.get(force):
                    self.query.variables[prefix + _record_key(entry)] = "true"
        return self.query.recursive if head.feeds_recursion is None else head.feeds_recursion

    # ------------------------------------------------------------------------------------------------------ decision

    def _decision(self, entry: ReadyEntry) -> tuple[RisuReason, dict[str, Any]]:
        if entry.entry.mode == CHILD and (entry.parent < 0 or entry.parent in self.fired):
            return RisuReason.CHILD, {}
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
        if query.query.every or entry.entry.use_regex:
            searched = self._searched(entry)
            matches = self._matches(query, searched)
            if query.query.every:
                every = [*matches]
                self._log += every
                return every[-1] if every and len(every) == len(query.keys) * len(searched) else None
            match = next(matches, None)
        else:
            match = self._plain_match(entry, query, len(self._spread))
        if match is not None:
            self._log.append(match)
        return match

    def _plain_match(self, entry: ReadyEntry, query: KeyQuery, length: int) -> LoreMatch | None:
        """The first match of a query for plain keys among the messages, then among so many texts of entries."""
        window = self._window(self._depth(entry))
        if match := _first_match(query, window.first):
            return LoreMatch(window.name(match[0]), match[1])
        match = _first_match(query, self._first_spread(), length) if entry.head.searches_recursion else None
        return LoreMatch(self._name(self._spread[match[0]]), match[1]) if match else None

    def _first_spread(self) -> Mapping[int, int]:
        """By the numbers of keys the first text of an entry, of those that are searched by now, that holds the key."""
        for index in range(self._first_of, len(self._spread)):
            for number in self.lore.hits_of_entry(self.lore.entries[self._spread[index]]):
                self._first.setdefault(number, index)
        self._first_of = len(self._spread)
        return self._first

    def _searched(self, entry: ReadyEntry) -> list[_Searched]:
        """The texts that an entry's keys are searched in."""
        texts, entries = self._window(self._depth(entry)).searched(), self.lore.entries
        if entry.head.searches_recursion:
            texts += [
                (self._name(at), entries[at].head.text, self.lore.hits_of_entry(entries[at])) for at in self._spread
            ]
        return texts

    def _name(self, at: int) -> str:
        return f"lorebook {self.lore.entries[at].source}"

    def _matches(self, query: KeyQuery, texts: Sequence[_Searched]) -> Iterator[LoreMatch]:
        """Each match, text by text, key by key."""
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

    def _window(self, depth: float) -> _Window:
        key = -1.0 if math.isnan(depth) else max(depth, 0)
        if key not in self._windows:
            self._windows[key] = _Window(window_of(self.query.messages, depth), self.lore)
        return self._windows[key]

    def _simple_match(self, at: int) -> LoreMatch:
        """The match of an entry that nothing but a key decides about: as it was when it fired."""
        entry = self.lore.entries[at]
        return self._plain_match(entry, entry.queries[0], self._simple[at][0]) or LoreMatch("", "")

    def matches(self) -> Iterator[LoreMatch]:
        """The keys that matched, in the order of the search."""
        return (self._simple_match(each) if isinstance(each, int) else each for each in self._log)

    def verdicts(self) -> Iterator[Verdict]:
        for entry in self.lore.entries:
            reason, facts = self.reasons.get(entry.index), self.facts.get(entry.index, {})
            if reason is None and entry.index in self._simple:
                match, loop = self._simple_match(entry.index), self._simple[entry.index][1]
                reason, facts = RisuReason.KEY, {"key": match.key, "place": match.source, "loop": loop}
            elif reason is None:
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
