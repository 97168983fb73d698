"""The inspector: the tokens of each message of a prompt, in detail (TavernKit's *PromptInspector*). Not used by builds."""

from typing import Any

import msgspec

from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.message import Message, messages_of
from innkeeper.tokens.counter import Counter, default_counter
from innkeeper.tokens.engines.engine import Tokenization
from innkeeper.tokens.framing import NO_FRAMING, Framing


class MessageInspection(msgspec.Struct, frozen=True):
    """One message: ``index`` from 0, characters and tokens of the content, tokens of metadata and of the framing."""

    index: int
    role: str
    content_length: int
    content_tokenization: Tokenization
    metadata_token_count: int
    metadata_tokenization: Tokenization | None
    overhead_tokens: int
    total_tokens: int


class Totals(msgspec.Struct, frozen=True):
    """Sums over all messages; ``reply_tokens`` once for the start of the answer, in ``total_tokens`` too."""

    message_count: int
    content_tokens: int
    metadata_tokens: int
    overhead_tokens: int
    reply_tokens: int
    total_tokens: int


class Inspection(msgspec.Struct, frozen=True):
    """A whole prompt: how it was counted, its messages and their totals."""

    estimator: dict[str, Any]
    model_hint: str | None
    framing: str
    message_overhead_tokens: int
    include_message_metadata_tokens: bool
    messages: tuple[MessageInspection, ...]
    totals: Totals


def inspect_messages(
    messages: Any,
    *,
    counter: Counter | None = None,
    model: str | None = None,
    framing: Framing = NO_FRAMING,
    message_overhead_tokens: int = 0,
    include_message_metadata_tokens: bool = False,
    include_metadata_details: bool = False,
) -> Inspection:
    """Count each message of a prompt.

    Args:
        messages: a plan, or any iterable of messages (`Message`, mappings, objects); further keys count as metadata.
        counter: the default counter where left out.
        model: the model's id.
        framing: the counting rule for what is not content.
        message_overhead_tokens: added to each message on top of the framing.
        include_message_metadata_tokens: count metadata as the JSON it is.
        include_metadata_details: with the metadata's tokenization.

    Raises:
        UsageError: ``messages`` cannot be iterated.
        FormatError: an element is not a message.
    """
    counter = counter or default_counter()
    seen = []
    for index, message in enumerate(messages_of(getattr(messages, "messages", messages), asset="messages")):
        metadata = _metadata(message, counter, model) if include_message_metadata_tokens else None
        plain = msgspec.structs.replace(message, metadata=EMPTY) if metadata else message
        content = counter.tokenize(message.content, model)
        overhead = framing.count_message(plain, counter, model) - content.count + message_overhead_tokens
        extra = metadata.count if metadata else 0
        seen.append(
            MessageInspection(
                index=index,
                role=message.role,
                content_length=len(message.content),
                content_tokenization=_short(content),
                metadata_token_count=extra,
                metadata_tokenization=_short(metadata) if metadata and include_metadata_details else None,
                overhead_tokens=overhead,
                total_tokens=content.count + extra + overhead,
            )
        )
    return Inspection(
        estimator=counter.describe(model),
        model_hint=model,
        framing=framing.name,
        message_overhead_tokens=message_overhead_tokens,
        include_message_metadata_tokens=include_message_metadata_tokens,
        messages=tuple(seen),
        totals=_totals(seen, framing),
    )


def _metadata(message: Message, counter: Counter, model: str | None) -> Tokenization | None:
    """Tokenize the metadata as JSON; None without any. Values that JSON cannot hold are counted as they print."""
    if not message.metadata:
        return None
    return counter.tokenize(msgspec.json.encode(message.metadata, enc_hook=str).decode(), model)


def _short(tokenization: Tokenization) -> Tokenization:
    """Without the details, which are the same for all and stand in the inspection once."""
    return msgspec.structs.replace(tokenization, details={})


def _totals(seen: list[MessageInspection], framing: Framing) -> Totals:
    content = sum(message.content_tokenization.count for message in seen)
    return Totals(
        message_count=len(seen),
        content_tokens=content,
        metadata_tokens=sum(message.metadata_token_count for message in seen),
        overhead_tokens=sum(message.overhead_tokens for message in seen),
        reply_tokens=framing.reply,
        total_tokens=sum(message.total_tokens for message in seen) + framing.reply,
    )
