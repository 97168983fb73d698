"""The environment of a run: its own table, forks that leave it alone, policy, notes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from innkeeper.macros.engine.errors import MAX_REPORTS, MacroArgumentError, MacroError, MacroLimitError
from innkeeper.macros.smart import SmartEnvironment, paths
from innkeeper.macros.smart import environment as table_module
from innkeeper.macros.smart.options import MAX_DEPTH
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import FormatError
from innkeeper.prompt.note import NoteKind


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
    with pytest.raises(FormatError, match="variables must be an object, not list"):
        SmartEnvironment.of([])  # type: ignore[arg-type]  # what is tested
    with pytest.raises(FormatError, match="policy must be an object, not str"):
        SmartEnvironment.of({}, "error")  # type: ignore[arg-type]  # what is tested


def test_what_is_stored_is_data() -> None:
    """Moments become text, functions are refused, containers are copied."""
    env, value = SmartEnvironment.of(), [1]
    env.write("d", datetime(2024, 5, 17, tzinfo=UTC))
    env.write("l", value)
    value.append(2)
    assert env.table == {"d": "2024-05-17 00:00:00+00:00", "l": [1]}
    with pytest.raises(MacroArgumentError, match="cannot hold a value of type builtin_function"):
        env.write("f", len)


def test_values_have_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given and written counts, as do the items that lists grow by, and values shared many times count each time."""
    monkeypatch.setattr(table_module, "MAX_TABLE", 1_000)
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
    assert env.value("z") is paths.MISSING
