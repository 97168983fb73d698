"""Paths: how they are read, and what writing makes on the way."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.engine.errors import MAX_LIST_INDEX, MAX_REPORTS, MacroArgumentError, MacroError, MacroLimitError
from innkeeper.macros.smart import SmartEnvironment, environment
from innkeeper.macros.smart.environment import MISSING, parse_path, read_path, write_path
from innkeeper.macros.smart.options import MAX_DEPTH, MAX_PATH_CHARS, MAX_PATH_PARTS
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import FormatError
from innkeeper.prompt.note import NoteKind


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
    assert parse_path(path) == parts


@pytest.mark.parametrize("path", ["a" * (MAX_PATH_CHARS + 1), "a." * (MAX_PATH_PARTS + 1)], ids=["chars", "parts"])
def test_long_paths_are_refused(path: str) -> None:
    """A path has a largest size."""
    with pytest.raises(MacroLimitError, match="MAX_PATH"):
        parse_path(path)


TABLE = {"a": {"b": [1, {"c": None}], "0": "x"}, "n": 5}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b[0]", 1),
        ("a.b[1].c", None),
        ("a.0", "x"),
        ("", TABLE),
        ("a[0]", MISSING),
        ("a.b[-1]", MISSING),
        ("a.b[2]", MISSING),
        ("a.b.c", MISSING),
        ("n.x", MISSING),
        ("z", MISSING),
    ],
    ids=lambda value: "missing" if value is MISSING else str(value),
)
def test_read(path: str, value: Any) -> None:
    """An index needs a list that has it, a key a dictionary that has it."""
    assert read_path(TABLE, path) is value or read_path(TABLE, path) == value


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
    assert write_path(case.table, case.path, "v", index_keys=case.index_keys) == case.grown
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
        write_path(table, path, "v")
    assert raised.value.where.path == path  # type: ignore[attr-defined]  # an error of ours
    assert table == {"a": []}


@given(st.text(alphabet="ab.[]'\"01- ", max_size=20))
def test_what_is_written_can_be_read(path: str) -> None:
    """In an empty table any path without a negative index is read back."""
    table: dict[str, Any] = {}
    parts = parse_path(path)
    if not parts or isinstance(parts[0], int) or any(isinstance(part, int) and part < 0 for part in parts):
        return
    write_path(table, path, "v")
    assert read_path(table, path) == "v"


def test_a_path_behind_a_key_of_a_value_in_a_list_raises() -> None:
    """A text or number in a list stays, and has no keys."""
    table: dict[str, Any] = {"a": ["text"]}
    with pytest.raises(MacroArgumentError, match="text has no key 'b'"):
        write_path(table, "a[0].b.c", "v")
    assert table == {"a": ["text"]}


def test_the_table_is_a_copy_all_the_way_down() -> None:
    """Frozen and shared values of the caller become plain ones of the run; objects that are no data are kept."""
    shared, other = [1], object()
    env = SmartEnvironment.of({"a": shared, "b": (shared,), "c": FrozenDict({"d": 1}), "o": other})
    env.write("a[0]", 2)
    env.write("c.d", 2)
    assert env.table == {"a": [2], "b": ([1],), "c": {"d": 2}, "o": other}
    assert shared == [1]


def test_a_fork_leaves_its_table_alone() -> None:
    """Neither writes nor changes to a container that was read reach the environment it is from."""
    env = SmartEnvironment.of({"a": {"b": [1]}, "n": 1})
    fork = env.fork()
    assert fork.value("n") == 1
    assert fork.table is env.table
    fork.value("a.b").append(2)
    fork.write("a.c", 3)
    assert fork.table == {"a": {"b": [1, 2], "c": 3}, "n": 1}
    assert env.table == {"a": {"b": [1]}, "n": 1}
    assert fork.notes is env.notes


@pytest.mark.parametrize(
    ("policy", "shown"),
    [
        (None, "[UndefinedVar:x]"),
        ({}, "[UndefinedVar:x]"),
        ({"undefined_get": "ERROR", "error_token": "<{name}|{name}>"}, "<x|x>"),
        ({"error_token": 5}, "5"),
        ({"error_token": None}, "None"),
        ({"undefined_get": None, "error_token": 5}, ""),
        ({"undefined_get": "empty"}, ""),
        ({"undefined_get": "zzz"}, ""),
    ],
    ids=str,
)
def test_policy(policy: Any, shown: str) -> None:
    """What stands for a variable that is not set."""
    assert SmartEnvironment.of({}, policy).read("x") == shown


def test_wrong_types_raise() -> None:
    """Variables and policy are objects."""
    with pytest.raises(FormatError, match="variables must be an object, not a list"):
        SmartEnvironment.of([])  # type: ignore[arg-type]  # what is tested
    with pytest.raises(FormatError, match="policy must be an object, not text"):
        SmartEnvironment.of({}, "error")  # type: ignore[arg-type]  # what is tested


def test_what_is_stored_is_data() -> None:
    """Moments become text, functions are refused, containers are copied."""
    env, value = SmartEnvironment.of(), [1]
    env.write("d", datetime(2024, 5, 17, tzinfo=UTC))
    env.write("l", value)
    value.append(2)
    assert env.table == {"d": "2024-05-17 00:00:00+00:00", "l": [1]}
    with pytest.raises(MacroArgumentError, match="cannot hold builtin_function"):
        env.write("f", len)


def test_values_have_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given and written counts, as do the items that lists grow by, and values shared many times count each time."""
    monkeypatch.setattr(environment, "MAX_TABLE", 1_000)
    env = SmartEnvironment.of({"a": "x" * 500})
    with pytest.raises(MacroLimitError, match="MAX_TABLE"):
        env.write("b", "x" * 500)
    with pytest.raises(MacroLimitError, match="MAX_TABLE"):
        SmartEnvironment.of().write("l[200]", 1)
    lots: list[Any] = []
    for _ in range(100):
        lots = [lots, lots]
    with pytest.raises(MacroLimitError, match="MAX_"):
        SmartEnvironment.of({"lots": lots})


