"""Inclusion groups: of the entries of a group that fired together, one stays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from innkeeper.lore.compiled import CompiledEntry
from innkeeper.lore.timed import TimedEffects
from innkeeper.lore.verdict import Reason
from innkeeper.prompt.determinism import Stream

__all__ = ["GroupRules", "choose"]


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
