"""What people write for others passes the gate before it is saved."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.gate.gate import TextKind, TierGate
from innkeeper.library.db.engine import Database
from innkeeper.library.db.rows import AuditStore
from innkeeper.library.errors import TierBlockedError
from innkeeper.library.tiers.moderation import moderate, row_texts

BAD = "a nude child"
PLACE = ("characters", "id-1")


@pytest.fixture
def dialect() -> str:
    """A file is enough: the audit's own tests run on both databases."""
    return "sqlite"


@pytest.mark.parametrize("tier", ["sfw", "nsfw", None])
@pytest.mark.parametrize("texts", [{}, {"description": "A clockmaker."}], ids=["none", "plain"])
def test_what_passes_leaves_nothing(db: Database, texts: dict[str, str], tier: str | None) -> None:
    """Texts that pass raise nothing and leave no event."""
    moderate(db, TextKind.CARD, texts, tier, resource=PLACE)
    assert AuditStore(db).newest() == ()


@pytest.mark.parametrize("tier", ["sfw", "nsfw"])
def test_a_block_is_recorded_without_the_text(db: Database, tier: str) -> None:
    """A block raises, names the table, and leaves one event that does not hold the text."""
    with pytest.raises(TierBlockedError) as info:
        moderate(db, TextKind.CARD, {"description": BAD}, tier, resource=PLACE, who="ann")
    assert info.value.where is not None
    assert info.value.where.asset == "characters"
    (event,) = AuditStore(db).newest()
    assert (event.action, event.actor, event.resource_id) == ("tier.block", "ann", "id-1")
    assert event.details["entries"] == ("card:description",)
    assert BAD not in str(event)


def test_the_event_outlives_the_transaction(db: Database) -> None:
    """The row that was to be saved is rolled back; the event is recorded all the same."""
    with pytest.raises(TierBlockedError), db.transaction():
        moderate(db, TextKind.SCENE, {"text": BAD}, "sfw", resource=PLACE)
    assert len(AuditStore(db).newest()) == 1


def test_texts_are_judged_together(db: Database) -> None:
    """Two columns that pass alone are blocked together."""
    texts = {"age": "She is 16 years old.", "scene": "A romantic evening."}
    gate = TierGate.of()
    for name, text in texts.items():
        moderate(db, TextKind.CARD, {name: text}, "sfw", resource=PLACE, gate=gate)
    with pytest.raises(TierBlockedError):
        moderate(db, TextKind.CARD, texts, "sfw", resource=PLACE, gate=gate)


@pytest.mark.parametrize(
    ("row", "texts"),
    [
        ({"name": "Mira", "id": "x"}, {"name": "Mira"}),
        ({"name": " ", "age": 7, "note": None}, {}),
        ({"list": ["a", ("b", ["c"])]}, {"list": "a\nb\nc"}),
        ({"facts": {"key": "value"}}, {"facts": "key\nvalue"}),
    ],
    ids=["text", "nothing", "list", "object"],
)
def test_every_text_of_a_row(row: dict[str, Any], texts: dict[str, str]) -> None:
    """Texts and the keys and texts within JSON, by column; columns to leave out and empty ones are left out."""
    found = row_texts(row, {"id"})
    assert {name: sorted(text.split("\n")) for name, text in found.items()} == {
        name: sorted(text.split("\n")) for name, text in texts.items()
    }


def test_deep_json_is_walked_without_recursion() -> None:
    """However deep a text lies, it is found."""
    value: Any = BAD
    for _ in range(100_000):
        value = [value]
    assert row_texts({"facts": value}, ()) == {"facts": BAD}
