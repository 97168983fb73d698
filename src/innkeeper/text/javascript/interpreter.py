"""Interpreter: JavaScript for regular expressions, bounded in steps and memory, and begun anew where either has run out.

A program has the functions that are called, with a pattern and its flags as their first arguments; `PROGRAM` comes before it.
What the expressions compile to is kept with the interpreter and goes with it.

The engine asks once in ten thousand steps whether it may go on. The answers are counted, so that the limit of a search is a
number of steps, the same on every machine however busy it is. Where they cannot be counted, a search that takes too long ends
the whole build.
"""

from __future__ import annotations

import ctypes
import re
import threading
from importlib import import_module
from time import thread_time
from typing import Any, Final, NamedTuple

from innkeeper.prompt.allowance import charge, current_allowance, end_build, seconds_left
from innkeeper.prompt.errors import LimitError
from innkeeper.prompt.text import scalar_text
from innkeeper.prompt.typed.once import once

MAX_INTERPRETER_BYTES: Final = 64 * 1024 * 1024
"""Bytes that one JavaScript interpreter may hold; an expression that needs more is not run (`TimeoutError`), with a note."""

MAX_UNCOUNTED_SECONDS: Final = 1.0
"""Processor seconds of one search where the system does not let its steps be counted; it ends the build (`LimitError`)."""

_CACHE_BYTES: Final = 16 * 1024 * 1024
"""Bytes with which an interpreter is begun anew."""

_LEAST_SECONDS: Final = 1e-3
_STEPS_A_CHARACTER: Final = 4
_STEPS_A_PROPERTY: Final = 3_000
"""A set such as ``\\p{L}`` is hundreds of ranges."""
_PROPERTY: Final = re.compile(r"\\[pP]\{")

STEPS_AN_INTERRUPT: Final = 10_000
"""Steps of the engine between two questions whether it may go on."""
_SECONDS_AN_INTERRUPT: Final = 75e-6
"""Seconds that count for them: what they take on a quiet machine."""
_CHARGE_AN_INTERRUPT: Final = 600
"""Steps of the allowance that count for them."""
_COMPILING: Final = 1_000

_CALLS: Final = 32
"""Calls and jumps of a function without loops: the engine counts them towards an interrupt too, from one call to the next."""
_CALLS_A_CHARACTER: Final = 8
_NO_CALLS: Final = 9_000
"""Fewer calls and jumps make no interrupt in an interpreter that has just begun."""

PROGRAM: Final = """
const compiled = new Map();
let text = '';
function use(t) { text = t; }
function compile(pattern, flags) {
    const id = flags + '/' + pattern;
    let re = compiled.get(id);
    if (re === undefined) {
        try { re = new RegExp(pattern, flags); } catch (e) {
            if (!(e instanceof SyntaxError) || e.message === 'out of memory') throw e;
            re = null;
        }
        compiled.set(id, re);
    }
    return re;
}
function valid(pattern, flags) { return compile(pattern, flags) !== null; }
"""


def compile_steps(pattern: str, flags: str) -> int:
    """Steps (`innkeeper.prompt.allowance`) that compiling an expression takes, about."""
    properties = len(_PROPERTY.findall(pattern)) if "u" in flags or "v" in flags else 0
    return 100 + _STEPS_A_CHARACTER * len(pattern) + _STEPS_A_PROPERTY * properties


class _Answer(NamedTuple):
    """What a call gave: its value or the error's text, and how often the engine asked whether it may go on."""

    value: Any
    error: str
    interrupts: int


