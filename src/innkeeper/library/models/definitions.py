"""Definitions of tools: their parameters are a JSON Schema (draft 2020-12), of the keywords that models are told.

Looked at is whether each known keyword holds what it may hold, at every depth; keywords that are not known are left alone, as the
standard has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from innkeeper.library.errors import FieldError
from innkeeper.prompt.errors import Where

MAX_SCHEMA_DEPTH: Final = 64
"""Schemas inside one another (`FieldError`)."""

_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_PARAMETERS: Final = ("parameters", "input_schema")
_SCHEMA: Final = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_SCHEMAS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_COUNTS: Final = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_TEXTS: Final = ("title", "description", "format", "pattern", "$ref", "$id", "$schema")


def check_definition(definition: Mapping[str, Any], asset: str = "tools") -> None:
    """Refuse a definition of a tool that no model could be told: ``{type: function, function: {…}}``, or its inside alone.

    Raises `FieldError`, with the place inside the definition.
    """
    inner = definition.get("function", definition)
    if definition.get("type", "function") != "function":
        _refuse(asset, "definition.type", f"is 'function', not {definition['type']!r}")
    if not isinstance(inner, Mapping):
        _refuse(asset, "definition.function", "is an object")
    for name in _PARAMETERS:
        if (schema := inner.get(name)) is not None:
            for where, what in _faults(schema, f"definition.{name}", 0):
                _refuse(asset, where, what)
            if isinstance(schema, Mapping) and schema.get("type", "object") != "object":
                _refuse(asset, f"definition.{name}.type", "is 'object': arguments have names")


def check_address(asset: str, url: str | None) -> None:
    """Refuse an address that no request goes to: without host, or with a user, a password, a query or a fragment.

    Raises `FieldError`.
    """
    if not url:
        return
    try:
        parts = urlsplit(url)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if not sound or parts.username is not None or parts.query or parts.fragment:
        message = "base_url is an http or https address without user, password, query and fragment"
        hint = "`innkeeper admin vault set NAME` keeps a secret, and secret_name names it"
        raise FieldError(message, where=Where(asset=asset, path="base_url"), hint=hint)


def _refuse(asset: str, path: str, what: str) -> None:
    raise FieldError(f"{path} {what}", where=Where(asset=asset, path=path), hint="write it as a JSON Schema")


Faults = Iterator[tuple[str, str]]
Check = Callable[[Any, str, int], Faults]


def _faults(schema: Any, where: str, depth: int) -> Faults:
    """What is wrong with a schema: where, and what it should be."""
    if depth > MAX_SCHEMA_DEPTH:
        yield where, f"is nested deeper than {MAX_SCHEMA_DEPTH}"
    elif isinstance(schema, Mapping):
        for name, value in schema.items():
            for known, check in _CHECKS:
                if name in known:
                    yield from check(value, f"{where}.{name}", depth + 1)
    elif not isinstance(schema, bool):
        yield where, "is a schema: an object, true or false"


def _type(value: Any, where: str, _depth: int) -> Faults:
    for one in value if isinstance(value, (list, tuple)) and value else (value,):
        if not isinstance(one, str) or one not in _TYPES:
            yield where, f"is one of {', '.join(sorted(_TYPES))}, not {one!r:.40}"


def _list_of_schemas(value: Any, where: str, depth: int) -> Faults:
    if not isinstance(value, (list, tuple)) or not value:
        yield where, "is a list of schemas"
        return
    for number, schema in enumerate(value):
        yield from _faults(schema, f"{where}[{number}]", depth)


def _named_schemas(value: Any, where: str, depth: int) -> Faults:
    if not isinstance(value, Mapping):
        yield where, "is an object: a schema for each name"
        return
    for name, schema in value.items():
        yield from _faults(schema, f"{where}.{name}", depth)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _plain(holds: Callable[[Any], bool], what: str) -> Check:
    """A check that looks at the value alone."""
    return lambda value, where, _depth: iter(() if holds(value) else ((where, what),))


_CHECKS: Final[tuple[tuple[tuple[str, ...], Check], ...]] = (
    (("type",), _type),
    (_SCHEMA, _faults),
    (_SCHEMAS, _list_of_schemas),
    (_NAMED, _named_schemas),
    (
        ("required",),
        _plain(lambda value: _is_list(value) and all(isinstance(name, str) for name in value), "is a list of names"),
    ),
    (("enum", "examples"), _plain(_is_list, "is a list of values")),
    (_COUNTS, _plain(_is_count, "is a count")),
    (_NUMBERS, _plain(_is_number, "is a number")),
    (_TEXTS, _plain(lambda value: isinstance(value, str), "is a text")),
)
"""By keyword: what looks at its value."""
