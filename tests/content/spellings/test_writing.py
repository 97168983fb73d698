"""Writing lorebooks: edits in a book's own spelling, and whole books in either."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given

from innkeeper.content import Lorebook, LorePosition
from innkeeper.content.entry import CharacterFilter
from innkeeper.content.json.document import Document
from innkeeper.content.lorebook import book_edits
from innkeeper.content.spellings.writing import entry_edits
from innkeeper.prompt.errors import UnknownNameError, UsageError
from tests.content.builders import books

WORLD = {"uid": 1, "key": ["inn"], "content": "x"}
CARD = {"keys": ["inn"], "content": "x", "enabled": True, "extensions": {}}


@dataclass(frozen=True)
class Case:
    """An entry as written, the field that is changed, and the edit that does it."""

    name: str
    raw: dict[str, Any]
    field: tuple[str, Any]
    edits: dict[tuple[int | str, ...], Any]


CASES = [
    Case("world keys", WORLD, ("keys", ("a", "b")), {("key",): ["a", "b"]}),
    Case("world enabled", WORLD, ("enabled", True), {("disable",): False}),
    Case("world id", WORLD, ("id", 5), {("uid",): 5}),
    Case("world position", WORLD, ("position", LorePosition.AT_DEPTH), {("position",): 4}),
    Case("world role", WORLD, ("role", "assistant"), {("role",): 2}),
    Case("world other spelling", WORLD | {"scan_depth": 1}, ("scan_depth", 2), {("scan_depth",): 2}),
    Case("world level", WORLD, ("delay_until_recursion", 1), {("delayUntilRecursion",): True}),
    Case("world deep level", WORLD, ("delay_until_recursion", 2), {("delayUntilRecursion",): 2}),
    Case(
        "world filter",
        WORLD,
        ("character_filter", CharacterFilter(("Mira",))),
        {("characterFilter",): {"isExclude": False, "names": ["Mira"], "tags": []}},
    ),
    Case("card keys", CARD, ("keys", ("a",)), {("keys",): ["a"]}),
    Case("card enabled", CARD, ("enabled", False), {("enabled",): False}),
    Case(
        "card position",
        CARD,
        ("position", "at_depth"),
        {("position",): "after_char", ("extensions", "position"): 4},
    ),
    Case("card extension", CARD, ("sticky", 3), {("extensions", "sticky"): 3}),
    Case(
        "card without extensions",
        {"keys": ["inn"], "enabled": True},
        ("sticky", 3),
        {("extensions",): {"sticky": 3}},
    ),
    Case("card logic", CARD, ("selective_logic", "not_any"), {("extensions", "selectiveLogic"): 2}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_field_of_an_entry_is_edited(case: Case) -> None:
    """The edit stands at the entry's place, under the name its spelling has, in the words of the format."""
    book = Lorebook.of({"entries": [case.raw]})
    (entry,) = book.entries
    assert entry_edits(entry, dict([case.field])) == case.edits
    raw = Document(case.raw).replace(case.edits).tree
    assert book.replace_entry(entry.id, **dict([case.field])).document.at(("entries", 0)) == raw


@pytest.mark.parametrize("raw", [WORLD, CARD], ids=["world", "card"])
def test_an_unknown_field_is_refused(raw: dict[str, Any]) -> None:
    """A name that is not a field of an entry raises `UnknownNameError` in either spelling."""
    book = Lorebook.of({"entries": [raw]})
    with pytest.raises(UnknownNameError, match="colour"):
        entry_edits(book.entries[0], {"colour": "red"})


def test_entries_of_other_programs_are_not_edited() -> None:
    """An entry that was translated says how to write the book in a spelling that can be edited."""
    book = Lorebook.of({"type": "risu", "data": [{"key": "inn", "content": "x"}]})
    with pytest.raises(UsageError, match="risu") as info:
        entry_edits(book.entries[0], {"content": "y"})
    assert "to_world()" in str(info.value.hint)


def test_a_books_own_fields_keep_their_spelling() -> None:
    """A field that is written in camel case stays so; any other is written in snake case."""
    book = Lorebook.of({"scanDepth": 2, "entries": []})
    assert book_edits(book, {"scan_depth": 3, "token_budget": 9}) == {("scanDepth",): 3, ("token_budget",): 9}
    with pytest.raises(UnknownNameError):
        book_edits(book, {"entries": []})


def test_a_card_book_has_what_the_specification_requires() -> None:
    """Keys, content, extensions, enabled and insertion order are there, whatever the entry said."""
    (entry,) = Lorebook.of({"entries": [{}]}).to_card_book()["entries"]
    required = {"keys": [], "content": "", "enabled": True, "insertion_order": 100, "use_regex": False}
    assert {name: entry[name] for name in required} == required
    assert entry["extensions"]["position"] == 0


def test_world_info_writes_null_only_where_it_means_unset() -> None:
    """Settings that fall back to the global ones are null; other values that are not set are left out."""
    entry = Lorebook.of({"entries": [WORLD]}).to_world()["entries"]["0"]
    nulls = {name for name, value in entry.items() if value is None}
    assert nulls == {
        *("scanDepth", "caseSensitive", "matchWholeWords", "useGroupScoring"),
        *("sticky", "cooldown", "delay"),
    }


@given(books())
def test_what_is_written_is_read_again(raw: dict[str, Any]) -> None:
    """A book written as world info has the same texts, keys and positions when it is read."""
    book = Lorebook.of(raw)
    again = Lorebook.of(book.to_world())
    for old, new in zip(book.entries, again.entries, strict=True):
        assert (old.keys, old.content, old.position, old.enabled) == (new.keys, new.content, new.position, new.enabled)
