"""Toolbox: tools and what runs each, wherever they come from: Python functions, rows of a library, servers of MCP.

A `ToolLoopRunner` takes one in place of an executor and a registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from innkeeper.inference.tools.definition import ToolDefinition, ToolRegistry
from innkeeper.inference.tools.functions import FunctionTool, function_tool
from innkeeper.prompt import UsageError

if TYPE_CHECKING:
    from innkeeper.inference.prompts.tool_config import ToolConfig

__all__ = ["Toolbox"]


class Toolbox(msgspec.Struct, frozen=True):
    """``registry`` is what the model is told, ``functions`` what runs a tool, by its name."""

    registry: ToolRegistry = ToolRegistry()
    functions: Mapping[str, Callable[..., Any]] = {}

    @classmethod
    def of(cls, *functions: Callable[..., Any] | FunctionTool) -> Toolbox:
        """A toolbox of Python functions. Raises `UsageError` as `function_tool`, and for two of one name."""
        tools = [one if isinstance(one, FunctionTool) else function_tool(one) for one in functions]
        return cls(ToolRegistry(one.definition for one in tools), {one.definition.name: one.call for one in tools})

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]], run: Callable[[ToolConfig, dict[str, Any]], Any]) -> Toolbox:
        """The tools of a library: rows of its table ``tools`` that are active and have a definition.

        ``run`` runs one, as its row says, with the arguments that the model gave. Raises `UsageError`, `ConfigError`.
        """
        from innkeeper.inference.prompts.tool_config import ToolConfig

        wanted = [row for row in rows if row["is_active"] and row["definition"]]
        configs = {row["name"]: ToolConfig.of_row(row) for row in wanted}
        definitions = [_definition(row) for row in wanted]
        return cls(ToolRegistry(definitions), {name: _runs(run, config) for name, config in configs.items()})

    def with_(self, other: Toolbox) -> Toolbox:
        """The tools of both. Raises `UsageError` where both have one of the same name."""
        both = sorted(self.functions.keys() & other.functions.keys())
        if both:
            raise UsageError(f"two tools are called {both[0]!r}", hint="leave one of them out, or give it another name")
        return Toolbox(self.registry.with_(*other.registry.values()), {**self.functions, **other.functions})

    def __len__(self) -> int:
        return len(self.functions)


def _definition(row: Mapping[str, Any]) -> ToolDefinition:
    """The definition in a row; its name and its description are the row's where it has none."""
    inside = row["definition"]
    inside = inside.get("function", inside)
    return ToolDefinition.of(
        {**inside, "name": row["name"], "description": inside.get("description") or row["description"]}
    )


def _runs(run: Callable[[ToolConfig, dict[str, Any]], Any], config: ToolConfig) -> Callable[..., Any]:
    """The function that runs one tool of a library; asynchronous where ``run`` is."""
    import inspect

    def call(**arguments: Any) -> Any:
        return run(config, arguments)

    async def call_async(**arguments: Any) -> Any:
        return await run(config, arguments)

    return call_async if inspect.iscoroutinefunction(run) else call
