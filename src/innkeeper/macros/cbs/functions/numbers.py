"""Functions of numbers: arithmetic and comparisons, in which ``1`` is true."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from operator import add, ge, gt, le, lt
from typing import Final

from innkeeper.macros.cbs.calculation import calculate, power, remainder
from innkeeper.macros.cbs.functions.lists import values_of
from innkeeper.macros.cbs.run import CbsCall, Function, Result, ThrownError, by_alias
from innkeeper.text.javascript.values import fixed, number_text, parse_int, to_number

_MOST_DIGITS: Final = 100
_HALF: Final = 0.5


def _flag(test: bool) -> str:  # noqa: FBT001 - the one argument
    return "1" if test else "0"


def _of_one(compute: Callable[[float], float]) -> Function:
    """A function of a number; what is not finite stays."""
    return lambda call: number_text(value if not math.isfinite(value := call.number(0)) else compute(value))


def _of_list(compute: Callable[[list[float]], float]) -> Function:
    """A function of several numbers; what is none counts as 0."""

    def computed(call: CbsCall) -> Result:
        numbers = map(to_number, values_of(call))
        return number_text(compute([0.0 if math.isnan(number) else number for number in numbers]))

    return computed


def _compared(test: Callable[[float, float], bool]) -> Function:
    return lambda call: _flag(test(call.number(0), call.number(1)))


def _equal(call: CbsCall) -> bool:
    """Whether the first two arguments are the same text; two that are missing are."""
    return (call.args[:1] or None) == (call.args[1:2] or None)


def fixnum(call: CbsCall) -> Result:
    """A number with a fixed count of decimals."""
    value, digits = call.number(0), call.number(1)
    digits = 0 if math.isnan(digits) else digits
    if not -1 < digits < _MOST_DIGITS + 1:
        raise ThrownError
    return fixed(value, int(digits))


def tohex(call: CbsCall) -> Result:
    """A whole number in base 16."""
    value = parse_int(call.shown(0))
    return f"{int(value):x}" if math.isfinite(value) else number_text(value)


FUNCTIONS: Final[Mapping[str, Function]] = by_alias(
    {
        "calc": lambda call: number_text(calculate(call.text(0), call.run.variable, call.scope.global_variable)),
        "round": _of_one(lambda value: math.floor(value) + (value - math.floor(value) >= _HALF)),
        "floor": _of_one(math.floor),
        "ceil": _of_one(math.ceil),
        "abs": lambda call: number_text(abs(call.number(0))),
        "remaind": lambda call: number_text(remainder(call.number(0), call.number(1))),
        "pow": lambda call: number_text(power(call.number(0), call.number(1))),
        "min": _of_list(lambda numbers: min(numbers, default=math.inf)),
        "max": _of_list(lambda numbers: max(numbers, default=-math.inf)),
        "sum": _of_list(lambda numbers: reduce(add, numbers, 0.0)),
        "average": _of_list(lambda numbers: reduce(add, numbers, 0.0) / len(numbers) if numbers else math.nan),
        "fixnum fixnumber": fixnum,
        "fromhex": lambda call: number_text(parse_int(call.shown(0), 16)),
        "tohex": tohex,
        "equal": lambda call: _flag(_equal(call)),
        "notequal": lambda call: _flag(not _equal(call)),
        "greater": _compared(gt),
        "less": _compared(lt),
        "greaterequal": _compared(ge),
        "lessequal": _compared(le),
        "and": lambda call: _flag(call.shown(0) == "1" == call.shown(1)),
        "or": lambda call: _flag("1" in call.args[:2]),
        "not": lambda call: _flag(call.shown(0) != "1"),
        "all": lambda call: _flag(all(value == "1" for value in values_of(call))),
        "any": lambda call: _flag("1" in values_of(call)),
    }
)
