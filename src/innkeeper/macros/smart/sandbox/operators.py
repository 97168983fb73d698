"""The operators of the sandbox: Python's, with their cost known before they begin.

Each takes the frame and both sides. Numbers, texts, lists, tuples and moments have the operators they have in Python; a
result that would be too large is a `SandboxLimitError`, a complex one a `SandboxRuntimeError`. ``text % values`` is written one
conversion at a time, each bounded before it is made.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from typing import Any, Final

from innkeeper.macros.smart.sandbox.limits import SandboxRuntimeError
from innkeeper.macros.smart.sandbox.values import (
    Frame,
    Variables,
    admit,
    boundary,
    bounded_text,
    kind_of,
    measure,
    size_of,
    text_of,
)

_WHOLE: Final = frozenset({int, bool})
_NUMBERS: Final = frozenset({int, bool, float})
_MOMENTS: Final = frozenset({date, datetime, time, timedelta})
_SEQUENCES: Final = frozenset({list, tuple})
_SHOWN_BITS: Final = 64
_ORDERED: Final = frozenset({int, float, bool, type(None)})


def _unfit(sign: str, a: Any, b: Any) -> SandboxRuntimeError:
    return SandboxRuntimeError(
        f"`{sign}` does not go between {kind_of(a)} and {kind_of(b)}",
        hint="make them alike with str(...) or legacy_num(...)",
    )


def _settled(frame: Frame, value: Any) -> Any:
    return boundary(frame, value) if type(value) is int else value


def add(frame: Frame, a: Any, b: Any) -> Any:
    """``a + b``."""
    left, right = type(a), type(b)
    if left in _NUMBERS and right in _NUMBERS:
        return _settled(frame, a + b)
    if left is right and (left is str or left in _SEQUENCES):
        _fits(frame, a, len(a) + len(b), size_of(frame, a) + size_of(frame, b))
        return a + b
    if left in _MOMENTS and right in _MOMENTS:
        return a + b
    raise _unfit("+", a, b)


def _fits(frame: Frame, value: Any, length: int, size: int) -> None:
    """Charge a text or list about to be made. Raises `SandboxLimitError` when it would be too long or hold too much."""
    if type(value) is not str and length > frame.limits.items:
        raise frame.limits.exceeded("items", f"a {kind_of(value)}", _shown(length))
    if size > frame.limits.text_chars:
        raise frame.limits.exceeded("text_chars", f"a {kind_of(value)}", _shown(size))
    frame.charge(size)


def _shown(number: int) -> int | None:
    """The number, unless it is too long for a message."""
    return number if number.bit_length() < _SHOWN_BITS else None


def _subtract(frame: Frame, a: Any, b: Any) -> Any:
    left, right = type(a), type(b)
    if (left in _NUMBERS and right in _NUMBERS) or (left in _MOMENTS and right in _MOMENTS):
        return _settled(frame, a - b)
    raise _unfit("-", a, b)


def _multiply(frame: Frame, a: Any, b: Any) -> Any:
    left, right = type(a), type(b)
    if left in _NUMBERS and right in _NUMBERS:
        if left is int and right is int and a.bit_length() + b.bit_length() > frame.limits.int_bits + 1:
            raise frame.limits.exceeded("int_bits", "a whole number", a.bit_length() + b.bit_length())
        return _settled(frame, a * b)
    if right is str or right in _SEQUENCES:
        a, b, left, right = b, a, right, left
    if right in _WHOLE and (left is str or left in _SEQUENCES):
        if a and b > 0:
            _fits(frame, a, len(a) * b, size_of(frame, a) * b)
        return a * b
    if (left is timedelta and right in _NUMBERS) or (right is timedelta and left in _NUMBERS):
        return a * b
    raise _unfit("*", a, b)


def _dividing(sign: str, divide: Callable[[Any, Any], Any]) -> Callable[[Frame, Any, Any], Any]:
    def apply(frame: Frame, a: Any, b: Any) -> Any:
        left, right = type(a), type(b)
        if left is str and sign == "%":
            return formatted(frame, a, b)
        if left in _NUMBERS and right in _NUMBERS:
            if left is int:
                boundary(frame, a)
            return divide(a, b)
        if left is timedelta and (right is timedelta or (right in _NUMBERS and sign != "%")):
            return _settled(frame, divide(a, b))
        raise _unfit(sign, a, b)

    return apply


def _power(frame: Frame, a: Any, b: Any) -> Any:
    left, right = type(a), type(b)
    if left not in _NUMBERS or right not in _NUMBERS:
        raise _unfit("**", a, b)
    if left in _WHOLE and right in _WHOLE and b > 0:
        base, most = int(a), frame.limits.int_bits
        if not -1 <= base <= 1 and (b > most or b * math.log2(abs(base)) > most):  # 0, 1 and -1 do not grow
            raise frame.limits.exceeded("int_bits", "a whole number", _shown(base.bit_length() * b))
    result = a**b
    if type(result) is complex:
        raise SandboxRuntimeError("a fractional power of a negative number is not a real number")
    return _settled(frame, result)


def _exclusive(frame: Frame, a: Any, b: Any) -> Any:
    if type(a) in _WHOLE and type(b) in _WHOLE:
        return a ^ b
    raise _unfit("^", a, b)


BINARY: Final[dict[str, Callable[[Frame, Any, Any], Any]]] = {
    "Add": add,
    "Sub": _subtract,
    "Mult": _multiply,
    "Div": _dividing("/", operator.truediv),
    "FloorDiv": _dividing("//", operator.floordiv),
    "Mod": _dividing("%", operator.mod),
    "Pow": _power,
    "BitXor": _exclusive,
}
"""By the name of the syntax node."""


def _signed(sign: Callable[[Any], Any], shown: str) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        if type(value) in _NUMBERS or type(value) is timedelta:
            return sign(value)
        raise SandboxRuntimeError(f"`{shown}` does not go before a {kind_of(value)}", hint="use legacy_num(...)")

    return apply


UNARY: Final[dict[str, Callable[[Any], Any]]] = {
    "Not": operator.not_,
    "USub": _signed(operator.neg, "-"),
    "UAdd": _signed(operator.pos, "+"),
}
"""By the name of the syntax node."""


def compared(frame: Frame, test: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """``a`` beside ``b``: both are measured first, as containers are compared item by item."""
    if type(a) not in _ORDERED or type(b) not in _ORDERED:
        measure(frame, a)
        measure(frame, b)
    return test(a, b)


def _within(a: Any, b: Any) -> bool:
    if type(b) in _SEQUENCES or type(b) in {dict, str}:
        return a in b
    raise SandboxRuntimeError(f"nothing is `in` a {kind_of(b)}", hint="use a text, list, tuple or dict")


COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": _within,
    "NotIn": lambda a, b: not _within(a, b),
}
"""By the name of the syntax node."""


_CONVERSION: Final = re.compile(
    r"%(?P<key>\((?P<name>(?:[^()]|\([^()]*\))*)\))?(?P<flags>[-#0 +]*)(?P<width>\*|\d*)"
    r"(?:\.(?P<precision>\*|\d*))?[hlL]?(?P<kind>[\s\S]?)"
)
_NUMERIC: Final = frozenset("diouxXeEfFgG")
_WHOLE_CONVERSIONS: Final = frozenset("oxX")
_TEXTUAL: Final = frozenset("sra")
_MAX_DIGITS: Final = 9


def formatted(frame: Frame, text: str, values: Any) -> str:
    """``text % values``. Raises `SandboxRuntimeError` where Python raises, `SandboxLimitError` for what would be too long."""
    frame.charge(len(text))
    return _Writer(frame, values).write(text)


class _Writer:
    """Takes the values in turn, or by key, and adds up what is written."""

    __slots__ = ("frame", "length", "next", "queue", "used", "values")

    def __init__(self, frame: Frame, values: Any) -> None:
        self.frame = frame
        self.values = values
        self.queue = values if type(values) is tuple else (values,)
        self.next = 0
        self.used = type(values) in {dict, list, Variables}
        self.length = 0

    def write(self, text: str) -> str:
        parts: list[str] = []
        end = 0
        for match in _CONVERSION.finditer(text):
            self._keep(parts, text[end : match.start()])
            self._keep(parts, self._converted(match))
            end = match.end()
        self._keep(parts, text[end:])
        if self.next < len(self.queue) and not self.used:
            raise SandboxRuntimeError("there are more values than places in the text", hint="put a %s for each value")
        return "".join(parts)

    def _keep(self, parts: list[str], part: str) -> None:
        self.length += len(part)
        if self.length > self.frame.limits.text_chars:
            raise self.frame.limits.exceeded("text_chars", "a text", self.length)
        self.frame.charge(len(part))
        parts.append(part)

    def _take(self) -> Any:
        if self.next >= len(self.queue):
            raise SandboxRuntimeError(
                "there are fewer values than places in the text", hint="write %% for a percent sign"
            )
        self.next += 1
        return self.queue[self.next - 1]

    def _named(self, name: str) -> Any:
        if type(self.values) is Variables:
            return admit(self.frame, self.frame.host.getvar(name))
        if type(self.values) is not dict:
            raise SandboxRuntimeError(f"%({name}) needs a dict or vars after the %, not a {kind_of(self.values)}")
        self.used = True
        return self.values[name]

    def _size(self, written: str | None) -> str:
        """A width or precision, checked; ``*`` takes it from the values."""
        if not written:
            return ""
        number: Any = self._take() if written == "*" else int(written[:_MAX_DIGITS])
        if type(number) not in {int, bool}:
            raise SandboxRuntimeError("* in a % format needs a whole number")
        if abs(number) > self.frame.limits.format_width or len(written) > _MAX_DIGITS:
            raise self.frame.limits.exceeded("format_width", "a % format")
        return str(int(number))

    def _converted(self, match: re.Match[str]) -> str:
        if match.group() == "%%":
            return "%"
        value = self._named(match["name"]) if match["key"] else None
        width, precision = self._size(match["width"]), self._size(match["precision"])
        flags = match["flags"] + ("-" if width.startswith("-") else "")
        tail = "" if match["precision"] is None else "." + (precision if not precision.startswith("-") else "0")
        spec = f"%{flags}{width.lstrip('-')}{tail}"
        return self._one(spec, match["kind"], value if match["key"] else self._take())

    def _one(self, spec: str, kind: str, value: Any) -> str:
        if kind in _TEXTUAL and kind:
            return (spec + "s") % self._text(kind, value)
        if kind == "c" and (type(value) in {int, bool} or (type(value) is str and len(value) == 1)):
            return str((spec + "c") % value)
        if kind in _NUMERIC and kind and type(value) in _NUMBERS:
            if kind in _WHOLE_CONVERSIONS and type(value) is float:
                raise SandboxRuntimeError(f"%{kind} needs a whole number")
            return str((spec + kind) % value)
        if kind in _NUMERIC or kind == "c":
            raise SandboxRuntimeError(f"%{kind} does not take a {kind_of(value)}", hint="use %s")
        raise SandboxRuntimeError(f"there is no format %{kind}", hint="write %% for a percent sign")

    def _text(self, kind: str, value: Any) -> str:
        if kind == "s":
            return text_of(self.frame, value)
        if type(value) is not Variables:
            measure(self.frame, value)
        return bounded_text(self.frame, repr(value) if kind == "r" else ascii(value))
