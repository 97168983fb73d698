"""``text % values``: Python's formatting, one conversion at a time, each bounded before it is made."""

from __future__ import annotations

import re
from typing import Any, Final

from innkeeper.macros.smart.sandbox_errors import SandboxRuntimeError
from innkeeper.macros.smart.sandbox_values import (
    Frame,
    Variables,
    admit,
    bounded_text,
    kind_of,
    limit,
    measure,
    text_of,
)

__all__ = ["formatted"]

_CONVERSION: Final = re.compile(
    r"%(?P<key>\((?P<name>(?:[^()]|\([^()]*\))*)\))?(?P<flags>[-#0 +]*)(?P<width>\*|\d*)"
    r"(?:\.(?P<precision>\*|\d*))?[hlL]?(?P<kind>[\s\S]?)"
)
_NUMERIC: Final = frozenset("diouxXeEfFgG")
_WHOLE: Final = frozenset("oxX")
_TEXTUAL: Final = frozenset("sra")
_NUMBERS: Final = frozenset({int, bool, float})
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
        for found in _CONVERSION.finditer(text):
            self._keep(parts, text[end : found.start()])
            self._keep(parts, self._converted(found))
            end = found.end()
        self._keep(parts, text[end:])
        if self.next < len(self.queue) and not self.used:
            raise SandboxRuntimeError("there are more values than places in the text", hint="put a %s for each value")
        return "".join(parts)

    def _keep(self, parts: list[str], part: str) -> None:
        self.length += len(part)
        if self.length > self.frame.limits.text_chars:
            raise limit("a text", "text_chars", self.frame.limits.text_chars, self.length)
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
            raise limit("a % format", "format_width", self.frame.limits.format_width)
        return str(int(number))

    def _converted(self, found: re.Match[str]) -> str:
        if found.group() == "%%":
            return "%"
        value = self._named(found["name"]) if found["key"] else None
        width, precision = self._size(found["width"]), self._size(found["precision"])
        flags = found["flags"] + ("-" if width.startswith("-") else "")
        tail = "" if found["precision"] is None else "." + (precision if not precision.startswith("-") else "0")
        spec = f"%{flags}{width.lstrip('-')}{tail}"
        return self._one(spec, found["kind"], value if found["key"] else self._take())

    def _one(self, spec: str, kind: str, value: Any) -> str:
        if kind in _TEXTUAL and kind:
            return (spec + "s") % self._text(kind, value)
        if kind == "c" and (type(value) in {int, bool} or (type(value) is str and len(value) == 1)):
            return str((spec + "c") % value)
        if kind in _NUMERIC and kind and type(value) in _NUMBERS:
            if kind in _WHOLE and type(value) is float:
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
