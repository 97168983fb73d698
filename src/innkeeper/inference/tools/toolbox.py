"""Toolbox: tools and what runs each, wherever they come from: Python functions, rows of a library, servers of MCP.

A `ToolLoopRunner` takes one in place of an executor and a registry.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from innkeeper.inference.tools.definition import ToolDefinition, ToolRegistry
from innkeeper.inference.tools.functions import FunctionTool, function_tool
from innkeeper.prompt import Note, UsageError

if TYPE_CHECKING:
    from innkeeper.inference.response.response import ModelResponse


class ToolRecord(Protocol):
    """A row of a library's table ``tools``, as far as the model is shown it."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def description(self) -> str | None: ...  # noqa: D102
    @property
    def definition(self) -> Mapping[str, Any] | None: ...  # noqa: D102
    @property
    def is_active(self) -> bool: ...  # noqa: D102


class ToolAnswer(Protocol):
    """What a row's model answered, and what could not be carried to it."""

    @property
    def response(self) -> ModelResponse: ...  # noqa: D102
    @property
    def notes(self) -> tuple[Note, ...]: ...  # noqa: D102


class ToolService(Protocol):
    """What asks the model of a row (`innkeeper.library.prompts`): its ``run`` gives a `ToolAnswer`, or is awaited for one."""

    def run(self, request: dict[str, Any], /) -> Any:
        """Answer a request of ``tool_name`` and ``input``."""
        ...


class Toolbox(msgspec.Struct, frozen=True):
    """``registry`` is what the model is told, ``functions`` what runs a tool, by its name; ``notes`` tell of tools left out."""

    registry: ToolRegistry = ToolRegistry()
    functions: Mapping[str, Callable[..., Any]] = {}
    notes: tuple[Note, ...] = ()

    @classmethod
    def of(cls, *functions: Callable[..., Any] | FunctionTool) -> Toolbox:
        """A toolbox of Python functions. Raises `UsageError` as `function_tool`, and for two of one name."""
        tools = [one if isinstance(one, FunctionTool) else function_tool(one) for one in functions]
        return cls(ToolRegistry(one.definition for one in tools), {one.definition.name: one.call for one in tools})

    @classmethod
    def of_rows(cls, rows: Iterable[ToolRecord], service: ToolService) -> Toolbox:
        """The tools of a library: rows of its table ``tools`` (`ToolStore.list`) that are active and have a definition.

        One is run by the service, as its row says: its model gets the arguments, as JSON, and what it says is the result.
        Raises `UsageError` for a definition that is none.
        """
        active = [row for row in rows if row.is_active and row.definition]
        functions = {row.name: _asked(service, row.name) for row in active}
        return cls(ToolRegistry(_definition(row) for row in active), functions)

    def with_(self, other: Toolbox) -> Toolbox:
        """The tools of both. Raises `UsageError` where both have one of the same name."""
        both = sorted(self.functions.keys() & other.functions.keys())
        if both:
            raise UsageError(f"two tools are called {both[0]!r}", hint="leave one of them out, or give it another name")
        registry = self.registry.with_(*other.registry.values())
        return Toolbox(registry, {**self.functions, **other.functions}, (*self.notes, *other.notes))

    def __len__(self) -> int:
        return len(self.functions)


def _definition(row: ToolRecord) -> ToolDefinition:
    """The definition in a row; its name and its description are the row's where it has none."""
    definition = row.definition or {}
    inside = definition.get("function", definition)
    return ToolDefinition.of({**inside, "name": row.name, "description": inside.get("description") or row.description})


def _asked(service: ToolService, name: str) -> Callable[..., Any]:
    """The function that asks the model of one row; asynchronous where the service is."""

    def request(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"tool_name": name, "input": json.dumps(arguments, ensure_ascii=False)}

    def call(**arguments: Any) -> dict[str, Any]:
        return _answer(service.run(request(arguments)))

    async def call_async(**arguments: Any) -> dict[str, Any]:
        return _answer(await service.run(request(arguments)))

    return call_async if inspect.iscoroutinefunction(service.run) else call


def _answer(run: ToolAnswer) -> dict[str, Any]:
    """The envelope of what a row's model said; a refusal is an error, what is no text is named in a warning."""
    response = run.response
    warnings = [f"left out: a call of {one.name}" for one in response.calls]
    warnings += [] if response.status == "completed" else [f"the answer is {response.status}"]
    errors = [{"code": "REFUSED", "message": response.refusal}] if response.refusal else []
    ok = response.status != "failed" and not errors
    return {"ok": ok, "data": {"text": response.text}, "warnings": [*warnings, *map(str, run.notes)], "errors": errors}
