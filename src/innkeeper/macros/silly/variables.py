"""Variables as SillyTavern keeps them, and the macros and shorthands that read and write them.

What is stored keeps its type: setting stores text, adding stores a number where both sides are numbers. A value that reads
as a number is read as one (``007`` is 7, ``null`` is 0), blank text and everything else as it is. Both engines share this.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from innkeeper.macros.engine.errors import MAX_LIST_INDEX, MacroArgumentError, MacroError, MacroLimitError
from innkeeper.macros.engine.evaluate import Evaluation
from innkeeper.macros.engine.macro import Call, Macro, whole
from innkeeper.macros.engine.syntax import MacroTag
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.run.variables import VariablesStore
from innkeeper.text.javascript.values import json_text, number_text, strip, text_of, to_number

_LONG = 1000
_READING_SHIFT = 9
"""A step reads so many characters of a long value, as a power of two."""
_JSON_STEPS = 3
"""The steps charged for a character of a list or object that is parsed from JSON and written again."""
_EXPONENTS = 1e21
"""From here on numbers print with an exponent."""


def named(name: str, macro: str) -> str:
    """``name``. Raises `MacroArgumentError` when it is empty: nothing can be stored under no name."""
    if not name:
        msg = f"{{{{{macro}}}}} needs the name of a variable"
        raise MacroArgumentError(msg, macro=macro)
    return name


def read(store: VariablesStore, name: str, scope: str) -> Any:
    """A variable's value as macros see it; an empty text when it is not set."""
    return _numeric(store.get(name, scope)) if store.has(name, scope) else ""


def _numeric(value: Any) -> Any:
    if isinstance(value, str):
        if len(value) > _LONG:
            charge("variables", len(value) >> _READING_SHIFT)
        if not strip(value):
            return value
    number = to_number(value)
    return value if math.isnan(number) else number


def value_text(value: Any) -> str:
    """A value as the new engine prints it: lists and objects as JSON."""
    return json_text(value) if isinstance(value, (list, tuple, dict)) else text_of(value)


def falsy(text: str) -> bool:
    """Whether a printed value counts as false: empty, ``false``, ``off``, ``0``."""
    return text == "" or strip(text).lower() in ("false", "off", "0")


def add(store: VariablesStore, name: str, value: str | float, scope: str) -> Any:
    """Add to a variable and return its new value: into a JSON list, as numbers, or as text."""
    current = read(store, name, scope)
    current = 0 if current in ("", 0) else current
    listed = _list_in(current)
    if listed is not None:
        listed.append(value)
        store.set(name, json_text(listed), scope)
        return listed
    left, right = to_number(current), to_number(value)
    if math.isnan(left) or math.isnan(right):
        joined = f"{'' if current == 0 else text_of(current)}{text_of(value)}"
        store.set(name, joined, scope)
        return joined
    total = left + right
    if math.isnan(total):
        return ""
    store.set(name, _stored(total), scope)
    return total


def _list_in(value: Any) -> list[Any] | None:
    text = text_of(value)
    if not text.startswith("["):
        return None
    stored = _parsed(text)
    return stored if isinstance(stored, list) else None


def _stored(number: float) -> float | str:
    """The stored form of a number: whole ones as integers, infinite ones as text, since JSON has none."""
    if not math.isfinite(number):
        return number_text(number)
    return int(number_text(number)) if number.is_integer() and abs(number) < _EXPONENTS else number


_NOT_JSON = object()


def _parsed(text: str) -> Any:
    charge("variables", len(text) * _JSON_STEPS)
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _NOT_JSON


def _refuse(_name: str) -> Any:
    msg = "not JSON"
    raise ValueError(msg)


def index_of(text: str) -> str | float:
    """A key as JavaScript takes it: a number where the text is one."""
    number = to_number(text)
    return text if math.isnan(number) else number


def item_text(store: VariablesStore, name: str, key: str, scope: str) -> str:
    """An item of a list or object that a variable holds as JSON text; the whole value where it holds none."""
    if not store.has(name, scope):
        return ""
    stored = store.get(name, scope)
    parsed = _parsed(text_of(stored)) if stored is not None else _NOT_JSON
    if parsed is _NOT_JSON or parsed is None:
        return value_text(_numeric(stored))
    exists, item = _item(parsed, index_of(key))
    if not exists:
        return ""
    return "null" if item is None else value_text(_numeric(item))


def _item(value: Any, key: str | float) -> tuple[bool, Any]:
    name = key if isinstance(key, str) else number_text(key)
    if isinstance(value, dict):
        return name in value, value.get(name)
    if isinstance(value, (list, str)):
        if name == "length":
            return True, len(value)
        if not isinstance(key, str) and key.is_integer() and 0 <= key < len(value):
            return True, value[int(key)]
    return False, None


