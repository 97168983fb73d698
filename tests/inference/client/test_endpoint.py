"""Endpoints: addresses without doubled prefixes, settings from the environment, and keys that never show."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.inference.client.endpoint import DEFAULT_BASE_URL, Endpoint
from innkeeper.prompt import ConfigError

KEY = "sk-test-0123456789"


def endpoint(
    given: Mapping[str, Any], headers: Mapping[str, str] | None = None, environ: Mapping[str, str] | None = None
) -> Endpoint:
    """An endpoint that knows nothing of this machine's environment."""
    return Endpoint.of(given, headers, environ or {})


@dataclass(frozen=True)
class Address:
    base_url: str
    url: str
    prefix: str | None = None


ADDRESSES = {
    "plain": Address("https://openrouter.ai/api", "https://openrouter.ai/api/v1/models"),
    "slash": Address("https://openrouter.ai/api/", "https://openrouter.ai/api/v1/models"),
    "prefix_there_already": Address("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/models"),
    "prefix_and_slash": Address("https://openrouter.ai/api/v1/", "https://openrouter.ai/api/v1/models"),
    "other_prefix": Address("http://h:1", "http://h:1/beta/openai/models", "beta/openai/"),
    "other_prefix_there": Address("http://h:1/beta/openai", "http://h:1/beta/openai/models", "/beta/openai"),
    "no_prefix": Address("http://h:1/v1", "http://h:1/v1/models", ""),
    "name_that_ends_alike": Address("http://h/apiv1", "http://h/apiv1/v1/models"),
    "ipv6": Address("http://[::1]:8080", "http://[::1]:8080/v1/models"),
}


@pytest.mark.parametrize("case", ADDRESSES.values(), ids=ADDRESSES)
def test_url(case: Address) -> None:
    """The prefix stands once between the base and the path."""
    assert endpoint({"base_url": case.base_url, "api_prefix": case.prefix}).url("/models") == case.url


@pytest.mark.parametrize(
    "base_url",
    [
        "ftp://h",
        "h:8000",
        "https://",
        "https://u:p@h",
        "https://h?key=1",
        "https://h#f",
        "http://h:99999",
        "http://[::",
    ],
)
def test_base_url_that_is_none(base_url: str) -> None:
    """What is no plain web address is refused, and not quoted: it may hold a password."""
    with pytest.raises(ConfigError, match="base_url must be") as caught:
        endpoint({"base_url": base_url})
    assert "u:p" not in caught.value.render()


def test_environment() -> None:
    """Settings come from arguments, then the environment, then defaults."""
    environ = {
        "INNKEEPER_BASE_URL": "http://env:1",
        "INNKEEPER_API_PREFIX": "/v2",
        "INNKEEPER_API_KEY": f" {KEY}\n",
        "INNKEEPER_TIMEOUT": "7",
    }
    found = endpoint({"timeout": 3}, environ=environ)
    assert found.url("/models") == "http://env:1/v2/models"
    assert found.wire_headers() == {"authorization": f"Bearer {KEY}"}
    assert (found.timeout, found.total_timeout) == (3.0, 900.0)
    assert endpoint({}).base_url == DEFAULT_BASE_URL


def test_own_header_wins() -> None:
    """An authorization header of the caller's takes the place of the key's."""
    found = endpoint({"api_key": KEY}, {"Authorization": "Basic abcd", "X-Title": "Inn"})
    assert found.wire_headers() == {"authorization": "Basic abcd", "x-title": "Inn"}


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel", "a\u200bb"])
def test_key_that_is_none(key: str) -> None:
    """A key with characters that no header takes is refused without being shown."""
    with pytest.raises(ConfigError, match="api_key") as caught:
        endpoint({"api_key": key})
    assert key not in caught.value.render()


@pytest.mark.parametrize("header", [("bad name", "x"), ("x-ok", "a\nb"), ("x-ok", "ü"), ("", "x")])
def test_header_that_is_none(header: tuple[str, str]) -> None:
    """Names must be tokens and values printable ASCII, so that nothing slips into a request."""
    with pytest.raises(ConfigError, match="header"):
        endpoint({}, dict([header]))


@pytest.mark.parametrize("seconds", [0, -1, "soon", float("inf"), float("nan"), []])
def test_timeout_that_is_none(seconds: Any) -> None:
    """Times are positive numbers of seconds."""
    with pytest.raises(ConfigError, match="timeout must be"):
        endpoint({"timeout": seconds})


def test_redaction_and_repr() -> None:
    """The key and headers that may be secret are blanked out of texts and are not in the repr; plain headers stay."""
    found = endpoint({"api_key": KEY}, {"x-api-key": "abcdefgh", "user-agent": "inn/1"})
    assert found.redact(f"{KEY} abcdefgh inn/1") == "[secret] [secret] inn/1"
    assert KEY not in repr(found)
    assert "abcdefgh" not in repr(found)
