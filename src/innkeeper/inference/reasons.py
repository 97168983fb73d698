"""Reason: why a call of a model failed, in one short list for all providers, and the one table from their words to it.

A provider says it in up to three ways: a status, a word of its own (``code``, ``type`` or ``status`` of its error), and a
sentence. Its word counts most; the sentence only where the word is a common one and people have to know, as for a prompt that is
too long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from innkeeper.inference.errors import (
    DecodeError,
    HttpError,
    ProviderConnectionError,
    ProviderTimeoutError,
    ReplyError,
    RequestCancelledError,
    StreamCutError,
)
from innkeeper.prompt.errors import LimitError

Reason: TypeAlias = Literal[
    "authentication",
    "quota",
    "rate_limit",
    "overloaded",
    "context_length",
    "content_policy",
    "bad_request",
    "not_found",
    "conflict",
    "server",
    "timeout",
    "connection",
    "cut_stream",
    "bad_answer",
    "too_large",
    "cancelled",
    "unknown",
]
"""``authentication``: the key is refused, or may not do this. ``quota``: there is no credit. ``context_length``: the prompt is
too long. ``too_large``: the answer is, for a limit of ours. ``bad_answer``: it is not what the protocol says."""


def reason_of(error: BaseException) -> Reason:
    """Why a call failed: the reason of an error that a client raised; ``unknown`` for an error of another kind."""
    if isinstance(error, HttpError):
        return _by_words(_words(error.body), error.message) or _by_status(error.status)
    if isinstance(error, ReplyError):
        return _by_words([error.code or ""], error.message) or _by_status(error.status or 0) or "server"
    return next((reason for kind, reason in _KINDS if isinstance(error, kind)), "unknown")


_KINDS: Final[tuple[tuple[type[BaseException], Reason], ...]] = (
    (StreamCutError, "cut_stream"),
    (ProviderConnectionError, "connection"),
    (ProviderTimeoutError, "timeout"),
    (DecodeError, "bad_answer"),
    (RequestCancelledError, "cancelled"),
    (LimitError, "too_large"),
)

_WORDS: Final[Mapping[Reason, tuple[str, ...]]] = {
    "context_length": (
        *("context_length_exceeded", "string_above_max_length", "request_too_large", "exceed_context_size_error"),
        *("context_window_exceeded", "prompt_too_long"),
    ),
    "content_policy": (
        *("content_policy_violation", "content_filter", "invalid_prompt", "moderation_blocked", "safety_violations"),
        *("responsibleaipolicyviolation", "prohibited_content"),
    ),
    "quota": ("insufficient_quota", "billing_hard_limit_reached", "billing_error", "billing_not_active"),
    "authentication": (
        *("authentication_error", "invalid_api_key", "permission_error", "permission_denied", "unauthenticated"),
        *("account_deactivated", "unauthorized", "forbidden", "api_key_invalid", "invalid_authentication"),
    ),
    "rate_limit": (
        *("rate_limit_error", "rate_limit_exceeded", "resource_exhausted", "too_many_requests", "tokens", "requests"),
        "slow_down",
    ),
    "overloaded": ("overloaded_error", "overloaded", "unavailable", "service_unavailable", "server_overloaded"),
    "not_found": ("not_found_error", "model_not_found", "not_found"),
    "timeout": ("deadline_exceeded", "timeout", "timeout_error", "request_timeout"),
    "conflict": ("conflict", "conflict_error", "aborted"),
    "server": ("server_error", "api_error", "internal", "internal_server_error", "internal_error"),
}
"""Providers' own words by reason: OpenAI, Anthropic, Google, Mistral, OpenRouter, vLLM, llama.cpp."""

_BY_WORD: Final[Mapping[str, Reason]] = {word: reason for reason, words in _WORDS.items() for word in words}

_SENTENCES: Final[tuple[tuple[re.Pattern[str], Reason], ...]] = (
    (
        re.compile(
            r"context (length|window|size)|maximum context|prompt is too long|too many (input )?tokens|token count"
            r"|input is too long|exceeds? the (maximum|available)[^.]{0,40}(token|context)",
            re.IGNORECASE,
        ),
        "context_length",
    ),
    (
        re.compile(r"content (policy|management policy|filter)|usage policies|moderation", re.IGNORECASE),
        "content_policy",
    ),
    (re.compile(r"credit balance|insufficient (credit|quota|balance|funds)|billing", re.IGNORECASE), "quota"),
    (re.compile(r"api[ _-]?key (is )?(not valid|invalid)|invalid api[ _-]?key", re.IGNORECASE), "authentication"),
)
"""Sentences that tell more than the words ``invalid_request_error``, ``INVALID_ARGUMENT``, ``rate_limit_error`` beside them."""


def _words(body: Any) -> list[str]:
    """The words of an error body: ``code``, ``type``, ``status`` of its error, and ``reason`` of Google's details."""
    body = body[0] if isinstance(body, list) and body else body
    error = body.get("error", body) if isinstance(body, Mapping) else None
    return list(_told(error)) if isinstance(error, Mapping) else []


def _told(error: Mapping[str, Any]) -> Iterator[str]:
    details = error.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, Mapping) and isinstance(detail.get("reason"), str):
            yield detail["reason"]
    for name in ("code", "type", "status"):
        if isinstance(error.get(name), str):
            yield error[name]


def _by_words(words: list[str], message: str) -> Reason | None:
    known = [_BY_WORD[word] for word in map(str.lower, words) if word in _BY_WORD]
    if known and known[0] not in _VAGUE:
        return known[0]
    said = next((reason for pattern, reason in _SENTENCES if pattern.search(message)), None)
    return said or (known[0] if known else None)


_VAGUE: Final = frozenset({"server", "rate_limit", "not_found"})
"""Words that are said of everything: a sentence may know better."""


def _by_status(status: int | None) -> Reason:
    known = _STATUSES.get(status or 0)
    if known is not None:
        return known
    return "server" if status in range(500, 600) else "bad_request" if status in range(300, 500) else "unknown"


_STATUSES: Final[Mapping[int, Reason]] = {
    0: "server",
    401: "authentication",
    402: "quota",
    403: "authentication",
    404: "not_found",
    408: "timeout",
    409: "conflict",
    413: "context_length",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
