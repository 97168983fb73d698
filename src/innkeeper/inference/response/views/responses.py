"""Responses: the object as it is (`ModelResponse.to_dict`), and the events of its stream, each with its ``sequence_number``.

An item is whole before the next begins. Each part of an item is added, grows, and is done; each item too.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from innkeeper.inference.response.events import CallDelta, ModelEvent, ReasoningDelta, RefusalDelta, TextDelta
from innkeeper.inference.response.fold import ResponseFold
from innkeeper.inference.response.response import (
    CallItem,
    MessageItem,
    ModelResponse,
    OutputItem,
    ReasoningItem,
    ResponseError,
    item_dict,
    part_dict,
)
from innkeeper.inference.response.views.sequence import Sequence
from innkeeper.inference.response.views.view import (
    ErrorFacts,
    ServerEvent,
    StreamView,
    View,
    is_own_id,
    own_facts,
    own_fields,
    plain,
)
from innkeeper.prompt.data import FrozenDict


class ResponsesView(View):
    """The view of ``/v1/responses``. It has a place for everything."""

    def whole(self, response: ModelResponse) -> dict[str, Any]:
        """OpenAI's Responses object, with ``created``, ``finish_reason`` and ``provider`` beside it."""
        output = tuple([_summarised(item, response.id) for item in response.output])
        return _wire(msgspec.structs.replace(response, output=output))

    def stream(self, fold: ResponseFold, *, include_usage: bool = False) -> StreamView:
        """The whole sequence, from ``response.created`` to ``response.completed`` or how else it ends."""
        return _Events(fold)

    def left_out(self, response: ModelResponse) -> list[str]:
        """Nothing."""
        return []


RESPONSES: Final = ResponsesView()

PROTOCOL: Final = "openai-responses"
"""The adapter whose answers are in this surface's own words."""


_DETAILS: Final = ("cached_tokens", "cache_write_tokens", "reasoning_tokens")


def _wire(response: ModelResponse) -> dict[str, Any]:
    """A response as clients read it: its usage has whole numbers, those of its details too, or is null."""
    usage = None if response.usage is None else response.usage.whole()
    if usage is not None:
        usage = msgspec.structs.replace(usage, **{name: getattr(usage, name) or 0 for name in _DETAILS})
    body = msgspec.structs.replace(response, usage=usage).to_dict()
    output = [{**item, **own_fields(response, PROTOCOL, item.get("id"))} for item in body["output"]]
    return {**own_facts(response, PROTOCOL), **body, "output": output}


def _summarised(item: OutputItem, response_id: str) -> OutputItem:
    """Thoughts of a provider whose answers have no items, as the summary."""
    if not isinstance(item, ReasoningItem) or item.summary or not is_own_id(item.id, response_id):
        return item
    return msgspec.structs.replace(item, summary=item.content, content=())


