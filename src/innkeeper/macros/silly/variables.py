"""Macros and shorthands that read and write variables."""

from __future__ import annotations

import math
from collections.abc import Callable

from innkeeper.macros.errors import MacroError
from innkeeper.macros.evaluate import Call, Evaluation, Macro, whole
from innkeeper.macros.silly.values import add, falsy, item_text, named, read, set_item, value_text
from innkeeper.macros.syntax import Tag
from innkeeper.text.javascript.values import to_number

__all__ = ["MACROS", "OPERATORS", "VALUED", "shorthand"]

VALUED = frozenset({"=", "+=", "-=", "||", "??", "||=", "??=", "==", "!=", ">", ">=", "<", "<="})
"""Operators of a shorthand that are followed by a value."""

OPERATORS = (*sorted(VALUED), "++", "--")
"""All operators of a shorthand."""

_SCOPES = {".": "local", "$": "global"}


def _set(scope: str) -> Callable[[Call], str]:
    def run(call: Call) -> str:
        name, value = call.arguments
        call.env.variables.set(named(name, call.tag.name), value, scope)
        return ""

    return run


def _add(scope: str) -> Callable[[Call], str]:
    def run(call: Call) -> str:
        name, value = call.arguments
        add(call.env.variables, named(name, call.tag.name), value, scope)
        return ""

    return run


def _step(scope: str, by: int) -> Callable[[Call], str]:
    def run(call: Call) -> str:
        return value_text(add(call.env.variables, named(call.arguments[0], call.tag.name), by, scope))

    return run


def _get(scope: str) -> Callable[[Call], str]:
    return lambda call: value_text(read(call.env.variables, call.arguments[0], scope))


def _has(scope: str) -> Callable[[Call], str]:
    return lambda call: "true" if call.env.variables.has(call.arguments[0], scope) else "false"


def _delete(scope: str) -> Callable[[Call], str]:
    def run(call: Call) -> str:
        call.env.variables.delete(call.arguments[0], scope)
        return ""

    return run


def _set_key(scope: str) -> Callable[[Call], str]:
    def run(call: Call) -> str:
        name, key, value = call.arguments
        set_item(call.env.variables, named(name, call.tag.name), key, value, scope)
        return ""

    return run


def _get_key(scope: str) -> Callable[[Call], str]:
    return lambda call: item_text(call.env.variables, call.arguments[0], call.arguments[1], scope)


def _family(word: str, scope: str) -> list[Macro]:
    return [
        Macro(f"set{word}", _set(scope), 2, 2),
        Macro(f"add{word}", _add(scope), 2, 2),
        Macro(f"inc{word}", _step(scope, 1), 1, 1),
        Macro(f"dec{word}", _step(scope, -1), 1, 1),
        Macro(f"get{word}", _get(scope), 1, 1),
        Macro(f"has{word}", _has(scope), 1, 1, aliases=(f"{word}exists",)),
        Macro(f"delete{word}", _delete(scope), 1, 1, aliases=(f"flush{word}",)),
        Macro(f"set{word}key", _set_key(scope), 3, 3, aliases=(f"set{word}index",)),
        Macro(f"get{word}key", _get_key(scope), 2, 2, aliases=(f"get{word}index",)),
    ]


MACROS = (*_family("var", "local"), *_family("globalvar", "global"))
"""``setvar`` and its family, for the chat (``…var``) and for all chats (``…globalvar``)."""


def shorthand(evaluation: Evaluation, tag: Tag) -> str:
    """``{{.hp}}``, ``{{$gold += 5}}``, ``{{.name ?? nobody}}`` …: ``.`` is the chat's scope, ``$`` that of all chats.

    A value is evaluated only where the operator needs it: behind ``||`` and ``??`` when the variable has none of its own.
    """
    what = tag.shorthand
    if what is None or not what.name:
        return ""
    return _run(evaluation, tag, what.name, _SCOPES[what.scope], what.operator)


def _run(evaluation: Evaluation, tag: Tag, name: str, scope: str, operator: str) -> str:
    store = evaluation.env.variables
    if operator in ("++", "--"):
        return value_text(add(store, name, 1 if operator == "++" else -1, scope))
    if operator in ("", "||", "??", "||=", "??="):
        current = value_text(read(store, name, scope))
        wanted = falsy(current) if "|" in operator else not store.has(name, scope)
        if not operator or not wanted:
            return current
    left = read(store, name, scope)
    value = evaluation.span(evaluation.stripped(whole(tag.arguments[0])))
    if operator in ("=", "||=", "??="):
        store.set(name, value, scope)
        return "" if operator == "=" else value
    if operator in ("||", "??"):
        return value
    if operator in ("+=", "-="):
        _change(evaluation, tag, name, scope, value)
        return ""
    return "true" if _compared(evaluation, tag, value_text(left), operator, value) else "false"


def _change(evaluation: Evaluation, tag: Tag, name: str, scope: str, value: str) -> None:
    what = tag.shorthand
    if what is not None and what.operator == "+=":
        add(evaluation.env.variables, name, value, scope)
        return
    number = to_number(value)
    if math.isnan(number):
        evaluation.warn(MacroError(f"cannot subtract {value[:40]!r} from {name}", macro=name), tag.start)
        return
    add(evaluation.env.variables, name, -number, scope)


def _compared(evaluation: Evaluation, tag: Tag, left: str, operator: str, right: str) -> bool:
    if operator in ("==", "!="):
        return (left == right) == (operator == "==")
    a, b = to_number(left), to_number(right)
    if math.isnan(a) or math.isnan(b):
        evaluation.warn(MacroError(f"{operator} compares numbers only", macro=operator), tag.start)
        return False
    return {">": a > b, ">=": a >= b, "<": a < b, "<=": a <= b}[operator]
