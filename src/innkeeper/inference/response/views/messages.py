"""Anthropic's messages: the ``message`` and the events of its stream: blocks that follow one another, thoughts with signatures.

Input tokens leave out those that were cached, as theirs do. Arguments of a call that are no JSON object stand in one, under
``arguments_raw``; a stream gives their text as it comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.inference.response.events import (
    CallDelta,
    ModelEvent,
    OtherOutput,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
)
from innkeeper.inference.response.fold import ResponseFold
from innkeeper.inference.response.response import (
    CallItem,
    FinishReason,
    MessageItem,
    ModelResponse,
    OtherItem,
    OutputItem,
    ReasoningItem,
    RefusalPart,
    TextPart,
    Usage,
)
from innkeeper.inference.response.views.legacy import arguments_of
from innkeeper.inference.response.views.sequence import Sequence
from innkeeper.inference.response.views.view import (
    ErrorFacts,
    ServerEvent,
    StreamView,
    View,
    bare_id,
    ended,
    noted,
    others,
    own_facts,
    own_fields,
    plain,
)
from innkeeper.prompt.data import EMPTY

PROTOCOL: Final = "anthropic-messages"
"""The adapter whose answers are in this surface's own words: of those nothing is left out."""

_STOP: Final[Mapping[FinishReason | None, str | None]] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
    "refusal": "refusal",
    "error": "end_turn",
}


class MessagesView(View):
    """The view of ``/v1/messages``."""

    def whole(self, response: ModelResponse) -> dict[str, Any]:
        """A ``message``."""
        content = [block for item in response.output for block in _blocks(item, response)]
        own = own_facts(response, PROTOCOL)
        body = {**_head(response.id, response.model), "content": content, **own, **_stop(response)}
        return noted({**body, "usage": _usage(response)}, self.left_out(response))

    def stream(self, fold: ResponseFold, *, include_usage: bool = False) -> StreamView:
        """From ``message_start`` to ``message_stop``."""
        return _MessageEvents(fold)

    def left_out(self, response: ModelResponse) -> list[str]:
        """What messages do not have: kinds of items, notes to a text, arguments that are no object; figures that are guesses."""
        parts = [part for item in response.output if isinstance(item, MessageItem) for part in item.content]
        texts, own = [part for part in parts if isinstance(part, TextPart)], response.protocol == PROTOCOL
        notes = [] if own else [part.annotations for part in texts]
        lost = {"notes to the text": notes, "probabilities": [part.logprobs for part in texts]}
        raw = [call.name for call in response.calls if arguments_of(call.arguments) is None]
        signed = [call.name for call in response.calls if call.signature is not None]
        return [
            *(f"{what} are not carried" for what, items in lost.items() if any(items)),
            *(f"the arguments of the call of {name!r:.80} are no JSON object" for name in raw),
            *(f"the signature of the call of {name!r:.80} is not carried" for name in signed),
            *([] if own else others(response)),
            *ended(response),
            *([] if _told(response) else ["the provider reports no usage: its figures are estimates"]),
        ]


MESSAGES: Final = MessagesView()


