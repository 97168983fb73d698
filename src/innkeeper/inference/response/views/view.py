"""View: how one surface writes an answer, whole and streamed; what reads the stream puts the same answer together.

A view that has no place for something says so, in words, under ``innkeeper.notes`` of what it writes; nothing is lost unsaid.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from innkeeper.inference.response.events import ModelEvent
from innkeeper.inference.response.fold import ResponseFold
from innkeeper.inference.response.response import ModelResponse, OtherItem
from innkeeper.prompt.data import EMPTY, plain_data


class ErrorFacts(NamedTuple):
    """An error as surfaces tell it: the HTTP ``status``, OpenAI's ``type`` and ``code``, a sentence, the field it is about."""

    status: int
    type: str
    code: str | None
    message: str
    param: str | None = None


class ServerEvent(NamedTuple):
    """One server-sent event, with its name and id where it has them: JSON data, JSON that is written already, or a bare word."""

    data: Mapping[str, Any] | str | bytes
    name: str = ""
    id: int | None = None

    def encode(self) -> bytes:
        """The event's bytes; lone surrogates are escaped."""
        data = self.data
        body = data if isinstance(data, bytes) else data.encode() if isinstance(data, str) else json_bytes(data)
        event_id = b"" if self.id is None else b"id: %d\n" % self.id
        name = b"event: %b\n" % self.name.encode() if self.name else b""
        return event_id + name + b"data: %b\n\n" % body


def json_bytes(data: Mapping[str, Any] | str) -> bytes:
    """JSON as every view writes it: UTF-8 in one line. Lone surrogates are escaped: the halves of a pair can meet again."""
    try:
        return msgspec.json.encode(data)
    except UnicodeEncodeError:
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=plain_data)
        return text.encode("utf-8", "backslashreplace")  # within a JSON string `\udXXX` is JSON's own escape


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


def is_own_id(item_id: str, response_id: str) -> bool:
    """Whether an item's id was made here, of its response's, and not by the provider."""
    return f"_{bare_id(response_id)}_" in item_id


def noted(body: dict[str, Any], sentences: list[str]) -> dict[str, Any]:
    """``body``, and what it could not carry."""
    return {**body, "innkeeper": {"notes": sentences}} if sentences else body


def own_facts(response: ModelResponse, protocol: str) -> dict[str, Any]:
    """What the provider said beside the answer, for a surface of its protocol, which gives it on; nothing for another."""
    facts = response.provider if response.protocol == protocol else EMPTY
    return {name: plain(value) for name, value in facts.items() if name not in _WRITTEN}


def own_fields(said: ModelResponse | ResponseFold, protocol: str, item_id: Any) -> dict[str, Any]:
    """Further fields of an item as the provider wrote it, which it wants back; nothing for a surface of another protocol."""
    items = said.provider.get("items", EMPTY) if said.protocol == protocol else EMPTY
    fields: dict[str, Any] = plain(items.get(item_id, EMPTY))
    return fields


_WRITTEN: Final = frozenset({"id", "model", "items", "usage", "finish_reason", "reasoning_details"})


def ended(response: ModelResponse) -> list[str]:
    """That the provider ended the answer in the middle, where a surface has no word for it."""
    return [] if response.error is None else [response.error.message]


def others(response: ModelResponse, known: frozenset[str] = frozenset()) -> list[str]:
    """The items of kinds that a surface does not know, a sentence each."""
    kinds = [str(item.item.get("type", "unknown")) for item in response.output if isinstance(item, OtherItem)]
    return [f"an item of type {kind!r:.60} is not carried" for kind in kinds if kind not in known]
