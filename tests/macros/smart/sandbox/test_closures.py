"""Closures: calls, comparisons and items as functions of a run, each with its checks."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.macros.smart.sandbox.closures import (
    Closure,
    call_any,
    call_named,
    call_one,
    call_two,
    comparisons,
    in_order,
    item_of,
    one_comparison,
    put_item,
    set_name,
    unpacked,
)
from innkeeper.macros.smart.sandbox.limits import SANDBOX_LIMITS, SandboxRuntimeError
from innkeeper.macros.smart.sandbox.names import FUNCTIONS
from innkeeper.macros.smart.sandbox.values import Frame, Variables
from tests.macros.smart.sandbox_host import TableHost


def frame(table: dict[str, Any] | None = None) -> Frame:
    """A run over these variables."""
    return Frame(TableHost(table), SANDBOX_LIMITS)


def constant(value: Any) -> Closure:
    """What gives this value."""
    return lambda _frame: value


def never(_frame: Frame) -> Any:
    """What must not be reached."""
    pytest.fail("an operand was evaluated that Python does not evaluate")


def test_statements_run_in_order() -> None:
    """The value of statements is that of ``result``, and nothing where they set none."""
    run = frame()
    set_result = set_name("result")
    assert in_order([lambda each: set_result(each, 1), lambda each: set_result(each, 2)])(run) == 2
    assert in_order([constant(5)])(frame()) is None


def test_a_chain_ends_at_the_first_pair_that_fails() -> None:
    """``a < b < c`` compares neighbours, and does not look at what stands behind a failure."""
    less = operator.lt
    assert comparisons(constant(1), [(less, constant(2)), (less, constant(3))])(frame()) is True
    assert comparisons(constant(2), [(less, constant(1)), (less, never)])(frame()) is False
    assert one_comparison(constant("a"), less, constant("b"))(frame()) is True


def test_calls() -> None:
    """Calls with one, two or any number of arguments, with names and dicts of names, are the same call."""
    number, top = FUNCTIONS["legacy_num"], constant(FUNCTIONS["legacy_num"])
    text, default = constant("x"), constant(7)
    assert call_one(number, constant("3"))(frame()) == 3.0
    assert [
        call_two(number, text, default)(frame()),
        call_any(top, [text, default])(frame()),
        call_named(top, [text], [("default", default)])(frame()),
        call_named(top, [], [(None, constant({"v": "x", "default": 7}))])(frame()),
    ] == [7.0] * 4


@dataclass(frozen=True)
class Case:
    """A closure that fails, and words of its message."""

    name: str
    closure: Closure
    message: str


CASES = (
    Case("not a function", call_any(constant(5), []), "a int cannot be called"),
    Case(
        "a name twice",
        call_named(constant(FUNCTIONS["legacy_num"]), [], [("v", constant(1)), (None, constant({"v": 2}))]),
        "v is given twice",
    ),
    Case("names that are no texts", lambda run: unpacked(run, {1: 2}), r"\*\* needs a dict"),
    Case("names that are no dict", lambda run: unpacked(run, [1]), "not a list"),
    Case("items of a number", lambda run: item_of(run, 5, 0), "a int has no items"),
    Case("a slice of the variables", lambda run: item_of(run, Variables(run), slice(1)), "vars has no slices"),
    Case("items set in a text", lambda run: put_item(run, "abc", 0, "x"), "items of a str cannot be set"),
    Case("a slice set", lambda run: put_item(run, Variables(run), slice(1), 1), "vars has no slices"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_failures_are_typed(case: Case) -> None:
    """What cannot be called, unpacked or indexed is an error that says so."""
    with pytest.raises(SandboxRuntimeError, match=case.message):
        case.closure(frame())


def test_items_of_the_variables() -> None:
    """``vars[path]`` reads and writes the variable itself."""
    table: dict[str, Any] = {"a": 1}
    run = frame(table)
    put_item(run, Variables(run), "b", 2)
    assert (item_of(run, Variables(run), "a"), table) == (1, {"a": 1, "b": 2})


def test_setting_an_item_copies() -> None:
    """A list whose item is set is a new list, so that none ever contains itself."""
    run, whole = frame(), [1, 2]
    put_item(run, whole, 0, whole)
    assert whole == [1, 2]
    assert run.names["vars"] == [[1, 2], 2]
