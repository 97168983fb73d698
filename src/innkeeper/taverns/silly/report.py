"""FillReport: what was placed and what stayed out when a chat prompt was filled."""

from __future__ import annotations

import msgspec

from innkeeper.taverns.silly.room import Room

__all__ = ["FillReport", "fill_report"]


class FillReport(msgspec.Struct, frozen=True):
    """Tokens placed (``final_tokens``) of ``budget_tokens``."""

    budget_tokens: int
    final_tokens: int


def fill_report(room: Room) -> FillReport:
    """The report of a filled room."""
    return FillReport(room.budget, room.used())
