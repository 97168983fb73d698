"""The built-in dialects by name, and messages in the shape of one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from innkeeper.dialects.providers.ai21 import AI21
from innkeeper.dialects.providers.anthropic import Anthropic
from innkeeper.dialects.providers.cohere import Cohere
from innkeeper.dialects.providers.gemini import Gemini
from innkeeper.dialects.providers.mistral import Mistral
from innkeeper.dialects.providers.openai import Compatible, OpenAI, OpenRouter
from innkeeper.dialects.providers.responses import Responses
from innkeeper.dialects.providers.xai import XAI
from innkeeper.dialects.sillytavern.dialect import SillyTavern
from innkeeper.dialects.text import Text
from innkeeper.prompt.dialect import Dialects
from innkeeper.prompt.message import Message, messages_of

__all__ = ["DIALECTS", "convert"]

DIALECTS: Final = Dialects(
    OpenAI(),
    Responses(),
    Anthropic(),
    Gemini(),
    Gemini("google"),
    Text(),
    Cohere(),
    Mistral(),
    AI21(),
    XAI(),
    Compatible(),
    OpenRouter(),
    SillyTavern(),
)
"""The built-in dialects. ``DIALECTS.with_(mine)`` is a registry with a further one."""


def convert(
    messages: Iterable[Message | Mapping[str, Any]],
    dialect: str = "openai",
    *,
    dialects: Dialects = DIALECTS,
    **options: Any,
) -> Any:
    """Messages in a provider's shape: a list, or a dict where system text is apart.

    >>> convert([Message("system", "Be brief."), Message("user", "Hi")], "anthropic")
    {'system': 'Be brief.', 'messages': [{'role': 'user', 'content': [{'type': 'text', 'text': 'Hi'}]}]}

    For the notes of what was lost, ask the dialect itself: ``DIALECTS[dialect].messages(messages, options)``.
    Raises `UnknownNameError` for an unknown dialect, `FormatError` for what is not a message.
    """
    return dialects[dialect].messages(messages_of(messages), options).body
