"""openai-responses: ``POST /responses``, OpenAI's own and OpenRouter's.

A stream tells everything at least twice: as deltas, when a part is done, when its item is done, and in the response at the end.
Deltas are taken as they come, and what is told later only where it was not told before, since not every server sends them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from innkeeper.inference.adapters.adapter import (
    Adapter,
    Reading,
    arguments_text,
    count,
    mapping,
    mappings,
    others,
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

_Data: TypeAlias = Mapping[str, Any]
_Events: TypeAlias = Iterator[ModelEvent]


class OpenAIResponses(Adapter):
    """Responses."""

    name = "openai-responses"
    dialect = "responses"
    base_url = "https://api.openai.com"
    endpoint = "/responses"
    ignored = frozenset(
        {
            *("object", "created_at", "completed_at", "output_text", "sequence_number", "obfuscation", "role"),
            *("instructions", "max_output_tokens", "max_tool_calls", "metadata", "parallel_tool_calls", "temperature"),
            *("previous_response_id", "prompt_cache_key", "prompt_cache_retention", "reasoning", "safety_identifier"),
            *("store", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user", "background"),
            *("frequency_penalty", "presence_penalty", "prompt"),
        }
    )

    def reading(self) -> Reading:
        """Reads one answer."""
        return _ResponsesReading()


_TOP: Final = OpenAIResponses.ignored | {"id", "model", "output", "error"}


class _Item:
    """What of one item has been told: how much of each of its texts, and which of its annotations."""

    def __init__(self, item_id: str) -> None:
        self.id = item_id
        self.begun = False
        self.texts: dict[tuple[str, int], int] = {}
        self.notes: dict[int, int] = {}
        self.sealed = False
        self.closed = False


class _ResponsesReading(Reading):
    protocol = OpenAIResponses.name

    def __init__(self) -> None:
        self._items: dict[int, _Item] = {}
        self._facts: dict[str, FrozenDict] = {}
        self._called = self._refused = False

    def failure(self, data: _Data, kind: str) -> _Data | None:
        kind = text(data.get("type")) or kind
        if kind == "response.failed":
            return {"error": mapping(data.get("response")).get("error") or {"message": "the response failed"}}
        return super().failure(data, kind)

    def whole(self, body: _Data) -> _Events:
        if not isinstance(body.get("output"), list):
            msg = "the provider's answer has no output"
            raise DecodeError(msg, hint="is this a Responses endpoint?")
        status = text(body.get("status"))
        yield from self._response({**body, "status": status if status in _STATUSES else "completed"})

    def chunk(self, data: _Data, kind: str) -> _Events:
        kind = (text(data.get("type")) or kind).removeprefix("response.")
        if isinstance(data.get("response"), Mapping):
            yield from self._response(data["response"])
            return
        index = count(data.get("output_index")) or 0
        if isinstance(data.get("item"), Mapping):
            yield from self._item(data["item"], index, done=kind == "output_item.done")
        elif kind in _DELTAS:
            yield from self._delta(data, index, _DELTAS[kind])
        elif kind in _WHOLES:
            name, value = _WHOLES[kind]
            yield from self._text(index, name, _number(data), text(data.get(value)))
        elif kind == "output_text.annotation.added":
            yield from self._annotations(index, _number(data), [mapping(data.get("annotation"))], more=True)

    # ----------------------------------------------------------------------------------------------------- the response

    def _response(self, body: _Data) -> _Events:
        yield from self.started(body.get("id"), body.get("model"), self.facts(body, _TOP))
        for index, item in enumerate(mappings(body.get("output"))):
            yield from self._item(item, index, done=True)
        if isinstance(body.get("usage"), Mapping):
            yield UsageReport(usage=responses_usage(body["usage"]))
        status = text(body.get("status"))
        if status in _ENDED:
            self.finished = True
            word = text(mapping(body.get("incomplete_details")).get("reason")) or status
            yield Finished(reason=self._reason(word), word=word)

    def _reason(self, word: str) -> FinishReason:
        if word == "completed":
            return "tool_calls" if self._called else "refusal" if self._refused else "stop"
        return _INCOMPLETE.get(word, "length")

    # ------------------------------------------------------------------------------------------------------------- items

    def _known(self, index: int, item_id: Any = None) -> _Item:
        if index not in self._items:
            self._items[index] = _Item(text(item_id))
        return self._items[index]

    def _item(self, item: _Data, index: int, *, done: bool) -> _Events:
        known = self._known(index, item.get("id"))
        if known.closed:
            return
        known.closed = done
        if done and text(item.get("type")) in _KINDS and (rest := others(item, _ITEM)):
            self._facts[known.id] = rest
            yield from self.started(facts=FrozenDict({"items": FrozenDict(self._facts)}))
        match item.get("type"):
            case "message":
                yield from self._message(item, index)
            case "reasoning":
                yield from self._reasoning(item, index, known)
            case "function_call" | "custom_tool_call":
                yield from self._call(item, index, known)
            case _ if done:
                yield OtherOutput(item=freeze(item))

    def _message(self, item: _Data, index: int) -> _Events:
        for number, part in enumerate(mappings(item.get("content"))):
            if part.get("type") == "refusal":
                yield from self._text(index, "refusal", number, text(part.get("refusal")))
            else:
                yield from self._text(index, "text", number, text(part.get("text")), mappings(part.get("logprobs")))
                yield from self._annotations(index, number, mappings(part.get("annotations")))

    def _reasoning(self, item: _Data, index: int, known: _Item) -> _Events:
        if not known.begun:
            known.begun = True
            yield ReasoningDelta(new=True, item_id=known.id)
        for name in ("summary", "content"):
            for number, part in enumerate(mappings(item.get(name))):
                yield from self._text(index, name, number, text(part.get("text")))
        sealed = text(item.get("encrypted_content"))
        if sealed and known.closed and not known.sealed:
            known.sealed = True
            yield ReasoningDelta(signature=sealed, redacted=not any(known.texts.values()))

    def _call(self, item: _Data, index: int, known: _Item) -> _Events:
        self._called = True
        if not known.begun:
            known.begun = True
            yield CallDelta(
                index=index,
                call_id=text(item.get("call_id")),
                name=text(item.get("name")),
                item_id=known.id,
                custom=item.get("type") == "custom_tool_call",
            )
        written = arguments_text(item.get("arguments", item.get("input")))
        yield from self._text(index, "arguments", 0, written)

    # ------------------------------------------------------------------------------------------------------------- texts

    def _delta(self, data: _Data, index: int, name: str) -> _Events:
        known, number, more = self._known(index, data.get("item_id")), _number(data), text(data.get("delta"))
        yield from self._more(known, index, name, number, more, mappings(data.get("logprobs")))

    def _text(self, index: int, name: str, number: int, whole: str, logprobs: list[_Data] | None = None) -> _Events:
        """A text that is told whole: what of it has not been told."""
        known = self._known(index)
        before = known.texts.get((name, number))
        if before is None or len(whole) > before:
            yield from self._more(known, index, name, number, whole[before or 0 :], logprobs if not before else None)

    def _more(
        self, known: _Item, index: int, name: str, number: int, more: str, logprobs: list[_Data] | None = None
    ) -> _Events:
        first = (name, number) not in known.texts
        part = first and known.begun and bool(known.texts)
        new = not known.begun
        known.texts[name, number] = known.texts.get((name, number), 0) + len(more)
        if name == "arguments":
            if more:
                yield CallDelta(index=index, arguments=more)
            return
        known.begun = True
        if name in ("summary", "content"):
            yield ReasoningDelta(
                text=more,
                summary=name == "summary",
                part=first and number > 0,
                new=new,
                item_id=known.id if new else "",
            )
        elif name == "refusal":
            self._refused = True
            yield RefusalDelta(text=more, new=new, item_id=known.id if new else "")
        else:
            spoken = tuple(map(freeze, logprobs or ()))
            yield TextDelta(text=more, logprobs=spoken, part=part, new=new, item_id=known.id if new else "")

    def _annotations(self, index: int, number: int, notes: list[_Data], *, more: bool = False) -> _Events:
        known = self._known(index)
        before = known.notes.get(number, 0)
        new = notes if more else notes[before:]
        known.notes[number] = before + len(new)
        if new:
            yield TextDelta(annotations=tuple(map(freeze, new)))


def _number(data: _Data) -> int:
    return count(data.get("content_index")) or count(data.get("summary_index")) or 0


_KINDS: Final = frozenset({"message", "reasoning", "function_call", "custom_tool_call"})
_ITEM: Final = frozenset(
    {
        *("id", "type", "status", "role", "content", "summary", "encrypted_content"),
        *("call_id", "name", "arguments", "input"),
    }
)
"""Fields of items of these kinds that the events say; others are facts, by the item's id."""

