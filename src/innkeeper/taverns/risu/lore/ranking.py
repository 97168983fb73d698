"""Ranking: which of the entries that fired are used, within the budget, and in which order (`risuai.md` 9.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cmp_to_key

import msgspec

from innkeeper.taverns.risu.lore.compiled import ReadyEntry
from innkeeper.taverns.risu.lore.decorators import LoreInjection


class ActiveLore(msgspec.Struct, frozen=True, kw_only=True):
    """An entry that fired. ``text`` is before macros; ``position`` is empty, ``depth``, ``reverse_depth`` or a named one."""

    compiled: ReadyEntry
    text: str
    position: str
    depth: int
    role: str
    order: float
    priority: float
    tokens: int
    injection: LoreInjection | None = None
    name: str = ""
    """How the log calls its text."""

    @classmethod
    def of(cls, entry: ReadyEntry, tokens: int) -> ActiveLore:
        """An entry that fires, whose text has so many tokens."""
        head, order = entry.head, entry.entry.insertorder
        return cls(
            compiled=entry,
            text=head.text,
            position=head.position,
            depth=head.depth,
            role=head.role,
            order=order,
            priority=order if head.priority is None else head.priority,
            tokens=tokens,
            injection=head.injection,
            name=f"lorebook {entry.source}",
        )

    @property
    def source(self) -> str:
        """The name of the entry."""
        return self.compiled.source


def within_budget(fired: Iterable[ActiveLore], budget: float) -> tuple[list[ActiveLore], dict[int, int]]:
    """The entries that fit, by priority; those that do not by their indexes, each with the tokens that were spent before it.

    One that does not fit is left out, and smaller ones behind it may fit.
    """
    used, chosen, over = 0, list[ActiveLore](), dict[int, int]()
    for active in _descending(fired, lambda item: item.priority):
        if used + active.tokens <= budget:
            used += active.tokens
            chosen.append(active)
        else:
            over[active.compiled.index] = used
    return chosen, over


def in_order(chosen: Iterable[ActiveLore]) -> tuple[tuple[ActiveLore, ...], dict[int, tuple[str, bool]]]:
    """The entries in ascending order, and by index, into which entry each of the others is merged, and whether it is there."""
    ordered = _descending(chosen, lambda item: item.order)
    merging = [item for item in ordered if item.injection is not None and item.injection.lore]
    result = [item for item in ordered if item.injection is None or not item.injection.lore]
    targets: dict[int, tuple[str, bool]] = {}
    for item in merging:
        injection = item.injection or LoreInjection()
        at = next((at for at, other in enumerate(result) if other.source == injection.location), None)
        targets[item.compiled.index] = injection.location, at is not None
        if at is not None:
            result[at] = msgspec.structs.replace(result[at], text=injection.merged(result[at].text, item.text))
    return tuple(reversed(result)), targets


def _descending(items: Iterable[ActiveLore], value: Callable[[ActiveLore], float]) -> list[ActiveLore]:
    """The entries from the largest number down, as JavaScript sorts: what is no number is equal to any."""
    listed = list(items)
    if not any(math.isnan(value(item)) for item in listed):
        return sorted(listed, key=value, reverse=True)  # stable in both directions

    def compare(one: ActiveLore, other: ActiveLore) -> int:
        difference = value(other) - value(one)
        return 0 if math.isnan(difference) else (difference > 0) - (difference < 0)

    return sorted(listed, key=cmp_to_key(compare))
