"""The arithmetic of RisuAI: what ``{{calc::…}}`` and ``{{? …}}`` compute, with JavaScript's numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from innkeeper.text.javascript.values import SPACES, number_text, parse_float, to_number

Variables: TypeAlias = Callable[[str], str]
"""The text of a variable of this name; text that is no number counts as 0."""

_CHAT: Final = re.compile(r"\$([a-zA-Z0-9_]+)")
_GLOBAL: Final = re.compile(r"@([a-zA-Z0-9_]+)")
_SPACE: Final = re.compile(f"[{SPACES}]+")
_NULL: Final = re.compile("null", re.IGNORECASE)
_SYMBOLS: Final = (("&&", "&"), ("||", "|"), ("<=", "≤"), (">=", "≥"), ("==", "="), ("!=", "≠"))


def divided(a: float, b: float) -> float:
    """``a / b``: by 0 it is infinite, or NaN."""
    if b:
        return a / b
    return math.nan if not a or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)


def remainder(a: float, b: float) -> float:
    """``a % b``: the rest has the sign of ``a``; NaN by 0."""
    return math.nan if not b or math.isinf(a) else math.fmod(a, b)


def power(a: float, b: float) -> float:
    """``a ** b`` as JavaScript has it."""
    if math.isnan(b) or (abs(a) == 1 and math.isinf(b)):
        return math.nan
    try:
        return math.pow(a, b)
    except OverflowError:
        return math.copysign(math.inf, a) if b % 2 == 1 else math.inf
    except ValueError:
        return math.nan if a else math.inf


_OPERATORS: Final[Mapping[str, tuple[int, Callable[[float, float], float]]]] = {
    "<": (1, lambda a, b: a < b),
    ">": (1, lambda a, b: a > b),
    "≤": (1, lambda a, b: a <= b),
    "≥": (1, lambda a, b: a >= b),
    "=": (1, lambda a, b: a == b),
    "≠": (1, lambda a, b: a != b),
    "|": (1, lambda a, b: b if not a or math.isnan(a) else a),
    "&": (1, lambda a, b: a if not a or math.isnan(a) else b),
    "+": (2, lambda a, b: a + b),
    "-": (2, lambda a, b: a - b),
    "*": (3, lambda a, b: a * b),
    "/": (3, divided),
    "%": (3, remainder),
    "^": (4, power),
    "!": (5, lambda _, b: not b or math.isnan(b)),
}
"""Precedence and meaning of each operator; all of them bind to the left, also ``^``."""


def calculate(text: str, chat: Variables, shared: Variables) -> float:
    """Return the value of an expression, or NaN where an operand is missing; ``$x`` reads chat, ``@x`` shared variables.

    >>> calculate("1+2*3", str, str)
    7.0
    """
    stack: list[list[str]] = [[]]
    for part in re.split(r"([()])", text):
        if part == "(":
            stack.append([])
        elif part == ")" and len(stack) > 1:
            value = _segment("".join(stack.pop()), chat, shared)
            stack[-1].append(number_text(value))
        else:
            stack[-1].append(part)
    return _segment("".join(map("".join, stack)), chat, shared)


def _segment(text: str, chat: Variables, shared: Variables) -> float:
    text = _CHAT.sub(lambda match: _variable(chat(match[1])), text)
    text = _GLOBAL.sub(lambda match: _variable(shared(match[1])), text)
    for written, symbol in _SYMBOLS:
        text = text.replace(written, symbol)
    return _reduced(_tokens(_SPACE.sub("", _NULL.sub("0", text))))


def _variable(text: str) -> str:
    value = to_number(text)
    return "0" if math.isnan(value) else number_text(value)


def _tokens(text: str) -> list[str | float]:
    tokens: list[str | float] = []
    start = 0
    for index, char in enumerate(text):
        signed = char == "-" and (not index or text[index - 1] in _OPERATORS)
        if char in _OPERATORS and not signed:
            tokens += [*_operand(text[start:index] or "0"), char]
            start = index + 1
    return tokens + _operand(text[start:])


def _operand(text: str) -> list[float]:
    value = parse_float(text)
    return [value] if (value and not math.isnan(value)) or text == "0" else []


def _reduced(tokens: list[str | float]) -> float:
    values: list[float] = []
    waiting: list[str] = []
    for token in tokens:
        if isinstance(token, float):
            values.append(token)
            continue
        while waiting and _OPERATORS[waiting[-1]][0] >= _OPERATORS[token][0]:
            _apply(waiting.pop(), values)
        waiting.append(token)
    while waiting:
        _apply(waiting.pop(), values)
    return values[-1] if values else 0.0


def _apply(operator: str, values: list[float]) -> None:
    right = values.pop() if values else math.nan
    left = values.pop() if values else math.nan
    values.append(float(_OPERATORS[operator][1](left, right)))
