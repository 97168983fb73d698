"""Endpoint: where a provider is and how it is spoken to: address, key, headers, times; and its answers, without I/O.

Requests are written as bytes; answers are decoded into a `Response`; statuses and error bodies become our own errors. Secrets are
redacted from everything that is shown.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from innkeeper.inference.errors import (
    DEFAULT_OPEN_TIMEOUT,
    DEFAULT_TIMEOUT,
    DEFAULT_TOTAL_TIMEOUT,
    SAMPLE_CHARACTERS,
    DecodeError,
    HttpError,
    ReplyError,
)
from innkeeper.prompt import ConfigError, ProviderError, UsageError
from innkeeper.prompt.machine import REDACTED, Secret, redact_secrets
from innkeeper.prompt.text import scalar_text

DEFAULT_BASE_URL: Final = "http://localhost:8000"
DEFAULT_API_PREFIX: Final = "/v1"

ENVIRONMENT: Final = {
    "base_url": "INNKEEPER_BASE_URL",
    "api_prefix": "INNKEEPER_API_PREFIX",
    "api_key": "INNKEEPER_API_KEY",
    "timeout": "INNKEEPER_TIMEOUT",
    "open_timeout": "INNKEEPER_OPEN_TIMEOUT",
    "total_timeout": "INNKEEPER_TOTAL_TIMEOUT",
}
"""Settings that are taken from the environment when they are not given."""

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PLAIN_HEADERS: Final = frozenset(
    {
        *("accept", "accept-language", "content-type", "http-referer", "referer", "user-agent", "x-title"),
        *("anthropic-beta", "anthropic-version"),
    }
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One provider's address and manners. Times are seconds: ``timeout`` of silence, ``total_timeout`` of a whole answer.

    ``base_url`` and ``api_prefix`` hold no trailing slash. All header values are secrets unless they are well-known plain
    ones: they may carry keys. ``name`` is what errors call it where those who read them are not to learn its address.
    """

    base_url: str
    api_prefix: str
    headers: Mapping[str, Secret] = field(default_factory=dict)
    timeout: float = DEFAULT_TIMEOUT
    open_timeout: float = DEFAULT_OPEN_TIMEOUT
    total_timeout: float = DEFAULT_TOTAL_TIMEOUT
    secrets: tuple[Secret, ...] = ()
    name: str = ""

    @classmethod
    def of(
        cls, values: Mapping[str, Any], headers: Mapping[str, str] | None, environ: Mapping[str, str] = os.environ
    ) -> Endpoint:
        """An endpoint from ``given`` settings (``None`` means not given), then the environment, then defaults.

        Raises `ConfigError` naming the setting; never with its value when that may be secret.
        """
        settings = {
            name: values[name] if values.get(name) is not None else environ.get(variable)
            for name, variable in ENVIRONMENT.items()
        }
        prefix = _prefix(settings["api_prefix"])
        key = _key(settings["api_key"])
        sent = {name.lower(): _header(name, value) for name, value in (headers or {}).items()}
        if key:
            sent.setdefault("authorization", Secret(f"Bearer {key.reveal()}"))
        hidden = [value for name, value in sent.items() if name not in _PLAIN_HEADERS]
        bare = [Secret(value.reveal().removeprefix("Bearer ")) for value in hidden]
        return cls(
            base_url=_base_url(settings["base_url"], prefix),
            api_prefix=prefix,
            headers=sent,
            timeout=_seconds("timeout", settings["timeout"], DEFAULT_TIMEOUT),
            open_timeout=_seconds("open_timeout", settings["open_timeout"], DEFAULT_OPEN_TIMEOUT),
            total_timeout=_seconds("total_timeout", settings["total_timeout"], DEFAULT_TOTAL_TIMEOUT),
            secrets=(*hidden, *bare, *([key] if key else [])),
            name=values.get("name") or "",
        )

    def url(self, path: str) -> str:
        """The address of an API path such as ``/chat/completions``."""
        return f"{self.base_url}{self.api_prefix}{path}"

    @property
    def shown(self) -> str:
        """What errors call it: its address, or its name where it has one."""
        return f"the provider of {self.name!r}" if self.name else self.base_url

    def redact(self, text: str) -> str:
        """``text`` without the key, the values of headers that may be secret and what has the shape of a key.

        Of an endpoint with a name its address goes as well.
        """
        clean = _KEYS.sub(REDACTED, redact_secrets(text, self.secrets))
        return clean if not self.name else _address(self.base_url).sub("[address]", clean)

    def wire_headers(self) -> dict[str, str]:
        """The headers as they are sent: the one place where secrets come out."""
        return {name: value.reveal() for name, value in self.headers.items()}


