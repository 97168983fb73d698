"""Verdict: what became of one entry, and by which rule."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

__all__ = ["Rule", "Verdict"]


class Rule(StrEnum):
    """The rules in the order in which they are asked; the first that stops an entry is its verdict."""

    KEPT = "kept"
    NOT_AN_OBJECT = "not_an_object"
    POSITION = "position"
    DISABLED = "disabled"
    BLANK = "blank"
    CONDITION = "condition"
    BAD_DEPTH = "bad_depth"
    BAD_ORDER = "bad_order"


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One entry's. ``asset`` is ``presets_in_chat`` or ``world_books``; ``index`` counts its entries, flattened, from 0.

    ``condition`` is the text of a condition and ``value`` what it came to; ``found`` is the value that a rule refused. A kept
    entry has its sort key (``order``, ``role``) and ``depth``, and where it stands in the messages.
    """

    asset: str
    index: int
    rule: Rule
    id: str = ""
    found: Any = None
    condition: str | None = None
    value: str | None = None
    role: str | None = None
    depth: int | None = None
    order: int | None = None
    place: int | None = None

    @property
    def kept(self) -> bool:
        """Whether the entry is in the messages."""
        return self.rule is Rule.KEPT

    def __str__(self) -> str:
        """One line for people."""
        name = f"{self.asset}[{self.index}]" + (f" {self.id}" if self.id else "")
        told = f" ({self.condition!r} → {self.value!r})" if self.condition is not None else ""
        if self.kept:
            return f"{name}: kept at {self.place} (depth {self.depth}, order {self.order}, {self.role}){told}"
        return f"{name}: dropped, {self.rule}{told or ('' if self.found is None else f': {self.found!r}')}"
