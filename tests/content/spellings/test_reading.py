"""Reading one lorebook entry by the table of fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.entry import CharacterFilter, LorebookEntry, LorePosition, SelectiveLogic, Spelling
from innkeeper.content.finding import Finding
from innkeeper.content.json.record import MAX_NUMBER, FindingCollector
from innkeeper.content.spellings.reading import (
    EXTENSION_FIELDS,
    POSITIONS,
    SHARED_FIELDS,
    WORLD_FIELDS,
    as_keys,
    as_level,
    as_logic,
    as_position,
    read_entry,
    spelling_of,
    split_keys,
)


def read(raw: dict[str, Any]) -> tuple[LorebookEntry, tuple[Finding, ...]]:
    """The entry that stands first in a list, with what was noted about it."""
    findings = FindingCollector(10)
    return read_entry(raw, 0, 0, ("entries", 0), findings), findings.done()


@pytest.mark.parametrize(
    ("value", "position"),
    [
        (0, LorePosition.BEFORE_CHAR),
        ("4", LorePosition.AT_DEPTH),
        (" Before_Char ", LorePosition.BEFORE_CHAR),
        ("@D", LorePosition.AT_DEPTH),
        ("ANTop", LorePosition.AN_TOP),
        ("outlet", LorePosition.OUTLET),
        (8, None),
        ("44", None),
        (True, None),
        ("nowhere", None),
        (["before_char"], None),
    ],
)
def test_positions(value: Any, position: LorePosition | None) -> None:
    """A position is known by its number or any usual name, in any case; nothing else is a position."""
    assert as_position(value) is position


@pytest.mark.parametrize(
    ("value", "logic"),
    [
        (0, SelectiveLogic.AND_ANY),
        ("3", SelectiveLogic.AND_ALL),
        ("not_any", SelectiveLogic.NOT_ANY),
        (4, None),
        (-1, None),
        ("or", None),
    ],
)
def test_logics(value: Any, logic: SelectiveLogic | None) -> None:
    """A selective logic is known by its number or its name; a negative number does not count from the end."""
    assert as_logic(value) is logic


def test_levels_and_keys() -> None:
    """A level is never below 0; keys come from a list or one text, and nothing else has keys."""
    assert [as_level(value) for value in (False, True, 3, "2", -1, "x")] == [0, 1, 3, 2, 0, None]
    assert as_keys(["inn", 7, None, {}]) == ("inn", "7")
    assert as_keys("inn, ale") == ("inn", "ale")
    assert as_keys({"inn": 1}) is None


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters=",/"))))
def test_joined_keys_are_split_again(keys: list[str]) -> None:
    """Keys without commas and slashes, joined by commas, are the trimmed keys that are not empty."""
    assert split_keys(",".join(keys)) == tuple(key.strip() for key in keys if key.strip())


@dataclass(frozen=True)
class Case:
    """An entry as written, and the fields it is read into."""

    name: str
    raw: dict[str, Any]
    expected: dict[str, Any]


CASES = [
    Case("empty", {}, {"id": 0, "keys": (), "order": None, "enabled": True, "probability": None, "depth": 4}),
    Case("empty card", {"keys": []}, {"probability": 100, "use_probability": True, "position": "after_char"}),
    Case("null is absent", {"key": ["a"], "group": None, "role": None}, {"group": "", "role": "system"}),
    Case("a null depth is 0", {"key": ["a"], "depth": None}, {"depth": 0}),
    Case("but absent in a card", {"keys": ["a"], "extensions": {"depth": None}}, {"depth": 4}),
    Case("other spelling", {"key": ["a"], "scan_depth": 3}, {"scan_depth": 3}),
    Case("own spelling first", {"key": ["a"], "scan_depth": 3, "scanDepth": 5}, {"scan_depth": 5}),
    Case("roles are numbers", {"key": ["a"], "role": 2}, {"role": "assistant"}),
    Case("whole float id", {"key": ["a"], "uid": 7.0}, {"id": 7}),
    Case("true is not an id", {"key": ["a"], "uid": True, "id": "x"}, {"id": "x"}),
    Case(
        "extensions decide the position of a card's entry",
        {"keys": ["a"], "position": "before_char", "extensions": {"position": 4, "depth": 2}},
        {"position": "at_depth", "depth": 2},
    ),
    Case(
        "nested filter",
        {"key": ["a"], "characterFilter": {"names": ["Mira"], "isExclude": True}},
        {"character_filter": CharacterFilter(("Mira",), (), exclude=True)},
    ),
    Case(
        "flat filter",
        {"keys": ["a"], "extensions": {"character_filter_tags": "t1, t2"}},
        {"character_filter": CharacterFilter((), ("t1", "t2"))},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_entry_is_read(case: Case) -> None:
    """Sound values are read into the typed fields, and nothing is noted."""
    entry, findings = read(case.raw)
    assert {name: getattr(entry, name) for name in case.expected} == case.expected
    assert findings == ()
    assert entry.raw is case.raw


@pytest.mark.parametrize(
    ("raw", "attribute", "value", "path"),
    [
        ({"key": ["a"], "depth": "2"}, "depth", 2, "entries[0].depth"),
        ({"key": ["a"], "depth": "deep"}, "depth", 4, "entries[0].depth"),
        ({"key": ["a"], "depth": MAX_NUMBER}, "depth", 4, "entries[0].depth"),
        ({"key": ["a"], "disable": "yes"}, "enabled", False, "entries[0].disable"),
        ({"key": ["a"], "position": 99}, "position", LorePosition.BEFORE_CHAR, "entries[0].position"),
        ({"keys": ["a"], "extensions": {"sticky": []}}, "sticky", None, "entries[0].extensions.sticky"),
    ],
)
def test_a_wrong_type_is_noted(raw: dict[str, Any], attribute: str, value: Any, path: str) -> None:
    """A value of another type is read as well as it can be, or has the default, with a finding that says where."""
    entry, (finding,) = read(raw)
    assert getattr(entry, attribute) == value
    assert (finding.rule, finding.path) == ("wrong-type", path)


def test_the_spelling_is_known_by_the_names_only_one_has() -> None:
    """World info where both tie; otherwise whichever has more names of its own."""
    assert spelling_of({}) is Spelling.WORLD
    assert spelling_of({"key": [], "keys": []}) is Spelling.WORLD
    assert spelling_of({"key": [], "keys": [], "enabled": True}) is Spelling.CARD


def test_the_tables_name_every_field_once() -> None:
    """No two fields of a table share a name, and numbers for positions follow the order of their names."""
    for table in ((*WORLD_FIELDS, *SHARED_FIELDS), EXTENSION_FIELDS):
        assert len({field.camel for field in table}) == len({field.attribute for field in table}) == len(table)
    assert [as_position(number) for number in range(len(POSITIONS))] == list(LorePosition)
