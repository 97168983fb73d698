"""Dialect: the contract between a plan and one provider's payload, and the registry that holds dialects by name."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from innkeeper.prompt.errors import UnknownNameError
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import Note

__all__ = ["Dialect", "Dialects", "Payload", "Tool", "default_dialects"]


class Tool(msgspec.Struct, frozen=True, omit_defaults=True):
    """A function the model may call: ``parameters`` is its JSON Schema."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = {}
    strict: bool | None = None


class Payload(msgspec.Struct, frozen=True):
    """What a dialect made: ``body`` is JSON-ready; ``notes`` name every loss and every declared repair."""

    body: Any
    notes: tuple[Note, ...] = ()


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


class Dialects(Mapping[str, Dialect]):
    """An immutable registry of dialects by name."""

    __slots__ = ("_by_name",)

    def __init__(self, *dialects: Dialect) -> None:
        self._by_name = {dialect.name: dialect for dialect in dialects}

    def with_(self, *dialects: Dialect) -> Dialects:
        """A registry with further dialects; one of the same name replaces."""
        return Dialects(*self._by_name.values(), *dialects)

    def __getitem__(self, name: str) -> Dialect:
        """The dialect called ``name``. Raises `UnknownNameError`, which is no `KeyError`."""
        try:
            return self._by_name[name]
        except KeyError:
            what = "dialect"
            raise UnknownNameError(what, name, self._by_name) from None

    def __contains__(self, name: object) -> bool:
        """Whether a dialect of this name is registered."""
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._by_name)

    def __len__(self) -> int:
        """How many."""
        return len(self._by_name)


def default_dialects() -> Dialects:
    """The built-in registry. Looked up by name when first needed: the contracts' floor imports no other floor."""
    registry: Dialects = importlib.import_module("innkeeper.dialects").DIALECTS
    return registry
