"""Paths: how they are read, and what writing makes on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.engine.errors import MAX_LIST_INDEX, MacroArgumentError, MacroLimitError
from innkeeper.macros.smart import paths
from innkeeper.macros.smart.options import MAX_PATH_CHARS, MAX_PATH_PARTS


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("a.b", ("a", "b")),
        (".a..b.", ("a", "b")),
        ("a[ 1 ]", ("a", 1)),
        ("a[-1][+2]", ("a", -1, "+2")),
        ("a[１]", ("a", 1)),
        ("a['b.c'][\"d]\"]", ("a", "b.c", "d]")),
        ("a[key][]", ("a", "key")),
        ("a.0", ("a", "0")),
        ("a[1", ("a", 1)),
        ("a['b", ("a", "b")),
        ("a['b'x].c", ("a", "b", "c")),
        ("a[ 'b' ]", ("a", "'b'")),
        ("心.醋意值[0]", ("心", "醋意值", 0)),
        ("a[1]b", ("a", 1, "b")),
        ("", ()),
        ("a[" + "9" * 100 + "]", ("a", int("9" * 18))),
    ],
    ids=lambda value: str(value)[:30],
)
def test_parse(path: str, parts: tuple[str | int, ...]) -> None:
    """Keys are texts, indexes are numbers."""
    assert paths.parse(path) == parts


@pytest.mark.parametrize("path", ["a" * (MAX_PATH_CHARS + 1), "a." * (MAX_PATH_PARTS + 1)], ids=["chars", "parts"])
def test_long_paths_are_refused(path: str) -> None:
    """A path has a largest size."""
    with pytest.raises(MacroLimitError, match="MAX_PATH"):
        paths.parse(path)


TABLE = {"a": {"b": [1, {"c": None}], "0": "x"}, "n": 5}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b[0]", 1),
        ("a.b[1].c", None),
        ("a.0", "x"),
        ("", TABLE),
        ("a[0]", paths.MISSING),
        ("a.b[-1]", paths.MISSING),
        ("a.b[2]", paths.MISSING),
        ("a.b.c", paths.MISSING),
        ("n.x", paths.MISSING),
        ("z", paths.MISSING),
    ],
    ids=lambda value: "missing" if value is paths.MISSING else str(value),
)
def test_read(path: str, value: Any) -> None:
    """An index needs a list that has it, a key a dictionary that has it."""
    assert paths.read(TABLE, path) is value or paths.read(TABLE, path) == value


@dataclass(frozen=True)
class Write:
    """A table, the path written to, and what it is then."""

    id: str
    table: dict[str, Any]
    path: str
    after: dict[str, Any]
    grown: int = 0
    index_keys: bool = False


WRITES = [
    Write("new", {}, "a", {"a": "v"}),
    Write("dictionaries on the way", {"a": 1}, "a.b.c", {"a": {"b": {"c": "v"}}}),
    Write("list on the way", {}, "a[2]", {"a": [None, None, "v"]}, grown=3),
    Write("list of dictionaries", {}, "a[1].k", {"a": [None, {"k": "v"}]}, grown=2),
    Write("list of lists", {}, "a[0][1]", {"a": [[None, "v"]]}, grown=3),
    Write("from the end", {"a": [1, 2]}, "a[-2]", {"a": ["v", 2]}),
    Write("key of a list", {"a": [1]}, "a.k", {"a": [1]}),
    Write("value in a list on the way", {"a": [1]}, "a[0].k", {"a": [1]}),
    Write("index of a value in a list", {"a": [1]}, "a[0][1].k", {"a": [1]}),
    Write("index of a dictionary", {"a": {}}, "a[1]", {"a": {}}),
    Write("index of a dictionary as a key", {"a": {}}, "a[1]", {"a": {"1": "v"}}, index_keys=True),
    Write("index of a dictionary on the way", {"a": {}}, "a[1].b", {"a": {}}, index_keys=True),
    Write("no path", {"a": 1}, "", {"a": 1}),
]


@pytest.mark.parametrize("case", WRITES, ids=lambda case: case.id)
def test_write(case: Write) -> None:
    """The table changes as listed, and what lists grew by is told."""
    assert paths.write(case.table, case.path, "v", index_keys=case.index_keys) == case.grown
    assert case.table == case.after


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("a[-1]", MacroArgumentError),
        ("a[-1].b", MacroArgumentError),
        ("a.b.c", MacroArgumentError),
        (f"a[{MAX_LIST_INDEX + 1}]", MacroLimitError),
    ],
    ids=["before the list", "before the list, on the way", "behind a key of a list", "too high"],
)
def test_a_part_out_of_reach_raises(path: str, error: type[Exception]) -> None:
    """The error names the path, and the list is as it was."""
    table: dict[str, Any] = {"a": []}
    with pytest.raises(error) as raised:
        paths.write(table, path, "v")
    assert raised.value.where.path == path  # type: ignore[attr-defined]  # an error of ours
    assert table == {"a": []}


@given(st.text(alphabet="ab.[]'\"01- ", max_size=20))
def test_what_is_written_can_be_read(path: str) -> None:
    """In an empty table any path without a negative index is read back."""
    table: dict[str, Any] = {}
    parts = paths.parse(path)
    if not parts or isinstance(parts[0], int) or any(isinstance(part, int) and part < 0 for part in parts):
        return
    paths.write(table, path, "v")
    assert paths.read(table, path) == "v"


def test_a_path_behind_a_key_of_a_value_in_a_list_raises() -> None:
    """A text or number in a list stays, and has no keys."""
    table: dict[str, Any] = {"a": ["text"]}
    with pytest.raises(MacroArgumentError, match="type str has no key 'b'"):
        paths.write(table, "a[0].b.c", "v")
    assert table == {"a": ["text"]}
