"""The compiler: code is refused as a whole before it runs, kept by its text, and fails with its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.macros.smart.sandbox.compiler import program
from innkeeper.macros.smart.sandbox.limits import (
    CACHED_CODE_CHARS,
    SANDBOX_LIMITS,
    SandboxError,
    SandboxForbiddenError,
    SandboxLimitError,
    SandboxLimits,
    SandboxRuntimeError,
    SandboxSyntaxError,
)
from innkeeper.macros.smart.sandbox.values import Frame
from tests.macros.smart.sandbox_host import TableHost


def ran(code: str, table: dict[str, Any] | None = None) -> Any:
    """What the compiled code gives."""
    return program(code).run(Frame(TableHost(table), SANDBOX_LIMITS))


@dataclass(frozen=True)
class Case:
    """Code that never runs, its error, and where that is."""

    code: str
    error: type[SandboxError]
    line: int
    column: int


REFUSED = (
    Case("1 +", SandboxSyntaxError, 1, 4),
    Case("x = 1\ny = = 2", SandboxSyntaxError, 2, 5),
    Case("~1", SandboxForbiddenError, 1, 1),
    Case("1 << 2", SandboxForbiddenError, 1, 1),
    Case("1j", SandboxForbiddenError, 1, 1),
    Case("{1, 2}", SandboxForbiddenError, 1, 1),
    Case("(x := 1)", SandboxForbiddenError, 1, 2),
    Case("1 + eval('1')", SandboxForbiddenError, 1, 5),
    Case("'é'.upper()", SandboxForbiddenError, 1, 1),
    Case("'é' + math.pi", SandboxForbiddenError, 1, 7),
    Case("x = [1]\nx[0]", SandboxForbiddenError, 2, 1),
    Case("math.x = 1", SandboxForbiddenError, 1, 1),
    Case("*a, b = 1, 2", SandboxForbiddenError, 1, 1),
    Case("len(*[1])", SandboxForbiddenError, 1, 5),
)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.code)
def test_refused_before_it_runs(case: Case) -> None:
    """What the language does not have is refused with its line and column, also where it would never be reached."""
    with pytest.raises(case.error) as caught:
        program(case.code)
    where = caught.value.where
    assert where is not None
    assert (where.line, where.column) == (case.line, case.column)


FAILING = (
    Case("1/0", SandboxRuntimeError, 1, 1),
    Case("x = 1\ny = x + unknown", SandboxRuntimeError, 2, 9),
    Case("'é' + (1 + 'a')", SandboxRuntimeError, 1, 8),
    Case("a, b = 1, 2, 3", SandboxRuntimeError, 1, 1),
    Case("len = 5\nlen(1)", SandboxRuntimeError, 2, 1),
    Case("math = 1\nmath.sqrt(4)", SandboxRuntimeError, 2, 1),
    Case("len()", SandboxRuntimeError, 1, 1),
)


@pytest.mark.parametrize("case", FAILING, ids=lambda case: case.code)
def test_failures_say_where(case: Case) -> None:
    """A failure while code runs is typed, and has the place of the innermost part that failed."""
    made = program(case.code)
    with pytest.raises(case.error) as caught:
        made.run(Frame(TableHost(), SANDBOX_LIMITS))
    where = caught.value.where
    assert where is not None
    assert (where.line, where.column) == (case.line, case.column)


@dataclass(frozen=True)
class Value:
    """Code and its value."""

    code: str
    value: Any


VALUES = (
    Value("0 and 1/0", 0),
    Value("1 or 1/0", 1),
    Value("'a' if 1 else 1/0", "a"),
    Value("2 < 1 < 1/0", False),
    Value("__builtins__", {}),
    Value("x = 1\nif x: result = 'yes'\nelse: result = 1/0", "yes"),
    Value("x = y = 2\nx *= 3\nresult = (x, y)", (6, 2)),
    Value("abs(-1)\nabs = len\nresult = abs('ab')", 2),
    Value("1  ", 1),
)


@pytest.mark.parametrize("case", VALUES, ids=lambda case: case.code)
def test_values(case: Value) -> None:
    """Operands that are not needed are not evaluated, and a name that code sets hides the function."""
    assert ran(case.code) == case.value


def test_short_code_is_compiled_once() -> None:
    """The same short code is the same program under the usual limits, and nothing of a run stays in it."""
    assert program("1 + 1") is program("1 + 1")
    assert program("1 + 1", SandboxLimits(depth=9)) is not program("1 + 1")
    long = "1 #" + " " * CACHED_CODE_CHARS + "x"
    assert program(long) is not program(long)
    made = program("x = getvar('a')\nresult = x")
    assert [made.run(Frame(TableHost({"a": each}), SANDBOX_LIMITS)) for each in (1, 2)] == [1, 2]


@pytest.mark.parametrize("code", ["1+1+1+1", "[[[[1]]]]", "if 1:\n if 1:\n  if 1:\n   x=1"], ids=repr)
def test_depth(code: str) -> None:
    """Expressions and blocks nest as deep as the limits say."""
    with pytest.raises(SandboxLimitError) as caught:
        program(code, SandboxLimits(depth=3))
    assert caught.value.limit == "depth"