def set_item(store: VariablesStore, name: str, key: str, value: str, scope: str) -> None:
    """Set an item of the list or object a variable holds as JSON text; a new one where it holds nothing.

    Does nothing where the variable holds something else. Raises `MacroLimitError` past `MAX_LIST_INDEX`.
    """
    index = index_of(key)
    stored = store.get(name, scope)
    holder = ([] if isinstance(index, float) else {}) if stored is None else _parsed(text_of(stored))
    if isinstance(holder, dict):
        holder[index if isinstance(index, str) else number_text(index)] = value
    elif isinstance(holder, list):
        _set_in_list(holder, index, value)
    else:
        return
    store.set(name, json_text(holder), scope)


def _set_in_list(holder: list[Any], index: str | float, value: str) -> None:
    if isinstance(index, str) or not index.is_integer() or index < 0:
        return
    if index > MAX_LIST_INDEX:
        what = "the index of a list"
        raise MacroLimitError(what, limit="MAX_LIST_INDEX", allowed=MAX_LIST_INDEX, found=index)
    position = int(index)
    holder.extend([None] * (position + 1 - len(holder)))
    holder[position] = value


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


def _family(word: str, scope: str) -> list[Macro]:
    def key_of(call: Call) -> str:
        return item_text(call.env.variables, call.arguments[0], call.arguments[1], scope)

    return [
        Macro(f"set{word}", _set(scope), 2, 2),
        Macro(f"add{word}", _add(scope), 2, 2),
        Macro(f"inc{word}", _step(scope, 1), 1, 1),
        Macro(f"dec{word}", _step(scope, -1), 1, 1),
        Macro(f"get{word}", lambda call: value_text(read(call.env.variables, call.arguments[0], scope)), 1, 1),
        Macro(
            f"has{word}",
            lambda call: "true" if call.env.variables.has(call.arguments[0], scope) else "false",
            1,
            1,
            aliases=(f"{word}exists",),
        ),
        Macro(f"delete{word}", _delete(scope), 1, 1, aliases=(f"flush{word}",)),
        Macro(f"set{word}key", _set_key(scope), 3, 3, aliases=(f"set{word}index",)),
        Macro(f"get{word}key", key_of, 2, 2, aliases=(f"get{word}index",)),
    ]


MACROS = (*_family("var", "local"), *_family("globalvar", "global"))
"""``setvar`` and its family, for the chat (``…var``) and for all chats (``…globalvar``)."""


def shorthand(evaluation: Evaluation, tag: MacroTag) -> str:
    """``{{.hp}}``, ``{{$gold += 5}}``, ``{{.name ?? nobody}}`` …: ``.`` is the chat's scope, ``$`` that of all chats.

    A value is evaluated only where the operator needs it: behind ``||`` and ``??`` when the variable has none of its own.
    """
    what = tag.shorthand
    if what is None or not what.name:
        return ""
    return _run(evaluation, tag, what.name, _SCOPES[what.scope], what.operator)


def _run(evaluation: Evaluation, tag: MacroTag, name: str, scope: str, operator: str) -> str:
    store = evaluation.env.variables
    if operator in ("++", "--"):
        return value_text(add(store, name, 1 if operator == "++" else -1, scope))
    if operator in ("", "||", "??", "||=", "??="):
        current = value_text(read(store, name, scope))
        assigns = falsy(current) if "|" in operator else not store.has(name, scope)
        if not operator or not assigns:
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


def _change(evaluation: Evaluation, tag: MacroTag, name: str, scope: str, value: str) -> None:
    what = tag.shorthand
    if what is not None and what.operator == "+=":
        add(evaluation.env.variables, name, value, scope)
        return
    number = to_number(value)
    if math.isnan(number):
        evaluation.warn(MacroError(f"cannot subtract {value[:40]!r} from {name}", macro=name), tag.start)
        return
    add(evaluation.env.variables, name, -number, scope)


def _compared(evaluation: Evaluation, tag: MacroTag, left: str, operator: str, right: str) -> bool:
    if operator in ("==", "!="):
        return (left == right) == (operator == "==")
    a, b = to_number(left), to_number(right)
    if math.isnan(a) or math.isnan(b):
        evaluation.warn(MacroError(f"{operator} compares numbers only", macro=operator), tag.start)
        return False
    return {">": a > b, ">=": a >= b, "<": a < b, "<=": a <= b}[operator]
