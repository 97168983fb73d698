"""View: how one surface writes an answer, whole and streamed; what reads the stream puts the same answer together.

A view that has no place for something says so, in words, under ``innkeeper.notes`` of what it writes; nothing is lost unsaid.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from innkeeper.inference.response.events import ModelEvent
from innkeeper.inference.response.fold import ResponseFold
from innkeeper.inference.response.response import ModelResponse, OtherItem
from innkeeper.prompt.data import plain_data
from innkeeper.prompt.text import scalar_text


class ErrorFacts(NamedTuple):
    """An error as surfaces tell it: the HTTP ``status``, OpenAI's ``type`` and ``code``, a sentence, the field it is about."""

    status: int
    type: str
    code: str | None
    message: str
    param: str | None = None


class ServerEvent(NamedTuple):
    """One server-sent event: JSON data or a bare word, and the event's name where it has one."""

    data: Mapping[str, Any] | str
    name: str = ""

    def encode(self) -> bytes:
        """The event's bytes; lone surrogates become U+FFFD."""
        body = self.data.encode() if isinstance(self.data, str) else json_bytes(self.data)
        return b"event: %b\ndata: %b\n\n" % (self.name.encode(), body) if self.name else b"data: %b\n\n" % body


def json_bytes(data: Mapping[str, Any]) -> bytes:
    """JSON as every view writes it: UTF-8 in one line; lone surrogates become U+FFFD."""
    try:
        return msgspec.json.encode(data)
    except UnicodeEncodeError:
        return scalar_text(json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=plain_data)).encode()


class StreamView(ABC):
    """One answer as it is streamed: give it each event, write what it gives.

    Args:
        fold: what the answer is put together in; the view gives it every event.
    """

    def __init__(self, fold: ResponseFold) -> None:
        self.fold = fold

    def start(self) -> list[ServerEvent]:
        """What a stream begins with."""
        return []

    @abstractmethod
    def take(self, event: ModelEvent) -> list[ServerEvent]:
        """What an event of the model becomes."""

    @abstractmethod
    def end(self) -> list[ServerEvent]:
        """What a stream ends with."""

    @abstractmethod
    def fail(self, error: ErrorFacts) -> list[ServerEvent]:
        """What a stream ends with in which something went wrong."""


class View(ABC):
    """One surface's way to write answers. Has no state."""

    @abstractmethod
    def whole(self, response: ModelResponse) -> dict[str, Any]:
        """An answer at once, JSON-ready."""

    @abstractmethod
    def stream(self, fold: ResponseFold, *, include_usage: bool = False) -> StreamView:
        """What writes one answer as a stream. ``include_usage``: whether its usage was asked for, where that is a choice."""

    @abstractmethod
    def left_out(self, response: ModelResponse) -> list[str]:
        """What of an answer has no place here, a sentence each."""


def plain(value: Any) -> Any:
    """Frozen data as plain lists and dicts."""
    return msgspec.to_builtins(value, enc_hook=plain_data)


def bare_id(response_id: str) -> str:
    """The id without what it begins with: ``resp_01J`` is ``01J``."""
    return response_id.rpartition("_")[2]


def noted(body: dict[str, Any], sentences: list[str]) -> dict[str, Any]:
    """``body``, and what it could not carry."""
    return {**body, "innkeeper": {"notes": sentences}} if sentences else body


def others(response: ModelResponse, known: frozenset[str] = frozenset()) -> list[str]:
    """The items of kinds that a surface does not know, a sentence each."""
    kinds = [str(item.item.get("type", "unknown")) for item in response.output if isinstance(item, OtherItem)]
    return [f"an item of type {kind!r:.60} is not carried" for kind in kinds if kind not in known]
