"""The ``{{python:…}}`` macro: its code, and what the sandbox may reach.

SmartTavern splices what inner macros produced into the source, so a variable's text becomes code. Unless the compat keeps that,
a value is data there: inside of quotes a part of that text, elsewhere a number or a text of its own.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

from innkeeper.macros.engine.errors import MacroError, MacroLimitError
from innkeeper.macros.smart.environment import SmartEnvironment
from innkeeper.macros.smart.options import MAX_PYTHON_SECONDS, MAX_PYTHON_WORK, Chance
from innkeeper.macros.smart.pieces import Inner, MacroValue
from innkeeper.prompt.allowance import charge, end_build
from innkeeper.prompt.typed.once import once

_READING: Final = 10
"""Work that a character of code counts for being read."""

_COMPILE_STEPS: Final = 100
_CHAR_STEPS: Final = 12
"""Steps of the allowance that a character of code counts, whether it was compiled before or not."""

_KEYWORD: Final = "python:"
_LEXEME: Final = re.compile(r"""#|(?:\b[a-zA-Z]{1,2})?(?:'''|\"\"\"|'|")""")
_NUMBER: Final = re.compile(r"(?:0|[1-9][0-9]{0,300})(?:\.[0-9]{0,300})?(?:[eE][+-]?[0-9]{1,3})?")
_WORDS: Final = frozenset({"True", "False", "None"})


class EnvironmentHost:
    """The host of sandboxed code: the variables, the moment and the randomness of a run."""

    __slots__ = ("_env", "functions_as_objects", "now", "random")

    def __init__(self, env: SmartEnvironment) -> None:
        self._env = env
        self.now: datetime = env.options.now
        self.random: Chance = env.chance
        self.functions_as_objects = env.options.compat.functions_as_objects

    def getvar(self, path: str) -> Any:
        """The value at a path, or the policy's placeholder."""
        return self._env.read(path)

    def setvar(self, path: str, value: Any) -> None:
        """Set a variable."""
        self._env.write(path, value)


def run_python(env: SmartEnvironment, inner: Inner) -> Any:
    """The value of the code. Raises `MacroError` when Python is off, and the sandbox's errors."""
    if not env.options.python:
        raise MacroError("Python is switched off", macro="python", hint="switch it on with the option `python`")
    return _within_share(env, code_of(inner))


def _within_share(env: SmartEnvironment, code: str) -> str:
    """The text of the code's value. Raises `MacroLimitError` when the run has had its share of work or time."""
    program, SANDBOX_LIMITS, Frame, sandboxed_text = _sandbox()  # noqa: N806 - as they are called
    spent = env.spent
    if spent.work > MAX_PYTHON_WORK:
        raise MacroLimitError("Python in one run", limit="MAX_PYTHON_WORK", allowed=MAX_PYTHON_WORK)
    if spent.seconds > MAX_PYTHON_SECONDS:
        end_build("patterns")
        raise MacroLimitError("patterns in one run", limit="MAX_PYTHON_SECONDS", allowed=MAX_PYTHON_SECONDS)
    spent.work += len(code) * _READING
    charge("sandbox", _COMPILE_STEPS + min(len(code), SANDBOX_LIMITS.code_chars) * _CHAR_STEPS)
    frame = Frame(EnvironmentHost(env), SANDBOX_LIMITS)
    try:
        value = program(code).run(frame)
        return "" if value is None else sandboxed_text(frame, value)
    finally:
        frame.settle()
        spent.work += SANDBOX_LIMITS.work - frame.left
        spent.seconds += frame.deadline.allowed - frame.deadline.left


@once
def _sandbox() -> tuple[Any, Any, Any, Any]:
    """Import the sandbox on first use, once: an import statement costs as much as a short program."""
    from innkeeper.macros.smart.sandbox.compiler import program
    from innkeeper.macros.smart.sandbox.limits import SANDBOX_LIMITS
    from innkeeper.macros.smart.sandbox.values import Frame, text_of

    return program, SANDBOX_LIMITS, Frame, text_of


def code_of(inner: Inner) -> str:
    """The code between a macro's marks, values written as data."""
    if inner.plain is inner.text:
        return inner.text[len(_KEYWORD) :].strip()
    written, inside = [], ""
    for piece in inner.pieces:
        if type(piece) is MacroValue:
            written.append(_data(piece, inside))
        else:
            inside = _state(piece, inside)
            written.append(piece)
    return "".join(written).strip()[len(_KEYWORD) :].strip()


def _data(value: str, inside: str) -> str:
    """Write a value into code; ``inside``: the opener of the string or comment that it stands in."""
    if inside == "#":
        return ""
    if inside:
        # The text ends, the value follows as a text of its own, and the text goes on: Python joins the three.
        return f"{inside.lstrip(_LETTERS)} {str(value)!r} {inside}"
    text = value.strip()
    if _NUMBER.fullmatch(text) or text in _WORDS:
        return text
    if text[:1] == "-" and _NUMBER.fullmatch(text[1:]):
        return f"({text})"
    return f" {str(value)!r} "


_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _state(piece: str, inside: str) -> str:
    """What the end of a piece of code stands in: nothing, a comment (``#``), or a string (its opening quotes and letters)."""
    index = 0
    while index < len(piece):
        if inside:
            index, inside = _closed(piece, index, inside)
            continue
        match = _LEXEME.search(piece, index)
        if match is None:
            return ""
        inside, index = match.group(), match.end()
    return inside


def _closed(piece: str, index: int, inside: str) -> tuple[int, str]:
    """Return where the comment or string ends, and what is open then."""
    quote = inside.lstrip(_LETTERS)
    if inside == "#":
        end = piece.find("\n", index)
        return (len(piece), inside) if end < 0 else (end + 1, "")
    while index < len(piece):
        if piece[index] == "\\":
            index += 2
        elif piece.startswith(quote, index):
            return index + len(quote), ""
        else:
            index += 1
    return index, inside
