"""Definitions of tools: what no model could be told is refused, with its place."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.errors import FieldError
from innkeeper.library.models.definitions import MAX_SCHEMA_DEPTH, check_definition

GOOD: dict[str, dict[str, Any]] = {
    "nothing": {},
    "only a type": {"type": "function"},
    "nested": {
        "type": "function",
        "function": {"name": "dice", "parameters": {"type": "object", "properties": {"sides": {"type": "integer"}}}},
    },
    "flat": {"name": "dice", "parameters": {"type": "object", "properties": {"to": {"type": ["string", "null"]}}}},
    "unknown keywords": {
        "parameters": {"x-order": 7, "properties": {"a": {"enum": [1, None], "x": {"type": "banana"}}}}
    },
    "truth values": {"parameters": {"properties": {"a": True}, "additionalProperties": False}},
}
BAD: dict[str, tuple[Any, str]] = {
    "a fruit": ({"type": "banana"}, "definition.parameters.type"),
    "inside": ({"properties": {"a": {"items": {"type": "str"}}}}, "definition.parameters.properties.a.items.type"),
    "no schema": ({"properties": {"a": "string"}}, "definition.parameters.properties.a"),
    "a list": ([], "definition.parameters"),
    "names": ({"required": "a"}, "definition.parameters.required"),
    "choices": ({"anyOf": []}, "definition.parameters.anyOf"),
    "values": ({"properties": {"a": {"enum": "x"}}}, "definition.parameters.properties.a.enum"),
    "counts": ({"properties": {"a": {"maxLength": -1}}}, "definition.parameters.properties.a.maxLength"),
    "numbers": ({"properties": {"a": {"minimum": True}}}, "definition.parameters.properties.a.minimum"),
    "texts": ({"description": 3}, "definition.parameters.description"),
    "no object": ({"type": "string"}, "definition.parameters.type"),
    "properties": ({"properties": ["a"]}, "definition.parameters.properties"),
}


@pytest.mark.parametrize("definition", GOOD.values(), ids=GOOD)
def test_what_models_are_told_passes(definition: dict[str, Any]) -> None:
    """Both spellings pass, and keywords that nobody knows."""
    check_definition(definition)


@pytest.mark.parametrize(("schema", "path"), BAD.values(), ids=BAD)
def test_what_is_no_schema_is_refused(schema: Any, path: str) -> None:
    """The error names the place."""
    for definition in ({"parameters": schema}, {"type": "function", "function": {"parameters": schema}}):
        with pytest.raises(FieldError) as caught:
            check_definition(definition)
        assert caught.value.where is not None
        assert caught.value.where.path == path


@pytest.mark.parametrize("definition", [{"type": "banana"}, {"function": "dice"}])
def test_what_is_no_definition_is_refused(definition: dict[str, Any]) -> None:
    """A definition is of a function."""
    with pytest.raises(FieldError):
        check_definition(definition)


def test_depth_is_bounded() -> None:
    """Schemas inside one another end with an error of ours."""
    schema: dict[str, Any] = {}
    for _ in range(MAX_SCHEMA_DEPTH + 1):
        schema = {"items": schema}
    with pytest.raises(FieldError, match="deeper"):
        check_definition({"parameters": schema})


_WORDS = st.sampled_from(
    ["type", "properties", "items", "required", "enum", "anyOf", "minimum", "maxLength", "title", "a"]
)
_LEAVES = st.one_of(st.sampled_from(["string", "object", "banana"]), st.integers(-1, 3), st.booleans(), st.none())
_SCHEMAS = st.recursive(
    _LEAVES, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_WORDS, inner, max_size=3))
)


@given(st.dictionaries(_WORDS, _SCHEMAS, max_size=3))
def test_what_passes_is_a_schema(schema: dict[str, Any]) -> None:
    """Whatever passes here passes the standard's own schema of schemas, but for repeated names and kinds."""
    try:
        check_definition({"parameters": schema})
    except FieldError:
        return
    repeated = [error for error in _errors(schema) if error.validator not in {"uniqueItems", "minItems"}]
    assert repeated == [], json.dumps(schema)


def _errors(schema: dict[str, Any]) -> list[Any]:
    validator = jsonschema.Draft202012Validator
    return [
        leaf for error in validator(validator.META_SCHEMA).iter_errors(schema) for leaf in (error.context or [error])
    ]
