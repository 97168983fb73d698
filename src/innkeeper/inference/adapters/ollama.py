"""ollama-chat: ``POST /api/chat`` of Ollama, whose streams are lines of JSON.

Each line is a whole object; the last has ``done`` and the figures. Calls come whole, with arguments as an object and often
without an id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from innkeeper.inference.adapters.adapter import Adapter, Reading, arguments_text, count, mapping, mappings, text
from innkeeper.inference.errors import DecodeError
from innkeeper.inference.response.events import (
    CallDelta,
    Finished,
    ModelEvent,
    OtherOutput,
    ReasoningDelta,
    TextDelta,
    UsageReport,
)
from innkeeper.inference.response.response import FinishReason, Usage
from innkeeper.prompt.data import freeze

_Data: TypeAlias = Mapping[str, Any]
_Events: TypeAlias = Iterator[ModelEvent]


class Ollama(Adapter):
    """Chat with a model that Ollama runs."""

    name = "ollama-chat"
    dialect = "ollama"
    base_url = "http://localhost:11434"
    endpoint = "/api/chat"
    prefix = ""
    ignored = frozenset({"created_at", "role", "done"})

    def body(self, body: _Data, *, stream: bool) -> dict[str, Any]:
        """It says in either case whether a stream is wanted: where nothing is said, Ollama streams."""
        return {**body, "stream": stream}

    def reading(self) -> Reading:
        """Reads one answer."""
        return _OllamaReading()


_TOP: Final = Ollama.ignored | {"model", "message", "done_reason", "logprobs", "error"}
_MESSAGE: Final = Ollama.ignored | {"content", "thinking", "tool_calls", "images"}


class _OllamaReading(Reading):
    def __init__(self) -> None:
        self._calls = 0

    def whole(self, body: _Data) -> _Events:
        if not isinstance(body.get("message"), Mapping):
            msg = "the provider's answer has no message"
            raise DecodeError(msg, hint="is this Ollama's /api/chat?")
        yield from self.chunk({"done": True, **body}, "message")

    def chunk(self, data: _Data, kind: str) -> _Events:
        yield from self.started(None, data.get("model"), self.facts(data, _TOP))
        yield from self._message(mapping(data.get("message")), mappings(data.get("logprobs")))
        if not data.get("done"):
            return
        self.finished = True
        yield UsageReport(
            usage=Usage(input_tokens=count(data.get("prompt_eval_count")), output_tokens=count(data.get("eval_count")))
        )
        word = text(data.get("done_reason"))
        reason = _FINISH.get(word, "stop")
        yield Finished(reason="tool_calls" if reason == "stop" and self._calls else reason, word=word)

    def _message(self, message: _Data, logprobs: list[_Data]) -> _Events:
        if thought := text(message.get("thinking")):
            yield ReasoningDelta(text=thought)
        written = text(message.get("content"))
        if written or logprobs:
            yield TextDelta(text=written, logprobs=tuple(map(freeze, logprobs)))
        for call in mappings(message.get("tool_calls")):
            function = mapping(call.get("function"))
            yield CallDelta(
                index=self._calls,
                call_id=text(call.get("id")),
                name=text(function.get("name")),
                arguments=arguments_text(function.get("arguments") or {}),
            )
            self._calls += 1
        images = message.get("images")
        for image in images if isinstance(images, (list, tuple)) else ():
            yield OtherOutput(item=freeze({"type": "image", "image": image}))
        yield from self.started(facts=self.facts(message, _MESSAGE))


_FINISH: Final[Mapping[str, FinishReason]] = {"stop": "stop", "length": "length", "error": "error"}
