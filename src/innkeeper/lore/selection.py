"""Selection: which entries stay of those that fired: one of an inclusion group, and as many as the budget has tokens for.

All texts of a pass are counted joined, behind those that earlier passes gave to recursion (`sillytavern.md` 27). To count
the joined text anew for each entry would be quadratic, and recursion repeats it each turn. Two facts avoid that. Bytes bound
tokens from above, so nothing is counted while even the bytes fit. And many tokenizers never join across a line break that
stands between a visible character and a letter or digit: there the counts of the parts add up, and each part is a text that
the counter knows from the turn before. Only a part with an open end is counted together with what follows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from innkeeper.lore.compiled import CompiledEntry
from innkeeper.lore.timed import TimedEffects
from innkeeper.lore.verdict import Reason
from innkeeper.prompt.determinism import Stream

__all__ = ["GroupRules", "LoreBudget", "choose"]


class GroupRules(msgspec.Struct, frozen=True):
    """What a choice needs besides the entries. ``score`` counts the keys of an entry that match; ``lost`` records losers.

    ``double_removal`` keeps SillyTavern's way with a loser of two groups: the second removal takes the last new entry.
    """

    timed: TimedEffects
    random: Stream
    score: Callable[[CompiledEntry], int]
    lost: Callable[[CompiledEntry, Reason, dict[str, Any]], None]
    scoring: bool = False
    double_removal: bool = True


def choose(new: list[CompiledEntry], fired: Iterable[CompiledEntry], rules: GroupRules) -> None:
    """Remove from ``new`` (in scan order) all but the winner of each group. ``fired`` are those of earlier passes."""
    groups: dict[str, list[CompiledEntry]] = {}
    for entry in new:
        for name in entry.entry.groups if entry.entry.group else ():
            groups.setdefault(name, []).append(entry)
    if not groups:
        return
    sticky = _keep_sticky(groups, new, rules)
    _leave_cooling(groups, new, rules)
    _keep_best_scores(groups, new, rules)
    taken = {entry.entry.group: entry for entry in fired if entry.entry.group}
    for name, members in groups.items():
        if name in sticky:
            continue
        if name in taken:
            for member in members:
                _remove(new, member, rules, Reason.GROUP_TAKEN, group=name, winner=_title(taken[name]))
        elif len(members) > 1:
            _keep_winner(name, members, new, rules)


def _keep_sticky(groups: dict[str, list[CompiledEntry]], new: list[CompiledEntry], rules: GroupRules) -> set[str]:
    held = set()
    for name, members in groups.items():
        if not any(rules.timed.sticky(member) for member in members):
            continue
        held.add(name)
        for member in [m for m in members if not rules.timed.sticky(m)]:
            members.remove(member)
            _remove(new, member, rules, Reason.GROUP_STICKY, group=name)
    return held


def _leave_cooling(groups: dict[str, list[CompiledEntry]], new: list[CompiledEntry], rules: GroupRules) -> None:
    """In a group a cooldown counts even while its entry is sticky."""
    for members in groups.values():
        for member in [member for member in members if rules.timed.cooldown(member)]:
            members.remove(member)
            cooldown = rules.timed.cooldown(member)
            _remove(new, member, rules, Reason.COOLDOWN, until=cooldown.end if cooldown else None)


def _keep_best_scores(groups: dict[str, list[CompiledEntry]], new: list[CompiledEntry], rules: GroupRules) -> None:
    for name, members in groups.items():
        asked = [
            m for m in members if (rules.scoring if m.entry.use_group_scoring is None else m.entry.use_group_scoring)
        ]
        if not asked:  # also where nobody is left
            continue
        scores = {id(member): rules.score(member) for member in members}
        best = max(scores.values())
        for member in [m for m in asked if scores[id(m)] < best]:
            members.remove(member)
            _remove(new, member, rules, Reason.GROUP_SCORE, group=name, score=scores[id(member)], best=best)


def _keep_winner(name: str, members: list[CompiledEntry], new: list[CompiledEntry], rules: GroupRules) -> None:
    overriding = [member for member in members if member.entry.group_override]
    if overriding:
        winner, how = max(overriding, key=lambda m: (m.entry.order or 0, -m.place)), "group override"
    else:
        winner, how = _drawn(members, rules.random)
    for member in members:
        if member is not winner:
            _remove(new, member, rules, Reason.GROUP_LOST, group=name, winner=_title(winner), how=how)


def _drawn(members: list[CompiledEntry], random: Stream) -> tuple[CompiledEntry, str]:
    total = sum(member.entry.group_weight for member in members)
    roll = random.random() * total
    reached = 0.0
    for member in members:
        reached += member.entry.group_weight
        if roll <= reached:
            return member, f"drew {roll:.2f} of {total:g}"
    return members[-1], f"drew {roll:.2f} of {total:g}"


def _remove(new: list[CompiledEntry], member: CompiledEntry, rules: GroupRules, reason: Reason, **facts: Any) -> None:
    index = next((i for i, entry in enumerate(new) if entry is member), None)
    if index is not None:
        del new[index]
        rules.lost(member, reason, facts)
    elif new and rules.double_removal:
        rules.lost(new.pop(), Reason.GROUP_QUIRK, facts)


def _title(entry: CompiledEntry) -> str:
    return f"{entry.book}.{entry.uid}"


class LoreBudget:
    """The budget of one scan, in tokens.

    ``count`` counts a text as the budget does (0 for an empty one). ``part`` counts text without what ``count`` adds for every
    text (``overhead``); ``None`` when a tokenizer does not add up. ``overflowed`` is for the scan to set.
    """

    __slots__ = ("_counters", "_earlier", "_earlier_bytes", "_earlier_tokens", "_pass", "overflowed", "tokens")

    def __init__(
        self, tokens: int, count: Callable[[str], int], part: Callable[[str], int] | None = None, overhead: int = 0
    ) -> None:
        self.tokens = tokens
        self.overflowed = False
        self._counters = count, part, overhead
        self._earlier: list[str] = []
        self._earlier_bytes = 0
        self.begin()

    def begin(self) -> None:
        """Begin a pass: nothing of it has been counted, only what earlier passes gave to recursion."""
        self._pass = _JoinedText(*self._counters)
        self._earlier_tokens: int | None = None

    def spread(self, texts: Sequence[str]) -> None:
        """Texts that are scanned from the next pass on count there too, the newest first."""
        self._earlier[:0] = texts
        self._earlier_bytes += sum([_bytes_of(text) + 1 for text in texts])

    def reached_by(self, text: str) -> int | None:
        """Add the text of an entry to the pass; the tokens so far if they reach the budget, else ``None``."""
        self._pass.append(f"{text}\n")
        earlier = self._counters[2] + self._earlier_bytes + 1 if self._earlier else 0
        if earlier + self._pass.most() < self.tokens:
            return None
        if self._earlier_tokens is None:
            joined = _JoinedText(*self._counters)
            for given in self._earlier:
                joined.append(f"{given}\n")
            self._earlier_tokens = joined.tokens()
        tokens = self._earlier_tokens + self._pass.tokens()
        return tokens if tokens >= self.tokens else None


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


class _JoinedText:
    """A growing text and its tokens. ``closed`` are parts that nothing can join any more; the rest is open at its end."""

    __slots__ = ("_bytes", "_closed", "_count", "_end", "_open", "_overhead", "_part", "_tokens")

    def __init__(self, count: Callable[[str], int], part: Callable[[str], int] | None, overhead: int) -> None:
        self._count, self._part, self._overhead = count, part, overhead
        self._bytes = self._tokens = 0
        self._closed: list[str] = []
        self._open: list[str] = []
        self._end: int | None = None
        """The tokens of the open part, where it has been counted as it is."""

    def append(self, text: str) -> None:
        self._bytes += _bytes_of(text)
        last = self._open[-1] if self._open else ""
        if text[:1].isalnum() and last[-2:-1].strip() and last.endswith("\n") and self._part is not None:
            if self._end is None:
                self._closed.append("".join(self._open))
            self._tokens += self._end or 0
            self._open = []
        self._open.append(text)
        self._end = None

    def most(self) -> int:
        """No fewer than the tokens; quick."""
        return self._overhead + self._bytes + 1 if self._bytes else 0

    def tokens(self) -> int:
        if self._part is None:
            return self._count("".join(self._open)) if self._open else 0
        if not self._open:
            return 0
        self._tokens += sum(map(self._part, self._closed))
        self._closed.clear()
        if self._end is None:
            self._end = self._part("".join(self._open))
        return self._overhead + self._tokens + self._end
