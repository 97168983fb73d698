"""Lorebooks of other programs, translated into the fields of a card book."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.entry import Spelling
from innkeeper.content.finding import Level
from innkeeper.content.json.record import FindingCollector
from innkeeper.content.spellings.foreign import PROGRAMS, foreign_shape


def book_of(spelling: Spelling, *entries: Any) -> dict[str, Any]:
    """A book as the program writes it."""
    books: dict[Spelling, dict[str, Any]] = {
        Spelling.NOVELAI: {"lorebookVersion": 5, "entries": list(entries)},
        Spelling.AGNAI: {"kind": "memory", "entries": list(entries)},
        Spelling.RISU: {"type": "risu", "data": list(entries)},
        Spelling.SMART: {"entries": [*entries, {"mode": "always"}]},
    }
    return books[spelling]


@dataclass(frozen=True)
class Case:
    """An entry of a program, and the fields it is translated into."""

    name: str
    spelling: Spelling
    raw: dict[str, Any]
    expected: dict[str, Any]


CASES = [
    Case(
        "novelai",
        Spelling.NOVELAI,
        {"keys": ["inn"], "text": "x", "displayName": "n", "contextConfig": {"budgetPriority": 400}},
        {"keys": ["inn"], "content": "x", "comment": "n", "insertion_order": 400, "position": "before_char"},
    ),
    Case("novelai without priority", Spelling.NOVELAI, {"contextConfig": "?"}, {"insertion_order": 0}),
    Case("novelai priority 0", Spelling.NOVELAI, {"contextConfig": {"budgetPriority": 0}}, {"insertion_order": 0}),
    Case(
        "agnai",
        Spelling.AGNAI,
        {"keywords": ["inn"], "entry": "x", "name": "n", "weight": 3, "priority": 7},
        {"keys": ["inn"], "content": "x", "name": "n", "comment": "n", "insertion_order": 3, "priority": 7},
    ),
    Case("risu keys", Spelling.RISU, {"key": "inn, ale", "insertorder": 2}, {"keys": ["inn", "ale"]}),
    Case("risu regex is one key", Spelling.RISU, {"key": "a, b", "useRegex": True}, {"keys": ["a, b"]}),
    Case("risu regex without key", Spelling.RISU, {"key": "", "useRegex": True}, {"keys": []}),
    Case("risu folder is off", Spelling.RISU, {"mode": "folder"}, {"enabled": False, "constant": False}),
    Case("risu constant", Spelling.RISU, {"mode": "constant"}, {"constant": True}),
    Case("risu always", Spelling.RISU, {"alwaysActive": 1}, {"constant": True}),
    Case(
        "smart keywords",
        Spelling.SMART,
        {"mode": "conditional", "condition": " {{keywords:any::inn, ale}} ", "order": 5},
        {"keys": ["inn", "ale"], "constant": False, "insertion_order": 5},
    ),
    Case(
        "smart condition only macros can judge",
        Spelling.SMART,
        {"mode": "conditional", "condition": "{{keywords:inn}} && {{user}}"},
        {"keys": [], "constant": False},
    ),
    Case(
        "smart role",
        Spelling.SMART,
        {"position": "assistant", "depth": 3},
        {"position": "before_char", "extensions": {"position": 4, "depth": 3, "role": 2}},
    ),
    Case("smart frame", Spelling.SMART, {"position": "after_char"}, {"position": "after_char", "extensions": {}}),
    Case("smart position of a wrong type", Spelling.SMART, {"position": {}}, {"position": "before_char"}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_entry_is_translated(case: Case) -> None:
    """An entry has the fields of a card book, and keeps the object it came from."""
    spelling, book = foreign_shape(book_of(case.spelling, case.raw), FindingCollector(5))
    entry = book["entries"][0]
    assert spelling is case.spelling
    assert {name: entry[name] for name in case.expected} == case.expected
    assert entry["raw"] is case.raw


@pytest.mark.parametrize(
    "book",
    [
        {"entries": []},
        {"entries": {"0": {"mode": "always"}}, "name": "dict"},
        {"entries": [{"keys": ["a"], "position": "before_char"}]},
        {"kind": "memory", "entries": {}},
        {"type": "risu"},
        {"type": "risu", "data": "x"},
    ],
    ids="-".join,
)
def test_a_book_that_is_not_foreign_is_itself(book: dict[str, Any]) -> None:
    """No program's mark, or no list of entries: the book comes back as it is, and nothing is noted."""
    findings = FindingCollector(5)
    assert foreign_shape(book, findings) == (None, book)
    assert findings.done() == ()


@pytest.mark.parametrize("spelling", [program.spelling for program in PROGRAMS], ids=str)
def test_each_book_is_noted_once(spelling: Spelling) -> None:
    """One note for a book, however many entries; what is not an object is left for the reader to judge."""
    findings = FindingCollector(5)
    _, book = foreign_shape(book_of(spelling, {}, {}, 7), findings)
    (finding,) = findings.done()
    assert (finding.rule, finding.level) == ("foreign-lorebook", Level.INFO)
    assert spelling.value in finding.message
    assert book["entries"][2] == 7


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(
    ["key", "keys", "keywords", "mode", "condition", "position", "contextConfig", "useRegex", "depth"]
)


@given(st.sampled_from([program.spelling for program in PROGRAMS]), st.dictionaries(NAMES, JSON))
def test_any_entry_is_translated(spelling: Spelling, raw: dict[str, Any]) -> None:
    """Whatever an entry holds, it is translated without an error and kept."""
    _, book = foreign_shape(book_of(spelling, raw), FindingCollector(5))
    assert book["entries"][0]["raw"] is raw
