"""The body of each source: the settings that the page sends, in the source's own shape.

A source without code of its own takes Chat Completions. Effort and verbosity are a preset's words as each source takes them.
(sillytavern-bodies.md 3, 4, 7.)
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from innkeeper.dialects.sillytavern.bodies.ai21 import convert_ai21
from innkeeper.dialects.sillytavern.bodies.chat import (
    chat_body,
    closed_tools,
    convert_text,
    is_text_model,
    mark_prefix,
    spoken_audio,
)
from innkeeper.dialects.sillytavern.bodies.claude import claude_body
from innkeeper.dialects.sillytavern.bodies.cohere import cohere_body
from innkeeper.dialects.sillytavern.bodies.custom import included, without_excluded
from innkeeper.dialects.sillytavern.bodies.google import google_body
from innkeeper.dialects.sillytavern.bodies.mistral import convert_mistral
from innkeeper.dialects.sillytavern.bodies.openrouter import cached_for_claude, openrouter_fields, openrouter_messages
from innkeeper.dialects.sillytavern.bodies.xai import convert_xai
from innkeeper.dialects.sillytavern.conversion import RawMessage
from innkeeper.dialects.sillytavern.json_schema import asked_in_words, schema_fields
from innkeeper.dialects.sillytavern.request import ProviderRequest
from innkeeper.dialects.sillytavern.sources import OTHER_SOURCE, SOURCES

Body = dict[str, Any]
Fields = Callable[[ProviderRequest], Body]


class SourceCode(msgspec.Struct, frozen=True, kw_only=True):
    """The code of one source: ``more`` gives fields to add, ``last`` sees the whole body, ``whole`` makes it alone."""

    messages: Callable[[ProviderRequest], list[RawMessage]] | None = None
    more: tuple[Fields, ...] = ()
    last: Callable[[ProviderRequest, Body], Body] | None = None
    whole: Fields | None = None


def source_body(request: ProviderRequest) -> Body:
    """Return the body that SillyTavern's server sends. Raises `FormatError` for messages that cannot be converted."""
    source, code = SOURCES.get(request.source, OTHER_SOURCE), SOURCE_CODE.get(request.source, SourceCode())
    if source.schema == "object":
        request = asked_in_words(request)
    if source.mode:
        request = request.with_messages(request.conversion.by_mode(source.mode))
    if code.whole is not None:
        return code.whole(request)
    if code.messages is not None:
        request = request.with_messages(code.messages(request))
    body = chat_body(request, source.fields)
    for fields in code.more:
        body |= fields(request)
    body |= schema_fields(request, source.schema)
    return body if code.last is None else code.last(request, body)


_LISTED: Final = re.compile(
    r"(o1|o3|o3-mini|o4-mini|gpt-5(-mini|-nano)?|gpt-5\.[12]|gpt-5\.4(-mini|-nano)?|gpt-5\.5)(-\d{4}-\d{2}-\d{2})?"
    r"|gpt-5\.[123]-chat-latest|gpt-5\.6(-sol|-terra|-luna)?|gpt-6-astra"
)
"""The models of OpenAI's that take an effort, by their whole names."""
_UNDATED: Final = re.compile(r"o1-\d")
_ONE_EFFORT: Final = "gpt-5.3-chat-latest"
_KOBOLD: Final = "koboldcpp/"
"""The beginnings of the names of models that a KoboldCpp server has loaded."""
_SAYS_LESS: Final = re.compile(r"gpt-5|gpt-6-astra")


def _effort(request: ProviderRequest) -> Body:
    """The effort as the page sends it."""
    return request.fields("reasoning_effort")


def _listed_effort(request: ProviderRequest) -> Body:
    """The effort for models that are known to take one."""
    if request.source == "custom" and request.model.startswith(_KOBOLD):
        return _effort(request)
    if not _LISTED.fullmatch(request.model) or _UNDATED.match(request.model):
        return {}
    if request.model == _ONE_EFFORT and (request.effort or request.source == "azure_openai"):
        return {"reasoning_effort": "medium"}
    least = {"min": "minimal"}.get(request.effort or "", request.effort)
    return {"reasoning_effort": least} if least else {}


