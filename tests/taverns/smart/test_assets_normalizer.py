"""Assets normaliser: books and rules of several assets as one list each."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given

from innkeeper.prompt.errors import InnkeeperError
from innkeeper.taverns.smart import (
    SmartOptions,
    extract_character_regex,
    extract_character_world_book,
    extract_preset_regex,
    merge_regex,
    merge_world_books,
    normalize,
)
from innkeeper.taverns.smart.assets_normalizer import entries_of
from innkeeper.taverns.smart.compat import Compat
from tests.taverns.smart.json_values import VALUES

ORIGINAL = SmartOptions.of("smarttavern")
ONE = {"id": 1, "name": "one", "content": "c"}
TWO = {"id": 2, "name": "two", "content": "c"}
CHARACTER = {
    "name": "Ayla",
    "world_book": {"entries": [{"id": 1, "content": "mine"}, {"id": 3}, "no entry"]},
    "regex_rules": [{"id": "c", "find_regex": "c"}],
}
PRESET = {"regex_rules": [{"id": "p", "find_regex": "p", "meta": {"source": "?", "kept": 1}}]}


def test_normalize() -> None:
    """All at once: books, then the character's; rules of files, preset, character; assets as they are."""
    found = normalize(PRESET, {"entries": [ONE]}, CHARACTER, [{"id": "f", "find_regex": "f"}, {"id": "p"}])
    assert found["preset"] == PRESET
    assert found["character"] == CHARACTER
    assert found["world_book"] == [ONE, {"id": 3, "enabled": True}]
    assert [rule["meta"]["source"] for rule in found["merged_regex"]["regex_rules"]] == [
        "independent",
        "independent",
        "character",
    ]
    assert found["meta"]["stats"] == {
        "world_books_input_count_flat": 1,
        "character_world_book_extracted_count": 2,
        "regex_input_independent_count": 2,
        "regex_extracted_from_preset_count": 1,
        "regex_extracted_from_character_count": 1,
        "regex_final_count": 3,
        "regex_dedup_removed_count": 1,
    }


@pytest.mark.parametrize(
    "books",
    [
        {"wb_0": {"entries": [ONE]}, "wb_1": {"entries": [TWO]}},
        {"wb_0": {"world_book": {"entries": [ONE]}}, "wb_1": [TWO]},
        [ONE, TWO],
        [[ONE], TWO],
        [{"entries": [ONE]}, {"entries": [TWO]}],
    ],
    ids=["by name", "by name, mixed", "array", "nested array", "array of books"],
)
def test_books_in_every_container(books: Any) -> None:
    """Books are found however they are handed over; the original loses these without a word."""
    assert merge_world_books(books)["world_book"] == [ONE, TWO]
    assert merge_world_books(books, options=ORIGINAL)["world_book"] == []


@pytest.mark.parametrize("books", [{"entries": [ONE, 5]}, {"world_book": {"entries": [ONE]}}])
def test_books_in_containers_of_the_original(books: Any) -> None:
    """Both objects with entries are books in every profile."""
    assert merge_world_books(books, options=ORIGINAL)["world_book"] == merge_world_books(books)["world_book"] == [ONE]


def test_entries_without_an_id() -> None:
    """Each stays; the original keeps one of them. By content, equal ones are one."""
    entries = {"entries": [{"name": "a"}, {"name": "a"}, {"name": "b"}, {"id": None}]}
    assert merge_world_books(entries)["world_book"] == entries["entries"]
    assert merge_world_books(entries, options=ORIGINAL)["world_book"] == [{"name": "a"}]
    assert merge_world_books(entries, dedup_key="auto")["world_book"] == [{"name": "a"}, {"name": "b"}, {"id": None}]


def test_meta_of_books() -> None:
    """Ids are compared as texts, the first stays, and the answer counts."""
    found = merge_world_books({"entries": [ONE, {"id": "1"}]}, {"entries": [{"id": 1.5}, TWO]})
    assert found["world_book"] == [ONE, {"id": 1.5}, TWO]
    assert found["meta"]["input_counts"] == {"world_books_flat": 2, "character_world_book_items": 2}
    assert (found["meta"]["dedup_removed_count"], found["meta"]["total"]) == (1, 3)


