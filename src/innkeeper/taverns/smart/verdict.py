"""Verdict: what became of one entry, and by which rule."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

__all__ = ["Rule", "SmartLore", "Verdict", "shown"]


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
    KEYS = "keys"
    """Around the character: conditional, and none of its keys is in the history."""
    NO_PLACE = "no_place"
    """Around the character: the preset has no enabled prompt in whose place it could stand."""


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One entry's. ``asset`` is ``presets_in_chat`` or ``world_books``; ``index`` counts its entries, flattened, from 0.

    ``condition`` is the text of a condition and ``value`` what it came to; ``found`` is the value that a rule refused, as
    `shown`. A kept entry has its sort key (``order``, ``role``), its ``depth``, and its ``place`` among the messages that
    construct made.
    """

    asset: str
    index: int
    rule: Rule
    id: str = ""
    title: str = ""
    found: str | None = None
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

    @property
    def fired(self) -> bool:
        """The same, in the word that all taverns' verdicts have."""
        return self.kept

    @property
    def uid(self) -> str:
        """The entry's id, or its place among the entries of its asset."""
        return self.id or f"{self.asset}[{self.index}]"

    @property
    def book(self) -> str:
        """Which asset it is of, for lists."""
        return "preset" if self.asset == "presets_in_chat" else ""

    @property
    def facts(self) -> Mapping[str, Any]:
        """Everything that is known, for those who ask for details."""
        return {name: value for name, value in self.to_dict().items() if name not in ("text", "title", "fired")}

    def __str__(self) -> str:
        """The decision as a sentence."""
        told = "" if self.condition is None else f": {shown(self.condition)} came to {shown(self.value)}"
        if not self.kept:
            return _SENTENCES[self.rule].replace("{found}", str(self.found)) + told
        if self.depth is None:
            return f"at {self.found}"
        judged = told and f"; its condition holds{told}"
        return f"at depth {self.depth}, order {self.order}, as {self.role}{judged}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts with the sentence under ``text``."""
        facts: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return {**facts, "fired": self.fired, "text": str(self)}


_SENTENCES: Final[Mapping[Rule, str]] = {
    Rule.NOT_AN_OBJECT: "it is no object",
    Rule.POSITION: "its position {found} is not in the chat",
    Rule.DISABLED: "it is not enabled ({found})",
    Rule.BLANK: "it has no text",
    Rule.CONDITION: "its condition does not hold",
    Rule.BAD_DEPTH: "its depth {found} is no whole number",
    Rule.BAD_ORDER: "its order {found} is no whole number",
    Rule.KEYS: "around the character an entry is triggered by keys, and none of {found} is in the history",
    Rule.NO_PLACE: "the preset has no enabled prompt in whose place {found} could stand",
}


class SmartLore(msgspec.Struct, frozen=True):
    """What a plan knows of its entries: a verdict for each, prompts in the chat first, then those of books."""

    verdicts: tuple[Verdict, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts."""
        return {"verdicts": [verdict.to_dict() for verdict in self.verdicts]}


_LONGEST: Final = 80


def shown(value: Any) -> str:
    """A value as Python writes it, shortened; what cannot be written is told by its type."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
