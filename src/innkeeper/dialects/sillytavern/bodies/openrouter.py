"""OpenRouter, and the marks for caches that it and its like pass on.

(sillytavern-bodies.md 5, Caching; 7.)
"""

from __future__ import annotations

from typing import Any, Final

from innkeeper.dialects.sillytavern.caching import mark_depths, mark_first_system
from innkeeper.dialects.sillytavern.conversion import RawMessage
from innkeeper.dialects.sillytavern.request import ProviderRequest

_HARMS: Final = ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT", "CIVIC_INTEGRITY")
_TRANSFORMS: Final[dict[str, list[str]]] = {"on": ["middle-out"], "off": []}


def openrouter_fields(request: ProviderRequest) -> dict[str, Any]:
    """The fields of OpenRouter alone: routing, plugins, reasoning, more sampling."""
    options, middleout = request.options, request.options.get("middleout")
    effort = request.fields("reasoning_effort").get("reasoning_effort")
    made = {
        **({"transforms": _TRANSFORMS[str(middleout)]} if middleout in _TRANSFORMS else {}),
        "plugins": [{"id": "web"}] if request.searches else [],
        "reasoning": {"exclude": not request.shows_thoughts, **({"effort": effort} if effort else {})},
        **request.fields("min_p", "top_a", "repetition_penalty", "verbosity"),
        **({"route": "fallback"} if options.get("use_fallback") else {}),
    }
    provider = _provider(request)
    if provider:
        made["provider"] = provider
    if "gemini" in request.model:
        made["safety_settings"] = [{"category": f"HARM_CATEGORY_{harm}", "threshold": "OFF"} for harm in _HARMS]
    return made


def _provider(request: ProviderRequest) -> dict[str, Any]:
    options = request.options
    chosen = list(options.get("provider") or ())
    made = {"allow_fallbacks": bool(options.get("allow_fallbacks", True)), "order": chosen} if chosen else {}
    quantizations = list(options.get("quantizations") or ())
    return {**made, "quantizations": quantizations} if quantizations else made


def openrouter_messages(request: ProviderRequest) -> list[RawMessage]:
    """The messages with signatures as OpenRouter has them, and with marks for the cache of the model's provider."""
    messages = [_signed(message, request) for message in request.messages]
    if request.model.startswith("anthropic/claude"):
        return cached_for_claude(messages, request)
    if "gemini" in request.model and request.server.gemini.enable_system_prompt_cache and request.options.get("caches"):
        return mark_first_system(messages, {"type": "ephemeral"})
    return messages


def cached_for_claude(messages: list[RawMessage], request: ProviderRequest) -> list[RawMessage]:
    """The messages with the marks that the configuration asks for: of the first system message, and at depths."""
    claude = request.server.claude
    if claude.enable_system_prompt_cache:
        messages = mark_first_system(messages, claude.mark)
    return mark_depths(messages, claude.caching_at_depth, claude.mark, system=False)


_FORMATS: Final = (
    ("gemini", "google-gemini-v1"),
    ("claude", "anthropic-claude-v1"),
    ("gpt", "openai-responses-v1"),
    ("grok", "xai-responses-v1"),
)
"""Whose signatures they are, by a part of the model's name."""
_UNKNOWN: Final = "unknown"


def _signed(message: RawMessage, request: ProviderRequest) -> RawMessage:
    """The message with its signatures, and those of its calls, as details of reasoning."""
    calls = message.get("tool_calls") or ()
    if "signature" not in message and not any("signature" in call for call in calls):
        return message
    own = message.get("signature") if request.server.gemini.thought_signatures else None
    signatures = [("signature-0", own)] if own else []
    signatures += [(str(call.get("id")), call["signature"]) for call in calls if call.get("signature")]
    form = next((form for part, form in _FORMATS if part in request.model), _UNKNOWN)
    made = {key: value for key, value in message.items() if key != "signature"}
    if calls:
        made["tool_calls"] = [{key: value for key, value in call.items() if key != "signature"} for call in calls]
    details = [
        {"index": index, "id": name, "type": "reasoning.encrypted", "data": data, "format": form}
        for index, (name, data) in enumerate(signatures)
    ]
    return {**made, "reasoning_details": details} if details else made
