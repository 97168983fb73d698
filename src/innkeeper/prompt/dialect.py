"""Dialect: the contract between a plan and one provider's payload, and the registry that holds dialects by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from innkeeper.prompt.data import Registry
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import Note

__all__ = ["Dialect", "Dialects", "Payload", "Tool"]


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


class Dialects(Registry[Dialect]):
    """An immutable registry of dialects by name."""

    __slots__ = ()

    WHAT = "dialect"
