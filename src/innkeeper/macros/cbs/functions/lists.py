"""Functions of lists and dicts, which are texts: JSON, or for lists the parts between ``§``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from innkeeper.macros.cbs.blocks import parse_list
from innkeeper.macros.cbs.run import MAX_ITEMS, CbsCall, Function, Result, ThrownError, by_alias, checked, exceeded
from innkeeper.text.javascript.values import json_text, number_text, parse_json, text_of, to_number

_SEPARATOR: Final = "\\u003A\\u003A"


def list_text(call: CbsCall, items: Sequence[Any]) -> str:
    """A list as text. A ``::`` in it is written so that it separates no arguments."""
    checked(len(items), "the number of items in a list", "MAX_ITEMS", MAX_ITEMS)
    call.run.spend(sum(len(item) for item in items if isinstance(item, str)))
    return json_text([item.replace("::", _SEPARATOR) if isinstance(item, str) else item for item in items])


def values_of(call: CbsCall) -> list[Any]:
    """The arguments, or the list that is the only one."""
    return list(call.args) if len(call.args) > 1 else parse_list(call.text(0))


def _index(number: float) -> int:
    """A number as an index: cut to a whole one, NaN is 0."""
    return 0 if math.isnan(number) else int(max(min(number, MAX_ITEMS * 10), -MAX_ITEMS * 10))


def arrayelement(call: CbsCall) -> Result:
    """The item of an index, which counts from the end where it is negative."""
    items, index = parse_list(call.text(0)), _index(call.number(1))
    value = items[index] if -len(items) <= index < len(items) else None
    return "null" if value is None else value


def arraysplice(call: CbsCall) -> Result:
    """Replace ``count`` items from ``start`` by one."""
    items, start, count = parse_list(call.text(0)), _index(call.number(1)), _index(call.number(2))
    start = max(len(items) + start, 0) if start < 0 else start
    items[start : start + max(count, 0)] = [_optional(call, 3)]
    return list_text(call, items)


def _optional(call: CbsCall, index: int) -> str | None:
    """An argument, or ``None`` where it is not there: JSON writes it as ``null``."""
    return call.args[index] if index < len(call.args) else None


def arrayassert(call: CbsCall) -> Result:
    """Set the item of an index behind the end."""
    items, index = parse_list(call.text(0)), call.number(1)
    if index >= len(items) and index % 1 == 0:
        size = checked(index + 1, "the number of items in a list", "MAX_ITEMS", MAX_ITEMS)
        items += [None] * (size - 1 - len(items)) + [_optional(call, 2)]
    return list_text(call, items)


def array_filter(call: CbsCall) -> Result:
    """The items that are not empty, that come first of their like, or both."""
    items, kind = parse_list(call.text(0)), call.shown(1)
    if kind != "unique":
        items = [item for item in items if item != ""]
    if kind != "nonempty":
        keys = [id(item) if isinstance(item, list | dict) else (type(item) is bool, item) for item in items]
        items = [
            items[index] for index in sorted({key: index for index, key in reversed(list(enumerate(keys)))}.values())
        ]
    return list_text(call, items)


def array_range(call: CbsCall) -> Result:
    """The numbers from ``start`` up to before ``end``."""
    numbers = [to_number(item) for item in parse_list(call.text(0))]
    start, end, step = [*numbers, 1.0][:3] if len(numbers) > 1 else (0.0, numbers[0] if numbers else math.nan, 1.0)
    return list_text(call, list(_counted(start, end, step)))


def _counted(start: float, end: float, step: float) -> Iterator[str]:
    count = 0
    while start < end:
        if count >= MAX_ITEMS:
            raise exceeded("the number of items in a list", "MAX_ITEMS", MAX_ITEMS)
        yield number_text(start)
        start, count = start + step, count + 1


def _popped(call: CbsCall, index: int) -> Result:
    items = parse_list(call.text(0))
    del items[index : index + 1 or None]
    return list_text(call, items)


# ----------------------------------------------------------------------------------------------------------------- dicts


def _dict(text: str) -> Any:
    """A dict; an empty one for what is no JSON."""
    try:
        value = parse_json(text)
    except ValueError:
        return {}
    if value is None:
        raise ThrownError
    return value


def _property(value: Any, key: str) -> Any:
    """The property of JSON data that a key names, if any."""
    if isinstance(value, dict):
        return value.get(key)
    if isinstance(value, list | str):
        if key == "length":
            return len(value)
        if key.isascii() and key.isdigit() and str(int(key)) == key and int(key) < len(value):
            return value[int(key)]
    return None


def dictelement(call: CbsCall) -> Result:
    """The value of a key."""
    value = _property(_dict(call.text(0)), call.shown(1))
    return "null" if value is None else value


def objectassert(call: CbsCall) -> Result:
    """Set the value of a key that has none, or an empty one. What is no dict and no list cannot be set."""
    value = _dict(call.text(0))
    current = _property(value, call.shown(1))
    if not isinstance(value, list | dict) and not current:
        raise ThrownError
    if isinstance(value, dict) and not current and not isinstance(current, list | dict):
        value[call.shown(1)] = _optional(call, 2)
        if value[call.shown(1)] is None:
            del value[call.shown(1)]
    return json_text(value)


def element(call: CbsCall) -> Result:
    """The value that a path of keys leads to. Each step reads JSON text; what is not text ends it."""
    value: Any = call.text(0)
    for key in call.args[1:]:
        try:
            parsed = parse_json(text_of(value))
        except ValueError:
            parsed = None
        value = _property(parsed, key) if isinstance(parsed, list | dict) else None
        if not value and not isinstance(value, list | dict):
            return "null"
    return value


def makedict(call: CbsCall) -> Result:
    """A dict of ``key=value`` arguments."""
    return json_text(dict(arg.split("=", 1) for arg in call.args if "=" in arg))


FUNCTIONS: Final[Mapping[str, Function]] = by_alias(
    {
        "makearray array a": lambda call: list_text(call, call.args),
        "arraylength": lambda call: str(len(parse_list(call.text(0)))),
        "arrayelement": arrayelement,
        "arraypush": lambda call: list_text(call, [*parse_list(call.text(0)), _optional(call, 1)]),
        "arraypop": lambda call: _popped(call, -1),
        "arrayshift": lambda call: _popped(call, 0),
        "arraysplice": arraysplice,
        "arrayassert": arrayassert,
        "filter": array_filter,
        "range": array_range,
        "makedict dict d makeobject object o": makedict,
        "dictelement objectelement": dictelement,
        "objectassert dictassert": objectassert,
        "element ele": element,
    }
)
