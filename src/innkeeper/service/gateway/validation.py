"""Validation: a request against the part of JSON Schema that shapes use (type, enum, properties, required, items).

Written here, since it must take a fraction of a millisecond for thousands of messages and tell each place as a path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

from innkeeper.prompt.display import shorten
from innkeeper.service.errors import Problem
from innkeeper.service.limits import MAX_PROBLEMS

__all__ = ["problems", "type_name"]

_ARTICLES: Final = MappingProxyType(
    {
        "string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
        "object": "an object", "array": "an array", "null": "null",
    }
)  # fmt: skip
_NAME_SHOWN: Final = 80


def problems(value: Any, schema: Mapping[str, Any], path: str = "") -> list[Problem]:
    """Where ``value`` does not fit ``schema``: the first places, in order; none where it fits."""
    return list(islice(_problems(value, schema, path), MAX_PROBLEMS))


def type_name(value: Any) -> str:
    """The JSON Schema type of plain data; whole numbers are ``integer``."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    if isinstance(value, float):
        return "number"
    return "string" if isinstance(value, str) else "object" if isinstance(value, dict) else "array"


def _problems(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    found, wanted = type_name(value), _types(schema)
    if wanted and found not in wanted and not (found == "integer" and "number" in wanted):
        yield _wrong_type(found, wanted, path)
    elif "enum" in schema and value not in schema["enum"]:
        words = ", ".join(str(word) for word in schema["enum"] if word is not None)
        yield Problem(path, f"{_place(path)} is none of the values it may have", f"one of: {words}")
    elif found == "object":
        yield from _members(value, schema, path)
    elif found == "array" and schema.get("items"):
        for index, item in enumerate(value):
            yield from _problems(item, schema["items"], f"{path}[{index}]")


def _members(value: dict[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for name in schema.get("required", ()):
        if name not in value:
            yield Problem(_below(path, name), f"{_below(path, name)} is missing", f"add {name!r}")
    for name, part in schema.get("properties", {}).items():
        if name in value:
            yield from _problems(value[name], part, _below(path, name))


def _wrong_type(found: str, wanted: tuple[str, ...], path: str) -> Problem:
    words = " or ".join(_ARTICLES[kind] for kind in wanted if kind != "null" or len(wanted) == 1)
    hint = f"give {words}" + (", or leave it out" if "null" in wanted and len(wanted) > 1 else "")
    return Problem(path, f"{_place(path)} must be {words}, not {_ARTICLES[found]}", hint)


def _types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    kinds = schema.get("type", ())
    return (kinds,) if isinstance(kinds, str) else tuple(kinds)


def _below(path: str, name: str) -> str:
    return f"{path}.{shorten(name, _NAME_SHOWN)}" if path else shorten(name, _NAME_SHOWN)


def _place(path: str) -> str:
    return path or "the request"
