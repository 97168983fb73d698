"""Shapes: lines become the schemas they stand for."""

from typing import Any

import jsonschema
import pytest

from innkeeper.service.gateway.operations import OPERATIONS
from innkeeper.service.gateway.shape import schema_of

LINES: dict[str, dict[str, Any]] = {
    "any": {},
    "str": {"type": "string"},
    "arr/obj": {"type": ["array", "object"]},
    "[int]": {"type": "array", "items": {"type": "integer"}},
    "{}": {"type": "object", "properties": {}},
    "{a*:bool, b:num, c:any}": {
        "type": "object",
        "properties": {"a": {"type": "boolean"}, "b": {"type": ["number", "null"]}, "c": {}},
        "required": ["a"],
    },
    "{e:enum(x y)}": {
        "type": "object",
        "properties": {"e": {"type": ["string", "null"], "enum": ["x", "y", None]}},
    },
    "{e:str/null}": {"type": "object", "properties": {"e": {"type": ["string", "null"]}}},
}


@pytest.mark.parametrize("line", LINES)
def test_line(line: str) -> None:
    """Each kind of shape gives its schema."""
    assert schema_of(line) == LINES[line]


@pytest.mark.parametrize("line", ["{a:str", "[int", "str str", "?", "{a str}"])
def test_no_shape(line: str) -> None:
    """A line that is no shape is a defect that shows at once."""
    with pytest.raises((ValueError, IndexError, KeyError)):
        schema_of(line)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_schemas_are_schemas(name: str) -> None:
    """All schemas of the table are valid JSON Schema, and its paths are in a namespace."""
    operation = OPERATIONS[name]
    jsonschema.Draft202012Validator.check_schema(operation.input_schema)
    jsonschema.Draft202012Validator.check_schema(operation.output_schema)
    assert operation.namespace in {"modules", "workflow", "plugins"}
