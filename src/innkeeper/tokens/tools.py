"""What tool definitions cost: an estimate, since each provider renders them in a way it does not publish."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from innkeeper.tokens.counter import Counter

__all__ = ["TOOL_RULES", "ToolCount", "ToolRule", "count_tools"]


class ToolRule(msgspec.Struct, frozen=True, kw_only=True):
    """How tool definitions are turned into text and counted.

    ``form``: ``json`` (the definition), ``typescript`` (as OpenAI's models are believed to see it) or ``texts`` (names,
    descriptions and property names). ``once``: tokens for having tools at all; ``per_tool``: for each; ``scale``: of the
    text's tokens; ``error``: ± percent.
    """

    name: str
    form: str = "json"
    once: int = 0
    per_tool: int = 0
    scale: float = 1.0
    error: float = 30.0
    basis: str = ""


class ToolCount(msgspec.Struct, frozen=True):
    """Estimated tokens of tool definitions, and how far they may be off, in percent."""

    tokens: int
    error_percent: float
    rule: str


TOOL_RULES: Final[Mapping[str, ToolRule]] = MappingProxyType(
    {
        rule.name: rule
        for rule in (
            ToolRule(name="none", basis="the definitions as JSON"),
            ToolRule(
                name="openai",
                form="typescript",
                error=20.0,
                basis="recorded usage with one and two tools: off by 12-16 %",
            ),
            ToolRule(
                name="anthropic",
                once=346,
                scale=0.7,
                basis="Anthropic's documentation (346 once); one recorded definition",
            ),
            ToolRule(name="google", form="texts", per_tool=2, basis="recorded usage of Gemini 2.0 with two tools"),
        )
    }
)
"""The rules by the name of the framing they go with."""


def count_tools(
    tools: Iterable[Any], counter: Counter, model: str | None = None, rule: ToolRule | str = "none"
) -> ToolCount:
    """Tokens of tool definitions: ours, OpenAI's, Anthropic's or Google's shape. No tools cost nothing.

    ``rule`` is a rule or the name of one; an unknown name is the rule ``none``.
    """
    chosen = TOOL_RULES.get(rule, TOOL_RULES["none"]) if isinstance(rule, str) else rule
    listed = [_plain(tool) for tool in tools]
    if not listed:
        return ToolCount(0, 0.0, chosen.name)
    text = sum(counter.count_many(_RENDER[chosen.form](listed), model))
    return ToolCount(
        chosen.once + chosen.per_tool * len(listed) + round(chosen.scale * text), chosen.error, chosen.name
    )


def _plain(tool: Any) -> dict[str, Any]:
    """A definition as name, description and parameters; what is not a mapping becomes one by its attributes."""
    facts = tool if isinstance(tool, Mapping) else {name: getattr(tool, name, None) for name in _FIELDS}
    inner = facts.get("function")
    facts = inner if isinstance(inner, Mapping) else facts
    schemas = [found for key in _SCHEMAS if isinstance(found := facts.get(key), Mapping)]
    return {
        "name": str(facts.get("name") or facts.get("type") or ""),
        "description": str(facts.get("description") or ""),
        "parameters": schemas[0] if schemas else {},
    }


_FIELDS: Final = ("name", "description", "parameters")
_SCHEMAS: Final = ("parameters", "input_schema", "parameters_json_schema", "parametersJsonSchema", "schema")


def _json(tools: list[dict[str, Any]]) -> list[str]:
    return [msgspec.json.encode(tool, enc_hook=str).decode() for tool in tools]


def _texts(tools: list[dict[str, Any]]) -> list[str]:
    return [text for tool in tools for text in (tool["name"], tool["description"], *_words(tool["parameters"]))]


def _words(schema: Mapping[str, Any]) -> Iterator[str]:
    for name, inner in _properties(schema):
        yield str(name)
        yield str(inner.get("description") or "")
        yield from _words(inner)


def _typescript(tools: list[dict[str, Any]]) -> list[str]:
    blocks = [
        "".join(_comment(tool["description"])) + f"type {tool['name']} = ({_arguments(tool['parameters'])}) => any;\n\n"
        for tool in tools
    ]
    return ["# Tools\n\n## functions\n\nnamespace functions {\n\n", *blocks, "} // namespace functions"]


def _arguments(schema: Mapping[str, Any]) -> str:
    return f"_: {_object(schema)}" if any(_properties(schema)) else ""


def _object(schema: Mapping[str, Any]) -> str:
    required = schema.get("required") or ()
    lines = [
        "".join(_comment(inner.get("description"))) + f"{name}{'' if name in required else '?'}: {_type(inner)},\n"
        for name, inner in _properties(schema)
    ]
    return "{\n" + "".join(lines) + "}"


def _type(schema: Mapping[str, Any]) -> str:
    values = schema.get("enum")
    if isinstance(values, (list, tuple)):
        return " | ".join(msgspec.json.encode(value, enc_hook=str).decode() for value in values)
    kind = schema.get("type")
    if kind == "object":
        return _object(schema)
    if kind == "array":
        items = schema.get("items")
        return f"{_type(items) if isinstance(items, Mapping) else 'any'}[]"
    return "number" if kind == "integer" else str(kind or "any")


def _comment(text: Any) -> Iterator[str]:
    for line in str(text or "").splitlines():
        yield f"// {line}\n"


def _properties(schema: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    found = schema.get("properties")
    return (
        [(name, inner) for name, inner in found.items() if isinstance(inner, Mapping)]
        if isinstance(found, Mapping)
        else []
    )


_RENDER: Final = MappingProxyType({"json": _json, "texts": _texts, "typescript": _typescript})
