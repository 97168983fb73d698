"""Endpoint: where a provider is and how it is spoken to: address, key, headers, times. It shows no secret."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

from innkeeper.inference.errors import DEFAULT_OPEN_TIMEOUT, DEFAULT_TIMEOUT, DEFAULT_TOTAL_TIMEOUT
from innkeeper.prompt import ConfigError
from innkeeper.prompt.machine import Secret, redact_secrets

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
        cls, given: Mapping[str, Any], headers: Mapping[str, str] | None, environ: Mapping[str, str] = os.environ
    ) -> Endpoint:
        """An endpoint from ``given`` settings (``None`` means not given), then the environment, then defaults.

        Raises `ConfigError` naming the setting; never with its value when that may be secret.
        """
        settings = {
            name: given[name] if given.get(name) is not None else environ.get(variable)
            for name, variable in ENVIRONMENT.items()
        }
        prefix = _prefix(settings["api_prefix"])
        key = _key(settings["api_key"])
        sent = {name.lower(): _header(name, value) for name, value in (headers or {}).items()}
        if key:
            sent.setdefault("authorization", Secret(f"Bearer {key.reveal()}"))
        hidden = [value for name, value in sent.items() if name not in _PLAIN_HEADERS]
        return cls(
            base_url=_base_url(settings["base_url"], prefix),
            api_prefix=prefix,
            headers=sent,
            timeout=_seconds("timeout", settings["timeout"], DEFAULT_TIMEOUT),
            open_timeout=_seconds("open_timeout", settings["open_timeout"], DEFAULT_OPEN_TIMEOUT),
            total_timeout=_seconds("total_timeout", settings["total_timeout"], DEFAULT_TOTAL_TIMEOUT),
            secrets=(*hidden, *([key] if key else [])),
            name=given.get("name") or "",
        )

    def url(self, path: str) -> str:
        """The address of an API path such as ``/chat/completions``."""
        return f"{self.base_url}{self.api_prefix}{path}"

    @property
    def shown(self) -> str:
        """What errors call it: its address, or its name where it has one."""
        return f"the provider of {self.name!r}" if self.name else self.base_url

    def redact(self, text: str) -> str:
        """``text`` without the key and the values of headers that may be secret, and, of one with a name, without its address."""
        clean = redact_secrets(text, self.secrets)
        return clean if not self.name else _place(self.base_url).sub("[address]", clean)

    def wire_headers(self) -> dict[str, str]:
        """The headers as they are sent: the one place where secrets come out."""
        return {name: value.reveal() for name, value in self.headers.items()}


@lru_cache(maxsize=256)
def _place(base_url: str) -> re.Pattern[str]:
    """An address, or a part of it that says where a provider is."""
    parts = urlsplit(base_url)
    places = (base_url, parts.netloc, parts.hostname or "")
    return re.compile("|".join(re.escape(place) for place in places if place), re.IGNORECASE)


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
