"""anthropic-messages: ``POST /v1/messages``, Anthropic's own and those who speak it.

An answer is a list of blocks. ``text`` blocks in a row are parts of one message; ``thinking`` and ``redacted_thinking`` are
thoughts, ``tool_use`` calls; what the provider's own tools did is given as it came. Usage grows with the stream; here
``input_tokens`` includes those that were read from or written into a cache, which the provider counts apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from innkeeper.inference.adapters.adapter import (
    Adapter,
    Reading,
    arguments_text,
    count,
    mapping,
    mappings,
    others,
    text,
    total,
)
from innkeeper.inference.errors import DecodeError
from innkeeper.inference.response.events import (
    CallDelta,
    Finished,
    ModelEvent,
    OtherOutput,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    UsageReport,
)
from innkeeper.inference.response.response import FinishReason, Usage
from innkeeper.prompt.data import FrozenDict, freeze

ANTHROPIC_VERSION: Final = "2023-06-01"
"""The version of the protocol that is spoken."""

_Data: TypeAlias = Mapping[str, Any]
_Events: TypeAlias = Iterator[ModelEvent]


class AnthropicMessages(Adapter):
    """Messages."""

    name = "anthropic-messages"
    dialect = "anthropic"
    base_url = "https://api.anthropic.com"
    endpoint = "/messages"
    ignored = frozenset({"type", "role", "index"})

    def headers(self, key: str) -> dict[str, str]:
        """``x-api-key``, and the version."""
        return {"anthropic-version": ANTHROPIC_VERSION, **({"x-api-key": key} if key else {})}

    def reading(self) -> Reading:
        """Reads one answer."""
        return _MessagesReading()


_TOP: Final = AnthropicMessages.ignored | {"id", "model", "content", "stop_reason", "usage", "error"}


class _MessagesReading(Reading):
    protocol = AnthropicMessages.name

    def __init__(self) -> None:
        self._block: dict[str, Any] = {}
        self._json: list[str] = []
        self._usage: dict[str, Any] = {}
        self._calls: dict[str, FrozenDict] = {}
        self._spoke = False

    def whole(self, body: _Data) -> _Events:
        if not isinstance(body.get("content"), list):
            msg = "the provider's answer has no content"
            raise DecodeError(msg, hint="is this a Messages endpoint?")
        yield from self._message(body)
        for index, block in enumerate(mappings(body["content"])):
            yield from self._begin(block, index)
            yield from self._stop(index)
        yield from self._delta(body)
        self.finished = True

    def chunk(self, data: _Data, kind: str) -> _Events:
        index = count(data.get("index")) or 0
        match text(data.get("type")) or kind:
            case "message_start":
                yield from self._message(mapping(data.get("message")))
            case "content_block_start":
                yield from self._begin(mapping(data.get("content_block")), index)
            case "content_block_delta":
                yield from self._more(mapping(data.get("delta")), index)
            case "content_block_stop":
                yield from self._stop(index)
            case "message_delta":
                yield from self._delta({**data, **mapping(data.get("delta"))})
            case "message_stop":
                self.finished = True

    def _message(self, message: _Data) -> _Events:
        yield from self.started(message.get("id"), message.get("model"), self.facts(message, _TOP))
        yield from self._counted(message)

    def _delta(self, data: _Data) -> _Events:
        """What the end of a message says: why, and how much it was."""
        yield from self.started(facts=self.facts(data, _MESSAGE_DELTA))
        yield from self._counted(data)
        stop_reason = text(data.get("stop_reason"))
        if stop_reason == "refusal" and (why := text(mapping(data.get("stop_details")).get("explanation"))):
            yield RefusalDelta(text=why)
        if stop_reason:
            yield Finished(reason=_FINISH.get(stop_reason, "stop"), word=stop_reason)

    def _counted(self, data: _Data) -> _Events:
        if isinstance(data.get("usage"), Mapping) and data["usage"]:
            self._usage |= {name: value for name, value in data["usage"].items() if value is not None}
            yield from self.started(facts=FrozenDict({"usage": freeze(self._usage)}))
            yield UsageReport(usage=messages_usage(self._usage))

    # ------------------------------------------------------------------------------------------------------------ blocks

    def _begin(self, block: _Data, index: int) -> _Events:
        self._block, self._json = dict(block), []
        spoke, self._spoke = self._spoke, block.get("type") == "text"
        match block.get("type"):
            case "text":
                notes = tuple(map(freeze, mappings(block.get("citations"))))
                yield TextDelta(text=text(block.get("text")), annotations=notes, part=spoke)
            case "thinking":
                signature = text(block.get("signature")) or None
                yield ReasoningDelta(text=text(block.get("thinking")), signature=signature, new=True)
            case "redacted_thinking":
                yield ReasoningDelta(signature=text(block.get("data")), redacted=True, new=True)
            case "tool_use":
                if rest := others(block, _CALL):
                    self._calls[text(block.get("id"))] = rest
                    yield from self.started(facts=FrozenDict({"items": FrozenDict(self._calls)}))
                yield CallDelta(index=index, call_id=text(block.get("id")), name=text(block.get("name")))

    def _more(self, delta: _Data, index: int) -> _Events:
        match delta.get("type"):
            case "text_delta":
                yield TextDelta(text=text(delta.get("text")))
            case "thinking_delta":
                yield ReasoningDelta(text=text(delta.get("thinking")))
            case "signature_delta":
                yield ReasoningDelta(signature=text(delta.get("signature")))
            case "citations_delta":
                yield TextDelta(annotations=(freeze(mapping(delta.get("citation"))),))
            case "input_json_delta":
                more = text(delta.get("partial_json"))
                self._json.append(more)
                if more and self._block.get("type") == "tool_use":
                    yield CallDelta(index=index, arguments=more)
            case _ if text(self._block.get("type")) in _EVENTS:
                yield OtherOutput(item=freeze(delta))
            case _:
                fields = [(name, self._block.get(name), more) for name, more in delta.items() if name != "type"]
                grows = {name: isinstance(was, str) and isinstance(more, str) for name, was, more in fields}
                self._block |= {name: was + more if grows[name] else more for name, was, more in fields}

    def _stop(self, index: int) -> _Events:
        block, self._block = self._block, {}
        written = "".join(self._json)
        if block.get("type") == "tool_use" and not written:
            yield CallDelta(index=index, arguments=arguments_text(block.get("input")))
        elif block and text(block.get("type")) not in _EVENTS:
            read = {"input": _read(written)} if written else {}
            yield OtherOutput(item=freeze({**block, **read}))


_CALL: Final = frozenset({"type", "id", "name", "input"})
_EVENTS: Final = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})
_MESSAGE_DELTA: Final = _TOP | {"delta"}


def _read(written: str) -> Any:
    """What a server's tool was called with; its text where that is no JSON."""
    try:
        return msgspec.json.decode(written)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return written


_FINISH: Final[Mapping[str, FinishReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",
    "compaction": "length",
    "tool_use": "tool_calls",
    "refusal": "refusal",
}
"""``pause_turn`` and ``compaction``: the answer goes on when it is sent back, so that it is not whole."""


def messages_usage(usage: _Data) -> Usage:
    """Tokens as Messages count them; what was cached is included in the input."""
    read, written = count(usage.get("cache_read_input_tokens")), count(usage.get("cache_creation_input_tokens"))
    fresh = count(usage.get("input_tokens"))
    return Usage(
        input_tokens=None if fresh is None else total(fresh, read, written),
        output_tokens=count(usage.get("output_tokens")),
        cached_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=count(mapping(usage.get("output_tokens_details")).get("thinking_tokens")),
    )
