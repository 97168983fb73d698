"""Conditions: whether a trigger runs, and what ``v2If`` compares."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Any, Final

from innkeeper.macros.cbs.blocks import is_true
from innkeeper.macros.cbs.scope import data_of
from innkeeper.taverns.risu.triggers.state import TriggerState
from innkeeper.text.javascript.values import parse_json, to_number

_FAILS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "=": lambda value, other: value != other,
    "!=": lambda value, other: value == other,
    ">": lambda value, other: to_number(value) <= to_number(other),
    "<": lambda value, other: to_number(value) >= to_number(other),
    ">=": lambda value, other: to_number(value) < to_number(other),
    "<=": lambda value, other: to_number(value) > to_number(other),
    "null": lambda value, _: value != "null",
    "true": lambda value, _: not is_true(value),
}
"""When a condition fails. Numbers that are none pass, since each test is the opposite of its operator."""

_ALMOST: Final = 1e-4


def slice_of(items: Sequence[Any], start: float, end: float = math.inf) -> Sequence[Any]:
    """``items.slice(start, end)``; NaN is 0."""
    first, last = (0 if math.isnan(bound) else bound for bound in (start, end))
    bounds = (max(min(bound, len(items)), -len(items)) for bound in (first, last))
    begin, stop = (int(bound) + len(items) * (bound <= -1) for bound in bounds)
    return items[begin:stop]


def all_hold(conditions: Sequence[Mapping[str, Any]], state: TriggerState) -> bool:
    """Whether all conditions of a trigger hold."""
    return all(_holds(condition, state) for condition in conditions)


def _holds(condition: Mapping[str, Any], state: TriggerState) -> bool:
    kind, other, name = condition.get("type"), state.expand(condition.get("value")), str(condition.get("var") or "")
    if kind == "exists":
        return occurs(other, str(condition.get("type2")), to_number(condition.get("depth") or 0), state)
    values = {"var": state.get(name), "value": name, "chatindex": str(len(state.messages))}
    fails = _FAILS.get(str(condition.get("operator")))
    return fails is None or kind not in values or not fails(state.expand(values[kind]), other)


def occurs(text: str, manner: str, depth: float, state: TriggerState) -> bool:
    """Whether a text is in the last messages: as a word, in any letter case, or as a regular expression."""
    searched = " ".join(data_of(message) for message in slice_of(state.messages, -depth))
    state.spend(len(searched))
    if manner == "strict":
        return text in searched.split(" ")
    if manner == "loose":
        return text.lower() in searched.lower()
    return manner == "regex" and state.split(text, "", searched) is not None


# -------------------------------------------------------------------------------------------------------------------- if


def compares(condition: str, left: str, right: str) -> bool:
    """Whether ``left condition right`` holds in ``v2If`` and ``v2IfAdvanced``."""
    if condition in _COMPARISONS:
        return _COMPARISONS[condition](to_number(left), to_number(right))
    if condition in _RELATIONS:
        return _RELATIONS[condition](left, right)
    return False


def _equal(left: str, right: str) -> bool:
    a, b = to_number(left), to_number(right)
    return left == right if math.isnan(a) or math.isnan(b) else a == b


def _alike(left: str, right: str) -> bool:
    a, b = to_number(left), to_number(right)
    if math.isnan(a) or math.isnan(b):
        return left.lower().replace(" ", "") == right.lower().replace(" ", "")
    return abs(a - b) < _ALMOST


def _membership(item: str, text: str) -> bool | None:
    """Whether a text is in JSON text, a list or a text; ``None`` where that is neither."""
    try:
        value = parse_json(text)
    except ValueError:
        return None
    return item in value if isinstance(value, list | str) else None


_COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = {">": gt, "<": lt, ">=": ge, "<=": le}
_RELATIONS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "=": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "∈": lambda left, right: _membership(left, right) is True,
    "∋": lambda left, right: _membership(right, left) is True,
    "∉": lambda left, right: _membership(left, right) is not True,
    "∌": lambda left, right: _membership(right, left) is not True,
    "≒": _alike,
    "≡": lambda left, right: is_true(left) is (right == "true") if right in {"true", "false"} else left == right,
}
