"""Interpreter: JavaScript for regular expressions, bounded in time and memory, and begun anew where either has run out.

A program has the functions that are called, with a pattern and its flags as their first arguments; `PROGRAM` comes before it.
What the expressions compile to is kept with the interpreter and goes with it.
"""

from __future__ import annotations

import re
import threading
from typing import Any, Final

from innkeeper.prompt.allowance import current_allowance, seconds_left

MAX_INTERPRETER_BYTES: Final = 64 * 1024 * 1024
"""Bytes that one JavaScript interpreter may hold; an expression that needs more is not run (`TimeoutError`), with a note."""

_CACHE_BYTES: Final = 16 * 1024 * 1024
"""Bytes with which an interpreter is begun anew."""

_LEAST_SECONDS: Final = 1e-3
_STEPS_A_CHARACTER: Final = 4
_STEPS_A_PROPERTY: Final = 3_000
"""A set such as ``\\p{L}`` is hundreds of ranges."""
_PROPERTY: Final = re.compile(r"\\[pP]\{")

PROGRAM: Final = """
const compiled = new Map();
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


class Interpreter:
    """One interpreter, for the thread that calls it. ``dropped`` counts how often its contents were dropped.

    ``holder`` is for whoever has given it something to keep between two calls; None where it holds nothing.

    Args:
        program: JavaScript that defines the ``functions``, which may use those of `PROGRAM`.
    """

    __slots__ = ("_context", "_functions", "_names", "_program", "dropped", "holder")

    def __init__(self, program: str, *functions: str) -> None:
        self._program = PROGRAM + program
        self._names = ("valid", *functions)
        self._context: Any = None
        self._functions: dict[str, Any] = {}
        self.dropped = 0
        self.holder: object = None

    def valid(self, pattern: str, flags: str, seconds: float) -> bool:
        """Whether JavaScript accepts the expression. Raises `TimeoutError` where it cannot be compiled within the limits."""
        if self._context is not None and self._context.memory()["memory_used_size"] > _CACHE_BYTES:
            self.drop()
        was_new = self._context is None
        try:
            return bool(self.call("valid", pattern, flags, seconds=seconds))
        except TimeoutError:  # perhaps what was compiled before had left too little
            if was_new:
                raise
        return bool(self.call("valid", pattern, flags, seconds=seconds))

    def call(self, function: str, *arguments: Any, seconds: float) -> Any:
        """Call a function and return its result.

        Raises:
            TimeoutError: it took more than ``seconds`` or too much memory, or the function threw.
            AllowanceError: the build's seconds are spent.
        """
        import quickjs

        if self._context is None:
            self._begin()
        left = seconds_left(seconds)
        self._context.set_time_limit(max(left, _LEAST_SECONDS))
        try:
            return self._functions[function](*arguments)
        except quickjs.JSException as error:
            if "RangeError" not in str(error):
                self.drop()
            if (allowance := current_allowance()) is not None and left < seconds and "interrupted" in str(error):
                allowance.expire("patterns")
            raise TimeoutError(str(error)) from error

    def _begin(self) -> None:
        import quickjs

        self._context = quickjs.Context()
        self._context.set_memory_limit(MAX_INTERPRETER_BYTES)
        self._context.eval(self._program)
        self._functions = {name: self._context.get(name) for name in self._names}

    def drop(self) -> None:
        """Forget everything; the next call begins anew."""
        self._context = self.holder = None
        self.dropped += 1


_THREAD: Final = threading.local()


def thread_interpreter(program: str, *functions: str) -> Interpreter:
    """The thread's own interpreter of this program: beginning one takes as long as hundreds of searches."""
    interpreters: dict[str, Interpreter] = vars(_THREAD)
    known = interpreters.get(program)
    if known is None:
        known = interpreters[program] = Interpreter(program, *functions)
    return known
