"""ResponseFold: the events of an answer put together, item by item, as a `ModelResponse`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final

from innkeeper.inference.errors import MAX_TOOL_CALLS
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
from innkeeper.inference.response.response import (
    CallItem,
    FinishReason,
    MessageItem,
    ModelResponse,
    OtherItem,
    OutputItem,
    ReasoningItem,
    RefusalPart,
    ResponseError,
    Status,
    TextPart,
    Usage,
)
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.text import whole_text
from innkeeper.tokens.media import body_tokens


class _Message:
    """A message as far as it has come: parts of text and refusal, in order."""

    def __init__(self, item_id: str) -> None:
        self.id = item_id
        self.parts: list[_MessagePart] = []

    def part(self, *, refusal: bool, new: bool = False) -> _MessagePart:
        if new or not self.parts or self.parts[-1].refusal is not refusal:
            self.parts.append(_MessagePart(refusal=refusal))
        return self.parts[-1]

    def item(self, status: Status) -> MessageItem:
        return MessageItem(id=self.id, content=tuple([part.whole() for part in self.parts]), status=status)


class _MessagePart:
    def __init__(self, *, refusal: bool) -> None:
        self.refusal = refusal
        self.texts: list[str] = []
        self.annotations: list[FrozenDict] = []
        self.logprobs: list[FrozenDict] = []

    def whole(self) -> TextPart | RefusalPart:
        text = whole_text("".join(self.texts))
        if self.refusal:
            return RefusalPart(refusal=text)
        return TextPart(text=text, annotations=tuple(self.annotations), logprobs=tuple(self.logprobs))


class _Reasoning:
    def __init__(self, item_id: str) -> None:
        self.id = item_id
        self.summary: list[list[str]] = []
        self.content: list[list[str]] = []
        self.signature: str | None = None
        self.redacted = False

    def take(self, delta: ReasoningDelta) -> None:
        self.redacted = self.redacted or delta.redacted
        if delta.signature is not None:
            self.signature = (self.signature or "") + delta.signature
        texts = self.summary if delta.summary else self.content
        if delta.text or delta.part:
            if delta.part or not texts:
                texts.append([])
            texts[-1].append(delta.text)

    def item(self, status: Status) -> ReasoningItem:
        summary, content = (
            tuple([whole_text("".join(text)) for text in texts]) for texts in (self.summary, self.content)
        )
        return ReasoningItem(
            id=self.id,
            summary=summary,
            content=content,
            signature=self.signature,
            status=status,
            redacted=self.redacted,
        )


class _ToolCall:
    def __init__(self, item_id: str) -> None:
        self.id = item_id
        self.call_id = ""
        self.name = ""
        self.arguments: list[str] = []
        self.signature: str | None = None
        self.custom = False

    def take(self, delta: CallDelta) -> None:
        self.custom = self.custom or delta.custom
        self.call_id = self.call_id or delta.call_id
        self.name = self.name or delta.name
        self.signature = self.signature or delta.signature
        self.arguments.append(delta.arguments)

    def item(self, status: Status) -> CallItem:
        return CallItem(
            id=self.id,
            call_id=self.call_id or self.id,
            name=self.name,
            arguments=whole_text("".join(self.arguments)),
            status=status,
            signature=self.signature,
            custom=self.custom,
        )


class _Other:
    def __init__(self, item: FrozenDict) -> None:
        self.id = str(item.get("id") or "")
        self._item = item

    def item(self, _status: Status) -> OtherItem:
        return OtherItem(item=self._item)


class ResponseFold:
    """Take the events of one answer as they come; ask for the answer so far, or at its end.

    Args:
        response_id: the id of the answer; those of its items follow from it where the provider has none of its own.
        model: the name that was asked for.
        created: Unix time in seconds.
        echo: what the request said, under Responses' names.
        sent: the body that asks, for an estimate where the provider tells no usage.
    """

    def __init__(self, response_id: str, model: str, created: int, echo: FrozenDict = EMPTY, sent: bytes = b"") -> None:
        self.id = response_id
        self.model = model
        self.created = created
        self.echo = echo
        self._sent = sent
        self.usage: Usage | None = None
        self.finish: FinishReason | None = None
        self.protocol = ""
        self.left_out = 0
        self._word = ""
        self._facts: dict[str, Any] = {}
        self._items: list[_Message | _Reasoning | _ToolCall | _Other] = []
        self._calls: dict[int, _ToolCall] = {}

    def take(self, event: ModelEvent) -> None:
        """Add one event. Calls past `MAX_TOOL_CALLS` are left out and counted in ``left_out``."""
        match event:
            case TextDelta():
                self._text(event)
            case RefusalDelta():
                self._message(event).part(refusal=True).texts.append(event.text)
            case ReasoningDelta():
                self._reasoning(event).take(event)
            case CallDelta():
                self._call(event)
            case OtherOutput(item=item):
                self._items.append(_Other(item))
            case UsageReport(usage=usage) if usage != Usage():
                self.usage = (self.usage or Usage()).updated(usage)
            case Finished(reason=reason, word=word):
                self.finish, self._word = reason, word
            case Started():
                self._start(event)

    @property
    def provider(self) -> Mapping[str, Any]:
        """What the provider has said about itself so far."""
        return self._facts

    @property
    def count(self) -> int:
        """How many items there are so far."""
        return len(self._items)

    def item(self, index: int) -> OutputItem:
        """The item at a place as far as it has come."""
        return self._items[index].item("completed")

    def call(self, index: int) -> CallItem | None:
        """The call of this index as far as it has come; None for one that was left out."""
        call = self._calls.get(index)
        return None if call is None else call.item("in_progress")

    @property
    def output(self) -> tuple[OutputItem, ...]:
        """The items so far."""
        return tuple([item.item("completed") for item in self._items])

    @property
    def text(self) -> str:
        """All that was said so far."""
        parts = [part for item in self._items if isinstance(item, _Message) for part in item.parts if not part.refusal]
        return "".join([text for part in parts for text in part.texts])

    def response(self, error: ResponseError | None = None, *, cancelled: bool = False) -> ModelResponse:
        """The answer as it is now. With an ``error`` it has failed; one that never finished is incomplete."""
        if self.finish == "error" and error is None:
            error = ResponseError("server_error", f"the provider ended the answer: {self._word or 'error'}")
        status = _status(error, self.finish, cancelled=cancelled)
        whole: Status = "completed" if status == "completed" else "incomplete"
        last = len(self._items) - 1
        output = [item.item(whole if at == last else "completed") for at, item in enumerate(self._items)]
        word = {"finish_reason": self._word} if self._word else {}
        return ModelResponse(
            id=self.id,
            model=self.model,
            created=self.created,
            status=status,
            output=tuple(output),
            usage=self.usage,
            finish=self.finish,
            error=error,
            echo=self.echo,
            provider=FrozenDict({**self._facts, **word}),
            protocol=self.protocol,
            sent_tokens=0 if self.usage is not None and self.usage.tells_both else self._sent_tokens,
        )

    @cached_property
    def _sent_tokens(self) -> int:
        return body_tokens(self._sent)

    def _text(self, delta: TextDelta) -> None:
        part = self._message(delta).part(refusal=False, new=delta.part)
        part.texts.append(delta.text)
        part.annotations.extend(delta.annotations)
        part.logprobs.extend(delta.logprobs)

    def _message(self, delta: TextDelta | RefusalDelta) -> _Message:
        last = self._items[-1] if self._items else None
        if delta.new or not isinstance(last, _Message):
            last = _Message(delta.item_id or self._name("msg"))
            self._items.append(last)
        return last

    def _reasoning(self, delta: ReasoningDelta) -> _Reasoning:
        last = self._items[-1] if self._items else None
        if delta.new or not isinstance(last, _Reasoning):
            last = _Reasoning(delta.item_id or self._name("rs"))
            self._items.append(last)
        return last

    def _call(self, delta: CallDelta) -> None:
        call = self._calls.get(delta.index)
        if call is None:
            if len(self._calls) >= MAX_TOOL_CALLS:
                self.left_out += bool(delta.name)
                return
            call = self._calls[delta.index] = _ToolCall(delta.item_id or self._name("fc"))
            self._items.append(call)
        call.take(delta)

    def _start(self, event: Started) -> None:
        self.protocol = event.protocol or self.protocol
        names = {"id": event.id, "model": event.model}
        self._facts |= {name: value for name, value in names.items() if value is not None} | dict(event.facts)

    def _name(self, kind: str) -> str:
        """The id of the next item: the answer's own, with the item's kind and number."""
        return f"{kind}_{self.id.rpartition('_')[2]}_{len(self._items)}"


_WHOLE: Final = frozenset({"stop", "tool_calls", "refusal"})


def _status(error: ResponseError | None, finish: FinishReason | None, *, cancelled: bool) -> Status:
    if cancelled:
        return "cancelled"
    if error is not None:
        return "failed"
    return "completed" if finish in _WHOLE else "incomplete"


def response_of(
    events: Iterable[ModelEvent], *, response_id: str, model: str, created: int, echo: FrozenDict = EMPTY
) -> ModelResponse:
    """The whole answer that these events are."""
    fold = ResponseFold(response_id, model, created, echo)
    for event in events:
        fold.take(event)
    return fold.response()
