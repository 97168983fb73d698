"""JSON Schemas of types, as msgspec writes them, completed so that generators of clients read all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec


def json_schemas(kinds: Iterable[Any], references: str) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    """Return the schemas of types, and by name those that they refer to, as ``references`` writes it: ``#/$defs/{name}``."""
    schemas, parts = msgspec.json.schema_components(kinds, ref_template=references)
    _complete([*schemas, *parts.values()])
    return schemas, parts


def schema_and_parts(kind: Any, references: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schema of a type, and by name those that it refers to."""
    (schema,), parts = json_schemas((kind,), references)
    return (parts.pop(schema["$ref"].rpartition("/")[2]) if "$ref" in schema else schema), parts


def json_schema(kind: Any) -> dict[str, Any]:
    """Return the schema of a type, complete in itself."""
    schema, parts = schema_and_parts(kind, "#/$defs/{name}")
    return {**schema, "$defs": parts} if parts else schema


def _complete(value: Any) -> None:
    """Mend schemas: a list may hold anything if it does not say what, one value is a constant, and a default is allowed."""
    if isinstance(value, dict):
        kinds, values = value.get("type"), value.get("enum")
        if (kinds == "array" or (isinstance(kinds, list) and "array" in kinds)) and "prefixItems" not in value:
            value.setdefault("items", {})
        if isinstance(values, list) and value.get("default", values[0]) not in values:
            del value["default"]
        if isinstance(values, list) and len(values) == 1:
            value["const"] = value.pop("enum")[0]
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _complete(part)
