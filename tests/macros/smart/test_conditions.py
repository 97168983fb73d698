"""Conditions: only ``true`` holds, and none leaves a trace in the variables."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.macros.smart import condition_holds, condition_value
from tests.macros.smart.smart_texts import environment

TABLE = {"stat": {"mood": [31]}, "chat_history_text": "Ayla"}


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("true", True),
        (" TRUE\n", True),
        (True, True),
        ("<<keywords:Ayla,Bob>>", True),
        ("{{python:legacy_num(getvar('stat.mood[0]'),0) >= 30}}", True),
        ("{{setvar:stat.x:1}}true", True),
        (None, False),
        ("", False),
        (" ", False),
        (1, False),
        ("yes", False),
        ("true.", False),
        ("<<keywords:Bob>>", False),
        ("{{python:1/0}}", False),
        ("{{setvar:stat.mood[-9]:1}}true", False),
    ],
    ids=repr,
)
def test_condition(condition: Any, holds: bool) -> None:
    """Its text, macros replaced, is compared with ``true``; what it writes is gone after it."""
    env = environment(TABLE)
    assert condition_holds(condition, env) is holds
    assert env.table == TABLE


def test_order_decides_nothing() -> None:
    """A condition does not see what another one wrote, time and again."""
    env = environment({"a": {"b": "0"}})
    conditions = ["{{setvar:a.b:true}}{{getvar:a.b}}", "{{getvar:a.b}}"]
    assert [[condition_holds(each, env) for each in conditions] for _ in range(300)] == [[True, False]] * 300


def test_a_failure_is_told() -> None:
    """It comes to nothing, with a note."""
    env = environment({"l": []})
    assert condition_value("x{{setvar:l[-1]:1}}", env) == ""
    assert env.notes[0].data["kind"] == "variable_path"
