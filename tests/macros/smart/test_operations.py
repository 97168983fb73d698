"""Operations: the golden cases of SmartTavern, and what the default does otherwise."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from innkeeper.macros.engine.errors import MacroArgumentError
from innkeeper.macros.smart import (
    FIXED,
    SMARTTAVERN,
    MacroCompat,
    MacroOptions,
    condition_holds,
    condition_value,
    process,
    process_text,
    process_text_batch,
)
from innkeeper.parity.outside import python_chance
from innkeeper.prompt.errors import FormatError
from innkeeper.prompt.note import Note
from tests.macros.smart.smart_texts import environment
from tests.shared import VECTORS

OPERATIONS: Final[dict[str, Callable[..., Any]]] = {
    "macro.process_text": process_text,
    "macro.process": process,
    "macro.process_text_batch": process_text_batch,
}
CASES: Final = [
    case
    for case in json.loads((VECTORS / "smart" / "macro.json").read_text(encoding="utf-8"))
    if case["call"] in OPERATIONS
]
FIXED_OTHERWISE: Final = {
    "nested_quote_break",
    "value_rescanned",
    "value_rescanned_python",
    "overlap_cross",
    "set_path_extends",
    "addvar_path",
    "decvar_path",
    "msgs_nested_alias_in_initial",
}
"""Cases in which a value is scanned again, is code, or shows in ``initial``: by default these come out otherwise."""


def answer(case: dict[str, Any], compat: MacroCompat) -> Any:
    """Our answer to a case."""
    now = datetime.fromisoformat(case.get("clock", "2024-01-01 00:00:00")).replace(tzinfo=UTC)
    chance = python_chance(case["seed"]) if "seed" in case else None
    return OPERATIONS[case["call"]](**case["input"], options=MacroOptions(compat=compat, now=now, random=chance))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_golden(case: dict[str, Any]) -> None:
    """SmartTavern's answer is ours; where it raises an IndexError, so does a typed one of ours; inputs stay as they were."""
    given = copy.deepcopy(case["input"])
    if "error" in case:
        with pytest.raises(MacroArgumentError):
            answer(case, SMARTTAVERN)
    else:
        assert answer(case, SMARTTAVERN) == case["expected"]
        assert (answer(case, FIXED) == case["expected"]) is (case["name"] not in FIXED_OTHERWISE)
    assert case["input"] == given


def test_the_callers_variables_are_never_changed() -> None:
    """Not even below their top level, and ``initial`` is what they were."""
    variables = {"a": {"b": [1]}}
    done = process_text("{{setvar:a.b[0]:2}}{{setvar:a.c:3}}", variables)
    assert variables == {"a": {"b": [1]}} == done["variables"]["initial"]
    assert done["variables"]["final"] == {"a": {"b": ["2"], "c": "3"}}


def test_batches_are_apart() -> None:
    """A text sees nothing that another one wrote, not even below the top level; they draw from one stream."""
    done = process_text_batch(
        ["{{setvar:a.b:2}}", "{{getvar:a.b}}"], {"a": {"b": 1}}, options=MacroOptions(compat=SMARTTAVERN)
    )
    assert done["texts"] == ["", "1"]
    drawn = process_text_batch(["{{roll:d1000}}"] * 5)["texts"]
    assert drawn == process_text_batch(["{{roll:d1000}}"] * 5)["texts"]
    assert len(set(drawn)) > 1


def test_what_is_left_out_leaves_a_note() -> None:
    """Messages that are none and texts that raise are told, with their place."""
    notes: list[Note] = []
    process(["x", {"content": "{{foo}}{{setvar:l[-1]:z}}"}], {"l": []}, notes=notes)
    process_text_batch(["{{setvar:l[-1]:z}}"], {"l": []}, notes=notes)
    assert [str(note.where) for note in notes] == [
        "messages[0]",
        "messages[1].content:1:1",
        "messages[1].content:1:8: l[-1]",
        "texts[0]:1:1: l[-1]",
    ]


def test_a_note_without_a_place_says_its_text() -> None:
    """Where a macro stands is not known in a value; which text it came into is."""
    notes: list[Note] = []
    process([{"content": "{{getvar:x}}"}], {"x": "{{foo}}"}, options=MacroOptions(compat=SMARTTAVERN), notes=notes)
    assert [str(note.where) for note in notes] == ["messages[0].content"]


def test_nothing_is_no_text() -> None:
    """Absent lists are empty; absent content becomes an empty text, other content Python's text of it."""
    assert process(None)["messages"] == []
    assert process_text_batch(None) == {"texts": [], "variables_list": []}
    assert process([{"role": "user"}, {"content": 5}])["messages"] == [
        {"role": "user", "content": ""},
        {"content": "5"},
    ]


@pytest.mark.parametrize(
    ("call", "path"),
    [
        (lambda: OPERATIONS["macro.process_text"]("x", [1]), None),
        (lambda: OPERATIONS["macro.process_text"]("x", None, "error"), None),
        (lambda: process({"role": "user"}), "messages"),
        (lambda: process_text_batch("x"), "texts"),
    ],
    ids=["variables", "policy", "messages", "texts"],
)
def test_wrong_types_raise(call: Any, path: str | None) -> None:
    """A `FormatError` says what is wrong where."""
    with pytest.raises(FormatError) as raised:
        call()
    assert (raised.value.where.path if raised.value.where else None) == path


@pytest.mark.parametrize("text", [["{{upper:a}}"], {"a": "<<upper:a>>"}, 1.5])
def test_what_is_no_text_runs_no_macros(text: Any) -> None:
    """It is written as Python writes it."""
    assert process_text(text)["text"] == str(text)


def test_a_failed_text_of_a_batch_leaves_its_variables() -> None:
    """What it had set before it failed is gone."""
    answer = process_text_batch(["{{setvar:b:1}}{{setvar:l[-1]:z}}"], {"l": []})
    assert answer == {"texts": [""], "variables_list": [{"initial": {"l": []}, "final": {"l": []}}]}


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
    assert env.notes[0].data["kind"] == "macro_argument"