class _Events(StreamView):
    def __init__(self, fold: ResponseFold) -> None:
        super().__init__(fold)
        self._number = 0
        self._order = Sequence()
        self._item: dict[str, Any] | None = None
        self._part: _Part | None = None
        self._parts: dict[str, int] = {}
        self._has_items = False
        """Whether the provider writes items of thoughts; thoughts of others are told as the summary, which clients read."""

    def start(self) -> list[ServerEvent]:
        body = {**self.fold.response().to_dict(), "status": "in_progress", "incomplete_details": None}
        return [self._event(f"response.{name}", response=body) for name in ("created", "in_progress")]

    def take(self, event: ModelEvent) -> list[ServerEvent]:
        return [sent for each in self._order.take(event) for sent in self._take(each)]

    def end(self) -> list[ServerEvent]:
        return self._ended(None)

    def fail(self, error: ErrorFacts) -> list[ServerEvent]:
        return self._ended(ResponseError(error.code or error.type, error.message))

    def _ended(self, error: ResponseError | None) -> list[ServerEvent]:
        rest = [sent for each in self._order.end() for sent in self._take(each)]
        response = self.fold.response(error)
        closed = [] if self._item is None else self._close(response.output[-1])
        return [*rest, *closed, self._event(f"response.{response.status}", response=_wire(response))]

    def _take(self, event: ModelEvent) -> list[ServerEvent]:
        if isinstance(event, ReasoningDelta):
            self._has_items = self._has_items or bool(event.item_id)
            event = event if self._has_items else msgspec.structs.replace(event, summary=True)
        index = self.fold.count
        self.fold.take(event)
        opened = self._open(index) if self.fold.count > index else []
        if isinstance(event, CallDelta) and self.fold.call(event.index) is None:
            return opened
        return [*opened, *self._grown(event)]

    def _open(self, index: int) -> list[ServerEvent]:
        closed = [] if self._item is None else self._close(self.fold.item(index - 1))
        item = self.fold.item(index)
        self._item, self._parts = {"item_id": getattr(item, "id", ""), "output_index": index}, {}
        return [*closed, self._event("response.output_item.added", output_index=index, item=item_dict(_emptied(item)))]

    def _close(self, item: OutputItem) -> list[ServerEvent]:
        at, events = self._item or {}, self._end_part(item)
        if isinstance(item, CallItem):
            pieces = {"input": item.arguments} if item.custom else {"arguments": item.arguments, "name": item.name}
            events.append(self._event(f"response.{_WRITTEN[item.custom]}.done", **at, **pieces))
        self._item = None
        body = item_dict(item)
        body |= own_fields(self.fold, PROTOCOL, body.get("id"))
        return [*events, self._event("response.output_item.done", output_index=at["output_index"], item=body)]

    def _grown(self, event: ModelEvent) -> list[ServerEvent]:
        match event:
            case TextDelta():
                return [*self._in_part(_TEXT, new=event.part), *self._text(event)]
            case RefusalDelta():
                return [*self._in_part(_REFUSAL), self._delta(delta=event.text)]
            case ReasoningDelta() if event.text or event.part:
                opened = self._in_part(_SUMMARY if event.summary else _THOUGHT, new=event.part)
                return [*opened, self._delta(delta=event.text)] if event.text else opened
            case CallDelta() if event.arguments:
                at, call = self._item or {}, self.fold.call(event.index)
                name = _WRITTEN[call is not None and call.custom]
                return [self._event(f"response.{name}.delta", **at, delta=event.arguments)]
        return []

    def _text(self, event: TextDelta) -> list[ServerEvent]:
        pieces = [self._delta(delta=event.text, logprobs=plain(event.logprobs))] if event.text or event.logprobs else []
        return [*pieces, *(self._annotation(note) for note in event.annotations)]

    def _annotation(self, note: FrozenDict) -> ServerEvent:
        number = self._parts["annotations"] = self._parts.get("annotations", -1) + 1
        at = self._position()
        return self._event(
            "response.output_text.annotation.added", **at, annotation_index=number, annotation=plain(note)
        )

    def _in_part(self, kind: _ItemKind, *, new: bool = False) -> list[ServerEvent]:
        """What opens a part of this kind, unless one is open that goes on."""
        if self._part is not None and self._part.kind is kind and not new:
            return []
        ended = self._end_part(self.fold.item(self.fold.count - 1))
        count = self._parts.get(kind.counter, 0)
        if kind.again and count and not new:
            self._part = _Part(kind, count - 1)
            return ended
        self._parts[kind.counter] = count + 1
        self._parts.pop("annotations", None)
        self._part = _Part(kind, count)
        return [*ended, self._event(f"response.{kind.part}.added", **self._position(), part=kind.body(""))]

    def _end_part(self, item: OutputItem) -> list[ServerEvent]:
        if self._part is None:
            return []
        kind, body = self._part.kind, self._part.whole(item)
        written = {name: body[name] for name in (kind.field, "logprobs") if name in body}
        done = {**({"logprobs": []} if kind is _TEXT else {}), **written}
        at = self._position()
        self._part = None
        return [
            self._event(f"response.{kind.text}.done", **at, **done),
            self._event(f"response.{kind.part}.done", **at, part=body),
        ]

    def _delta(self, **fields: Any) -> ServerEvent:
        kind = self._part.kind if self._part else _TEXT
        return self._event(f"response.{kind.text}.delta", **self._position(), **fields)

    def _position(self) -> dict[str, Any]:
        at = {} if self._part is None else {self._part.kind.counter: self._part.number}
        return {**(self._item or {}), **at}

    def _event(self, name: str, /, **facts: Any) -> ServerEvent:
        self._number += 1
        return ServerEvent({"type": name, "sequence_number": self._number - 1, **facts}, name)


_WRITTEN: Final = ("function_call_arguments", "custom_tool_call_input")
"""What the text of a call is called, and that of a custom one."""


class _ItemKind(NamedTuple):
    """A kind of part: its type and the field of its text, and what its events and its number are called.

    ``again``: whether one may go on after a part of another kind.
    """

    type: str
    field: str
    text: str
    part: str = "content_part"
    counter: str = "content_index"
    again: bool = False

    def body(self, text: str) -> dict[str, Any]:
        """A part of this kind."""
        noted: dict[str, Any] = {"annotations": []} if self.type == "output_text" else {}
        return {"type": self.type, self.field: text, **noted}


_TEXT: Final = _ItemKind("output_text", "text", "output_text")
_REFUSAL: Final = _ItemKind("refusal", "refusal", "refusal")
_THOUGHT: Final = _ItemKind("reasoning_text", "text", "reasoning_text", again=True)
_SUMMARY: Final = _ItemKind(
    "summary_text", "text", "reasoning_summary_text", "reasoning_summary_part", "summary_index", again=True
)


class _Part(NamedTuple):
    """The part that is open."""

    kind: _ItemKind
    number: int

    def whole(self, item: OutputItem) -> dict[str, Any]:
        """The part as the item has it."""
        if isinstance(item, MessageItem):
            return part_dict(item.content[self.number])
        texts = item.summary if self.kind is _SUMMARY else item.content  # type: ignore[union-attr]  # of a message or thoughts
        return self.kind.body(texts[self.number])


def _emptied(item: OutputItem) -> OutputItem:
    """The item as it was before anything was said."""
    empty: dict[type, dict[str, Any]] = {
        MessageItem: {"content": ()},
        CallItem: {"arguments": ""},
        ReasoningItem: {"content": (), "summary": (), "signature": None},
    }
    changes = empty.get(type(item))
    return item if changes is None else msgspec.structs.replace(item, status="in_progress", **changes)
