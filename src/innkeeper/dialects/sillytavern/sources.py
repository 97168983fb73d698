"""The 26 sources of SillyTavern 1.19 as data: where each is, what it is sent, and what is its own.

A source that speaks Chat Completions is a row; one with a conversion of its own names the function that makes its body or its
messages. (sillytavern-bodies.md 1, 3, 7.)
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from innkeeper.dialects.sillytavern.bodies.ai21 import convert_ai21
from innkeeper.dialects.sillytavern.bodies.chat import (
    FIELDS,
    PENALTIES,
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
from innkeeper.dialects.sillytavern.effort import (
    effort,
    grok_effort,
    listed_effort,
    listed_verbosity,
    nanogpt_effort,
    switch,
)
from innkeeper.dialects.sillytavern.json_schema import asked_in_words, schema_fields
from innkeeper.dialects.sillytavern.request import ProviderRequest

Body = dict[str, Any]
Messages = Callable[[ProviderRequest], list[RawMessage]]
More = Callable[[ProviderRequest], Body]


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """One source. ``fields`` are copied from the page's request, what ``more`` gives is added, ``last`` sees the whole body.

    ``mode`` is a post-processing that comes after the preset's; ``schema`` is how a JSON schema is written
    (`innkeeper.dialects.sillytavern.json_schema`). With ``whole`` the rest is of no account: it makes the body.
    """

    name: str
    fields: tuple[str, ...] = FIELDS
    mode: str = ""
    schema: str = "named"
    messages: Messages | None = None
    more: tuple[More, ...] = ()
    last: Callable[[ProviderRequest, Body], Body] | None = None
    whole: More | None = None

    def body(self, request: ProviderRequest) -> Body:
        """The body that SillyTavern's server sends. Raises `FormatError` for messages that cannot be converted."""
        if self.schema == "object":
            request = asked_in_words(request)
        if self.mode:
            request = request.with_messages(request.conversion.by_mode(self.mode))
        if self.whole is not None:
            return self.whole(request)
        if self.messages is not None:
            request = request.with_messages(self.messages(request))
        body = chat_body(request, self.fields)
        for more in self.more:
            body |= more(request)
        body |= schema_fields(request, self.schema)
        return body if self.last is None else self.last(request, body)


_SHORT: Final = tuple(name for name in FIELDS if name not in ("max_completion_tokens", "top_k", "logit_bias", "n"))
"""What the server copies for sources with a body of their own."""
_UNPENALISED: Final = tuple(name for name in FIELDS if name not in PENALTIES)


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
    own = included(request)
    over = {key: value for key, value in body.items() if key in _OVER}
    return without_excluded(request, {**body, **own, **over})


_OVER: Final = (
    "stop",
    "logprobs",
    "top_logprobs",
    "reasoning_effort",
    "verbosity",
    "tools",
    "tool_choice",
    "response_format",
)
"""What a preset's own fields do not replace."""


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
    return [{**one, "reasoning_content": ""} if "tool_calls" in one else one for one in messages]


def _deepseek_fields(request: ProviderRequest) -> Body:
    tools = {"tools": closed_tools(request.tools)} if request.tools else {}
    return {**tools, **switch(request), **(effort(request) if request.shows_thoughts else {})}


def _moonshot_messages(request: ProviderRequest) -> list[RawMessage]:
    return request.messages if request.schema else mark_prefix(request.messages, (), "partial")


def _pollinations_fields(request: ProviderRequest) -> Body:
    """The effort where the user is known, and a seed always: SillyTavern draws one, ours is the prompt's own."""
    return {**({} if _anonymous(request) else effort(request)), "seed": request.options.get("seed", _seed(request))}


def _pollinations_last(request: ProviderRequest, body: Body) -> Body:
    return body if _anonymous(request) else {**body, **schema_fields(request, "bare")}


def _anonymous(request: ProviderRequest) -> bool:
    return request.options.get("pollinations_endpoint") == "anonymous"


