"""The values of sandboxed code: plain data, moments, and opaque values of our own. No object of the interpreter is among them.

Values are never changed after they are made (``random.shuffle``, which reorders a list in place, aside), so none contains
itself, and what was read from the variables is a copy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any, Final, Protocol

from innkeeper.macros.smart.sandbox.limits import SandboxLimitError, SandboxLimits, SandboxRuntimeError
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.text import shorten
from innkeeper.text.pyregex import Deadline, PatternLimitError


class Random(Protocol):
    """The source of random draws."""

    def random(self) -> float:
        """A number in [0, 1)."""
        ...

    def randint(self, a: int, b: int, /) -> int:
        """A whole number from ``a`` to ``b``, both included."""
        ...

    def choice(self, seq: Any, /) -> Any:
        """One item of a sequence."""
        ...

    def shuffle(self, x: Any, /) -> None:
        """Reorder a list in place."""
        ...


class Host(Protocol):
    """Everything code can reach outside of itself: the variables, the moment and randomness.

    A host whose ``functions_as_objects`` is true has functions stored as empty objects; otherwise they are refused.
    """

    @property
    def now(self) -> datetime:
        """The moment and zone of ``now()``."""
        ...

    @property
    def random(self) -> Random:
        """The source of random draws."""
        ...

    def getvar(self, path: str, /) -> Any:
        """The variable at a path, or its replacement if undefined; the whole table for an empty path."""
        ...

    def setvar(self, path: str, value: Any, /) -> None:
        """Set the variable at a path."""
        ...


class Function:
    """A function, type or method of the sandbox. ``call`` takes the frame and the arguments; ``usage`` shows how to use it."""

    __slots__ = ("call", "text", "usage")

    def __init__(self, call: Callable[..., Any], text: str, usage: str) -> None:
        self.call = call
        self.text = text
        self.usage = usage

    def __repr__(self) -> str:
        return self.text


class Module:
    """A name with further names behind dots: ``math``, ``random``. Only the names in its table exist."""

    __slots__ = ("members", "text")

    def __init__(self, name: str, members: Mapping[str, Function]) -> None:
        self.text = f"<module '{name}'>"
        self.members = members

    def __repr__(self) -> str:
        return self.text


class Match:
    """A match of a regular expression. It has a text, and is true."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class Variables:
    """The object ``vars``: the variables by path. Its text is that of the whole table, as the original writes it."""

    __slots__ = ("frame",)

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def __repr__(self) -> str:
        return text_of(self.frame, self)


class Frame:
    """One run: the host, the names the code has set, and the remaining work and time."""

    __slots__ = ("_charged", "_next", "deadline", "host", "left", "limits", "names")

    def __init__(self, host: Host, limits: SandboxLimits) -> None:
        self.host = host
        self.limits = limits
        self.left = self._charged = limits.work
        self._next = self.left - _AT_ONCE if self.left > _AT_ONCE else 0
        self.names: dict[str, Any] = {}
        self.deadline = Deadline(limits.pattern_seconds)

    def charge(self, work: int) -> None:
        """Take work from what is left. Raises `SandboxLimitError` when there is not enough, and `AllowanceError`."""
        self.left -= work
        if self.left < self._next:
            self.settle()
            if self.left < 0:
                raise self.limits.exceeded("work", "the work of the code")

    def settle(self) -> None:
        """Charge the build's allowance for the work since it was charged last, unless that is next to nothing."""
        done = self._charged - self.left
        if done < _SMALL:
            return
        self._charged = self.left
        self._next = self.left - _AT_ONCE if self.left > _AT_ONCE else 0
        charge("sandbox", min(done, self.limits.work) >> _STEP_SHIFT)

    def search(self, method: Any, *args: Any) -> Any:
        """Call a method of a regular expression within the seconds for all of them. Raises `SandboxLimitError`."""
        try:
            return self.deadline.run(method, *args, concurrent=True)
        except PatternLimitError:
            raise self.limits.exceeded("pattern_seconds", "a regular expression") from None


_AT_ONCE: Final = 50_000
"""Work after which the allowance is charged."""
_SMALL: Final = 400
"""Less work is in what the code counts for being read."""
_STEP_SHIFT: Final = 2
"""A step of the allowance is so much work, as a power of two."""


_PLAIN: Final = frozenset({int, float, bool, type(None)})
_OPAQUE: Final = frozenset({Function, Module, Match, Variables, date, datetime, time, timedelta})
_CONTAINERS: Final = frozenset({list, tuple, dict})
_EACH: Final = 8


def kind_of(value: Any) -> str:
    """Name the kind of a value, for messages."""
    return "function" if isinstance(value, Function) else type(value).__name__.lower() if value is not None else "None"


def size_of(frame: Frame, value: Any) -> int:
    """The size of a value: 1, the characters of a text, or the sum of a container, where each value counts 8.

    Raises `SandboxLimitError` for more, or deeper, than the limits allow, before the rest is looked at.
    """
    kind = type(value)
    if kind is str:
        return len(value)
    if kind not in _CONTAINERS:
        return 1
    meter = _Meter(frame.limits)
    try:
        meter.add(value, 0)
    except SandboxLimitError:
        frame.charge(meter.size)
        raise
    return meter.size


def measure(frame: Frame, value: Any) -> None:
    """Charge a value's size, unless it is a number or the like."""
    if type(value) not in _PLAIN:
        frame.charge(size_of(frame, value))


