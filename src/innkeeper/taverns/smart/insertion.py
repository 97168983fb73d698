"""Insertion: candidates into the history, group by group of one depth (3-smarttavern, *sorting and insertion*)."""

from __future__ import annotations

from typing import Any

from innkeeper.taverns.smart.candidate import Candidate
from innkeeper.taverns.smart.compat import Compat

__all__ = ["inserted"]


def inserted(messages: list[dict[str, Any]], candidates: list[Candidate], compat: Compat) -> list[dict[str, Any]]:
    """``messages`` with the sorted candidates in it, the deepest group first.

    Each group comes ``depth`` messages before the end of the list as it is by then: deeper than the list is at its
    beginning, below zero at its end.
    """
    groups: dict[int, list[dict[str, Any]]] = {}
    for candidate in candidates:
        groups.setdefault(candidate.depth, []).append(candidate.message())
    grown = list(messages)
    for depth in sorted(groups, reverse=True):
        at = max(0, len(grown) - depth)
        if depth < 0 and compat.negative_depth == "scrambled":
            _one_by_one(grown, groups[depth], at)
        else:
            grown[at:at] = groups[depth]
    return grown


def _one_by_one(grown: list[dict[str, Any]], group: list[dict[str, Any]], at: int) -> None:
    """From the last to the first at a place beyond the end, which each insertion brings nearer."""
    for message in reversed(group):
        grown.insert(at, message)