_KEYS: Final = re.compile(
    r"(?<=\bbearer )(?=[\w.~+/=-]*[\d_~+/=]|[\w.-]{20})[\w.~+/=-]{6,}"
    r"|\b(?:sk|pk|rk|xai|gsk|hf|ghp|glpat)[-_][\w-]{6,}|\bAIza[\w-]{10,}",
    re.IGNORECASE,
)
"""What has the shape of a key: another than ours may be in what a provider says."""


@lru_cache(maxsize=256)
def _address(base_url: str) -> re.Pattern[str]:
    """An address, or a part of it that says where a provider is."""
    parts = urlsplit(base_url)
    hidden = (base_url, parts.netloc, parts.hostname or "")
    return re.compile("|".join(re.escape(part) for part in hidden if part), re.IGNORECASE)


def _prefix(value: Any) -> str:
    text = DEFAULT_API_PREFIX if value is None else str(value)
    text = text.strip().strip("/")
    return f"/{text}" if text else ""


def _base_url(value: Any, prefix: str) -> str:
    text = str(value or DEFAULT_BASE_URL).strip().rstrip("/")
    try:
        parts = urlsplit(text)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if not sound or parts.username is not None or parts.query or parts.fragment or not text.isprintable():
        msg = "base_url must be an http or https address without user, query or fragment"
        raise ConfigError(msg, hint="for example https://openrouter.ai/api; give credentials as api_key or headers")
    # An address that already ends with the prefix is taken as meant: /v1/v1 exists nowhere.
    return text.removesuffix(prefix).rstrip("/") if prefix else text


def _key(value: Any) -> Secret:
    text = str(value or "").strip()
    if not (text.isascii() and text.isprintable()) or " " in text:
        msg = "api_key has characters that no key has (spaces, line breaks, non-ASCII)"
        raise ConfigError(msg, hint="check how it was copied")
    return Secret(text)


def _header(name: str, value: str) -> Secret:
    text = str(value).strip()
    if not _HEADER_NAME.fullmatch(name) or not (text.isascii() and text.isprintable()):
        msg = f"header {name[:40]!r}: names are tokens and values printable ASCII"
        raise ConfigError(msg)
    return Secret(text)


def _seconds(name: str, value: Any, default: float) -> float:
    if value is None:
        return default
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = math.nan
    if not 0 < seconds < math.inf:
        msg = f"{name} must be a positive number of seconds"
        raise ConfigError(msg, hint=f"the environment variable is {ENVIRONMENT[name]}")
    return seconds


_SUCCESS: Final = range(200, 300)
_HIDDEN_HEADERS: Final = frozenset({"set-cookie", "authorization", "proxy-authorization", "www-authenticate"})


class Response(msgspec.Struct, frozen=True):
    """A status, the headers (lower-case names, cookies left out) and the body as JSON data."""

    status: int
    headers: Mapping[str, str]
    body: Any

    def __repr__(self) -> str:
        """The status and the kind of body only: answers may be private."""
        return f"Response(status={self.status}, body={type(self.body).__name__})"


def public_headers(headers: Mapping[str, str], endpoint: Endpoint) -> dict[str, str]:
    """A response's headers with lower-case names, without cookies, and without our secrets where they are echoed."""
    named = ((name.lower(), endpoint.redact(value)) for name, value in headers.items())
    return {name: value for name, value in named if name not in _HIDDEN_HEADERS}


def sample(raw: bytes | str, endpoint: Endpoint) -> str:
    """The start of a body for an error message: redacted, then cut, on one line."""
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    clean = " ".join(endpoint.redact(text)[: 64 * SAMPLE_CHARACTERS].split())
    start = clean[:SAMPLE_CHARACTERS]
    return "".join(c if c.isprintable() else "\ufffd" for c in start) + ("…" if len(clean) > len(start) else "")


