"""The closures of the sandbox that need nothing of the compiler: calls, comparisons, items, names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from innkeeper.macros.smart.sandbox.limits import SandboxRuntimeError
from innkeeper.macros.smart.sandbox.names import getvar, setvar
from innkeeper.macros.smart.sandbox.operators import compared
from innkeeper.macros.smart.sandbox.values import Frame, Function, Variables, kind_of, measure

Closure: TypeAlias = Callable[[Frame], Any]
"""The compiled form of an expression or statement: a function of the run."""

_NUMBERS: Final = frozenset({int, float, bool})
_RESULT: Final = "result"


def in_order(lines: list[Closure]) -> Closure:
    """Statements, one after the other; the value is that of ``result``."""

    def run(frame: Frame) -> Any:
        for line in lines:
            line(frame)
        return frame.names.get(_RESULT)

    return run


def one_comparison(left: Closure, test: Callable[[Any, Any], Any], right: Closure) -> Closure:
    """One comparison."""

    def run(frame: Frame) -> Any:
        a, b = left(frame), right(frame)
        if type(a) in _NUMBERS and type(b) in _NUMBERS:
            return test(a, b)
        return compared(frame, test, a, b)

    return run


def comparisons(left: Closure, steps: list[tuple[Callable[[Any, Any], Any], Closure]]) -> Closure:
    """``a < b < c``: each pair until one does not hold."""

    def run(frame: Frame) -> Any:
        a, answer = left(frame), True
        for test, right in steps:
            b = right(frame)
            answer = compared(frame, test, a, b)
            if not answer:
                break
            a = b
        return answer

    return run


def call_one(function: Function, argument: Closure) -> Closure:
    """A call of a known function with one argument."""
    call = function.call
    return lambda frame: call(frame, argument(frame))


def call_two(function: Function, first: Closure, second: Closure) -> Closure:
    """A call of a known function with two arguments."""
    call = function.call
    return lambda frame: call(frame, first(frame), second(frame))


def call_any(target: Closure, args: list[Closure]) -> Closure:
    """A call of whatever the target is."""
    return lambda frame: _function(target(frame)).call(frame, *[arg(frame) for arg in args])


def call_named(target: Closure, args: list[Closure], words: list[tuple[str | None, Closure]]) -> Closure:
    """A call with keywords, some of them out of dicts."""

    def run(frame: Frame) -> Any:
        function = _function(target(frame))
        values = [arg(frame) for arg in args]
        named: dict[str, Any] = {}
        for word, value in words:
            more = {word: value(frame)} if word is not None else unpacked(frame, value(frame))
            if twice := named.keys() & more.keys():
                raise SandboxRuntimeError(f"{min(twice)} is given twice", hint=f"use it as {function.usage}")
            named.update(more)
        return function.call(frame, *values, **named)

    return run


def _function(value: Any) -> Function:
    if type(value) is not Function:
        raise SandboxRuntimeError(
            f"a {kind_of(value)} cannot be called", hint="the name was set to something else before"
        )
    return value


def unpacked(frame: Frame, value: Any) -> dict[str, Any]:
    """Return the operand of ``**``: a dict with texts as keys."""
    if type(value) is not dict or not all(type(key) is str for key in value):
        raise SandboxRuntimeError(f"** needs a dict with texts as keys, not a {kind_of(value)}")
    measure(frame, value)
    return value


def set_name(name: str) -> Callable[[Frame, Any], None]:
    """Return the setter of a name."""

    def run(frame: Frame, value: Any) -> None:
        frame.names[name] = value

    return run


def item_of(frame: Frame, whole: Any, index: Any) -> Any:
    """``vars[index]``: a variable, or an item of what ``vars`` was set to."""
    if type(whole) is Variables:
        if type(index) is slice:
            raise SandboxRuntimeError("vars has no slices", hint="read one variable: vars['path']")
        return getvar(frame, index)
    if type(whole) not in {list, tuple, str, dict}:
        raise SandboxRuntimeError(f"a {kind_of(whole)} has no items")
    measure(frame, whole)
    measure(frame, index)
    return whole[index]


def put_item(frame: Frame, whole: Any, index: Any, value: Any) -> None:
    """``vars[index] = value``. A list or dict is copied first, so that no value ever contains itself."""
    if type(whole) is Variables:
        if type(index) is slice:
            raise SandboxRuntimeError("vars has no slices", hint="set one variable: vars['path']")
        setvar(frame, index, value)
        return
    if type(whole) not in {list, dict}:
        raise SandboxRuntimeError(f"the items of a {kind_of(whole)} cannot be set")
    measure(frame, index)
    changed = whole.copy()
    changed[index] = value
    measure(frame, changed)
    frame.names["vars"] = changed
