"""openai-chat: ``POST /chat/completions``, and all who speak it: OpenRouter, vLLM, llama.cpp, the model in this process.

Providers differ in what they repeat: ids and names of calls come once or with every piece, arguments as text, ``null`` or an
object, thoughts as ``reasoning`` or ``reasoning_content``, usage in a last chunk without choices or beside the finish.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from innkeeper.inference.adapters.adapter import (
    Adapter,
    Reading,
    arguments_text,
    count,
    is_whole,
    mapping,
    mappings,
    text,
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
from innkeeper.prompt.text import text_of


class OpenAIChat(Adapter):
    """Chat completions."""

    name = "openai-chat"
    dialect = "openai"
    base_url = "https://api.openai.com"
    endpoint = "/chat/completions"
    ignored = frozenset({"object", "created", "obfuscation", "role", "index"})

    def body(self, body: Mapping[str, Any], *, stream: bool) -> dict[str, Any]:
        """With a stream, usage is asked for unless the body says otherwise."""
        if not stream:
            return dict(body)
        asked = {"include_usage": True, **(body.get("stream_options") or {})}
        return {**body, "stream": True, "stream_options": asked}

    def reading(self) -> Reading:
        """Reads one answer."""
        return ChatReading()


class Local(OpenAIChat):
    """Chat completions of a model in a process beside this one. It has no address: its transport is the model's."""

    name = "local"
    dialect = "openai-compatible"
    base_url = "http://localhost"

    def headers(self, key: str) -> dict[str, str]:
        """None."""
        return {}


_TOP: Final = OpenAIChat.ignored | {"id", "model", "choices", "error"}
_CHOICE: Final = OpenAIChat.ignored | {"delta", "message", "finish_reason", "logprobs"}
_TEXT: Final = OpenAIChat.ignored | {"content"}
_DELTA: Final = OpenAIChat.ignored | {
    *("content", "refusal", "reasoning", "reasoning_content", "reasoning_details", "annotations"),
    *("tool_calls", "function_call", "images", "audio"),
}


