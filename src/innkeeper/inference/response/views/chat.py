"""Chat completions: ``chat.completion`` and its chunks.

Thoughts stand in ``reasoning_content``, and those with a signature in ``reasoning_details`` too, as OpenRouter has them; the
signature of a call stands where Google's compatible endpoint puts it. Lists that grow are sent once, at the end.
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
    ReasoningItem,
    TextPart,
    Usage,
)
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
    plain,
)
from innkeeper.prompt.data import FrozenDict

PROTOCOL: Final = "openai-chat"
"""The adapter whose answers are in this surface's own words: of those nothing is left out."""

_IMAGES: Final = frozenset({"image_url"})
_OWN: Final = _IMAGES | {"audio"}
DONE: Final = ServerEvent("[DONE]")
_FINISH: Final[Mapping[FinishReason, str]] = {"refusal": "stop"}


class ChatView(View):
    """The view of ``/v1/chat/completions``."""

    def whole(self, response: ModelResponse) -> dict[str, Any]:
        """A ``chat.completion``."""
        message: dict[str, Any] = {
            "role": "assistant",
            "content": response.text or (None if response.calls or response.refusal else ""),
            "refusal": response.refusal or None,
        }
        calls = [call_dict(call) for call in response.calls]
        thoughts = {"reasoning_content": response.reasoning} if response.reasoning else {}
        message |= {**thoughts, **({"tool_calls": calls} if calls else {}), **_at_the_end(response), **_sound(response)}
        logprobs = _logprobs(response)
        choice = {"index": 0, "message": message, "logprobs": logprobs, "finish_reason": finish_reason(response)}
        body = {**_head(response, "chat.completion"), "choices": [choice], "usage": _usage(response)}
        return noted(body, self.left_out(response))

    def stream(self, fold: ResponseFold, *, include_usage: bool = False) -> StreamView:
        """Chunks, with one of usage alone before the last word where that was asked for."""
        return _Chunks(fold, include_usage=include_usage)

    def left_out(self, response: ModelResponse) -> list[str]:
        """Items of kinds that chat completions do not have, and how an answer ended that is not whole."""
        return [*others(response, _OWN if response.protocol == PROTOCOL else _IMAGES), *ended(response)]


CHAT: Final = ChatView()


_CHUNK: Final = "chat.completion.chunk"


class _Chunks(StreamView):
    def __init__(self, fold: ResponseFold, *, include_usage: bool) -> None:
        super().__init__(fold)
        self._usage = {"usage": None} if include_usage else {}
        self._summaries = 0
        self._calls: dict[int, int] = {}

    def start(self) -> list[ServerEvent]:
        return [self._chunk({"role": "assistant"})]

    def take(self, event: ModelEvent) -> list[ServerEvent]:
        before = self.fold.count
        self.fold.take(event)
        if isinstance(event, TextDelta) and (event.text or event.logprobs):
            logprobs = {"content": plain(event.logprobs), "refusal": None} if event.logprobs else None
            return [self._chunk({"content": event.text}, logprobs=logprobs)]
        if isinstance(event, RefusalDelta):
            return [self._chunk({"refusal": event.text})]
        if isinstance(event, ReasoningDelta):
            return self._thought(event, begins=self.fold.count > before)
        if isinstance(event, OtherOutput) and self.fold.protocol == PROTOCOL and event.item.get("type") == "audio":
            return [self._chunk({"audio": _audio(event.item)})]
        return self._call(event) if isinstance(event, CallDelta) else []

    def end(self) -> list[ServerEvent]:
        response = self.fold.response()
        silent = not (response.text or response.calls or response.refusal)
        last = {**({"content": ""} if silent else {}), **_at_the_end(response)}
        head = {**_head(response, _CHUNK), "choices": [_choice({}, finish=finish_reason(response))], **self._usage}
        events = [self._chunk(last)] if last else []
        events.append(ServerEvent(noted(head, CHAT.left_out(response))))
        if self._usage:
            usage: dict[str, Any] = {"choices": [], "usage": _usage(response)}
            events.append(ServerEvent({**_head(response, _CHUNK), **usage}))
        return [*events, DONE]

    def fail(self, error: ErrorFacts) -> list[ServerEvent]:
        return [ServerEvent(envelope(error))]

    def _thought(self, event: ReasoningDelta, *, begins: bool) -> list[ServerEvent]:
        self._summaries = 0 if begins else self._summaries
        opens = event.summary and (event.part or (bool(event.text) and not self._summaries))
        gap = "\n\n" if opens and self._summaries else ""
        self._summaries += opens
        return [self._chunk({"reasoning_content": gap + event.text})] if gap or event.text else []

    def _call(self, event: CallDelta) -> list[ServerEvent]:
        call = self.fold.call(event.index)
        if call is None:
            return []
        first = event.index not in self._calls
        index = self._calls.setdefault(event.index, len(self._calls))
        more = {"custom": {"input": event.arguments}} if call.custom else {"function": {"arguments": event.arguments}}
        piece = call_dict(call) if first else {**more, **_signed(event.signature)}
        return [self._chunk({"tool_calls": [{"index": index, **piece}]})]

    def _chunk(self, delta: dict[str, Any], logprobs: Any = None) -> ServerEvent:
        fold = self.fold
        head = {"id": _id(fold.id), "object": _CHUNK, "created": fold.created, "model": fold.model}
        return ServerEvent({**head, "choices": [_choice(delta, logprobs=logprobs)], **self._usage})