@pytest.mark.parametrize(
    ("container", "names"),
    [
        ([{"name": "a"}, 5], ["a"]),
        ({"regex_rules": [{"name": "a"}]}, ["a"]),
        ({"items": [[{"name": "a"}], {"regex_rules": [{"name": "b"}]}, 5]}, ["a", "b"]),
        ({"r0": {"regex_rules": [{"name": "a"}]}, "r1": {"regex_rules": [{"name": "b"}]}, "r2": []}, ["a", "b"]),
        ({"regex_rules": 5}, []),
        (None, []),
    ],
)
def test_rules_in_every_container(container: Any, names: list[str]) -> None:
    """Rules are found in a list, an object, a list of them, or by name."""
    assert [rule["name"] for rule in merge_regex(container)["merged_regex"]["regex_rules"]] == names


def test_extracts() -> None:
    """What preset and character bring, with where it comes from."""
    assert extract_preset_regex(PRESET) == {
        "regex_rules": [{"id": "p", "find_regex": "p", "meta": {"source": "preset", "kept": 1}}],
        "meta": {"source": "preset", "count": 1},
    }
    assert extract_character_regex(CHARACTER)["meta"] == {"source": "character", "count": 1}
    assert extract_character_world_book(CHARACTER)["entries"][1] == {"id": 3, "enabled": True}


@pytest.mark.parametrize("asset", [None, 5, [], {"world_book": 5, "regex_rules": 5}, {"world_book": {"entries": {}}}])
def test_extracts_nothing(asset: Any) -> None:
    """An asset without rules or book brings none."""
    assert extract_preset_regex(asset)["regex_rules"] == []
    assert extract_character_regex(asset)["regex_rules"] == []
    assert extract_character_world_book(asset)["entries"] == []


@given(VALUES, VALUES, VALUES, VALUES)
def test_anything_goes_in(preset: Any, books: Any, character: Any, files: Any) -> None:
    """Whatever comes in, there is an answer or a typed error, and nothing of the caller's is changed."""
    before = copy.deepcopy((preset, books, character, files))
    for options in (None, ORIGINAL):
        with suppress(InnkeeperError):
            found = normalize(preset, books, character, files, options=options)
            assert all(isinstance(entry, dict) for entry in found["world_book"])
    assert (preset, books, character, files) == before


A, B, C = ({"id": name, "content": name} for name in "abc")
NARROW, WIDE = Compat(wide_books=False), Compat()


@pytest.mark.parametrize(
    ("books", "narrow", "wide"),
    [
        (None, "", ""),
        (7, "", ""),
        ("text", "", ""),
        ([], "", ""),
        ([A, B], "ab", "ab"),
        ([[A], [[B]], C, 5], "abc", "abc"),
        ({"entries": [A, [B], 5]}, "a", "ab"),
        ({"world_book": {"entries": [A]}}, "a", "a"),
        ({"entries": {}, "world_book": {"entries": [A]}}, "a", "a"),
        ({"entries": [A], "world_book": {"entries": [B]}}, "a", "a"),
        ({"wb_0": {"entries": [A]}, "wb_1": [B], "name": "x", "empty": {}}, "", "ab"),
        ([{"name": "book", "entries": [A]}, B], None, "ab"),
        ([{**A, "entries": [B]}], "a", "a"),
        (A, "", ""),
    ],
    ids=repr,
)
def test_entries(books: Any, narrow: str | None, wide: str) -> None:
    """Each container's entries in their order; the wide reading also looks into books in lists and by name."""
    if narrow is not None:
        assert "".join(entry["id"] for entry in entries_of(books, NARROW)) == narrow
    assert "".join(entry["id"] for entry in entries_of(books, WIDE)) == wide
