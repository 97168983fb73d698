"""The names of the sandbox: a closed table of functions of our own, each with a usage that holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.macros.smart.sandbox.limits import SANDBOX_LIMITS, SandboxError, SandboxLimits
from innkeeper.macros.smart.sandbox.names import DOTTED, FUNCTIONS, MODULES, getvar, setvar
from innkeeper.macros.smart.sandbox.values import Frame, Function
from tests.macros.smart.sandbox_host import TableHost


def frame(table: dict[str, Any] | None = None, limits: SandboxLimits = SANDBOX_LIMITS) -> Frame:
    """A run over these variables."""
    return Frame(TableHost(table), limits)


def test_the_table_is_closed() -> None:
    """Every name is a function of ours whose usage begins with the name."""
    for name, function in {**FUNCTIONS, **DOTTED}.items():
        assert type(function) is Function
        assert function.usage.startswith(name + "(")
    assert {path.split(".", 1)[0] for path in DOTTED} == set(MODULES)
    assert not [name for name in {**FUNCTIONS, **DOTTED} if "__" in name]


@dataclass(frozen=True)
class Case:
    """A function, its arguments, and its value."""

    name: str
    args: tuple[Any, ...]
    value: Any


CASES = (
    Case("len", ({"a": 1},), 1),
    Case("max", ([3, 9, 4],), 9),
    Case("min", (3, 1), 1),
    Case("sum", ([1, 2], 10), 13),
    Case("round", (12345, -2), 12300),
    Case("round", (5, -(10**9)), 0),
    Case("sorted", ("bca",), ["a", "b", "c"]),
    Case("int", ("0x1f", 0), 31),
    Case("float", ("1e3",), 1000.0),
    Case("legacy_upper", ("straße",), "STRASSE"),
    Case("legacy_reverse", ("abc",), "cba"),
    Case("legacy_num", ("x", 7), 7.0),
    Case("legacy_time", ("%Y",), "2024"),
    Case("random.randint", (4, 4), 4),
    Case("math.floor", (2.5,), 2),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}{case.args}")
def test_values(case: Case) -> None:
    """A function gives what its usage promises."""
    assert {**FUNCTIONS, **DOTTED}[case.name].call(frame(), *case.args) == case.value


@dataclass(frozen=True)
class Refused:
    """A function, arguments that it does not take, and words of the message."""

    name: str
    args: tuple[Any, ...]
    message: str


REFUSED = (
    Refused("len", (5,), "the int 5 has no length"),
    Refused("abs", ("x",), "abs needs a number"),
    Refused("max", (), "max needs values"),
    Refused("sum", (["a"], ""), "sum does not join texts"),
    Refused("int", (1.5, 10), "only with a text"),
    Refused("int", ("1", 99), "the base of int"),
    Refused("int", ("9" * 5000,), "number_chars"),
    Refused("round", (1, "x"), "whole number of digits"),
    Refused("random.randint", (1, 2.0), "randint needs whole numbers"),
    Refused("random.choice", ({"a": 1},), "choice needs a list"),
    Refused("random.shuffle", ("abc",), "shuffle needs a list"),
    Refused("math.sqrt", ("4",), "sqrt needs a number"),
)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: f"{case.name}{case.args}"[:40])
def test_refused(case: Refused) -> None:
    """What a function does not take is a typed error that names it."""
    with pytest.raises(SandboxError, match=case.message):
        {**FUNCTIONS, **DOTTED}[case.name].call(frame(), *case.args)


def test_a_variable_is_read_and_written_by_its_path() -> None:
    """Setting gives no text, what is read is a copy, and any value names a path by its text."""
    table: dict[str, Any] = {}
    run = frame(table)
    assert setvar(run, "list", [1, 2]) == ""
    getvar(run, "list").append(3)
    assert table == {"list": [1, 2]}
    assert setvar(run, 7, "x") == ""
    assert getvar(run, "7") == "x"


def test_steps_count_in_the_variable() -> None:
    """``legacy_inc``, ``legacy_dec`` and ``legacy_addvar`` change the variable and give nothing."""
    table: dict[str, Any] = {"n": 1, "s": "a"}
    run = frame(table)
    assert [FUNCTIONS[name].call(run, "n") for name in ("legacy_inc", "legacy_inc", "legacy_dec")] == ["", "", ""]
    assert FUNCTIONS["legacy_addvar"].call(run, "s", "b") == ""
    assert table == {"n": "2.0", "s": "ab"}


def test_sorting_is_charged_before_it_is_done() -> None:
    """A sort, and a key that makes long texts, end at the work of the run."""
    run = frame(limits=SandboxLimits(work=1_000))
    with pytest.raises(SandboxError, match="work"):
        FUNCTIONS["sorted"].call(run, ["x" * 90] * 5, key=FUNCTIONS["legacy_upper"])
