"""ModelResponse: what a model answered, in one shape whatever provider it came from.

`ModelResponse.to_dict` is a strict superset of OpenAI's Responses object: ``created`` stands beside ``created_at``, and what the
request said stands in it as theirs has it. A figure that the provider does not tell is null or absent, never invented. What a
provider sends that has no item of its own here is kept as it came, in an `OtherItem`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from innkeeper.prompt.data import EMPTY, FrozenDict, plain_data

Status: TypeAlias = Literal["completed", "incomplete", "failed", "in_progress", "cancelled", "queued"]

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "refusal", "error"]
"""Why a model ended. ``stop`` is its own end or a stop string; ``content_filter`` the provider's, ``refusal`` the model's."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens as the provider counts them; None where it does not say. ``input_tokens`` includes those that were cached."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """As OpenAI's Responses has it; the details hold what is known."""
        total = self.total_tokens
        if total is None and self.input_tokens is not None and self.output_tokens is not None:
            total = self.input_tokens + self.output_tokens
        return {
            "input_tokens": self.input_tokens,
            "input_tokens_details": _known(
                cached_tokens=self.cached_tokens, cache_write_tokens=self.cache_write_tokens
            ),
            "output_tokens": self.output_tokens,
            "output_tokens_details": _known(reasoning_tokens=self.reasoning_tokens),
            "total_tokens": total,
        }

    def whole(self, guess: Usage | None = None) -> Usage | None:
        """With the prompt's and the answer's tokens: of one that is not told what the total leaves, else the guess, else 0.

        None where neither is told.
        """
        read, written, other = self.input_tokens, self.output_tokens, guess or Usage()
        if read is None and written is None:
            return None
        if read is None:
            read = other.input_tokens or 0 if self.total_tokens is None else max(0, self.total_tokens - (written or 0))
        if written is None:
            written = other.output_tokens or 0 if self.total_tokens is None else max(0, self.total_tokens - read)
        return msgspec.structs.replace(self, input_tokens=read, output_tokens=written)

    @property
    def tells_both(self) -> bool:
        """Whether the prompt's and the answer's tokens are told, or follow from the total."""
        return sum(figure is not None for figure in (self.input_tokens, self.output_tokens, self.total_tokens)) > 1

    def updated(self, report: Usage) -> Usage:
        """Return the figures that are known with a later report, which replaces those that it has."""
        return msgspec.structs.replace(self, **_known(**msgspec.structs.asdict(report)))


def _known(**figures: int | None) -> dict[str, int]:
    return {name: figure for name, figure in figures.items() if figure is not None}


class TextPart(msgspec.Struct, frozen=True, kw_only=True, tag="output_text"):
    """A piece of what was said. ``annotations`` and ``logprobs`` are as the provider wrote them."""

    text: str
    annotations: tuple[FrozenDict, ...] = ()
    logprobs: tuple[FrozenDict, ...] = ()


class RefusalPart(msgspec.Struct, frozen=True, kw_only=True, tag="refusal"):
    """The model's refusal, word for word."""

    refusal: str


class MessageItem(msgspec.Struct, frozen=True, kw_only=True, tag="message"):
    """What was said."""

    id: str
    content: tuple[TextPart | RefusalPart, ...] = ()
    role: str = "assistant"
    status: Status = "completed"


class CallItem(msgspec.Struct, frozen=True, kw_only=True, tag="function_call"):
    """A call of a tool. ``arguments`` is the text that the model wrote, JSON or not. ``signature`` goes back with it.

    ``custom``: the tool takes a text.
    """

    id: str
    call_id: str
    name: str
    arguments: str = ""
    status: Status = "completed"
    signature: str | None = None
    custom: bool = False


class ReasoningItem(msgspec.Struct, frozen=True, kw_only=True, tag="reasoning"):
    """Thoughts: their ``summary`` and ``content`` as texts, and ``signature``, what the provider wants back with them.

    ``redacted``: the provider keeps the thoughts to itself, and ``signature`` is what stands for them.
    """

    id: str
    summary: tuple[str, ...] = ()
    content: tuple[str, ...] = ()
    signature: str | None = None
    status: Status = "completed"
    redacted: bool = False


class OtherItem(msgspec.Struct, frozen=True, kw_only=True, tag="other"):
    """An item of a kind that has no type here, as the provider wrote it: a web search, a code interpreter's call."""

    item: FrozenDict


OutputItem: TypeAlias = MessageItem | CallItem | ReasoningItem | OtherItem


class ResponseError(msgspec.Struct, frozen=True):
    """Why a response failed: the kind of error and a sentence."""

    code: str
    message: str


