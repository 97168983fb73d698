"""Macros of the chat: its last messages, their numbers and alternatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from innkeeper.macros.environment import ChatLine, MacroEnvironment
from innkeeper.macros.evaluate import Call, Macro

__all__ = ["MACROS", "chat_range", "last_id", "last_text", "number", "shown_number", "swipe_count"]


def _finished(line: ChatLine) -> bool:
    """Whether the message is not an alternative that is only just being written."""
    return line.swipes is None or line.swipe_id is None or line.swipe_id < line.swipes


def _last(chat: Sequence[ChatLine], wanted: Callable[[ChatLine], bool]) -> int:
    return next((i for i in range(len(chat) - 1, -1, -1) if _finished(chat[i]) and wanted(chat[i])), -1)


def last_text(env: MacroEnvironment, who: str = "") -> str:
    """The last message, or the last one of the ``user`` or the ``char`` that is not hidden."""
    chat = env.chat()
    if who:
        index = _last(chat, lambda line: not line.is_system and line.is_user is (who == "user"))
    else:
        index = _last(chat, lambda _line: True)
    return "" if index < 0 else chat[index].text


def last_id(env: MacroEnvironment) -> str:
    """The number of the last message, from 0."""
    index = _last(env.chat(), lambda _line: True)
    return "" if index < 0 else f"{index}"


def chat_range(env: MacroEnvironment) -> str:
    """The numbers of all messages: ``0-12``."""
    chat = env.chat()
    return f"0-{len(chat) - 1}" if chat else ""


def swipe_count(env: MacroEnvironment) -> str:
    """How many alternatives the newest message has."""
    chat = env.chat()
    return f"{chat[-1].swipes}" if chat and chat[-1].swipes is not None else ""


def shown_number(env: MacroEnvironment) -> str:
    """Which alternative of the newest message is shown, from 1."""
    chat = env.chat()
    return "" if not chat or chat[-1].swipe_id is None else f"{chat[-1].swipe_id + 1}"


def number(value: int | None) -> str:
    """A message's number, or an empty text."""
    return "" if value is None else f"{value}"


def _of(read: Callable[[MacroEnvironment], str]) -> Callable[[Call], str]:
    return lambda call: read(call.env)


MACROS = (
    Macro("lastMessage", _of(last_text)),
    Macro("lastMessageId", _of(last_id)),
    Macro("lastUserMessage", _of(lambda env: last_text(env, "user"))),
    Macro("lastCharMessage", _of(lambda env: last_text(env, "char"))),
    Macro("firstIncludedMessageId", _of(lambda env: number(env.first_included_id))),
    Macro("firstDisplayedMessageId", _of(lambda env: number(env.first_displayed_id))),
    Macro("lastSwipeId", _of(swipe_count)),
    Macro("currentSwipeId", _of(shown_number)),
    Macro("allChatRange", _of(chat_range)),
)
"""``lastMessage`` and the others about the chat."""
