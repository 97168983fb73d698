"""Reason: why a call of a model failed, in one short list for all providers, and the table of their words.

A provider says it in up to three ways: a status, a word of its own (``code``, ``type`` or ``status`` of its error), and a
sentence. Its word counts most; the sentence only where the word is a common one and people have to know, as for a prompt that is
too long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

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
from innkeeper.prompt.typed.once import convert

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


class _Table(msgspec.Struct, frozen=True):
    """What providers say, by reason; statuses have one reason each.

    ``words`` are those of OpenAI, Anthropic, Google, Mistral, OpenRouter, vLLM and llama.cpp. ``sentences`` tell more than the
    words ``invalid_request_error``, ``INVALID_ARGUMENT``, ``rate_limit_error`` beside them.
    """

    words: dict[Reason, tuple[str, ...]]
    sentences: dict[Reason, str]
    statuses: dict[int, Reason]


_TABLE: Final[_Table] = convert(
    msgspec.json.decode(Path(__file__).with_name("reasons.json").read_bytes()), _Table, strict=False
)
_BY_WORD: Final[Mapping[str, Reason]] = {word: reason for reason, words in _TABLE.words.items() for word in words}
_SENTENCES: Final = {reason: re.compile(text, re.IGNORECASE) for reason, text in _TABLE.sentences.items()}


def _words(body: Any) -> list[str]:
    """The words of an error body: ``code``, ``type``, ``status`` of its error, and ``reason`` of Google's details."""
    body = body[0] if isinstance(body, list) and body else body
    error = body.get("error", body) if isinstance(body, Mapping) else None
    return list(_codes(error)) if isinstance(error, Mapping) else []


def _codes(error: Mapping[str, Any]) -> Iterator[str]:
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
    stated = next((reason for reason, pattern in _SENTENCES.items() if pattern.search(message)), None)
    return stated or (known[0] if known else None)


_VAGUE: Final = frozenset({"server", "rate_limit", "not_found"})
"""Words that are said of everything: a sentence may know better."""


def _by_status(status: int | None) -> Reason:
    known = _TABLE.statuses.get(status or 0)
    if known is not None:
        return known
    return "server" if status in range(500, 600) else "bad_request" if status in range(300, 500) else "unknown"
