"""People: the characters of a library, whose texts pass the tier gate before they are saved."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from innkeeper.library.db.engine import Database
from innkeeper.library.db.log_tables import characters
from innkeeper.library.limits import ADULT_AGE
from innkeeper.library.models.stores import RowStore
from innkeeper.library.tiers.gate import TextKind, TierGate
from innkeeper.library.tiers.moderation import moderate, row_texts
from innkeeper.prompt.frozen import FrozenDict

__all__ = ["CharacterStore", "card_texts"]


_NO_TEXTS: Final = frozenset(
    {"id", "user_id", "content_rating", "role", "moderation_status", "consistency_method", "created_at", "updated_at"}
)
"""Columns of ``characters`` that nobody writes texts in."""


class CharacterStore(RowStore):
    """Characters: private and of the general tier unless said otherwise; the adult tier needs a declared adult age.

    Each is judged as a whole, in its own tier, before it is saved. ``gate`` is asked instead of the operator's in the database.
    What is blocked is not saved: `add`, `put` and `update` raise `TierBlockedError`, and an audit event tells of it.
    """

    table = characters

    def __init__(self, db: Database, gate: TierGate | None = None) -> None:
        super().__init__(db)
        self._gate = gate

    def _admit(self, row: FrozenDict, who: str) -> None:
        texts, resource = card_texts(row, _NO_TEXTS), (self.table.name, str(row["id"]))
        moderate(self.db, TextKind.CARD, texts, row["content_rating"], resource=resource, who=who, gate=self._gate)

    def of_user(self, user_id: str) -> tuple[FrozenDict, ...]:
        """A user's own characters by name."""
        return tuple(sorted(self.list(user_id=user_id), key=lambda row: (row["name"], row["id"])))


def card_texts(row: Mapping[str, Any], without: Collection[str]) -> dict[str, str]:
    """The texts of a character, with its declared age in words where that is below adulthood."""
    texts, age = row_texts(row, without), row.get("declared_age")
    return {**texts, "declared_age": f"{age} years old"} if age is not None and age < ADULT_AGE else texts
