"""openai-chat: ``POST /chat/completions``, and all who speak it: OpenRouter, vLLM, llama.cpp, the model in this process.

Providers differ in what they repeat: ids and names of calls come once or with every piece, arguments as text, ``null`` or an
object, thoughts as ``reasoning`` or ``reasoning_content``, usage in a last chunk without choices or beside the finish.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from innkeeper.inference.adapters.adapter import Adapter, Reading
from innkeeper.inference.client.chat import choice_of
from innkeeper.inference.client.chunks import text_of
from innkeeper.inference.response.events import (
    CallDelta,
    Finished,
    ModelEvent,
    OtherOutput,
    ReasoningDelta,
    RefusalDelta,
    Started,
    TextDelta,
    UsageReport,
)
from innkeeper.inference.response.response import FinishReason, Usage
from innkeeper.prompt.data import EMPTY, FrozenDict, freeze

__all__ = ["OpenAIChat", "count", "facts", "mappings"]


class OpenAIChat(Adapter):
    """Chat completions."""

    name: ClassVar[str] = "openai-chat"
    dialect: ClassVar[str] = "openai"
    base_url: ClassVar[str] = "https://api.openai.com"

    def path(self, model: str, *, stream: bool) -> str:
        """``/chat/completions``."""
        return "/chat/completions"

    def body(self, body: Mapping[str, Any], *, stream: bool) -> dict[str, Any]:
        """With a stream, usage is asked for unless the body says otherwise."""
        if not stream:
            return dict(body)
        asked = {"include_usage": True, **(body.get("stream_options") or {})}
        return {**body, "stream": True, "stream_options": asked}

    def reading(self) -> Reading:
        """Reads one answer."""
        return _Reading()


class _Reading(Reading):
    def __init__(self) -> None:
        self._indexes: dict[str, int] = {}
        self._last = -1

    def whole(self, body: Mapping[str, Any]) -> Iterator[ModelEvent]:
        choice = choice_of(body)
        yield from self.chunk({**body, "choices": [{**choice, "delta": choice["message"]}]}, "message")

    def chunk(self, data: Mapping[str, Any], kind: str) -> Iterator[ModelEvent]:
        if data.get("id") or data.get("model"):
            yield Started(id=_text(data.get("id")), model=_text(data.get("model")), facts=facts(data, _FACTS))
        for choice in mappings(data.get("choices")):
            if not choice.get("index"):
                yield from self._choice(choice)
        if isinstance(data.get("usage"), Mapping):
            yield UsageReport(usage=_usage(data["usage"]))

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[ModelEvent]:
        delta = choice.get("delta")
        if isinstance(delta, Mapping):
            yield from self._delta(delta, choice.get("logprobs"))
        said = choice.get("finish_reason")
        if isinstance(said, str):
            self.finished = True
            yield Finished(reason=_FINISH.get(said, "stop"), said=said)

    def _delta(self, delta: Mapping[str, Any], logprobs: Any) -> Iterator[ModelEvent]:
        yield from _thoughts(delta)
        spoken = mappings(logprobs.get("content")) if isinstance(logprobs, Mapping) else []
        noted = mappings(delta.get("annotations"))
        text = text_of(delta.get("content"))
        if text or spoken or noted:
            yield TextDelta(text=text, annotations=tuple(map(freeze, noted)), logprobs=tuple(map(freeze, spoken)))
        if refusal := text_of(delta.get("refusal")):
            yield RefusalDelta(text=refusal)
        for place, call in enumerate(mappings(delta.get("tool_calls"))):
            yield self._call(call, place)
        if isinstance(delta.get("function_call"), Mapping):  # what calls were before there could be several
            yield self._call({"index": 0, "function": delta["function_call"]}, 0)
        for name in _OTHERS:
            for item in mappings(delta.get(name)):
                yield OtherOutput(item=freeze({"type": name, **item}))

    def _call(self, call: Mapping[str, Any], place: int) -> CallDelta:
        function = call.get("function")
        function = function if isinstance(function, Mapping) else {}
        arguments = function.get("arguments")
        return CallDelta(
            index=self._index(call, place),
            call_id=_text(call.get("id")) or "",
            name=_text(function.get("name")) or "",
            arguments=arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments),
        )

    def _index(self, call: Mapping[str, Any], place: int) -> int:
        """The number of a call; one that has none goes by its id, else by its place."""
        index, call_id = call.get("index"), call.get("id")
        if not isinstance(index, int) or isinstance(index, bool):
            known = self._indexes.get(call_id) if isinstance(call_id, str) else max(place, self._last, 0)
            index = self._last + 1 if known is None else known
        if isinstance(call_id, str) and call_id:
            self._indexes.setdefault(call_id, index)
        self._last = max(self._last, index)
        return index


def _thoughts(delta: Mapping[str, Any]) -> Iterator[ModelEvent]:
    """Thoughts, which several providers write twice: as a text, and as details that carry what goes back with them."""
    details = mappings(delta.get("reasoning_details"))
    text = text_of(delta.get("reasoning_content")) or text_of(delta.get("reasoning"))
    if text:
        yield ReasoningDelta(text=text)
    for detail in details:
        sealed = _text(detail.get("signature")) or _text(detail.get("data"))
        summary = _text(detail.get("summary"))
        if sealed or (summary and not text):
            yield ReasoningDelta(text=(summary or "") if not text else "", summary=bool(summary), signature=sealed)


_FINISH: Final[Mapping[str, FinishReason]] = {
    "stop": "stop",
    "eos": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "refusal",
    "error": "error",
}

_FACTS: Final = ("system_fingerprint", "service_tier", "provider", "timings")
_OTHERS: Final = ("images", "audio")


def _usage(usage: Mapping[str, Any]) -> Usage:
    read, written = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    read, written = (part if isinstance(part, Mapping) else EMPTY for part in (read, written))
    return Usage(
        input_tokens=count(usage.get("prompt_tokens")),
        output_tokens=count(usage.get("completion_tokens")),
        total_tokens=count(usage.get("total_tokens")),
        cached_tokens=count(read.get("cached_tokens", usage.get("prompt_cache_hit_tokens"))),
        cache_write_tokens=count(read.get("cache_write_tokens")),
        reasoning_tokens=count(written.get("reasoning_tokens")),
    )


def count(value: Any) -> int | None:
    """A number of tokens, or None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """The mappings in a list; none where it is no list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, (list, tuple)) else []


def facts(data: Mapping[str, Any], names: tuple[str, ...]) -> FrozenDict:
    """Those of the named fields that are there and say something."""
    return FrozenDict({name: freeze(data[name]) for name in names if data.get(name) is not None})


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