_DELTAS: Final = {
    "output_text.delta": "text",
    "refusal.delta": "refusal",
    "reasoning_summary_text.delta": "summary",
    "reasoning_text.delta": "content",
    "function_call_arguments.delta": "arguments",
    "custom_tool_call_input.delta": "arguments",
}
_WHOLES: Final = {
    "output_text.done": ("text", "text"),
    "refusal.done": ("refusal", "refusal"),
    "reasoning_summary_text.done": ("summary", "text"),
    "reasoning_text.done": ("content", "text"),
    "function_call_arguments.done": ("arguments", "arguments"),
    "custom_tool_call_input.done": ("arguments", "input"),
}
_STATUSES: Final = frozenset({"completed", "incomplete", "cancelled", "failed", "in_progress", "queued"})
"""Of a whole answer; one that says something else, or nothing, has ended."""
_ENDED: Final = frozenset({"completed", "incomplete", "cancelled"})
_INCOMPLETE: Final[Mapping[str, FinishReason]] = {
    "max_output_tokens": "length",
    "content_filter": "content_filter",
    "cancelled": "error",
}


def responses_usage(usage: _Data) -> Usage:
    """Tokens as Responses count them."""
    read, written = mapping(usage.get("input_tokens_details")), mapping(usage.get("output_tokens_details"))
    return Usage(
        input_tokens=count(usage.get("input_tokens")),
        output_tokens=count(usage.get("output_tokens")),
        total_tokens=count(usage.get("total_tokens")),
        cached_tokens=count(read.get("cached_tokens")),
        cache_write_tokens=count(read.get("cache_write_tokens")),
        reasoning_tokens=count(written.get("reasoning_tokens")),
    )