class _MessageEvents(StreamView):
    def __init__(self, fold: ResponseFold) -> None:
        super().__init__(fold)
        self._order = Sequence()
        self._count = 0
        self._open = ""
        """The kind of the open block."""
        self._signature = ""
        """What the open block of thoughts, or one that has not begun, is signed with."""
        self._redacted = False
        """Whether that stands for thoughts that are kept back."""

    def start(self) -> list[ServerEvent]:
        head = {**_head(self.fold.id, self.fold.model), "content": [], "stop_reason": None, "stop_sequence": None}
        return [_event("message_start", message={**head, "usage": usage_dict(self.fold.usage)})]

    def take(self, event: ModelEvent) -> list[ServerEvent]:
        return [sent for each in self._order.take(event) for sent in self._take(each)]

    def end(self) -> list[ServerEvent]:
        rest = [sent for each in self._order.end() for sent in self._take(each)]
        response = self.fold.response()
        own = own_facts(response, PROTOCOL)
        delta: dict[str, Any] = {**{name: own.pop(name) for name in _IN_DELTA if name in own}, **_stop(response)}
        head = {**own, "delta": delta, "usage": _usage(response)}
        last = ServerEvent(noted({"type": "message_delta", **head}, MESSAGES.left_out(response)), "message_delta")
        return [*rest, *self._closed(), last, _event("message_stop")]

    def fail(self, error: ErrorFacts) -> list[ServerEvent]:
        return [ServerEvent(envelope(error), "error")]

    def _take(self, event: ModelEvent) -> list[ServerEvent]:
        before = self.fold.count
        self.fold.take(event)
        parts = isinstance(event, TextDelta) and event.part
        closed = self._closed() if self.fold.count > before or parts else []
        own = self.fold.protocol == PROTOCOL
        match event:
            case RefusalDelta() if own:
                return closed
            case OtherOutput(item=item) if own:
                return [*closed, *self._opened("other", plain(item)), *self._closed()]
            case TextDelta() | RefusalDelta():
                kind = "text" if isinstance(event, TextDelta) else "refusal"
                notes = event.annotations if own and isinstance(event, TextDelta) else ()
                opened = self._opened(kind, {"type": "text", "text": ""}) if event.text or notes else []
                said = [self._delta("text_delta", text=event.text)] if event.text else []
                said += [self._delta("citations_delta", citation=plain(note)) for note in notes]
                return [*closed, *opened, *said]
            case ReasoningDelta():
                return [*closed, *self._thought(event)]
            case CallDelta():
                return [*closed, *self._call(event)]
        return closed

    def _call(self, event: CallDelta) -> list[ServerEvent]:
        call = self.fold.call(event.index)
        if call is None:
            return []
        own = own_fields(self.fold, PROTOCOL, call.call_id)
        block = {"type": "tool_use", "id": call.call_id, "name": call.name, "input": {}, **own}
        pieces = [self._delta("input_json_delta", partial_json=event.arguments)] if event.arguments else []
        return [*self._opened("tool_use", block), *pieces]

    def _thought(self, event: ReasoningDelta) -> list[ServerEvent]:
        self._signature += event.signature or ""
        self._redacted = self._redacted or event.redacted
        gap = "\n\n" if event.summary and event.part and self._open == "thinking" else ""
        if not (gap or event.text):
            return []
        block = {"type": "thinking", "thinking": "", "signature": ""}
        return [*self._opened("thinking", block), self._delta("thinking_delta", thinking=gap + event.text)]

    def _opened(self, kind: str, block: dict[str, Any]) -> list[ServerEvent]:
        if self._open == kind:
            return []
        signature, redacted, self._signature = self._signature, self._redacted, ""
        closed = self._closed()
        self._open, self._signature, self._redacted = kind, signature, redacted
        return [*closed, _event("content_block_start", index=self._count, content_block=block)]

    def _closed(self) -> list[ServerEvent]:
        signature, kind, redacted = self._signature, self._open, self._redacted
        self._open, self._signature, self._redacted = "", "", False
        if kind:
            signed = [self._delta("signature_delta", signature=signature)] if signature else []
            self._count += 1
            return [*signed, _event("content_block_stop", index=self._count - 1)]
        if not signature:
            return []
        at, self._count = self._count, self._count + 1
        empty = {"type": "thinking", "thinking": "", "signature": ""}
        block = {"type": "redacted_thinking", "data": signature} if redacted else empty
        delta = {"type": "signature_delta", "signature": signature}
        signed = [] if redacted else [_event("content_block_delta", index=at, delta=delta)]
        start = _event("content_block_start", index=at, content_block=block)
        return [start, *signed, _event("content_block_stop", index=at)]

    def _delta(self, kind: str, **fields: Any) -> ServerEvent:
        return _event("content_block_delta", index=self._count, delta={"type": kind, **fields})