def _id(response_id: str) -> str:
    return f"chatcmpl-{bare_id(response_id)}"


def _head(response: ModelResponse, kind: str) -> dict[str, Any]:
    facts = {
        name: response.provider[name] for name in ("system_fingerprint", "service_tier") if name in response.provider
    }
    return {
        **own_facts(response, PROTOCOL),
        "id": _id(response.id),
        "object": kind,
        "created": response.created,
        "model": response.model,
        **plain(facts),
    }


def _choice(delta: dict[str, Any], *, logprobs: Any = None, finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": finish}


def call_dict(call: CallItem) -> dict[str, Any]:
    """A call of a tool as chat completions have it."""
    if call.custom:
        return {"id": call.call_id, "type": "custom", "custom": {"name": call.name, "input": call.arguments}}
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.call_id, "type": "function", "function": function, **_signed(call.signature)}


def _signed(signature: str | None) -> dict[str, Any]:
    return {} if signature is None else {"extra_content": {"google": {"thought_signature": signature}}}


def _parts(response: ModelResponse) -> list[TextPart]:
    messages = [item for item in response.output if isinstance(item, MessageItem)]
    return [part for item in messages for part in item.content if isinstance(part, TextPart)]


def _logprobs(response: ModelResponse) -> dict[str, Any] | None:
    tokens = [token for part in _parts(response) for token in part.logprobs]
    return {"content": plain(tokens), "refusal": None} if tokens else None


def _at_the_end(response: ModelResponse) -> dict[str, Any]:
    """What a message has that a stream brings at its end: notes to the text, signed thoughts, images."""
    items = response.output
    lists: dict[str, Any] = {
        "annotations": [note for part in _parts(response) for note in part.annotations],
        "reasoning_details": [_detail(item) for item in items if isinstance(item, ReasoningItem) and item.signature],
        "images": [it.item for it in items if isinstance(it, OtherItem) and it.item.get("type") in _IMAGES],
    }
    own = response.provider.get("reasoning_details") if response.protocol == PROTOCOL else None
    lists |= {} if own is None else {"reasoning_details": own}
    return {name: plain(items_of_kind) for name, items_of_kind in lists.items() if items_of_kind}


def _sound(response: ModelResponse) -> dict[str, Any]:
    """What is to be heard of a message: audio, as the provider wrote it."""
    heard = [it.item for it in response.output if isinstance(it, OtherItem) and it.item.get("type") == "audio"]
    return {"audio": _audio(heard[-1])} if heard and response.protocol == PROTOCOL else {}


def _audio(item: FrozenDict) -> dict[str, Any]:
    return {name: value for name, value in plain(item).items() if name != "type"}


def _detail(item: ReasoningItem) -> dict[str, Any]:
    text = "".join(item.content)
    if text:
        return {"type": "reasoning.text", "text": text, "signature": item.signature, "id": item.id}
    return {"type": "reasoning.encrypted", "data": item.signature, "id": item.id}


def finish_reason(response: ModelResponse) -> str | None:
    """Why the model ended, in OpenAI's words; null where the provider did not say."""
    if response.finish is None:
        return None
    if response.finish == "stop" and response.calls:
        return "tool_calls"
    return _FINISH.get(response.finish, response.finish)


def usage_dict(usage: Usage | None) -> dict[str, Any] | None:
    """Usage as completions have it; what is not known is null or not there."""
    if usage is None or usage == Usage():
        return None
    known = usage.to_dict()
    return {
        "prompt_tokens": known["input_tokens"],
        "completion_tokens": known["output_tokens"],
        "total_tokens": known["total_tokens"],
        "prompt_tokens_details": known["input_tokens_details"],
        "completion_tokens_details": known["output_tokens_details"],
    }


def _usage(response: ModelResponse) -> dict[str, Any] | None:
    """`wire_usage`, with what only a provider of this protocol tells of it (a cost, audio)."""
    usage, own = wire_usage(response.usage), response.provider.get("usage")
    if usage is None or response.protocol != PROTOCOL or not isinstance(own, Mapping):
        return usage
    details = {name: {**plain(own[name]), **usage[name]} for name in _DETAILS if isinstance(own.get(name), Mapping)}
    return {**plain(own), **usage, **details}


_DETAILS: Final = ("prompt_tokens_details", "completion_tokens_details")


def wire_usage(usage: Usage | None) -> dict[str, Any] | None:
    """Usage as clients of completions read it: three whole numbers, or null."""
    return usage_dict(None if usage is None else usage.whole())


def envelope(error: ErrorFacts) -> dict[str, Any]:
    """An error as OpenAI's surfaces tell it."""
    return {"error": {"type": error.type, "code": error.code, "message": error.message, "param": error.param}}