class ModelResponse(msgspec.Struct, frozen=True, kw_only=True):
    """A whole answer. ``created`` is Unix time in seconds.

    ``model`` is the name that was asked for. ``finish`` is why the model ended, None where the provider does not say. ``echo``
    is what the request said, under Responses' names. ``provider`` is what the provider said about itself: ``id``, ``model``,
    ``finish_reason`` in its own words, and further facts such as a price. ``protocol`` is the adapter's name, in whose
    words that is. ``sent_tokens`` is about what the body
    had that asked, where the provider does not tell (`body_tokens`).
    """

    id: str
    model: str
    created: int
    status: Status = "completed"
    output: tuple[OutputItem, ...] = ()
    usage: Usage | None = None
    finish: FinishReason | None = None
    error: ResponseError | None = None
    echo: FrozenDict = EMPTY
    provider: FrozenDict = EMPTY
    protocol: str = ""
    sent_tokens: int = 0

    @property
    def text(self) -> str:
        """All that was said, joined."""
        parts = [part for item in self.output if isinstance(item, MessageItem) for part in item.content]
        return "".join([part.text for part in parts if isinstance(part, TextPart)])

    @property
    def refusal(self) -> str:
        """The refusal, word for word; empty where there is none."""
        parts = [part for item in self.output if isinstance(item, MessageItem) for part in item.content]
        return "".join([part.refusal for part in parts if isinstance(part, RefusalPart)])

    @property
    def calls(self) -> tuple[CallItem, ...]:
        """The calls of tools, in order."""
        return tuple([item for item in self.output if isinstance(item, CallItem)])

    @property
    def reasoning(self) -> str:
        """The thoughts that can be read, joined; their summary where that is all there is."""
        items = [item for item in self.output if isinstance(item, ReasoningItem)]
        return "".join(["".join(item.content) or "\n\n".join(item.summary) for item in items])

    @property
    def estimate(self) -> Usage:
        """What the answer has used about, by the sizes of what was sent and written: for who may not say that it is unknown."""
        calls = [call.arguments for call in self.calls]
        return estimated_usage(
            self.sent_tokens, sum(map(byte_count, (self.text, self.refusal, self.reasoning, *calls)))
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: OpenAI's Responses object and ``created``, ``finish_reason``, ``provider`` beside it."""
        reason = _INCOMPLETE.get(self.finish or "") if self.status == "incomplete" else None
        return {
            "id": self.id,
            "object": "response",
            "created": self.created,
            "created_at": self.created,
            "status": self.status,
            "model": self.model,
            "output": [item_dict(item) for item in self.output],
            "usage": None if self.usage is None else self.usage.to_dict(),
            "error": None if self.error is None else {"code": self.error.code, "message": self.error.message},
            "incomplete_details": None if reason is None else {"reason": reason},
            **ECHO,
            **_plain(self.echo),
            "finish_reason": self.finish,
            "provider": _plain(self.provider),
        }


_BYTES_A_TOKEN: Final = 4


def estimated_usage(sent: int, received: int) -> Usage:
    """Return the usage of an answer whose provider reports none: tokens sent, and a token for four bytes received."""
    return Usage(input_tokens=sent, output_tokens=-(-received // _BYTES_A_TOKEN))


def byte_count(text: str) -> int:
    """Return the size of a text in UTF-8."""
    return len(text.encode("utf-8", "replace"))


_INCOMPLETE: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}

ECHO: Final[Mapping[str, Any]] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
    "truncation": "disabled",
    "store": False,
}
"""What a Responses object says of its request where that said nothing."""


def item_dict(item: OutputItem) -> dict[str, Any]:
    """An item as OpenAI's Responses has it."""
    if isinstance(item, MessageItem):
        content = [part_dict(part) for part in item.content]
        return {"id": item.id, "type": "message", "role": item.role, "status": item.status, "content": content}
    if isinstance(item, CallItem):
        kind, written = ("custom_tool_call", "input") if item.custom else ("function_call", "arguments")
        facts = {"id": item.id, "type": kind, "call_id": item.call_id, "name": item.name, written: item.arguments}
        return {**facts, "status": item.status, **({} if item.signature is None else {"signature": item.signature})}
    if isinstance(item, ReasoningItem):
        thoughts = (
            {"content": [{"type": "reasoning_text", "text": text} for text in item.content]} if item.content else {}
        )
        sealed: dict[str, Any] = {} if item.signature is None else {"encrypted_content": item.signature}
        sealed |= {"redacted": True} if item.redacted else {}
        summary = [{"type": "summary_text", "text": text} for text in item.summary]
        return {"id": item.id, "type": "reasoning", "summary": summary, **thoughts, **sealed, "status": item.status}
    other: dict[str, Any] = _plain(item.item)
    return other


def part_dict(part: TextPart | RefusalPart) -> dict[str, Any]:
    """A part of a message as OpenAI's Responses has it."""
    if isinstance(part, RefusalPart):
        return {"type": "refusal", "refusal": part.refusal}
    more = {"logprobs": _plain(part.logprobs)} if part.logprobs else {}
    return {"type": "output_text", "text": part.text, "annotations": _plain(part.annotations), **more}


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value, enc_hook=plain_data)