_IN_DELTA: Final = ("container", "stop_details")


def _event(name: str, /, **facts: Any) -> ServerEvent:
    return ServerEvent({"type": name, **facts}, name)


def _head(response_id: str, model: str) -> dict[str, Any]:
    return {"id": f"msg_{bare_id(response_id)}", "type": "message", "role": "assistant", "model": model}


def _blocks(item: OutputItem, response: ModelResponse) -> list[dict[str, Any]]:
    own = response.protocol == PROTOCOL
    if isinstance(item, MessageItem):
        return [block for part in item.content for block in _text(part, own=own)]
    if isinstance(item, OtherItem):
        return [plain(item.item)] if own else []
    if isinstance(item, CallItem):
        arguments = arguments_of(item.arguments)
        written = {"arguments_raw": item.arguments} if arguments is None else arguments
        own_block = own_fields(response, PROTOCOL, item.call_id)
        return [{"type": "tool_use", "id": item.call_id, "name": item.name, "input": written, **own_block}]
    return _thinking(item)


def _text(part: TextPart | RefusalPart, *, own: bool) -> list[dict[str, Any]]:
    """A part as a block; a refusal of Anthropic's own stands beside the content, in ``stop_details``."""
    if isinstance(part, RefusalPart):
        return [{"type": "text", "text": part.refusal}] if part.refusal and not own else []
    cited = {"citations": plain(part.annotations)} if own and part.annotations else {}
    return [{"type": "text", "text": part.text, **cited}] if part.text or cited else []


def _thinking(item: ReasoningItem) -> list[dict[str, Any]]:
    text = "".join(item.content) or "\n\n".join(item.summary)
    if item.redacted and item.signature:
        return [{"type": "redacted_thinking", "data": item.signature}]
    signed = {"type": "thinking", "thinking": text, "signature": item.signature or ""}
    return [signed] if text or item.signature else []


def _stop(response: ModelResponse) -> dict[str, Any]:
    matched = response.provider.get("stop_sequence")
    reason = _STOP.get(response.finish)
    if response.protocol == PROTOCOL and response.provider.get("finish_reason"):
        return {"stop_reason": response.provider["finish_reason"], "stop_sequence": matched}
    if reason == "end_turn" and (response.calls or matched):
        reason = "tool_use" if response.calls else "stop_sequence"
    return {"stop_reason": reason, "stop_sequence": matched if reason == "stop_sequence" else None}


def _told(response: ModelResponse) -> Usage | None:
    """The figures of an answer, where its provider tells them."""
    return None if response.usage is None else response.usage.whole()


def _usage(response: ModelResponse) -> dict[str, Any]:
    own = response.provider.get("usage", EMPTY) if response.protocol == PROTOCOL else EMPTY
    return {**plain(own), **usage_dict(_told(response) or response.estimate)}


def usage_dict(usage: Usage | None) -> dict[str, int | None]:
    """Usage as messages have it: two figures are whole numbers, 0 as long as they are not known; the others may be null."""
    known = usage or Usage()
    cached, written = known.cached_tokens, known.cache_write_tokens
    fresh = max(0, (known.input_tokens or 0) - (cached or 0) - (written or 0))
    caches = {"cache_read_input_tokens": cached, "cache_creation_input_tokens": written}
    return {"input_tokens": fresh, "output_tokens": known.output_tokens or 0, **caches}


_TYPES: Final[Mapping[int, str]] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def envelope(error: ErrorFacts) -> dict[str, Any]:
    """An error as Anthropic's surface tells it."""
    kind = _TYPES.get(error.status, "api_error" if error.status >= 500 else "invalid_request_error")  # noqa: PLR2004 - HTTP
    return {"type": "error", "error": {"type": kind, "message": error.message}}