def test_values_have_a_largest_depth() -> None:
    """Deeper ones raise, long before Python's stack does; so does one that holds itself."""
    deep: Any = 1
    for _ in range(MAX_DEPTH + 1):
        deep = {"a": deep}
    loop: list[Any] = []
    loop.append(loop)
    for value in (deep, loop):
        with pytest.raises(MacroLimitError, match="MAX_DEPTH"):
            SmartEnvironment.of({"v": value})


def test_the_history_is_searched() -> None:
    """In the variable, unless the caller has a way of its own, which a write to the variable ends."""
    assert SmartEnvironment.of({"chat_history_text": ["a", "b"]}).has("b")
    env = SmartEnvironment.of({"chat_history_text": "a"}, contains=lambda word: word == "own")
    assert env.has("own")
    env.write("chat_history_text", "new")
    assert [env.has("own"), env.has("new")] == [False, True]
    env.replaced({"chat_history_text": "other"})
    assert env.has("other")


def test_reports_are_bounded() -> None:
    """Of more errors than are listed only that there are more."""
    env = SmartEnvironment.of()
    for number in range(MAX_REPORTS + 5):
        env.report(MacroError(f"no {number}", macro="m"))
    assert len(env.notes) == MAX_REPORTS + 1
    assert (env.notes[0].kind, env.notes[0].data["macro"]) == (NoteKind.MACRO, "m")
    assert env.notes[-1].kind is NoteKind.LIMIT


def test_no_path_is_the_table() -> None:
    """Reading it gives all; writing it nothing."""
    env = SmartEnvironment.of({"a": 1})
    env.write("", 5)
    assert env.value("") == {"a": 1}
    assert env.value("z", None) is None
    assert env.value("z") is MISSING


def test_a_fork_copies_only_what_it_writes() -> None:
    """What a fork writes lies over the table; of containers on the way there is a copy of one level, made once."""
    env = SmartEnvironment.of({"a": {"b": {"c": 1}, "d": [1]}, "l": [[1], [2]], "n": 1})
    fork = env.fork()
    fork.write("a.b.c", 2)
    fork.write("a.b.x", 3)
    fork.write("l[0][0]", 9)
    fork.write("new.part", 4)
    assert env.table == {"a": {"b": {"c": 1}, "d": [1]}, "l": [[1], [2]], "n": 1}
    assert [fork.read(path) for path in ("a.b", "l", "new.part", "n")] == [{"c": 2, "x": 3}, [[9], [2]], 4, 1]
    assert fork.read("a.d") is env.table["a"]["d"]
    assert fork.fork().read("") == {"a": {"b": {"c": 2, "x": 3}, "d": [1]}, "l": [[9], [2]], "new": {"part": 4}, "n": 1}
    fork.settle()
    assert fork.table["a"]["d"] is not env.table["a"]["d"]


def test_a_fork_of_a_fork_leaves_it_alone() -> None:
    """Each has what it wrote itself, over what the one below it has."""
    fork = SmartEnvironment.of({"a": {"b": 1}}).fork()
    fork.write("a.c", 2)
    other = fork.fork()
    other.write("a.c", 3)
    assert [fork.read("a"), other.read("a")] == [{"b": 1, "c": 2}, {"b": 1, "c": 3}]
