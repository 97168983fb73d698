"""Conditions: what ``{{#when::…}}`` tests. Its parts are reduced from the right, without precedence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt
from typing import Final

from innkeeper.macros.cbs.run import UNDEFINED, CbsRun
from innkeeper.text.javascript.values import parse_float

_COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = {">": gt, "<": lt, ">=": ge, "<=": le}
_MODES: Final = ("keep", "legacy")

_WITH_LEFT: Final[Mapping[str, Callable[[str, str, CbsRun], bool]]] = {
    "and": lambda left, right, _: is_true(left) and is_true(right),
    "or": lambda left, right, _: is_true(left) or is_true(right),
    "is": lambda left, right, _: left == right,
    "isnot": lambda left, right, _: left != right,
    "vis": lambda left, right, run: run.variable(left) == right,
    "visnot": lambda left, right, run: run.variable(left) != right,
    "tis": lambda left, right, run: run.scope.global_variable("toggle_" + left) == right,
    "tisnot": lambda left, right, run: run.scope.global_variable("toggle_" + left) != right,
}
_ALONE: Final[Mapping[str, Callable[[str, CbsRun], bool]]] = {
    "not": lambda right, _: not is_true(right),
    "var": lambda right, run: is_true(run.variable(right)),
    "toggle": lambda right, run: is_true(run.scope.global_variable("toggle_" + right)),
}


def is_true(text: str) -> bool:
    """Whether a text counts as true: ``1`` and ``true`` do, nothing else."""
    return text in {"1", "true"}


def when(parts: list[str], run: CbsRun) -> tuple[bool, str]:
    """Return whether the parts of a condition hold, and the mode of white space that they name."""
    stack, mode = list(parts), ""
    while len(stack) > 1:
        right, operator = stack.pop(), stack.pop()
        if operator in _MODES:
            mode = operator
            stack += [right] if run.scope.compat.whitespace_modes else []
        else:
            stack.append(_reduced(operator, right, stack, run))
    return bool(stack) and is_true(stack[0]), mode


def _reduced(operator: str, right: str, stack: list[str], run: CbsRun) -> str:
    if operator in _ALONE:
        holds = _ALONE[operator](right, run)
    elif operator in _WITH_LEFT or operator in _COMPARISONS:
        left = stack.pop() if stack else UNDEFINED
        if operator in _WITH_LEFT:
            holds = _WITH_LEFT[operator](left, right, run)
        else:
            pair = (left, right) if run.scope.compat.ordered_comparisons else (right, left)
            holds = _COMPARISONS[operator](parse_float(pair[0]), parse_float(pair[1]))
    else:
        holds = is_true(right)
    return "1" if holds else "0"
