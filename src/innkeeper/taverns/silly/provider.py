"""Provider: the request body that SillyTavern's server sends to the source a preset names.

What is known of a source is in one function each. Sources that nobody has recorded get the body of Chat Completions, with
their own message rules where those are known, and a note.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from innkeeper.dialects.sillytavern.converters import convert_ai21, convert_cohere, convert_xai
from innkeeper.prompt import Plan
from innkeeper.prompt.dialect import Payload
from innkeeper.prompt.note import NoteKind
from innkeeper.taverns.silly.order import Order, order_of
from innkeeper.taverns.silly.provider_claude import claude_body
from innkeeper.taverns.silly.provider_google import google_body
from innkeeper.taverns.silly.provider_openai import chat_body, deepseek_body, mistral_body, openai_body

__all__ = ["SOURCES", "request_body", "to_provider"]

SOURCES: Final[Mapping[str, Callable[[Order], dict[str, Any]]]] = MappingProxyType(
    {
        "custom": openai_body,
        "openai": openai_body,
        "claude": claude_body,
        "makersuite": google_body,
        "vertexai": google_body,
        "mistralai": mistral_body,
        "deepseek": deepseek_body,
        "cohere": lambda order: _chat(order, convert_cohere(order.talk)["chatHistory"]),
        "ai21": lambda order: _chat(order, convert_ai21(order.talk)["messages"]),
        "xai": lambda order: _chat(order, convert_xai(order.talk)["messages"]),
    }
)
"""The bodies by SillyTavern's names of their sources."""

_UNRECORDED: Final = ("cohere", "ai21", "xai")


def _chat(order: Order, messages: list[dict[str, Any]]) -> dict[str, Any]:
    return chat_body(order, messages)


def to_provider(plan: Plan) -> Payload:
    """The body for the plan's preset and notes of everything that was changed on the way.

    A `NoteKind.REPAIR` for every merge, change of role and placeholder; `NoteKind.LOSS` for what is not sent. The texts that
    are put in are ``settings.prompt_placeholder`` and ``settings.tool_call_text``. Raises `FormatError` for messages that the
    provider's rules cannot carry, `UsageError` for a plan that does not hold its request.
    """
    order = order_of(plan)
    body = SOURCES.get(order.source, openai_body)(order)
    if order.source not in SOURCES or order.source in _UNRECORDED:
        order.talk.report.add(
            NoteKind.FALLBACK, f"the settings of source {order.source!r} are those of Chat Completions"
        )
    return Payload(body, order.talk.report.notes())


def request_body(plan: Plan) -> dict[str, Any]:
    """The body of `to_provider`."""
    body: dict[str, Any] = to_provider(plan).body
    return body
