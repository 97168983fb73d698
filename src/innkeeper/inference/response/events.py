"""What an answer consists of as it comes: the events that every adapter gives, streamed or whole.

An answer is any number of these in the order in which they came, with `Finished` once the provider has said why it ended. A
whole answer is the same events at once, so that there is one way from a provider's words to a `ModelResponse`
(`innkeeper.inference.response.fold`) and to whatever a caller is streamed.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from innkeeper.inference.response.response import FinishReason, Usage
from innkeeper.prompt.data import EMPTY, FrozenDict


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """What the provider says of itself: its ``id`` for the answer, the ``model`` that answers. May come more than once.

    ``protocol`` is the adapter's name, in whose words the facts are, and notes to a text and items without a type here.
    """

    id: str | None = None
    model: str | None = None
    facts: FrozenDict = EMPTY
    protocol: str = ""


class TextDelta(msgspec.Struct, frozen=True, kw_only=True):
    """More of what is said. It may be empty and only bring ``annotations`` or ``logprobs`` of what was said.

    ``new`` begins a message of its own, ``part`` a part of its own in the same message; otherwise the one before goes on.
    """

    text: str = ""
    annotations: tuple[FrozenDict, ...] = ()
    logprobs: tuple[FrozenDict, ...] = ()
    new: bool = False
    part: bool = False
    item_id: str = ""
    """The provider's own id of the item that this begins, where it has ids for items; so in the other deltas."""


class RefusalDelta(msgspec.Struct, frozen=True, kw_only=True):
    """More of a refusal, word for word."""

    text: str
    new: bool = False
    item_id: str = ""


class ReasoningDelta(msgspec.Struct, frozen=True, kw_only=True):
    """More of the thoughts. ``summary``: of their summary. ``signature`` is what goes back with them.

    ``new`` begins an item of its own, ``part`` a paragraph of its own in the same item. ``redacted``: the provider keeps the
    thoughts themselves to itself, and ``signature`` is all there is.
    """

    text: str = ""
    summary: bool = False
    signature: str | None = None
    new: bool = False
    part: bool = False
    redacted: bool = False
    item_id: str = ""


class CallDelta(msgspec.Struct, frozen=True, kw_only=True):
    """More of the call of a tool: ``arguments`` is the text to add. The first of an ``index`` has its id and its name.

    ``custom``: the tool takes a text, not JSON.
    """

    index: int
    call_id: str = ""
    name: str = ""
    arguments: str = ""
    signature: str | None = None
    item_id: str = ""
    custom: bool = False


class OtherOutput(msgspec.Struct, frozen=True, kw_only=True):
    """An item of a kind that has no event here, whole and as the provider wrote it."""

    item: FrozenDict


class UsageReport(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens so far; a later report replaces an earlier one, field by field."""

    usage: Usage


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """Why the model ended: ``reason``, and ``word``, the provider's own word for it."""

    reason: FinishReason
    word: str = ""


ModelEvent: TypeAlias = (
    Started | TextDelta | RefusalDelta | ReasoningDelta | CallDelta | OtherOutput | UsageReport | Finished
)