def _listed_verbosity(request: ProviderRequest) -> Body:
    """The verbosity for models that are known to take one."""
    return request.fields("verbosity") if _SAYS_LESS.match(request.model) else {}


def _grok_effort(request: ProviderRequest) -> Body:
    """The effort as xAI has it: low or high."""
    return {"reasoning_effort": "high" if request.effort == "high" else "low"} if request.effort else {}


_NANOGPT: Final = {"min": "none", "low": "minimal", "medium": "low", "high": "medium", "max": "high"}


def _nanogpt_effort(request: ProviderRequest) -> Body:
    """The effort one step lower; an empty object for an unknown word."""
    word = _NANOGPT.get(request.effort or "")
    return {"reasoning": {"effort": word} if word else {}} if request.effort else {}


def _thinking_switch(request: ProviderRequest) -> Body:
    """Thinking on or off."""
    return {"thinking": {"type": "enabled" if request.shows_thoughts else "disabled"}}


def _logprobs(request: ProviderRequest) -> Body:
    """The probabilities of tokens: whether, and how many."""
    count = request.options.get("logprobs")
    return {"logprobs": True, "top_logprobs": count} if count else {}


def _openai_last(request: ProviderRequest, body: Body) -> Body:
    """Flat text and a plain number of probabilities for models that know no messages."""
    if not is_text_model(request.model):
        return body
    count = {"logprobs": body["top_logprobs"]} if "top_logprobs" in body else {}
    dropped = ("messages", "top_logprobs", "logprobs", "tools", "tool_choice")
    remaining = {key: value for key, value in body.items() if key not in dropped}
    return {**remaining, **convert_text(request.conversion), **count}


def _azure_last(_request: ProviderRequest, body: Body) -> Body:
    """Without the model, which the address names."""
    return {key: value for key, value in body.items() if key not in ("model", "top_k")}


def _custom_last(request: ProviderRequest, body: Body) -> Body:
    """With the preset's own fields under those that are asked for besides the base, and without what it takes out."""
    over = {key: value for key, value in body.items() if key in _OVER}
    return without_excluded(request, {**body, **included(request), **over})


_OVER: Final = (
    "stop", "logprobs", "top_logprobs", "reasoning_effort", "verbosity", "tools", "tool_choice", "response_format",
)  # fmt: skip
"""The fields that a preset's own do not replace."""


def _mistral_messages(request: ProviderRequest) -> list[RawMessage]:
    messages: list[RawMessage] = convert_mistral(request.conversion)["messages"]
    begun = bool(messages) and messages[-1]["role"] == "assistant" and request.server.mistral.enable_prefix
    return [*messages[:-1], {**messages[-1], "prefix": True}] if begun else messages


def _mistral_fields(request: ProviderRequest) -> Body:
    seed = request.options.get("seed")
    return {**request.fields("safe_prompt"), **({} if seed is None else {"random_seed": seed})}


def _nanogpt_fields(request: ProviderRequest) -> Body:
    searching = {"model": f"{request.model}:online"} if request.searches else {}
    paying = {"billing_mode": "paygo"} if request.options.get("nanogpt_payg_override") else {}
    claude = request.server.claude
    caching = claude.enable_system_prompt_cache and "claude" in request.model
    marks = {"cache_control": {"enabled": True, "ttl": claude.ttl}} if caching else {}
    return {**searching, **paying, **marks, **request.fields("min_p", "top_a", "repetition_penalty")}


def _deepseek_messages(request: ProviderRequest) -> list[RawMessage]:
    messages = mark_prefix(request.messages, request.tools)
    return [{**message, "reasoning_content": ""} if "tool_calls" in message else message for message in messages]


