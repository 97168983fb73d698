"""Dialect: the contract between a plan and one provider's payload, and the registry that holds dialects by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from innkeeper.prompt.data import Registry
from innkeeper.prompt.errors import UsageError
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import Note, NoteKind


class Tool(msgspec.Struct, frozen=True, omit_defaults=True):
    """A function the model may call: ``parameters`` is its JSON Schema, ``extra`` what only some providers have of tools."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = {}
    strict: bool | None = None
    extra: Mapping[str, Any] = {}


class Payload(msgspec.Struct, frozen=True):
    """The result of a dialect: ``body`` is JSON-ready; ``notes`` name every loss and every declared repair."""

    body: Any
    notes: tuple[Note, ...] = ()


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
