"""Rule: what decides about an entry of this tavern, in the words of `innkeeper.lore.Verdict`.

The facts of a verdict are ``asset`` (``presets_in_chat`` or ``world_books``) and ``index`` (its place among the asset's
entries, flattened, from 0); of a condition its text as ``condition`` and what it came to as ``value``; the value that a rule
refused as ``found``, by `shown`; of an entry in the chat its ``role``, ``depth``, ``order`` and its ``place`` among the messages
that construct made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.lore.verdict import BaseReason, Verdict

__all__ = ["Rule", "SmartLore", "Verdict", "shown"]


class Rule(BaseReason):
    """The rules in the order in which they are asked; the first that stops an entry is its verdict."""

    KEPT = "kept", "at depth {depth}, order {order}, as {role}{judged}", True
    FRAMED = "framed", "at {found}", True
    """Around the character."""
    NOT_AN_OBJECT = "not_an_object", "it is not an object"
    POSITION = "position", "its position {found} is not in the chat"
    DISABLED = "disabled", "it is not enabled ({found})"
    BLANK = "blank", "it has no text"
    CONDITION = "condition", "its condition does not hold: {condition} came to {value}"
    BAD_DEPTH = "bad_depth", "its depth {found} is not a whole number"
    BAD_ORDER = "bad_order", "its order {found} is not a whole number"
    KEYS = "keys", "around the character an entry is triggered by keys, and none of {found} is in the history"
    """Around the character: conditional, and none of its keys is in the history."""
    NO_PLACE = "no_place", "the preset has no enabled prompt in whose place {found} could stand"

    def sentence(self, facts: Mapping[str, Any]) -> str:
        """The decision in words, with the condition that held."""
        shown_facts = {name: shown(facts[name]) for name in ("condition", "value") if name in facts}
        judged = "; its condition holds: {condition} came to {value}".format_map(shown_facts) if shown_facts else ""
        return super().sentence({**facts, **shown_facts, "judged": judged})


class SmartLore(msgspec.Struct, frozen=True):
    """What a plan knows of its entries: a verdict for each, prompts in the chat first, then those of books."""

    verdicts: tuple[Verdict, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts."""
        return {"verdicts": [verdict.to_dict() for verdict in self.verdicts]}


_LONGEST: Final = 80


def shown(value: Any) -> str:
    """A value as Python writes it, shortened; of what cannot be written, its type."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