class ChatReading(Reading):
    """Reads one chat completion."""

    protocol = OpenAIChat.name

    def __init__(self) -> None:
        self._indexes: dict[str, int] = {}
        self._ids: dict[Any, str] = {}
        self._at_once: set[int] = set()
        self._last = -1
        self._details: dict[int, dict[str, Any]] = {}
        self._sealed: int | None = None

    def whole(self, body: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """The events of an answer that came at once. Raises `DecodeError` for a body that is no chat completion."""
        choice = choice_of(body)
        yield from self.chunk({**body, "choices": [{**choice, "delta": choice["message"]}]}, "message")
        yield from self.end(marked=True)

    def chunk(self, data: Mapping[str, Any], kind: str) -> Iterator[ModelEvent]:
        """The events of one piece of a stream."""
        yield from self.started(data.get("id"), data.get("model"), self.facts(data, _TOP))
        for choice in mappings(data.get("choices")):
            if not choice.get("index"):
                yield from self._choice(choice)
        if isinstance(data.get("usage"), Mapping):
            yield UsageReport(usage=usage_of(data["usage"]))

    def end(self, *, marked: bool) -> Iterator[ModelEvent]:
        """An answer that is marked as whole without a reason has ended by itself."""
        if marked and not self.finished:
            self.finished = True
            yield from self._settled()
            yield Finished(reason="tool_calls" if self._last >= 0 else "stop")

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[ModelEvent]:
        self.has_message = True
        delta = choice.get("delta")
        if isinstance(delta, Mapping):
            content, logprobs = delta.get("content"), mapping(choice.get("logprobs"))
            if delta.keys() <= _TEXT and isinstance(content, str) and content and not logprobs:  # as most are
                yield TextDelta(text=content)
            else:
                yield from self._delta(delta, logprobs)
        yield from self.started(facts=self.facts(choice, _CHOICE))
        word = choice.get("finish_reason")
        if isinstance(word, str):
            self.finished = True
            yield from self._settled()
            reason = FINISH.get(word, "stop")
            yield Finished(reason="tool_calls" if reason == "stop" and self._last >= 0 else reason, word=word)

    def _delta(self, delta: Mapping[str, Any], logprobs: Mapping[str, Any]) -> Iterator[ModelEvent]:
        yield from self._thoughts(delta)
        spoken, noted = mappings(logprobs.get("content")), mappings(delta.get("annotations"))
        content = text_of(delta.get("content"))
        if content or spoken or noted:
            yield TextDelta(text=content, annotations=tuple(map(freeze, noted)), logprobs=tuple(map(freeze, spoken)))
        if refusal := text_of(delta.get("refusal")):
            yield RefusalDelta(text=refusal)
        for position, call in enumerate(mappings(delta.get("tool_calls"))):
            yield self._call(call, position)
        if isinstance(delta.get("function_call"), Mapping):  # what calls were before there could be several
            yield self._call({"index": 0, "function": delta["function_call"]}, 0)
        for image in mappings(delta.get("images")):
            yield OtherOutput(item=freeze({"type": "image", **image}))
        if isinstance(delta.get("audio"), Mapping):
            yield OtherOutput(item=freeze({"type": "audio", **delta["audio"]}))
        for part in mappings(delta.get("content")):
            if not isinstance(part.get("text"), str) and "thinking" not in part:
                yield OtherOutput(item=freeze(part))
        yield from self.started(facts=self.facts(delta, _DELTA))

    def _call(self, call: Mapping[str, Any], position: int) -> CallDelta:
        function = mapping(call.get("function") or call.get("custom"))
        google = mapping(mapping(call.get("extra_content")).get("google"))
        name, arguments = text(function.get("name")), arguments_text(function.get("arguments", function.get("input")))
        index = self._index(call, position, name)
        if name and is_whole(arguments):
            self._at_once.add(index)
        return CallDelta(
            index=index,
            call_id=text(call.get("id")),
            name=name,
            arguments=arguments,
            signature=text(call.get("signature")) or text(google.get("thought_signature")) or None,
            custom="custom" in call,
        )

    def _index(self, call: Mapping[str, Any], position: int, name: str) -> int:
        """The number of a call; one that has none, or that of a call with another id, goes by its id, else by its position.

        A name again where the call before it came whole begins another call.
        """
        number = call.get("index")
        number = number if isinstance(number, int) and not isinstance(number, bool) else None
        index, call_id = number, text(call.get("id"))
        latest = self._indexes.get(self._ids.get(number, ""), self._last if index is None else index)
        if name and not call_id and latest in self._at_once:
            call_id, index = f"#{self._last + 1}", None
        if call_id and self._ids.get(index, call_id) != call_id:
            index = None
        elif not call_id and index in self._ids:
            index = self._indexes[self._ids[index]]
        if index is None:
            known = self._indexes.get(call_id) if call_id else max(position, self._last, 0)
            index = self._last + 1 if known is None else known
        if call_id:
            self._indexes.setdefault(call_id, index)
            self._ids[number] = call_id
        self._last = max(self._last, index)
        return index

    def _thoughts(self, delta: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """Thoughts, which several providers write twice: as a text, and as details that carry what goes back with them."""
        details = mappings(delta.get("reasoning_details"))
        thought = text_of(delta.get("reasoning_content")) or text_of(delta.get("reasoning"))
        parts = [text_of(part["thinking"]) for part in mappings(delta.get("content")) if "thinking" in part]
        if thought := thought or "".join(parts):
            yield ReasoningDelta(text=thought)
        for position, detail in enumerate(details):
            yield from self._detail(detail, position, written=bool(thought))

    def _settled(self) -> Iterator[ModelEvent]:
        """The details of the thoughts put together: some providers want them back as they were."""
        if self._details:
            details = [self._details[index] for index in sorted(self._details)]
            yield from self.started(facts=FrozenDict({"reasoning_details": freeze(details)}))

    def _detail(self, detail: Mapping[str, Any], position: int, *, written: bool) -> Iterator[ModelEvent]:
        index = detail.get("index")
        index = index if isinstance(index, int) else position
        grown = self._details.setdefault(index, {})
        for name, value in detail.items():
            grows = name in _GROWING and isinstance(grown.get(name), str) and isinstance(value, str)
            if value is not None:
                grown[name] = grown[name] + value if grows else value
        sealed = text(detail.get("signature")) or text(detail.get("data"))
        summary, thought = text(detail.get("summary")), text(detail.get("text"))
        another = bool(sealed) and self._sealed not in (None, index)
        self._sealed = index if sealed else self._sealed
        if sealed or ((summary or thought) and not written):
            yield ReasoningDelta(
                text="" if written else summary or thought,
                summary=bool(summary),
                signature=sealed or None,
                new=another,
                redacted=bool(detail.get("data")),
            )


def choice_of(body: Any) -> Mapping[str, Any]:
    """Return the first choice of a completion's body, which has a message. Raises `DecodeError` otherwise."""
    choices = body.get("choices") if isinstance(body, Mapping) else None
    first = choices[0] if isinstance(choices, (list, tuple)) and choices else None
    if not isinstance(first, Mapping) or not isinstance(first.get("message"), Mapping):
        msg = "the provider's answer has no message (choices[0].message)"
        raise DecodeError(msg, hint="is this a chat completions endpoint?")
    return first


_GROWING: Final = frozenset({"text", "summary", "data", "signature"})

FINISH: Final[Mapping[str, FinishReason]] = {
    "stop": "stop",
    "eos": "stop",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "refusal",
    "abort": "error",
    "error": "error",
}
"""Why a chat completion, or a text completion, ended. Another word is an end like any other."""


def usage_of(usage: Mapping[str, Any]) -> Usage:
    """Tokens as chat completions and text completions count them."""
    read, written = mapping(usage.get("prompt_tokens_details")), mapping(usage.get("completion_tokens_details"))
    return Usage(
        input_tokens=count(usage.get("prompt_tokens")),
        output_tokens=count(usage.get("completion_tokens")),
        total_tokens=count(usage.get("total_tokens")),
        cached_tokens=count(read.get("cached_tokens", usage.get("prompt_cache_hit_tokens"))),
        cache_write_tokens=count(read.get("cache_write_tokens")),
        reasoning_tokens=count(written.get("reasoning_tokens")),
    )
