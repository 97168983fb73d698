"""Candidate: an entry that goes into the chat, with what it is sorted and placed by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from innkeeper.taverns.smart.compat import Compat
from innkeeper.taverns.smart.roles import RANK
from innkeeper.taverns.smart.values import whole_number
from innkeeper.taverns.smart.verdict import Rule

__all__ = ["Candidate", "candidate_of", "sorted_candidates"]

_DEFAULT_DEPTH: Final = 0
_DEFAULT_ORDER: Final = 100


@dataclass(slots=True)
class Candidate:
    """``index`` is the place among all entries, presets first; ``source`` makes the message's annotation."""

    order: int
    rank: int
    index: int
    depth: int
    role: str
    content: str
    source: Callable[[], dict[str, Any]]

    def message(self) -> dict[str, Any]:
        """The message it becomes, with a source of its own."""
        return {"role": self.role, "content": self.content, "source": self.source()}


def candidate_of(
    entry: dict[str, Any], index: int, role: str, source: Callable[[], dict[str, Any]], compat: Compat
) -> Candidate | Rule:
    """The candidate, or the rule that stops an entry whose depth or order is no number."""
    depth = whole_number(entry.get("depth"), _DEFAULT_DEPTH)
    if depth is None:
        return Rule.BAD_DEPTH
    order = whole_number(entry.get("order"), _DEFAULT_ORDER)
    if order is None:
        return Rule.BAD_ORDER
    if compat.order_zero == "default":
        order = order or _DEFAULT_ORDER
    return Candidate(order, RANK[role], index, depth, role, entry["content"], source)


def sorted_candidates(candidates: list[Candidate]) -> list[Candidate]:
    """By order, then role, then place (3-smarttavern, *sorting and insertion*)."""
    return sorted(candidates, key=attrgetter("order", "rank", "index"))
