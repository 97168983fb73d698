"""Selection: which entries stay of those that fired: one of an inclusion group, and as many as the budget has tokens for.

All texts of a pass are counted joined, behind those that earlier passes gave to recursion (`sillytavern.md` 27). To count
the joined text anew for each entry would be quadratic, and recursion repeats it each turn. Two facts avoid that. Bytes bound
tokens from above, so nothing is counted while even the bytes fit. And many tokenizers never join across a line break that
stands between a visible character and a letter or digit: there the counts of the parts add up, and each part is a text that
the counter knows from the turn before. Only a part with an open end is counted together with what follows it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from innkeeper.lore.compiled import CompiledEntry
from innkeeper.lore.timed import TimedEffects
from innkeeper.lore.verdict import Reason
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.determinism import RandomStream


class GroupRules(msgspec.Struct, frozen=True):
    """The rules of a group besides its entries. ``score`` counts the keys of an entry that match; ``lost`` records losers.

    ``double_removal`` keeps SillyTavern's way with a loser of two groups: the second removal takes the last new entry.
    """

    timed: TimedEffects
    random: RandomStream
    score: Callable[[CompiledEntry], int]
    lost: Callable[[CompiledEntry, Reason, dict[str, Any]], None]
    scoring: bool = False
    double_removal: bool = True

    def asks_score(self, entry: CompiledEntry) -> bool:
        """Whether the entry must have the best score of its group."""
        own = entry.entry.use_group_scoring
        return self.scoring if own is None else own


def choose(new: list[CompiledEntry], taken: Mapping[str, CompiledEntry], rules: GroupRules) -> None:
    """Remove from ``new`` (in scan order) all but the winner of each group. ``taken``: groups from which one fired before."""
    groups: dict[str, list[CompiledEntry]] = {}
    for entry in new:
        for name in entry.entry.groups if entry.entry.group else ():
            groups.setdefault(name, []).append(entry)
    if not groups:
        return
    charge("lore", _STEPS_A_MEMBER * sum(map(len, groups.values())))
    staying = {id(entry): entry for entry in new}
    sticky = _keep_sticky(groups, staying, rules)
    _leave_cooling(groups, staying, rules)
    _keep_best_scores(groups, staying, rules)
    for name, members in groups.items():
        if name in sticky:
            continue
        if name in taken:
            for member in members:
                _remove(staying, member, rules, Reason.GROUP_TAKEN, group=name, winner=_title(taken[name]))
        elif len(members) > 1:
            _keep_winner(name, members, staying, rules)
    new[:] = staying.values()


_STEPS_A_MEMBER: Final = 20

_Staying = dict[int, CompiledEntry]
"""The new entries that are not removed yet, in order, each by its identity."""


def _keep_sticky(groups: dict[str, list[CompiledEntry]], staying: _Staying, rules: GroupRules) -> set[str]:
    held = set()
    for name, members in groups.items():
        if not any(rules.timed.sticky(member) for member in members):
            continue
        held.add(name)
        for member in _parted(members, lambda m: rules.timed.sticky(m) is not None):
            _remove(staying, member, rules, Reason.GROUP_STICKY, group=name)
    return held


def _leave_cooling(groups: dict[str, list[CompiledEntry]], staying: _Staying, rules: GroupRules) -> None:
    """In a group a cooldown counts even while its entry is sticky."""
    for members in groups.values():
        for member in _parted(members, lambda m: rules.timed.cooldown(m) is None):
            cooldown = rules.timed.cooldown(member)
            _remove(staying, member, rules, Reason.COOLDOWN, until=cooldown.end if cooldown else None)


def _keep_best_scores(groups: dict[str, list[CompiledEntry]], staying: _Staying, rules: GroupRules) -> None:
    for name, members in groups.items():
        if not any(rules.asks_score(member) for member in members):  # also where nobody is left
            continue
        scores = {id(member): rules.score(member) for member in members}
        best = max(scores.values())
        for member in _parted(members, lambda m: not rules.asks_score(m) or scores[id(m)] >= best):  # noqa: B023
            _remove(staying, member, rules, Reason.GROUP_SCORE, group=name, score=scores[id(member)], best=best)


def _parted(members: list[CompiledEntry], keeps: Callable[[CompiledEntry], bool]) -> list[CompiledEntry]:
    """Leave in ``members`` those that a rule keeps; the others."""
    others = [member for member in members if not keeps(member)]
    if others:
        members[:] = [member for member in members if keeps(member)]
    return others


def _keep_winner(name: str, members: list[CompiledEntry], staying: _Staying, rules: GroupRules) -> None:
    overriding = [member for member in members if member.entry.group_override]
    if overriding:
        winner, how = max(overriding, key=lambda m: (m.entry.order or 0, -m.index)), "group override"
    else:
        winner, how = _drawn(members, rules.random)
    for member in members:
        if member is not winner:
            _remove(staying, member, rules, Reason.GROUP_LOST, group=name, winner=_title(winner), how=how)


def _drawn(members: list[CompiledEntry], random: RandomStream) -> tuple[CompiledEntry, str]:
    total = sum(member.entry.group_weight for member in members)
    roll = random.random() * total
    reached = 0.0
    for member in members:
        reached += member.entry.group_weight
        if roll <= reached:
            return member, f"drew {roll:.2f} of {total:g}"
    return members[-1], f"drew {roll:.2f} of {total:g}"


def _remove(staying: _Staying, member: CompiledEntry, rules: GroupRules, reason: Reason, **facts: Any) -> None:
    if staying.pop(id(member), None) is not None:
        rules.lost(member, reason, facts)
    # a loser of two groups comes here twice, and takes the last new entry with it (quirk `double_removal`)
    elif staying and rules.double_removal:
        rules.lost(staying.popitem()[1], Reason.GROUP_QUIRK, facts)


def _title(entry: CompiledEntry) -> str:
    return f"{entry.book}.{entry.uid}"


class LoreBudget:
    """The budget of one scan, in tokens.

    ``count`` counts a text as the budget does (0 for an empty one). ``part`` counts text without what ``count`` adds for every
    text (``overhead``); ``None`` when a tokenizer does not add up. ``overflowed`` is for the scan to set.
    """

    __slots__ = ("_counters", "_earlier", "_earlier_bytes", "_pass", "overflowed", "tokens")

    def __init__(
        self, tokens: int, count: Callable[[str], int], part: Callable[[str], int] | None = None, overhead: int = 0
    ) -> None:
        self.tokens = tokens
        self.overflowed = False
        self._counters = count, part, overhead
        self._earlier = _JoinedText(*self._counters)
        self._earlier_bytes = 0
        self.begin()

    def begin(self) -> None:
        """Begin a pass: nothing of it has been counted, only what earlier passes gave to recursion."""
        self._pass = _JoinedText(*self._counters)

    def spread(self, texts: Sequence[str]) -> None:
        """Texts that are scanned from the next pass on count there too, the newest first."""
        for text in reversed(texts):
            self._earlier.prepend(f"{text}\n")
            self._earlier_bytes += _bytes_of(text) + 1

    def add(self, text: str) -> None:
        """Add the text of an entry to the pass."""
        self._pass.append(f"{text}\n")

    def reached_by(self, text: str) -> int | None:
        """Add the text of an entry to the pass; the tokens so far if they reach the budget, else ``None``."""
        self.add(text)
        earlier = self._counters[2] + self._earlier_bytes + 1 if self._earlier_bytes else 0
        if earlier + self._pass.most() < self.tokens:
            return None
        tokens = self._earlier.tokens() + self._pass.tokens()
        return tokens if tokens >= self.tokens else None


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


class _JoinedText:
    """A text that grows at its end, or at its front, and its tokens: of parts that are closed, and of one that is open there.

    A part is closed where nothing that is added can join it any more. It is counted once, when the tokens are asked for.
    """

    __slots__ = ("_bytes", "_closed", "_count", "_open", "_open_tokens", "_overhead", "_part", "_tokens")

    def __init__(self, count: Callable[[str], int], part: Callable[[str], int] | None, overhead: int) -> None:
        self._count, self._part, self._overhead = count, part, overhead
        self._bytes = self._tokens = 0
        self._closed: list[str] = []
        self._open: deque[str] = deque()
        self._open_tokens: int | None = None
        """The tokens of the open part, where it has been counted as it is."""

    def append(self, text: str) -> None:
        self._bytes += _bytes_of(text)
        if self._open and self._parts(self._open[-1], text):
            self._close()
        self._open.append(text)
        self._open_tokens = None

    def prepend(self, text: str) -> None:
        self._bytes += _bytes_of(text)
        if self._open and self._parts(text, self._open[0]):
            self._close()
        self._open.appendleft(text)
        self._open_tokens = None

    def _parts(self, one: str, other: str) -> bool:
        """Whether the tokens of two texts, one behind the other, add up."""
        return bool(other[:1].isalnum() and one[-2:-1].strip() and one.endswith("\n") and self._part is not None)

    def _close(self) -> None:
        if self._open_tokens is None:
            self._closed.append("".join(self._open))
        self._tokens += self._open_tokens or 0
        self._open.clear()

    def most(self) -> int:
        """No fewer than the tokens; quick."""
        return self._overhead + self._bytes + 1 if self._bytes else 0

    def tokens(self) -> int:
        if not self._open:
            return 0
        if self._part is None:
            if self._open_tokens is None:
                self._open_tokens = self._count("".join(self._open))
            return self._open_tokens
        self._tokens += sum(map(self._part, self._closed))
        self._closed.clear()
        if self._open_tokens is None:
            self._open_tokens = self._part("".join(self._open))
        return self._overhead + self._tokens + self._open_tokens
