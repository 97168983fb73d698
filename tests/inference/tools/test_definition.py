"""Tool definitions: read from both shapes, written without what providers refuse, filtered for show and for use."""

from typing import Any

import pytest

from innkeeper.inference.tools.definition import ToolDefinition, ToolRegistry
from innkeeper.prompt import UnknownNameError, UsageError

LOOK = {
    "name": "look",
    "description": "Look around.",
    "parameters": {"type": "object", "required": [], "properties": {}},
}


class Parameters:
    """An object that knows its schema."""

    def json_schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": {"x": {"type": "integer"}}}


SHAPES = {
    "ours": LOOK,
    "openai": {"type": "function", "function": LOOK},
    "itself": ToolDefinition.of(LOOK),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_shapes(shape: Any) -> None:
    """All shapes are the same definition, written in the provider's shape without empty ``required`` lists."""
    function = {"name": "look", "description": "Look around.", "parameters": {"type": "object", "properties": {}}}
    assert ToolDefinition.of(shape).openai() == {"type": "function", "function": function}


def test_required_lists_that_are_empty_go_at_every_depth() -> None:
    """Empty ones go, full ones stay, and a property of that name is no such list."""
    schema = {
        "required": ["a"],
        "properties": {"a": {"type": "object", "required": [], "properties": {"required": {"type": "string"}}}},
        "anyOf": [{"required": []}],
    }
    found = ToolDefinition.of({"name": "f", "parameters": schema}).openai()["function"]["parameters"]
    inner = {"type": "object", "properties": {"required": {"type": "string"}}}
    assert found == {"required": ["a"], "properties": {"a": inner}, "anyOf": [{}]}


@pytest.mark.parametrize("parameters", [Parameters(), type("P", (), {"json_schema": Parameters().json_schema()})()])
def test_schema_from_an_object(parameters: Any) -> None:
    """An object with a ``json_schema``, a method or an attribute, gives its schema."""
    found = ToolDefinition.of({"name": "f", "parameters": parameters}).openai()
    assert found["function"]["parameters"]["properties"] == {"x": {"type": "integer"}}


def test_no_parameters() -> None:
    """A tool without parameters takes an object without properties."""
    assert ToolDefinition.of({"name": "f"}).openai()["function"]["parameters"] == {"type": "object", "properties": {}}


@pytest.mark.parametrize("value", [None, {}, {"name": " "}, {"function": {}}, {"name": "f", "parameters": [1]}, 3])
def test_mistakes(value: Any) -> None:
    """A definition needs a name and a schema that is a mapping."""
    with pytest.raises(UsageError):
        ToolDefinition.of(value)


def test_registry() -> None:
    """Definitions by name; hidden ones are there and not offered; doubles are a mistake."""
    registry = ToolRegistry([LOOK, {"name": "hide", "exposed_to_model": False}])
    assert (list(registry), len(registry), "look" in registry) == (["look", "hide"], 2, True)
    assert [registry.offers(name) for name in ("look", "hide", "nobody")] == [True, False, False]
    assert [tool["function"]["name"] for tool in registry.openai_tools()] == ["look"]
    assert ToolRegistry.of(registry) is registry
    assert len(ToolRegistry.of(None)) == 0
    with pytest.raises(UnknownNameError, match="unknown tool 'loo'"):
        registry["loo"]
    with pytest.raises(UsageError, match="two tools"):
        ToolRegistry([LOOK, LOOK])


@pytest.mark.parametrize(
    ("allow", "deny", "kept"),
    [
        (None, None, ["a", "b", "c"]),
        (["a", "b", "x"], None, ["a", "b"]),
        (None, ["b"], ["a", "c"]),
        (["a", "b"], ["b"], ["a"]),
        ([], None, []),
    ],
)
def test_filter(allow: list[str] | None, deny: list[str] | None, kept: list[str]) -> None:
    """Allow, then deny."""
    registry = ToolRegistry([{"name": name} for name in "abc"])
    assert list(registry.filtered(allow, deny)) == kept
