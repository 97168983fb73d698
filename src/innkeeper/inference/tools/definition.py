"""ToolDefinition and ToolRegistry: the functions a model may call, and which of them it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from innkeeper.prompt import UsageError, freeze, thaw
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.registry import Registry

__all__ = ["ToolDefinition", "ToolRegistry"]


class ToolDefinition(msgspec.Struct, frozen=True):
    """One function: ``parameters`` is its JSON Schema. A tool that is not exposed can neither be seen nor called."""

    name: str
    description: str = ""
    parameters: FrozenDict = EMPTY
    exposed_to_model: bool = True

    @classmethod
    def of(cls, value: Any) -> ToolDefinition:
        """A definition from itself or a mapping: ours, or the OpenAI shape. Raises `UsageError`.

        ``parameters`` may also be an object with a ``json_schema`` (a method or an attribute).
        """
        if isinstance(value, cls):
            return value
        fields = value.get("function", value) if isinstance(value, Mapping) else None
        if not isinstance(fields, Mapping) or not str(fields.get("name") or "").strip():
            msg = "a tool definition needs a name"
            raise UsageError(msg, hint='for example {"name": "look", "description": "...", "parameters": {...}}')
        return cls(
            name=str(fields["name"]).strip(),
            description=str(fields.get("description") or ""),
            parameters=_schema(fields.get("parameters"), str(fields["name"])),
            exposed_to_model=bool(fields.get("exposed_to_model", True)),
        )

    def openai(self) -> dict[str, Any]:
        """The definition as a request holds it; empty ``required`` lists, which some providers refuse, are left out."""
        schema = _without_empty_required(thaw(self.parameters)) or {"type": "object", "properties": {}}
        function = {"name": self.name, "description": self.description, "parameters": schema}
        return {"type": "function", "function": function}


def _schema(value: Any, name: str) -> FrozenDict:
    schema = getattr(value, "json_schema", value)
    schema = schema() if callable(schema) else schema
    if schema is None:
        return EMPTY
    if not isinstance(schema, Mapping):
        msg = f"tool {name!r}: parameters must be a JSON Schema (a mapping) or have a json_schema"
        raise UsageError(msg)
    frozen: FrozenDict = freeze(dict(schema))
    return frozen


def _without_empty_required(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if not (k == "required" and v == [])}
        return {key: _without_empty_required(item) for key, item in kept.items()}
    return [_without_empty_required(item) for item in value] if isinstance(value, list) else value


class ToolRegistry(Registry[ToolDefinition]):
    """An immutable set of definitions by name."""

    __slots__ = ()

    WHAT = "tool"

    def __init__(self, definitions: Iterable[Any] = ()) -> None:
        tools = [ToolDefinition.of(each) for each in definitions]
        super().__init__(*tools)
        if len(self) < len(tools):
            names = [tool.name for tool in tools]
            msg = f"two tools are called {next(name for name in names if names.count(name) > 1)!r}"
            raise UsageError(msg)

    def with_(self, *values: ToolDefinition) -> ToolRegistry:
        """A registry with further tools; one of the same name replaces."""
        return ToolRegistry({**self, **{tool.name: tool for tool in values}}.values())

    @classmethod
    def of(cls, value: Any) -> ToolRegistry:
        """A registry from itself, or any iterable of definitions; ``None`` is empty."""
        return value if isinstance(value, cls) else cls(value or ())

    def offers(self, name: str) -> bool:
        """Whether the model may call ``name``."""
        return name in self._by_name and self._by_name[name].exposed_to_model

    def filtered(self, allow: Iterable[str] | None = None, deny: Iterable[str] | None = None) -> ToolRegistry:
        """Only the tools of ``allow`` (all when ``None``), without those of ``deny``: neither shown nor called."""
        allowed = None if allow is None else set(allow)
        denied = set(deny or ())
        kept = [t for n, t in self._by_name.items() if (allowed is None or n in allowed) and n not in denied]
        return ToolRegistry(kept)

    def openai_tools(self) -> list[dict[str, Any]]:
        """The exposed definitions as a request holds them."""
        return [tool.openai() for tool in self._by_name.values() if tool.exposed_to_model]
