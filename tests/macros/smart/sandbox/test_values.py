"""What sandboxed code can hold: values come in as copies, are measured before they cost, and go out as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.smart.sandbox.limits import SandboxLimitError, SandboxLimits, SandboxRuntimeError
from innkeeper.macros.smart.sandbox.names import FUNCTIONS
from innkeeper.macros.smart.sandbox.values import (
    Frame,
    Variables,
    admit,
    article,
    boundary,
    items_of,
    kind_of,
    measure,
    size_of,
    storable,
    text_of,
)
from tests.macros.smart.sandbox_host import TableHost


def frame(table: dict[str, Any] | None = None, **limits: Any) -> Frame:
    """A run with these limits."""
    return Frame(TableHost(table), SandboxLimits(**limits))


_DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=10,
)


@given(_DATA)
def test_data_comes_in_and_goes_out_equal(value: Any) -> None:
    """Plain data is the same after it was admitted and stored, and no list or dict of it is shared."""
    run = frame()
    inside = admit(run, value)
    outside = storable(run, inside)
    assert value == inside == outside
    assert not isinstance(value, list | dict) or (value is not inside and inside is not outside)


@given(_DATA, st.integers(0, 60))
def test_what_is_measured_is_charged(value: Any, work: int) -> None:
    """A value either costs its size or ends the run; numbers are free."""
    run = frame(work=work)
    size = 0 if value is None or isinstance(value, int | float) else size_of(run, value)
    if size > work:
        with pytest.raises(SandboxLimitError, match="work"):
            measure(run, value)
    else:
        measure(run, value)
        assert run.left == work - size


@dataclass(frozen=True)
class Case:
    """A value, and the limit that it exceeds."""

    value: Any
    limit: str


CASES = (
    Case("x" * 101, "text_chars"),
    Case(["x" * 50, "y" * 50], "text_chars"),
    Case([0] * 11, "items"),
    Case([[[[0]]]], "value_depth"),
    Case({"a": {"b": {"c": {}}}}, "value_depth"),
    Case(1 << 80, "int_bits"),
    Case([1 << 80], "int_bits"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.limit}-{type(case.value).__name__}")
def test_what_is_too_large_does_not_come_in(case: Case) -> None:
    """Each limit of a value is an error that names it."""
    with pytest.raises(SandboxLimitError) as caught:
        admit(frame(text_chars=100, items=10, value_depth=3, int_bits=70), case.value)
    assert caught.value.limit == case.limit


@pytest.mark.parametrize("value", [{1}, b"a", 1j, [object()], {"k": ...}], ids=lambda value: type(value).__name__)
def test_what_is_not_data_does_not_come_in(value: Any) -> None:
    """A variable that holds an object of Python's is a typed error."""
    with pytest.raises(SandboxRuntimeError, match="does not know"):
        admit(frame(), value)


@pytest.mark.parametrize("value", [date(2024, 1, 1), FUNCTIONS["len"], [FUNCTIONS["len"]], {(1,): 2}], ids=repr)
def test_what_is_not_data_does_not_go_out(value: Any) -> None:
    """Moments, functions and keys that JSON has no word for cannot be kept in a variable."""
    with pytest.raises(SandboxRuntimeError, match="in a variable"):
        storable(frame(), value)


def test_keys_go_out_as_texts() -> None:
    """Keys become what JSON writes for them, and the variables the whole table."""
    run = frame({"a": 1})
    assert storable(run, {None: 1, True: 2, 1.5: 3, 4: 5}) == {"null": 1, "true": 2, "1.5": 3, "4": 5}
    assert storable(run, Variables(run)) == {"a": 1}
    assert text_of(run, Variables(run)) == "VarProxy({'a': 1})"


def test_long_numbers_are_charged() -> None:
    """A number of a machine word is free; a longer one costs, and more so the longer it is."""
    spent = []
    for bits in (64, 1_000, 10_000):
        run = frame()
        assert boundary(run, (1 << bits) - 1) == (1 << bits) - 1
        spent.append(run.limits.work - run.left)
    assert spent[0] == 0 < spent[1] < spent[2]


@pytest.mark.parametrize("value", [1, None, date(2024, 1, 1)], ids=repr)
def test_items_need_a_container(value: Any) -> None:
    """Only lists, tuples, texts and dicts can be gone through."""
    with pytest.raises(SandboxRuntimeError, match="sum needs a list"):
        items_of(frame(), value, "sum")


@dataclass(frozen=True)
class Shown:
    """A value, its kind, and how a message names it."""

    value: Any
    kind: str
    article: str


SHOWN = (
    Shown(5, "int", "the int 5"),
    Shown(None, "None", "None"),
    Shown("abc", "str", "the text 'abc'"),
    Shown(1 << 99, "int", "a int"),
    Shown(float("nan"), "float", "float"),
    Shown([1], "list", "a list"),
    Shown(FUNCTIONS["len"], "function", "a function"),
)


@pytest.mark.parametrize("case", SHOWN, ids=lambda case: case.article)
def test_names_in_messages(case: Shown) -> None:
    """A message says the kind, and the value where it is short."""
    assert (kind_of(case.value), article(case.value)) == (case.kind, case.article)
