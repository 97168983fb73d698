"""Entries of other books, as RisuAI imports them."""

import json

import pytest

from innkeeper.content.lorebook import Lorebook
from innkeeper.taverns.risu.lore.entry import LoreEntry, book_entries, stored_entries
from tests.shared import VECTORS

CARDS = [
    (case["name"], case["input"]["card"]["data"]["character_book"], case["expected"]["lorebook"])
    for case in json.loads((VECTORS / "risu" / "format.json").read_text("utf-8"))
    if case["name"].startswith("format/card/")
]


@pytest.mark.parametrize(("book", "expected"), [case[1:] for case in CARDS], ids=[case[0] for case in CARDS])
def test_a_book_of_a_card(book: dict[str, object], expected: list[dict[str, object]]) -> None:
    """Fields of SillyTavern become decorators, and what is switched off is not."""
    read = [
        {
            "key": entry.key,
            "secondkey": entry.secondkey,
            "insertorder": entry.insertorder,
            "comment": entry.comment,
            "content": entry.content.removeprefix("\n"),
            "alwaysActive": entry.always_active,
            "selective": entry.selective,
            "useRegex": entry.use_regex,
        }
        for entry in book_entries(Lorebook.of(book))
    ]
    assert read == [{name: stored[name] for name in read[0]} for stored in expected]


def test_a_book_of_its_own() -> None:
    """It is read as it is stored, and says whence each entry is."""
    stored = {
        "key": "pier, quay",
        "content": "Fog.",
        "comment": "Pier",
        "insertorder": 7,
        "alwaysActive": True,
        "id": "p",
    }
    (entry,) = book_entries(Lorebook.of({"type": "risu", "ver": 1, "data": [stored]}), "harbour")
    (listed,) = stored_entries([stored, "no entry"], "harbour")
    assert entry == LoreEntry(
        key="pier, quay",
        content="Fog.",
        comment="Pier",
        insertorder=7,
        always_active=True,
        id="p",
        book="harbour",
        uid=entry.uid,
    )
    assert listed.key == entry.key


def test_an_entry_that_is_switched_off_says_so() -> None:
    """RisuAI does not heed it."""
    (entry,) = book_entries(Lorebook.of({"entries": [{"keys": ["a"], "content": "x", "enabled": False}]}))
    assert entry.disabled
