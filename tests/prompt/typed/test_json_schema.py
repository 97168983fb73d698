"""JSON Schemas of types, completed."""

from typing import Any, Literal

import msgspec

from innkeeper.prompt.typed.json_schema import json_schema


class _Order(msgspec.Struct):
    kind: Literal["inn"]
    rooms: list[Any]
    pairs: tuple[int, str]
    size: Literal["small", "large"] = ""  # type: ignore[assignment]  # a default that is none of the values
    type: Literal["array"] = "array"


def test_completed() -> None:
    """Lists have items, one value is a constant, and a default that is not allowed is not said."""
    schema = json_schema(_Order)["properties"]
    assert schema["rooms"] == {"type": "array", "items": {}}
    assert schema["kind"] == {"const": "inn"}
    assert schema["type"] == {"const": "array", "default": "array"}
    assert schema["size"] == {"enum": ["large", "small"]}
    assert schema["pairs"]["prefixItems"] == [{"type": "integer"}, {"type": "string"}]