class Interpreter:
    """One interpreter, for the thread that calls it. ``dropped`` counts how often its contents were dropped.

    Args:
        program: JavaScript that defines the ``functions``, which may use those of `PROGRAM` and its ``text``.
    """

    __slots__ = (
        "_calls",
        "_context",
        "_functions",
        "_handler",
        "_interrupts",
        "_most",
        "_names",
        "_program",
        "_text",
        "dropped",
    )

    def __init__(self, program: str, *functions: str) -> None:
        self._program = PROGRAM + program
        self._names = ("use", "valid", *functions)
        self._context: Any = None
        self._handler: Any = None
        self._functions: dict[str, Any] = {}
        self._text: str | None = None
        self._most = self._interrupts = self._calls = 0
        self.dropped = 0

    def valid(self, pattern: str, flags: str) -> bool:
        """Whether JavaScript accepts the expression. Raises `TimeoutError` where it cannot be compiled within the limits."""
        if self._context is not None and self._context.memory()["memory_used_size"] > _CACHE_BYTES:
            self.drop()
        was_new = self._context is None
        answer = self._attempt("valid", (pattern, flags), _COMPILING)
        if answer.error and not was_new:  # perhaps what was compiled before had left too little
            self.drop()
            answer = self._attempt("valid", (pattern, flags), _COMPILING)
        return bool(_value(answer))

    def search(self, function: str, text: str, *arguments: Any, most: int, loops: bool = False) -> Any:
        """Call a function on a text and return its result, the same whatever the interpreter did before.

        The build is charged for its steps. ``loops``: the function makes a round for each match.

        Raises:
            TimeoutError: it took more than ``most`` steps or too much memory, or the function threw.
            AllowanceError: what the build may take is spent.
        """
        allowance, began, limit = current_allowance(), thread_time(), most // STEPS_AN_INTERRUPT
        if allowance is not None:
            seconds, steps = allowance.seconds_left() / _SECONDS_AN_INTERRUPT, allowance.steps // _CHARGE_AN_INTERRUPT
            limit = min(limit, int(seconds), steps)
        answer = self._sure(function, text, arguments, limit, loops=loops)
        if allowance is None or not answer.interrupts:
            return _value(answer)
        # A busy machine takes longer for the same steps, which must end no build.
        allowance.give_back(max(0.0, thread_time() - began - answer.interrupts * _SECONDS_AN_INTERRUPT))
        if answer.interrupts > int(seconds):
            allowance.expire("patterns")
        charge("patterns", answer.interrupts * _CHARGE_AN_INTERRUPT)
        return _value(answer)

    def _sure(self, function: str, text: str, arguments: tuple[Any, ...], limit: int, *, loops: bool) -> _Answer:
        """Call; once more in a new interpreter where what this one had done before may have had a say in the answer."""
        was_new, before = self._context is None, self._calls
        answer = self._attempt(function, arguments, limit, text)
        calls = _CALLS
        if loops:
            calls += _CALLS_A_CHARACTER * len(text) if answer.error else len(answer.value)
        self._calls = before + calls
        is_whole = not answer.error or "interrupted" in answer.error
        if was_new or (is_whole and self._calls < STEPS_AN_INTERRUPT):
            return answer
        if not answer.error and not answer.interrupts and calls < _NO_CALLS:
            return answer
        self.drop()
        return self._attempt(function, arguments, limit, text)

    def _attempt(self, function: str, arguments: tuple[Any, ...], limit: int, text: str | None = None) -> _Answer:
        import quickjs

        if self._context is None:
            self._begin()
        if self._handler is None:
            self._context.set_time_limit(max(seconds_left(MAX_UNCOUNTED_SECONDS), _LEAST_SECONDS))
        value, failure = None, ""
        try:
            self._most, self._interrupts = _COMPILING, 0
            if text is not None and text is not self._text:
                self._text = None
                self._functions["use"](scalar_text(text))
                self._text = text
            self._most, self._interrupts = limit, 0
            value = self._functions[function](*arguments)
        except quickjs.JSException as error:
            failure = str(error)
            if "interrupted" in failure and self._handler is None:
                end_build("patterns")
                what, name = "a regular expression's search, in seconds,", "MAX_UNCOUNTED_SECONDS"
                raise LimitError(what, limit=name, allowed=MAX_UNCOUNTED_SECONDS) from None
            if "RangeError" not in failure:
                self.drop()
        return _Answer(value, failure, self._interrupts)

    def _begin(self) -> None:
        import quickjs

        self._context = quickjs.Context()
        self._context.set_memory_limit(MAX_INTERPRETER_BYTES)
        self._most, self._interrupts = _COMPILING, 0
        self._handler = _handled(self._context, self._may_go_on)
        self._context.eval(self._program)
        self._functions = {name: self._context.get(name) for name in self._names}

    @property
    def steps(self) -> int:
        """The steps of the last call, in whole interrupts."""
        return self._interrupts * STEPS_AN_INTERRUPT

    def _may_go_on(self, _runtime: int, _opaque: int) -> int:
        """Count an interrupt; 1 stops the engine."""
        self._interrupts += 1
        return int(self._interrupts > self._most)

    def drop(self) -> None:
        """Forget everything; the next call begins anew."""
        self._functions = {}
        self._context = self._text = None
        self._handler = None
        self._calls = 0
        self.dropped += 1


def _value(answer: _Answer) -> Any:
    if answer.error:
        raise TimeoutError(answer.error)
    return answer.value


_Handler: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_RUNTIME: Final = 2
_CONTEXT_BYTES: Final = 80


def _handled(context: Any, asked: Any) -> Any:
    """Have an interpreter ask this function whether it may go on; ``None`` where that is not possible.

    The binding has no function for it, but its library has: it wants the runtime, the first field after the object's head.
    """
    set_handler = _setter()
    if set_handler is None or type(context).__basicsize__ != _CONTEXT_BYTES:
        return None
    handler = _Handler(asked)
    set_handler(ctypes.cast(id(context), ctypes.POINTER(ctypes.c_void_p))[_RUNTIME], handler, None)
    return handler


@once
def _setter() -> Any:
    """``JS_SetInterruptHandler`` of the engine, where its library shows it."""
    try:
        function = ctypes.CDLL(import_module("_quickjs").__file__).JS_SetInterruptHandler
    except (OSError, AttributeError):
        return None
    function.argtypes, function.restype = (ctypes.c_void_p, _Handler, ctypes.c_void_p), None
    return function


_THREAD: Final = threading.local()


def thread_interpreter(program: str, *functions: str) -> Interpreter:
    """The thread's own interpreter of this program: beginning one takes as long as hundreds of searches."""
    interpreters: dict[str, Interpreter] = vars(_THREAD)
    known = interpreters.get(program)
    if known is None:
        known = interpreters[program] = Interpreter(program, *functions)
    return known