def _seed(request: ProviderRequest) -> int:
    digest = hashlib.sha256(repr(request.messages).encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:4]) % sys.maxsize


def _minimax_last(request: ProviderRequest, body: Body) -> Body:
    most = (
        {"max_tokens": min(body["max_tokens"], _MOST_HER)} if request.model == "M2-her" and "max_tokens" in body else {}
    )
    return {**body, **most}


_MOST_HER: Final = 2048


SOURCES: Final[Mapping[str, Source]] = MappingProxyType(
    {
        source.name: source
        for source in (
            Source(
                name="openai",
                messages=lambda request: spoken_audio(request.messages),
                more=(_logprobs, listed_effort, listed_verbosity),
                last=_openai_last,
            ),
            Source(name="claude", whole=claude_body),
            Source(
                name="openrouter",
                messages=lambda request: spoken_audio(openrouter_messages(request)),
                more=(_logprobs, openrouter_fields),
            ),
            Source(name="makersuite", whole=google_body),
            Source(name="vertexai", whole=google_body),
            Source(
                name="ai21",
                fields=("max_tokens", "temperature", "top_p", "stop", "stream"),
                schema="object",
                messages=lambda request: convert_ai21(request.conversion)["messages"],
                last=lambda _, body: {key: value for key, value in body.items() if key != "tool_choice"},
            ),
            Source(
                name="mistralai",
                fields=tuple(name for name in _SHORT if name != "seed"),
                schema="described",
                messages=_mistral_messages,
                more=(_mistral_fields,),
            ),
            Source(
                name="custom",
                messages=lambda request: spoken_audio(request.messages),
                more=(_logprobs, listed_effort, listed_verbosity),
                last=_custom_last,
            ),
            Source(name="cohere", whole=cohere_body),
            Source(name="perplexity", mode="strict", schema="bare", more=(effort,)),
            Source(name="groq", schema="described"),
            Source(
                name="chutes",
                fields=(*_SHORT, "top_k", "logit_bias", "min_p", "repetition_penalty"),
                schema="described",
                more=(_logprobs, effort),
            ),
            Source(
                name="electronhub",
                fields=(*(name for name in _SHORT if name != "stop"), "top_k", "logit_bias"),
                schema="described",
                messages=lambda request: (
                    cached_for_claude(request.messages, request)
                    if request.model.startswith("claude-")
                    else request.messages
                ),
                more=(effort, lambda request: {"web_search": True} if request.searches else {}),
            ),
            Source(name="nanogpt", more=(_nanogpt_fields, nanogpt_effort)),
            Source(
                name="deepseek",
                fields=_SHORT,
                mode="semi_tools",
                schema="object",
                messages=_deepseek_messages,
                more=(_deepseek_fields, _logprobs),
            ),
            Source(name="aimlapi", fields=(*_SHORT, "n"), schema="described", more=(_logprobs, effort)),
            Source(
                name="xai",
                fields=(*_SHORT, "max_completion_tokens", "n"),
                messages=lambda request: convert_xai(request.conversion)["messages"],
                more=(_logprobs, grok_effort),
            ),
            Source(name="pollinations", more=(_pollinations_fields,), last=_pollinations_last),
            Source(name="moonshot", schema="object", messages=_moonshot_messages, more=(switch,)),
            Source(name="fireworks", schema="described", more=(effort,)),
            Source(name="cometapi"),
            Source(name="azure_openai", more=(_logprobs, listed_effort), last=_azure_last),
            Source(name="zai", schema="object", more=(switch,)),
            Source(name="siliconflow", schema="object"),
            Source(
                name="minimax",
                fields=("temperature", "max_tokens", "stream", "top_p", "stop"),
                mode="merge_tools",
                schema="none",
                last=_minimax_last,
            ),
            Source(name="workers_ai", schema="itself", more=(lambda request: request.fields("repetition_penalty"),)),
        )
    }
)
"""The sources by SillyTavern's names."""
