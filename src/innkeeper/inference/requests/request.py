"""GenerationRequest: what a caller wants of a model, in one shape for every surface; and how a surface's body is read.

Options stand under neutral names; a value counts when it is there, zero included, and null is as if it were not. What only one
surface has stays as it came, in ``extra`` and ``hosted``: a provider who speaks the same protocol gets it, for any other it is
named in a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.prompt.data import EMPTY, FrozenDict, freeze
from innkeeper.prompt.dialect import Tool
from innkeeper.prompt.errors import FormatError, LimitError, UsageError, Where
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import Note

if TYPE_CHECKING:
    from innkeeper.inference.adapters.adapter import ModelRequest


MAX_CHOICES: Final = 8
"""Answers that one request may ask for (`LimitError`)."""


class GenerationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request. ``surface`` is the name of the adapter whose protocol it was written in.

    ``hosted`` are tools that a provider runs himself, ``extra`` fields that have no neutral name. ``prompt`` is the text of a
    text completion, which is the one message, too. ``echo`` is what a Responses object repeats of it. ``choices`` is how many
    answers are wanted, ``choice`` which of them this request is for. ``raw`` is a body that is sent as it is, in place of all
    else.
    """

    surface: str
    model: str
    messages: tuple[Message, ...]
    options: FrozenDict = EMPTY
    tools: tuple[Tool, ...] = ()
    hosted: tuple[FrozenDict, ...] = ()
    extra: FrozenDict = EMPTY
    stream: bool = False
    include_usage: bool = False
    prompt: str | None = None
    user: str | None = None
    metadata: FrozenDict = EMPTY
    previous_response_id: str | None = None
    store: bool | None = None
    echo: FrozenDict = EMPTY
    notes: tuple[Note, ...] = ()
    choices: int = 1
    choice: int = 0
    raw: ModelRequest | None = None


class Fields:
    """The fields of a body, taken one after another; what is left at the end is nobody's.

    Every method that takes a field raises `UsageError` with the field's name as its place for a value of another type.
    """

    def __init__(self, body: Mapping[str, Any], path: str = "") -> None:
        self._rest = {name: value for name, value in body.items() if value is not None}
        self._path = path

    def take(self, name: str) -> Any:
        """A field's value as it is; None where there is none."""
        return self._rest.pop(name, None)

    def text(self, name: str) -> str | None:
        """A text."""
        text: str | None = self._typed(name, str, "a text")
        return text

    def flag(self, name: str) -> bool | None:
        """True or false."""
        flag: bool | None = self._typed(name, bool, "true or false")
        return flag

    def mapping(self, name: str) -> Mapping[str, Any]:
        """An object; an empty one where there is none."""
        return self._typed(name, Mapping, "an object") or {}

    def items(self, name: str) -> list[Any]:
        """A list; an empty one where there is none."""
        return self._typed(name, list, "a list") or []

    def fields(self, name: str) -> Fields:
        """The fields of an object."""
        return Fields(self.mapping(name), f"{self._path}{name}.")

    def number(self, name: str) -> int | float | None:
        """A number."""
        value = self.take(name)
        if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
            return value
        raise self.wrong(name, "a number")

    def choices(self) -> int:
        """How many answers are wanted, under ``n``. Raises `LimitError` for more than `MAX_CHOICES`."""
        count = self.take("n")
        if count is None:
            return 1
        if type(count) is not int or count < 1:
            raise self.wrong("n", "a whole number, at least 1")
        if count > MAX_CHOICES:
            raise LimitError("n", limit="MAX_CHOICES", allowed=MAX_CHOICES, found=count, where=Where(path="n"))
        return count

    def model(self) -> str:
        """The name of the model."""
        name = self.text("model")
        if not name:
            raise UsageError("the request names no model", where=Where(path="model"), hint="send model: NAME")
        return name

    def rest(self) -> FrozenDict:
        """What nobody took."""
        rest, self._rest = self._rest, {}
        return freeze(rest)  # type: ignore[no-any-return]  # a frozen dict of a dict

    def wrong(self, name: str, wanted: str) -> UsageError:
        """The error for a field of the wrong type."""
        path = self._path + name
        return UsageError(f"{path} must be {wanted}", where=Where(path=path))

    def _typed(self, name: str, kind: Any, wanted: str) -> Any:
        value = self.take(name)
        if value is None or isinstance(value, kind):
            return value
        raise self.wrong(name, wanted)


_NUMBERS: Final = frozenset(
    {"temperature", "top_p", "top_k", "min_p", "top_a", "typical_p", "frequency_penalty", "presence_penalty"}
) | {"repetition_penalty", "seed", "max_tokens", "max_completion_tokens", "max_output_tokens", "top_logprobs"}


def option_fields(fields: Fields, names: Iterable[str]) -> dict[str, Any]:
    """The options among these names that the request has."""
    taken = {name: fields.number(name) if name in _NUMBERS else fields.take(name) for name in names}
    return {name: value for name, value in taken.items() if value is not None}


def read_tools(found: Iterable[Any], path: str = "tools") -> tuple[tuple[Tool, ...], tuple[FrozenDict, ...]]:
    """Functions, and what only a provider can run. A function may be flat (Responses) or nested (chat completions).

    Raises:
        UsageError: a tool that is no object, or a function without a name.
    """
    tools, hosted = [], []
    for place, raw in enumerate(found):
        where = Where(path=f"{path}[{place}]")
        if not isinstance(raw, Mapping):
            raise UsageError("a tool must be an object", where=where)
        if raw.get("type", "function") == "function":
            inner = raw.get("function")
            tools.append(read_tool(inner if isinstance(inner, Mapping) else raw, where))
        else:
            hosted.append(freeze(raw))
    return tuple(tools), tuple(hosted)


def read_tool(raw: Mapping[str, Any], where: Where, schema: str = "parameters") -> Tool:
    """A function's definition, whose parameters stand under ``schema``. Raises `UsageError` where it has no name."""
    name, described, parameters = raw.get("name"), raw.get("description"), raw.get(schema)
    if not isinstance(name, str) or not name.strip():
        raise UsageError("a function must have a name", where=where)
    return Tool(
        name=name,
        description=described if isinstance(described, str) else "",
        parameters=freeze(parameters) if isinstance(parameters, Mapping) else EMPTY,
        strict=raw["strict"] if isinstance(raw.get("strict"), bool) else None,
    )


def read_message(value: Mapping[str, Any], path: str) -> Message:
    """A message of our own shape or OpenAI's. Raises `UsageError` with its place."""
    try:
        return Message.of(dict(value), where=Where(path=path))
    except FormatError as error:
        raise UsageError(error.message, where=error.where, hint=error.hint) from error


def file_part(part: Mapping[str, Any]) -> dict[str, Any]:
    """A file's part, flat: its data as a ``data:`` address or its address as ``url``, with its name and id."""
    inner = part.get("file")
    found = {**part, **(inner if isinstance(inner, Mapping) else {})}
    data = found.get("file_data")
    embedded = isinstance(data, str) and data.startswith("data:")
    place = {"url": data if embedded else found.get("file_url"), "data": None if embedded else data}
    named = {"name": found.get("filename"), "file_id": found.get("file_id"), "detail": found.get("detail")}
    return {"type": "file", **{name: value for name, value in {**place, **named}.items() if value is not None}}