class _Meter:
    """Adds up a value, and stops as soon as it is too large."""

    __slots__ = ("count", "limits", "size")

    def __init__(self, limits: SandboxLimits) -> None:
        self.limits = limits
        self.count = 0
        self.size = 0

    def add(self, value: Any, depth: int) -> None:
        kind = type(value)
        self.count += 1
        self.size += _EACH + (len(value) if kind is str else value.bit_length() >> 2 if kind is int else 0)
        if self.count > self.limits.items:
            raise self.limits.exceeded("items", "a value")
        if self.size > self.limits.text_chars:
            raise self.limits.exceeded("text_chars", "a value")
        if kind in _CONTAINERS:
            self._add_all(value, depth + 1)

    def _add_all(self, value: Any, depth: int) -> None:
        if depth > self.limits.value_depth:
            raise self.limits.exceeded("value_depth", "the nesting of a value")
        if len(value) > self.limits.items:
            raise self.limits.exceeded("items", "a value")
        for item in value:
            self.add(item, depth)
        if type(value) is dict:
            for item in value.values():
                self.add(item, depth)


def admit(frame: Frame, value: Any) -> Any:
    """A value from outside as sandboxed code may have it: copied, plain data only. Raises typed errors for anything else."""
    kind = type(value)
    if kind is str:
        if len(value) > frame.limits.text_chars:
            raise frame.limits.exceeded("text_chars", "a text", len(value))
        return value
    if kind is int:
        return boundary(frame, value)
    if kind in _PLAIN:
        return value
    measure(frame, value)
    return _copied(frame, value)


def _copied(frame: Frame, value: Any) -> Any:
    kind = type(value)
    if kind is int:
        return boundary(frame, value)
    if kind is str or kind in _PLAIN or kind in _OPAQUE:
        return value
    if kind is list:
        return [_copied(frame, item) for item in value]
    if kind is tuple:
        return tuple(_copied(frame, item) for item in value)
    if kind is dict:
        return {_copied(frame, key): _copied(frame, item) for key, item in value.items()}
    raise SandboxRuntimeError(
        f"a variable holds a {kind.__name__}, which the sandbox does not know", hint="keep JSON data in variables"
    )


_WORD_BITS: Final = 64
_LONG_NUMBER_SHIFT: Final = 14
"""Products and digits of whole numbers cost the square of their length; 14,000 bits are charged 12,000, and take 0.3 ms."""


def boundary(frame: Frame, value: int) -> int:
    """The number itself, a long one charged for being made or written. Raises `SandboxLimitError` when it is too long."""
    bits = value.bit_length()
    if bits > _WORD_BITS:
        if bits > frame.limits.int_bits:
            raise frame.limits.exceeded("int_bits", "a whole number", bits)
        frame.charge(bits * bits >> _LONG_NUMBER_SHIFT)
    return value


def storable(frame: Frame, value: Any) -> Any:
    """A value as a variable keeps it: plain data, copied; keys become texts as in JSON.

    Raises `SandboxRuntimeError` for functions, moments and the like, `SandboxLimitError` for what is too large.
    """
    if type(value) is Variables:
        value = frame.host.getvar("")
    if type(value) is Function and getattr(frame.host, "functions_as_objects", False):
        return {}
    measure(frame, value)
    return _stored(value)


def _stored(value: Any) -> Any:
    kind = type(value)
    if kind is list:
        return [_stored(item) for item in value]
    if kind is tuple:
        return tuple(_stored(item) for item in value)
    if kind is dict:
        return {_key(key): _stored(item) for key, item in value.items()}
    if kind is str or kind in _PLAIN:
        return value
    raise SandboxRuntimeError(f"a {kind_of(value)} cannot be kept in a variable", hint="keep its text: str(...)")


_JSON_WORDS: Final[dict[Any, str]] = {True: "true", False: "false", None: "null"}


def _key(key: Any) -> str:
    if type(key) is str:
        return key
    if key is None or type(key) is bool:
        return _JSON_WORDS[key]
    if type(key) in _PLAIN:
        return repr(key)
    raise SandboxRuntimeError(f"a {kind_of(key)} cannot be a key in a variable", hint="use texts as keys")


def text_of(frame: Frame, value: Any) -> str:
    """Return ``str(value)``. Raises `SandboxLimitError` for a text that would be too long."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if kind is int:
        return str(boundary(frame, value))
    if kind is Variables:
        return bounded_text(frame, f"VarProxy({admit(frame, frame.host.getvar(''))})")
    if kind not in _OPAQUE:
        measure(frame, value)
    return bounded_text(frame, str(value))


def bounded_text(frame: Frame, text: str) -> str:
    """The text itself, charged. Raises `SandboxLimitError` when it is too long."""
    if len(text) > frame.limits.text_chars:
        raise frame.limits.exceeded("text_chars", "a text", len(text))
    frame.charge(len(text))
    return text


def items_of(frame: Frame, value: Any, what: str) -> Any:
    """Return the items of a list, tuple, text, or a dict's keys; charged."""
    if type(value) in _CONTAINERS or type(value) is str:
        measure(frame, value)
        return value
    raise SandboxRuntimeError(f"{what} needs a list, tuple, text or dict, not {article(value)}")


def article(value: Any) -> str:
    """A value with its kind, for messages: ``the int 5``."""
    if type(value) in _PLAIN and not (type(value) is int and value.bit_length() > 64):  # noqa: PLR2004 - just short
        shown = f" {value!r}" if value is not None and not (type(value) is float and math.isnan(value)) else ""
        return f"the {kind_of(value)}{shown}" if shown else kind_of(value)
    return f"the text {shorten(value, 40)!r}" if type(value) is str else f"a {kind_of(value)}"
