"""Dialect: the contract between a plan and one provider's payload, and the registry that holds dialects by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

import msgspec

from innkeeper.prompt.data import Registry
from innkeeper.prompt.errors import FormatError, UsageError
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.prompt.typed.once import convert


class Tool(msgspec.Struct, frozen=True, omit_defaults=True):
    """A function the model may call: ``parameters`` is its JSON Schema, ``extra`` what only some providers have of tools."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = {}
    strict: bool | None = None
    extra: Mapping[str, Any] = {}


def read_tools(definitions: Sequence[Mapping[str, Any]]) -> tuple[Tool, ...]:
    """Tools of their definitions, each flat or below ``function``. Raises `FormatError` naming the one that is none."""
    tools = []
    for index, raw in enumerate(definitions):
        try:
            tools.append(convert(dict(raw.get("function", raw)), Tool))
        except (msgspec.ValidationError, TypeError, ValueError) as error:
            raise FormatError(
                f"tools[{index}] is not a tool definition: {error}",
                hint="give name, description and parameters (a JSON Schema)",
            ) from error
    return tuple(tools)


class Payload(msgspec.Struct, frozen=True):
    """The result of a dialect: ``body`` is JSON-ready; ``notes`` name every loss and every declared repair."""

    body: Any
    notes: tuple[Note, ...] = ()


REPLY_LIMITS: Final = (
    "max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "maxOutputTokens", "num_predict",
    "n_predict", "max_length",
)  # fmt: skip
"""The names of the limit of an answer, in options and in bodies; the neutral one first."""

_WITH_LIMITS: Final = ("extra", "extra_body", "options", "generationConfig")


def reply_limit(data: Any) -> int:
    """Return how long an answer may be by options or by a body, in tokens; 0 where they do not say."""
    if not data or not isinstance(data, Mapping):
        return 0
    own = [data[name] for name in REPLY_LIMITS if name in data]
    return max(0, *map(_whole_number, own), *(reply_limit(data.get(name)) for name in _WITH_LIMITS))


def needed_limit(dialect: Any) -> int:
    """Return the limit of an answer that a dialect asks for where nobody gives one (its ``needs_limit``); 0 where it need not."""
    limit = getattr(dialect, "needs_limit", 0)
    return limit if isinstance(limit, int) else 0


def _whole_number(value: Any) -> int:
    """A number, or a text that is one; 0 for anything else."""
    try:
        return int(float(value)) if isinstance(value, (int, float, str)) else 0
    except (ValueError, OverflowError):
        return 0


def known_options(payload: Payload, options: Mapping[str, Any]) -> Payload:
    """The payload, for callers who do not see its notes. Raises `UsageError` for an option of theirs that no dialect knows."""
    for note in payload.notes:
        if note.kind is NoteKind.IGNORED and any(
            note.message.endswith(f"option {name!r} is not known") for name in options
        ):
            raise UsageError(note.message, hint=note.hint)
    return payload


@runtime_checkable
class Dialect(Protocol):
    """One provider family's shape. Dialects never reword content, and report whatever they cannot carry."""

    @property
    def name(self) -> str:
        """The registry name: ``openai``."""
        ...

    def messages(self, messages: Sequence[Message], options: Mapping[str, Any]) -> Payload:
        """The messages in the provider's shape (a list, or a dict with a separate system part)."""
        ...

    def request(
        self, messages: Sequence[Message], *, model: str | None, options: Mapping[str, Any], tools: Sequence[Tool] = ()
    ) -> Payload:
        """The whole provider request body: model, messages, tools, and request options by the provider's names."""
        ...


class LazyDialect(NamedTuple):
    """A dialect by name; its module is imported when it is first used."""

    name: str
    make: Callable[[], Dialect]


class Dialects(Registry[Dialect]):
    """An immutable registry of dialects by name. A value may be a `LazyDialect`, which becomes a dialect here."""

    __slots__ = ()

    WHAT = "dialect"

    def __init__(self, *values: Dialect | LazyDialect) -> None:
        super().__init__(*values)  # type: ignore[arg-type]  # `__getitem__` makes them

    def __getitem__(self, name: str) -> Dialect:
        """The dialect of this name. Raises `UnknownNameError` with near names."""
        value: Dialect | LazyDialect = super().__getitem__(name)
        if isinstance(value, LazyDialect):
            value = self._by_name[name] = value.make()
        return value
