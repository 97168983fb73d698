"""The framing that goes with a dialect: how its provider's messages are counted."""

from __future__ import annotations

from typing import Final

from innkeeper.tokens.framing import FRAMINGS, NO_FRAMING, OPENAI, Framing

__all__ = ["framing_of"]

_SAME_AS: Final = {"gemini": "google", "responses": "openai"}
_BARE: Final = frozenset({"text", "instruct", "chat_template"})


def framing_of(dialect: str | None) -> Framing:
    """The counting rule of a dialect's provider.

    Dialects that make one text out of all messages have none. Others that nobody has measured are counted as OpenAI's: chat
    templates cost three to five tokens a message.
    """
    name = dialect or "openai"
    return NO_FRAMING if name in _BARE else FRAMINGS.get(_SAME_AS.get(name, name), OPENAI)
