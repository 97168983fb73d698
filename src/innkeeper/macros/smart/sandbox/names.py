"""The names of the sandbox: every function that code can call, and nothing else of Python.

Each is a `Function` of our own; its ``call`` takes the frame and values that are plain data or our own opaque values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from innkeeper.macros.smart import helpers
from innkeeper.macros.smart.sandbox import stdlib
from innkeeper.macros.smart.sandbox.limits import SandboxRuntimeError
from innkeeper.macros.smart.sandbox.operators import add
from innkeeper.macros.smart.sandbox.values import (
    Frame,
    Function,
    Module,
    admit,
    article,
    boundary,
    bounded_text,
    items_of,
    kind_of,
    size_of,
    storable,
    text_of,
)

_NUMBERS: Final = frozenset({int, float, bool})
_ABSENT: Final = object()
_TIME_FORMAT: Final = "%H:%M:%S"
_MAX_BASE: Final = 36
_COMPARISONS: Final = 16
"""How often one of 100,000 values is compared while they are sorted."""
_WORK_A_STEP: Final = 4
_READING_MOMENTS: Final = 800
"""Work of reading two moments."""
_CASE_GROWTH: Final = 3
"""One character becomes three at most in upper or lower case."""


def _number(value: Any, what: str) -> Any:
    if type(value) in _NUMBERS:
        return value
    raise SandboxRuntimeError(f"{what} needs a number, not {article(value)}", hint="use legacy_num(...)")


def _len(frame: Frame, value: Any, /) -> int:
    if type(value) in {str, list, tuple, dict}:
        return len(value)
    raise SandboxRuntimeError(f"{article(value)} has no length", hint="use a text, list, tuple or dict")


def _abs(frame: Frame, value: Any, /) -> Any:
    return abs(value if type(value) is timedelta else _number(value, "abs"))


def _keyed(frame: Frame, key: Any) -> Callable[[Any], Any] | None:
    if key is None:
        return None
    if type(key) is not Function:
        raise SandboxRuntimeError(f"key must be a function of the sandbox, not a {kind_of(key)}", hint="write key=abs")

    def keyed(value: Any) -> Any:
        result = key.call(frame, value)
        frame.charge(size_of(frame, result) * _COMPARISONS)
        return result

    return keyed


def _extreme(choose: Any, name: str) -> Callable[..., Any]:
    def apply(frame: Frame, /, *values: Any, key: Any = None, default: Any = _ABSENT) -> Any:
        if len(values) > 1 and default is not _ABSENT:
            raise SandboxRuntimeError(f"{name} takes a default only with one list")
        if not values:
            raise SandboxRuntimeError(f"{name} needs values")
        pool = items_of(frame, values[0] if len(values) == 1 else values, name)
        if not len(pool) and default is not _ABSENT:
            return default
        return choose(pool, key=_keyed(frame, key))

    return apply


def _sum(frame: Frame, values: Any, /, start: Any = 0) -> Any:
    if type(start) is str:
        raise SandboxRuntimeError("sum does not join texts", hint="join them with +")
    total = start
    for value in items_of(frame, values, "sum"):
        total = add(frame, total, value)
    return total


def _str(frame: Frame, object: Any = "") -> str:  # noqa: A002 - Python's own name for it
    return text_of(frame, object)


def _int(frame: Frame, value: Any = 0, /, base: Any = None) -> int:
    if type(value) is not str:
        if base is not None:
            raise SandboxRuntimeError("int takes a base only with a text")
        return boundary(frame, int(_number(value, "int")))
    if base is not None and (type(base) is not int or not (base == 0 or 1 < base <= _MAX_BASE)):
        raise SandboxRuntimeError("the base of int is 0 or from 2 to 36")
    return boundary(frame, int(_short(frame, value), 10 if base is None else base))


def _float(frame: Frame, value: Any = 0.0, /) -> float:
    return float(_short(frame, value) if type(value) is str else _number(value, "float"))


def _short(frame: Frame, text: str) -> str:
    if len(text) > frame.limits.number_chars:
        raise frame.limits.exceeded("number_chars", "a number", len(text))
    return text


def _bool(frame: Frame, value: Any = False, /) -> bool:  # noqa: FBT002 - Python's own signature
    return bool(value)


def _round(frame: Frame, number: Any, ndigits: Any = None) -> Any:
    _number(number, "round")
    if ndigits is not None and type(ndigits) not in {int, bool}:
        raise SandboxRuntimeError(f"round needs a whole number of digits, not {article(ndigits)}")
    if type(number) is not float and ndigits is not None and -ndigits > frame.limits.number_chars:
        return 0  # all digits are rounded away; Python would first write out 10 ** -ndigits
    return round(number, ndigits)


def _sorted(frame: Frame, values: Any, /, *, key: Any = None, reverse: Any = False) -> list[Any]:
    pool = items_of(frame, values, "sorted")
    frame.charge(size_of(frame, pool) * len(pool).bit_length())
    return sorted(pool, key=_keyed(frame, key), reverse=bool(reverse))


def getvar(frame: Frame, /, name: Any) -> Any:
    """The variable at a path."""
    return admit(frame, frame.host.getvar(name if type(name) is str else text_of(frame, name)))


def setvar(frame: Frame, /, name: Any, value: Any) -> str:
    """Set the variable at a path to a copy of the value; the result is empty."""
    frame.host.setvar(name if type(name) is str else text_of(frame, name), storable(frame, value))
    return ""


def _cased(change: Callable[[str], str]) -> Callable[..., str]:
    def apply(frame: Frame, /, s: Any) -> str:
        text = text_of(frame, s)
        frame.charge(len(text) * _CASE_GROWTH)
        return bounded_text(frame, change(text))

    return apply


def _roll(frame: Frame, /, expr_or_n: Any, sides: Any = None) -> str:
    first = text_of(frame, expr_or_n)
    frame.charge(helpers.DICE_STEPS * _WORK_A_STEP)
    if sides is None:
        return helpers.roll(first, frame.host.random)
    return helpers.thrown(first, text_of(frame, sides), frame.host.random)


def _format(frame: Frame, fmt: Any) -> str:
    """Return the pattern of a moment, charged; nothing for anything but a text."""
    text = fmt if type(fmt) is str else ""
    frame.charge(min(len(text), helpers.MAX_PATTERN_CHARS) * helpers.FORMAT_STEPS * _WORK_A_STEP)
    return text


def _time(frame: Frame, /, fmt: Any = _TIME_FORMAT) -> str:
    return bounded_text(frame, helpers.moment_text(frame.host.now, _format(frame, fmt)))


def _time_utc(frame: Frame, /, offset: Any = 0, fmt: Any = _TIME_FORMAT) -> str:
    hours = helpers.utc_offset(text_of(frame, offset))
    return bounded_text(frame, helpers.shifted_time(frame.host.now, hours, _format(frame, fmt)))


def _weekday(frame: Frame, /) -> str:
    return helpers.weekday_cn(frame.host.now)


def _timediff(frame: Frame, /, t1: Any, t2: Any) -> str:
    frame.charge(_READING_MOMENTS)
    return helpers.timediff(text_of(frame, t1), text_of(frame, t2))


def _num(frame: Frame, /, v: Any, default: Any = 0) -> float:
    number = helpers.number_of(v)
    if number is not None:
        return number
    return float(_short(frame, default) if type(default) is str else _number(default, "legacy_num"))


def _addvar(frame: Frame, /, var_name: Any, inc: Any) -> str:
    path = _path(var_name)
    old, more = (text_of(frame, "" if each is None else each) for each in (getvar(frame, path), inc))
    return setvar(frame, path, bounded_text(frame, helpers.added(old, more)))


def _path(name: Any) -> Any:
    """The path a helper is given; ``None`` names no variable."""
    return "" if name is None else name


def _stepped(step: int) -> Callable[..., str]:
    def apply(frame: Frame, /, var_name: Any) -> str:
        path = _path(var_name)
        return setvar(frame, path, helpers.stepped(getvar(frame, path), step))

    return apply


def _randint(frame: Frame, a: Any, b: Any) -> int:
    for edge in (a, b):
        if type(edge) is not int:
            raise SandboxRuntimeError(f"randint needs whole numbers, not {article(edge)}")
    return boundary(frame, frame.host.random.randint(a, b))


def _choice(frame: Frame, seq: Any) -> Any:
    if type(seq) not in {list, tuple, str}:
        raise SandboxRuntimeError(f"choice needs a list, tuple or text, not {article(seq)}")
    return frame.host.random.choice(seq)


def _random(frame: Frame, /) -> float:
    return float(frame.host.random.random())


def _shuffle(frame: Frame, x: Any) -> None:
    if type(x) is not list:
        raise SandboxRuntimeError(f"shuffle needs a list, not {article(x)}")
    frame.charge(len(x) * 4)
    frame.host.random.shuffle(x)


def _real(name: str) -> Callable[..., Any]:
    function = getattr(math, name)

    def apply(frame: Frame, x: Any, /) -> Any:
        return function(_number(x, name))

    return apply


def _builtin(name: str, call: Callable[..., Any], usage: str) -> Function:
    return Function(call, f"<built-in function {name}>", usage)


def _type(name: str, call: Callable[..., Any], usage: str) -> Function:
    return Function(call, f"<class '{name}'>", usage)


def _helper(name: str, call: Callable[..., Any], usage: str) -> Function:
    return Function(call, f"<function {name}>", usage)


FUNCTIONS: Final[dict[str, Function]] = {
    "len": _builtin("len", _len, "len(value)"),
    "abs": _builtin("abs", _abs, "abs(number)"),
    "min": _builtin("min", _extreme(min, "min"), "min(a, b, ...) or min(list, key=..., default=...)"),
    "max": _builtin("max", _extreme(max, "max"), "max(a, b, ...) or max(list, key=..., default=...)"),
    "sum": _builtin("sum", _sum, "sum(list, start=0)"),
    "round": _builtin("round", _round, "round(number, ndigits=None)"),
    "sorted": _builtin("sorted", _sorted, "sorted(list, key=None, reverse=False)"),
    "str": _type("str", _str, "str(value)"),
    "int": _type("int", _int, "int(value) or int(text, base)"),
    "float": _type("float", _float, "float(value)"),
    "bool": _type("bool", _bool, "bool(value)"),
    "getvar": _helper("getvar", getvar, "getvar(path)"),
    "setvar": _helper("setvar", setvar, "setvar(path, value)"),
    "legacy_upper": _helper("legacy_upper", _cased(str.upper), "legacy_upper(text)"),
    "legacy_lower": _helper("legacy_lower", _cased(str.lower), "legacy_lower(text)"),
    "legacy_reverse": _helper("legacy_reverse", _cased(lambda text: text[::-1]), "legacy_reverse(text)"),
    "legacy_roll": _helper("legacy_roll", _roll, "legacy_roll('2d6') or legacy_roll(2, 6)"),
    "legacy_time": _helper("legacy_time", _time, "legacy_time() or legacy_time('%H:%M')"),
    "legacy_time_utc": _helper(
        "legacy_time_utc", _time_utc, "legacy_time_utc(hours) or legacy_time_utc(hours, '%H:%M')"
    ),
    "legacy_weekday_cn": _helper("legacy_weekday_cn", _weekday, "legacy_weekday_cn()"),
    "legacy_timediff": _helper("legacy_timediff", _timediff, "legacy_timediff(from, to)"),
    "legacy_num": _helper("legacy_num", _num, "legacy_num(value, default=0)"),
    "legacy_addvar": _helper("legacy_addvar", _addvar, "legacy_addvar(path, value)"),
    "legacy_inc": _helper("legacy_inc", _stepped(1), "legacy_inc(path)"),
    "legacy_dec": _helper("legacy_dec", _stepped(-1), "legacy_dec(path)"),
}

_DATETIME: Final = _type("datetime.datetime", stdlib.make(stdlib.KINDS["datetime"]), "datetime.datetime(2024, 1, 31)")
_DATE: Final = _type("datetime.date", stdlib.make(stdlib.KINDS["date"]), "datetime.date(2024, 1, 31)")
_TIME: Final = _type("datetime.time", stdlib.make(stdlib.KINDS["time"]), "datetime.time(23, 59)")

MODULES: Final[dict[str, Module]] = {
    "random": Module(
        "random",
        {
            "randint": _builtin("randint", _randint, "random.randint(a, b)"),
            "choice": _builtin("choice", _choice, "random.choice(list)"),
            "random": _builtin("random", _random, "random.random()"),
            "shuffle": _builtin("shuffle", _shuffle, "random.shuffle(list)"),
        },
    ),
    "math": Module(
        "math",
        {
            name: _builtin(name, _real(name), f"math.{name}(number)")
            for name in ("sqrt", "sin", "cos", "tan", "floor", "ceil")
        },
    ),
    "re": Module(
        "re",
        {
            "match": _helper("match", stdlib.match, "re.match(pattern, text, flags=0)"),
            "search": _helper("search", stdlib.search, "re.search(pattern, text, flags=0)"),
            "findall": _helper("findall", stdlib.findall, "re.findall(pattern, text, flags=0)"),
            "sub": _helper("sub", stdlib.sub, "re.sub(pattern, replacement, text, count=0, flags=0)"),
        },
    ),
    "datetime": Module("datetime", {"datetime": _DATETIME, "date": _DATE, "time": _TIME}),
}
"""The first parts of dotted names."""

DOTTED: Final[dict[str, Function]] = {
    **{f"{root}.{name}": member for root, module in MODULES.items() for name, member in module.members.items()},
    "datetime.datetime.now": _builtin("now", stdlib.now, "datetime.datetime.now()"),
    "datetime.datetime.utcnow": _builtin("utcnow", stdlib.utcnow, "datetime.datetime.utcnow()"),
    "datetime.datetime.strptime": _builtin("strptime", stdlib.strptime, "datetime.datetime.strptime(text, '%Y-%m-%d')"),
    "datetime.date.today": _builtin("today", stdlib.today, "datetime.date.today()"),
    "datetime.date.fromtimestamp": _builtin("fromtimestamp", stdlib.fromtimestamp, "datetime.date.fromtimestamp(0)"),
}
"""By their whole spelling; there is no other way to a name behind a dot."""