def _deepseek_fields(request: ProviderRequest) -> Body:
    tools = {"tools": closed_tools(request.tools)} if request.tools else {}
    return {**tools, **_thinking_switch(request), **(_effort(request) if request.shows_thoughts else {})}


def _moonshot_messages(request: ProviderRequest) -> list[RawMessage]:
    return request.messages if request.schema else mark_prefix(request.messages, (), "partial")


def _pollinations_fields(request: ProviderRequest) -> Body:
    """The effort where the user is known, and a seed always: SillyTavern draws one, ours is the prompt's own."""
    digest = hashlib.sha256(repr(request.messages).encode("utf-8", "replace")).digest()
    seed = int.from_bytes(digest[:4]) % sys.maxsize
    return {**({} if _anonymous(request) else _effort(request)), "seed": request.options.get("seed", seed)}


def _pollinations_last(request: ProviderRequest, body: Body) -> Body:
    return body if _anonymous(request) else {**body, **schema_fields(request, "bare")}


def _anonymous(request: ProviderRequest) -> bool:
    return request.options.get("pollinations_endpoint") == "anonymous"


def _minimax_last(request: ProviderRequest, body: Body) -> Body:
    if request.model != "M2-her" or "max_tokens" not in body:
        return body
    return {**body, "max_tokens": min(body["max_tokens"], _MOST_HER)}


_MOST_HER: Final = 2048


SOURCE_CODE: Final[Mapping[str, SourceCode]] = {
    "openai": SourceCode(
        messages=lambda request: spoken_audio(request.messages),
        more=(_logprobs, _listed_effort, _listed_verbosity),
        last=_openai_last,
    ),
    "claude": SourceCode(whole=claude_body),
    "openrouter": SourceCode(
        messages=lambda request: spoken_audio(openrouter_messages(request)), more=(_logprobs, openrouter_fields)
    ),
    "makersuite": SourceCode(whole=google_body),
    "vertexai": SourceCode(whole=google_body),
    "ai21": SourceCode(
        messages=lambda request: convert_ai21(request.conversion)["messages"],
        last=lambda _, body: {key: value for key, value in body.items() if key != "tool_choice"},
    ),
    "mistralai": SourceCode(messages=_mistral_messages, more=(_mistral_fields,)),
    "custom": SourceCode(
        messages=lambda request: spoken_audio(request.messages),
        more=(_logprobs, _listed_effort, _listed_verbosity),
        last=_custom_last,
    ),
    "cohere": SourceCode(whole=cohere_body),
    "perplexity": SourceCode(more=(_effort,)),
    "chutes": SourceCode(more=(_logprobs, _effort)),
    "electronhub": SourceCode(
        messages=lambda request: (
            cached_for_claude(request.messages, request) if request.model.startswith("claude-") else request.messages
        ),
        more=(_effort, lambda request: {"web_search": True} if request.searches else {}),
    ),
    "nanogpt": SourceCode(more=(_nanogpt_fields, _nanogpt_effort)),
    "deepseek": SourceCode(messages=_deepseek_messages, more=(_deepseek_fields, _logprobs)),
    "aimlapi": SourceCode(more=(_logprobs, _effort)),
    "xai": SourceCode(
        messages=lambda request: convert_xai(request.conversion)["messages"], more=(_logprobs, _grok_effort)
    ),
    "pollinations": SourceCode(more=(_pollinations_fields,), last=_pollinations_last),
    "moonshot": SourceCode(messages=_moonshot_messages, more=(_thinking_switch,)),
    "fireworks": SourceCode(more=(_effort,)),
    "azure_openai": SourceCode(more=(_logprobs, _listed_effort), last=_azure_last),
    "zai": SourceCode(more=(_thinking_switch,)),
    "minimax": SourceCode(last=_minimax_last),
    "workers_ai": SourceCode(more=(lambda request: request.fields("repetition_penalty"),)),
}
"""The code by source."""
