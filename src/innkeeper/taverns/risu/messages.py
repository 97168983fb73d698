"""Messages: the chat as RisuAI would keep it, read from its own objects or from the history of a request."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import msgspec

from innkeeper.prompt import Message, State
from innkeeper.prompt.block import Origin, OriginAsset
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.parts import Attachment
from innkeeper.taverns.assets import assets_of

TYPED: Final = "message"
"""The id of the message that is new."""


class RisuMessage(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A message of the chat. ``role`` is ``user`` or ``char``; another one is sent as it is, macros and all."""

    role: str
    data: str
    id: str | None = None
    speaker: str = ""
    disabled: bool = False
    origin: Origin = Origin(OriginAsset.HISTORY)
    thoughts: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    metadata: FrozenDict = EMPTY
    raw: Mapping[str, Any] = EMPTY

    @cached_property
    def stored(self) -> Mapping[str, Any]:
        """The message as RisuAI would keep it. Nobody changes it."""
        return {**self.raw, "role": self.role, "data": self.data}


def read_messages(
    state: State, stored: list[Any] | None, names: Mapping[str, str]
) -> tuple[list[RisuMessage], str | None]:
    """The messages, and the greeting that the chat brings: the character's words at its beginning."""
    if stored is not None:
        return [_stored_message(each, index) for index, each in enumerate(stored) if isinstance(each, dict)], None
    ids = {name: id_ for id_, name in names.items()}
    history = list(assets_of(state).history)
    if state.request.generation in ("regenerate", "swipe") and history and history[-1].role == "assistant":
        history.pop()  # the reply that is made anew
    greeting = None
    if history and history[0].role == "assistant":
        greeting = history.pop(0).content
    messages = [
        _MESSAGES.get((id(each), index, ids.get(each.name or "", ""))) or _message(each, index, ids)
        for index, each in enumerate(history, int(greeting is not None))
    ]
    if state.request.message:
        messages.append(
            RisuMessage(role="user", data=state.request.message, id=TYPED, origin=Origin(OriginAsset.MESSAGE))
        )
    return messages, greeting


def _stored_message(each: Mapping[str, Any], index: int) -> RisuMessage:
    id_, speaker = each.get("chatId"), each.get("saying")
    return RisuMessage(
        role=str(each.get("role") or "user"),
        data=str(each.get("data") or ""),
        id=id_ if isinstance(id_, str) else None,
        speaker=speaker if isinstance(speaker, str) else "",
        disabled=bool(each.get("disabled")),
        origin=Origin(OriginAsset.HISTORY, entry=str(index)),
        raw=each,
    )


_ROLES: Final = {"user": "user", "assistant": "char"}


_MESSAGES: Final[BoundedCache[tuple[int, int, str], RisuMessage]] = BoundedCache()
"""What was made of messages, by their identity: a message is frozen, and a chat grows by one a turn."""


def _message(each: Message, index: int, ids: Mapping[str, str]) -> RisuMessage:
    speaker = ids.get(each.name or "", "")
    message = RisuMessage(
        role=_ROLES.get(each.role, each.role),
        data=each.content,
        id=f"history-{index}",
        speaker=speaker,
        origin=Origin(OriginAsset.HISTORY, entry=str(index)),
        attachments=each.attachments,
        metadata=each.metadata,
    )
    return _MESSAGES.put((id(each), index, speaker), message, 2 * len(each.content), alive=each)