def decoded(status: int, headers: Mapping[str, str], raw: bytes, endpoint: Endpoint) -> Response:
    """A response from a whole body. Raises `HttpError`, `DecodeError`, or `ReplyError` for an error in a 200."""
    public = public_headers(headers, endpoint)
    raise_for_status(status, public, raw, endpoint)
    body = _json(raw, public, endpoint)
    failure = error_of(body, endpoint)
    if failure is not None:
        raise failure
    return Response(status, public, body)


def raise_for_status(status: int, headers: Mapping[str, str], raw: bytes, endpoint: Endpoint) -> None:
    """Raise `HttpError` unless ``status`` is a success; its message is the provider's own where the body has one."""
    if status in _SUCCESS:
        return
    try:
        body = json.loads(endpoint.redact(raw.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        body = None
    reason = _message(body, endpoint)
    msg = f"the provider answered with status {status}" + (f": {reason}" if reason else "")
    hint = _HINTS.get(status)
    error = HttpError(msg, status=status, headers=headers, sample=sample(raw, endpoint), body=body, hint=hint)
    raise _for_operator(error, endpoint) if status not in _CALLERS else error


_HINTS: Final = {
    301: "redirects are not followed; use the address it points to as base_url",
    302: "redirects are not followed; use the address it points to as base_url",
    307: "redirects are not followed; use the address it points to as base_url",
    308: "redirects are not followed; use the address it points to as base_url",
    401: "check the key: INNKEEPER_API_KEY, api_key, or `innkeeper keys set` with the name of the provider or host",
    403: "the key may not do this",
    404: "check base_url, api_prefix and the model's name",
    413: "the request is too large; shorten the prompt",
    429: "too many requests or no credit left; wait as long as retry-after says",
    529: "the provider is overloaded; try again later",
}

_CALLERS: Final = frozenset({413, 429, 529})
"""The statuses whose hints are for whoever asks; others say how to set an endpoint up."""


def _for_operator(error: ProviderError, endpoint: Endpoint) -> ProviderError:
    """The error with its hint for the log alone, where those who read it are not who set the endpoint up."""
    if endpoint.name and error.hint:
        error.origin, error.hint = f"{endpoint.base_url}: {error.hint}", None
    return error


def error_of(body: Any, endpoint: Endpoint) -> ReplyError | None:
    """The error that a body or a stream event reports under ``error``, if it does.

    Its ``code`` is the provider's own word for it: of ``code``, ``type`` and ``status``, the first that is one, else a number.
    """
    if not isinstance(body, Mapping) or not body.get("error"):
        return None
    error = body["error"] if isinstance(body["error"], Mapping) else {}
    codes = [error.get(name) for name in ("code", "type", "status")]
    number = next((one for one in codes if isinstance(one, int) and not isinstance(one, bool)), None)
    word = next((one for one in codes if isinstance(one, str) and one), None if number is None else str(number))
    reason = _message(body, endpoint) or "no message"
    text = None if word is None else sample(word, endpoint)
    return ReplyError(f"the provider reports an error: {reason}", code=text, status=number)


def _message(body: Any, endpoint: Endpoint) -> str:
    """``error.message`` in its usual spellings; Google puts the body of a failed stream into a list."""
    body = body[0] if isinstance(body, list) and body else body
    error = body.get("error", body.get("detail")) if isinstance(body, Mapping) else None
    if isinstance(error, Mapping):
        error = error.get("message")
    if error is None and isinstance(body, Mapping):
        error = body.get("message")
    return sample(error, endpoint) if isinstance(error, str) else ""


def _json(raw: bytes, headers: Mapping[str, str], endpoint: Endpoint) -> Any:
    try:
        return json.loads(raw.decode(json.detect_encoding(raw), "replace"))
    except (ValueError, RecursionError) as error:
        kind = headers.get("content-type", "no content type").partition(";")[0]
        msg = f"the provider's answer is not JSON ({sample(kind, endpoint)}, {len(raw):,} bytes)"
        hint = "check base_url and api_prefix: this looks like a web page" if "html" in kind else None
        raise _for_operator(DecodeError(msg, sample=sample(raw, endpoint), hint=hint), endpoint) from error


def encoded(request: Any) -> bytes:
    """A request as JSON, keys in the order it has them. Raises `UsageError` for what JSON cannot say."""
    try:
        text = json.dumps(request, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        msg = f"the request is not JSON data: {error}"
        raise UsageError(msg) from error
    return scalar_text(text).encode()
