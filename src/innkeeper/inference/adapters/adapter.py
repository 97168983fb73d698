"""Adapter: how one wire protocol is spoken: where a body goes, what asks for a stream, and what an answer says.

An adapter translates answers only. Bodies come from a dialect (`Adapter.dialect`), or from a caller who wants his own sent
untouched; `Adapter.body` adds nothing but what asks for a stream, and not even that to a caller's own bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from innkeeper.inference.response.events import ModelEvent
from innkeeper.prompt.data import Registry

__all__ = ["Adapter", "Adapters", "Reading"]


class Reading(ABC):
    """One answer as it is read: JSON values in, events out. What it does not know it passes over, or gives as `OtherOutput`."""

    finished: bool = False
    """Whether the provider has said that the answer is whole."""

    @abstractmethod
    def chunk(self, data: Mapping[str, Any], kind: str) -> Iterator[ModelEvent]:
        """The events of one piece of a stream; ``kind`` is the type of the server-sent event, ``message`` where it has none."""

    @abstractmethod
    def whole(self, body: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """The events of an answer that came at once. Raises `DecodeError` for a body that is none of this protocol."""

    def end(self) -> Iterator[ModelEvent]:
        """The events that only the end of a stream completes."""
        yield from ()


class Adapter(ABC):
    """One wire protocol. It has no state: `reading` gives what one answer needs."""

    name: ClassVar[str]
    """``openai-chat``."""
    dialect: ClassVar[str]
    """The dialect that writes its bodies, unless a provider has one of its own."""
    base_url: ClassVar[str]
    """Where its own provider is."""
    prefix: ClassVar[str] = "/v1"
    """What stands between an address and a path."""

    def headers(self, key: str) -> dict[str, str]:
        """The headers that carry a key, and those that the protocol wants; ``key`` may be empty."""
        return {"authorization": f"Bearer {key}"} if key else {}

    @abstractmethod
    def path(self, model: str, *, stream: bool) -> str:
        """Where a body for this model goes, after the prefix."""

    def body(self, body: Mapping[str, Any], *, stream: bool) -> dict[str, Any]:
        """The body as it is sent: as it is given, and whether a stream is wanted."""
        return {**body, "stream": stream} if stream else dict(body)

    @abstractmethod
    def reading(self) -> Reading:
        """What reads one answer."""


class Adapters(Registry[Adapter]):
    """An immutable registry of adapters by name."""

    __slots__ = ()

    WHAT = "adapter"
