"""Functions as tools: what a model is told of a Python function, and the call of it with what the model wrote.

A definition comes from the signature and the docstring: a parameter's type is its JSON Schema, one with a default may be left
out, and what stands under ``Args:`` (or after ``:param name:``) describes it::

    @tool
    def tide(harbour: str, days: int = 1) -> str:
        '''When the tide turns.

Args:
            harbour: its name
            days: how many days ahead
        '''

Arguments are checked against the types before the function runs.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin, get_type_hints, overload

import msgspec

from innkeeper.inference.tools.definition import ToolDefinition
from innkeeper.prompt import UsageError
from innkeeper.prompt.data import FrozenDict, freeze
from innkeeper.prompt.typed.json_schema import json_schemas
from innkeeper.prompt.typed.once import convert

F = TypeVar("F", bound=Callable[..., Any])

_MARK: Final = "__innkeeper_tool__"


class FunctionTool(msgspec.Struct, frozen=True):
    """A function with its definition. ``call`` takes the model's arguments by name; that of an asynchronous function is one too.

    ``call`` raises `UsageError` for arguments that the function does not take, before it runs.
    """

    definition: ToolDefinition
    call: Callable[..., Any]


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(*, name: str | None = None, description: str | None = None) -> Callable[[F], F]: ...
def tool(function: Any = None, /, *, name: str | None = None, description: str | None = None) -> Any:
    """Mark a function as a tool, under another name or with another description than its own; it stays the function it was.

    Raises `UsageError` where no definition can be made of it.
    """

    def marked(function: F) -> F:
        setattr(function, _MARK, (name, description))
        function_tool(function)  # so that a mistake is told where it is made
        return function

    return marked if function is None else marked(function)


def function_tool(function: Callable[..., Any]) -> FunctionTool:
    """The tool that a function is. Raises `UsageError` for a parameter that has no JSON Schema, and for one without a name."""
    own_name, description = getattr(function, _MARK, (None, None))
    name = str(own_name or getattr(function, "__name__", ""))
    if not _NAME.fullmatch(name):
        hint = "give it one of letters, digits, _ and -, up to 64: @tool(name=...)"
        raise UsageError(f"a tool cannot be called {name!r}", hint=hint)
    summary, described = _documented(inspect.getdoc(function) or "")
    fields, defaults = _fields(function, name)
    arguments = msgspec.defstruct(name.replace("-", "_"), fields, kw_only=True, forbid_unknown_fields=True)
    schema = _schema(arguments, name, described, defaults)
    definition = ToolDefinition(name, summary if description is None else description, schema)
    return FunctionTool(definition, _checked(function, arguments))


_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAMED: Final = frozenset({inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY})


def _fields(function: Callable[..., Any], name: str) -> tuple[list[tuple[str, Any, Any]], dict[str, Any]]:
    """The parameters as fields of a struct, one with a default may be absent; and the defaults."""
    try:
        hints = get_type_hints(
            function if inspect.isroutine(function) else type(function).__call__, include_extras=True
        )
    except (NameError, TypeError) as error:
        raise UsageError(f"the types of the tool {name!r} are not known: {error}") from error
    fields: list[Any] = []
    defaults = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in _NAMED:
            hint = "write its parameters out, each with a name"
            raise UsageError(f"the tool {name!r} has the parameter {parameter}, which has no name", hint=hint)
        kind = _described_type(hints.get(parameter.name, Any))
        if parameter.default is parameter.empty:
            fields.append((parameter.name, kind))
        else:
            fields.append((parameter.name, kind | msgspec.UnsetType, msgspec.UNSET))
            defaults[parameter.name] = parameter.default
    return fields, defaults


def _described_type(kind: Any) -> Any:
    """A type; a text in its `Annotated` is its description."""
    if get_origin(kind) is not Annotated:
        return kind
    inner, *extras = get_args(kind)
    marks = tuple(msgspec.Meta(description=one) if isinstance(one, str) else one for one in extras)
    return Annotated[(inner, *marks)]


def _schema(
    arguments: type[msgspec.Struct], name: str, described: Mapping[str, str], defaults: Mapping[str, Any]
) -> FrozenDict:
    """The JSON Schema of the arguments."""
    try:
        _, parts = json_schemas([arguments], "#/$defs/{name}")
    except (TypeError, ValueError) as error:
        hint = "use text, numbers, lists, mappings, Literal, enums, dataclasses or TypedDict"
        raise UsageError(f"the tool {name!r} takes what JSON does not know: {error}", hint=hint) from error
    schema = {key: value for key, value in parts.pop(arguments.__name__).items() if key != "title"}
    for parameter, shape in schema.get("properties", {}).items():
        if parameter in described:
            shape.setdefault("description", described[parameter])
        if parameter in defaults and defaults[parameter] is not None:
            shape["default"] = msgspec.to_builtins(defaults[parameter])
    frozen: FrozenDict = freeze({**schema, **({"$defs": parts} if parts else {})})
    return frozen


def _checked(function: Callable[..., Any], arguments: type[msgspec.Struct]) -> Callable[..., Any]:
    """The function, called with arguments of its types."""

    def read(values: Mapping[str, Any]) -> dict[str, Any]:
        try:
            checked = convert(values, arguments, strict=False)
        except msgspec.ValidationError as error:
            raise UsageError(f"the arguments do not fit: {error}") from error
        return {name: value for name, value in msgspec.structs.asdict(checked).items() if value is not msgspec.UNSET}

    def call(**values: Any) -> Any:
        return function(**read(values))

    async def call_async(**values: Any) -> Any:
        return await function(**read(values))

    own = getattr(type(function), "__call__", None)  # noqa: B004 - an object may be called by a coroutine function
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(own)
    return call_async if is_async else call


_SECTION: Final = re.compile(r"(Args|Arguments|Parameters|Returns?|Raises|Yields?|Examples?|Notes?):\s*")
_PARAM: Final = re.compile(r":param (?:[^:]* )?(\w+):\s*(.*)")
_ITEM: Final = re.compile(r"(\w+)(?: ?\([^)]*\))?:\s*(.*)")


def _documented(text: str) -> tuple[str, dict[str, str]]:
    """What a docstring says before its sections, as one description, and of each parameter."""
    summary: list[str] = []
    described: dict[str, str] = {}
    section, current = "", ""
    for line in text.splitlines():
        words, heading = line.strip(), _SECTION.fullmatch(line)
        param = _PARAM.match(words)
        if heading:
            section, current = heading[1], ""
        elif param or words.startswith(":"):
            section, current = "Args", param[1] if param else ""
            described.update({param[1]: param[2]} if param else {})
        elif not section:
            summary.append(words)
        elif section in {"Args", "Arguments", "Parameters"} and words:
            item = _ITEM.match(words)
            if item and len(line) - len(line.lstrip()) <= _ITEM_DEPTH:
                current = item[1]
                described[current] = item[2]
            elif current:
                described[current] = f"{described[current]} {words}".strip()
    return re.sub(r"(?<!\n)\n(?!\n)", " ", "\n".join(summary)).strip(), described


_ITEM_DEPTH: Final = 4
"""How far the name of a parameter is indented below ``Args:``; what is further in goes on with it."""
