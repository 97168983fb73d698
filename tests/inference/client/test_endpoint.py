"""Endpoints: addresses without doubled prefixes, settings from the environment, and keys that never show."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.client.endpoint import DEFAULT_BASE_URL, Endpoint, Response, decoded, sample
from innkeeper.inference.client.transport import trust
from innkeeper.inference.errors import SAMPLE_CHARACTERS, DecodeError, HttpError, ReplyError
from innkeeper.prompt import ConfigError, InnkeeperError, utc_now

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


ENDPOINT = Endpoint.of({"base_url": "http://h", "api_key": KEY}, None, {})


@dataclass(frozen=True)
class Case:
    body: bytes
    error: type[InnkeeperError]
    message: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


def error(**fields: Any) -> bytes:
    """An error body in the usual shape."""
    return json.dumps({"error": fields}).encode()


CASES = {
    "message": Case(error(message="No."), HttpError, "the provider answered with status 400: No.", 400),
    "text": Case(b'{"error": "No."}', HttpError, "status 404: No.", 404),
    "detail": Case(b'{"detail": "No."}', HttpError, "status 422: No.", 422),
    "bare_message": Case(b'{"message": "No."}', HttpError, "status 500: No.", 500),
    "list_detail": Case(b'{"detail": [{"loc": []}]}', HttpError, "with status 422", 422),
    "html": Case(b"<html>", HttpError, "with status 502", 502),
    "empty": Case(b"", HttpError, "with status 503", 503),
    "redirect": Case(b"", HttpError, "with status 307", 307),
    "not_modified": Case(b"", HttpError, "with status 304", 304),
    "error_in_a_200": Case(error(message="Full.", code=429), ReplyError, "the provider reports an error: Full."),
    "error_as_text": Case(b'{"error": "Full."}', ReplyError, "reports an error: Full."),
    "error_without_words": Case(b'{"error": {"x": 1}}', ReplyError, "reports an error: no message"),
    "html_200": Case(b"<html>", DecodeError, "not JSON (text/html, 6 bytes)", headers={"content-type": "text/html"}),
    "empty_200": Case(b"", DecodeError, "not JSON (no content type, 0 bytes)"),
    "cut_json": Case(b'{"choices": [', DecodeError, "not JSON"),
    "deep_json": Case(b"[" * 100_000, DecodeError, "not JSON"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_errors(case: Case) -> None:
    """Each bad answer is one typed error that quotes the provider."""
    with pytest.raises(case.error) as caught:
        decoded(case.status, case.headers, case.body, ENDPOINT)
    assert type(caught.value) is case.error
    assert case.message in str(caught.value)


def test_success() -> None:
    """Headers get lower-case names, cookies go, an echoed key is blanked out; the repr keeps the body to itself."""
    headers = {"X-Id": "1", "Set-Cookie": "s=1", "X-Echo": f"Bearer {KEY}"}
    response = decoded(201, headers, b'{"error": null, "a": 1}', ENDPOINT)
    assert response == Response(201, {"x-id": "1", "x-echo": "[secret]"}, {"error": None, "a": 1})
    assert repr(response) == "Response(status=201, body=dict)"


@pytest.mark.parametrize(
    ("raw", "text"), [(b"a\xff", "a\ufffd"), ("\u4f60".encode()[:2], "\ufffd"), ("\u4f60".encode(), "\u4f60")]
)
def test_bytes_that_are_not_utf8(raw: bytes, text: str) -> None:
    """They are replaced, as in a stream: a whole answer is not lost for one of them."""
    assert decoded(200, {}, b'{"a": "' + raw + b'"}', ENDPOINT).body == {"a": text}


def test_http_error_facts() -> None:
    """An HTTP error knows status, headers, body, how long to wait, and gives its facts without the key."""
    with pytest.raises(HttpError) as caught:
        decoded(429, {"Retry-After": "7"}, error(message=f"key {KEY} is over its limit"), ENDPOINT)
    found = caught.value
    assert (found.status, found.retry_after, found.kind, found.exit_code) == (429, 7.0, "http", 69)
    assert found.body["error"]["message"].startswith("key")
    assert KEY not in json.dumps(found.to_dict())
    assert KEY not in found.render()
    assert "retry-after" in str(found.hint)


def test_retry_after_as_a_date_or_a_fraction() -> None:
    """Seconds may have a fraction; a date is told as the seconds until it, none when it has passed."""
    times = {"1.5": 1.5, "Fri, 31 Dec 1999 23:59:59 GMT": 0.0}
    assert {
        value: HttpError("x", status=429, headers={"retry-after": value}, sample="").retry_after for value in times
    } == times
    soon = format_datetime(utc_now() + timedelta(seconds=90), usegmt=True)
    seconds = HttpError("x", status=429, headers={"retry-after": soon}, sample="").retry_after
    assert seconds is not None
    assert 0 < seconds <= 90


@pytest.mark.parametrize("value", ["soon", "-1", "", "٣", "31 Dec 1999", "9" * 400])
def test_retry_after_that_is_no_time(value: str) -> None:
    """Only a plain number of seconds, or a date with its zone, counts."""
    with pytest.raises(HttpError) as caught:
        decoded(503, {"retry-after": value}, b"", ENDPOINT)
    assert caught.value.retry_after is None


@given(st.binary(max_size=200), st.integers(100, 599))
def test_any_body(raw: bytes, status: int) -> None:
    """Whatever a server says is a response or one of our errors."""
    try:
        assert decoded(status, {}, raw, ENDPOINT).status == status
    except InnkeeperError as found:
        assert found.render()  # noqa: PT017 - either is right


@given(st.text(st.characters(exclude_categories=())))
def test_sample(text: str) -> None:
    """A sample is short, on one line, printable, and never holds the key."""
    shown = sample(text + KEY, ENDPOINT)
    assert len(shown) <= SAMPLE_CHARACTERS + 1
    assert shown.isprintable()
    assert KEY not in shown


def test_sample_of_a_key_behind_spaces() -> None:
    """A key that begins just where a sample is cut does not show its first half."""
    shown = sample(" " * (64 * SAMPLE_CHARACTERS - 8) + KEY, ENDPOINT)
    assert "sk-test" not in shown


@pytest.mark.parametrize(
    ("base_url", "proxy", "reads"),
    [
        ("http://localhost:1", None, False),
        ("https://api.example", None, True),
        ("http://localhost:1", "https://p.example", True),
    ],
)
def test_certificates_are_read_where_they_are_needed(
    base_url: str, proxy: str | None, reads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address with TLS is checked by the machine's certificates; without it nobody is trusted at all."""
    if proxy is not None:
        monkeypatch.setenv("HTTP_PROXY", proxy)
    checked = trust(Endpoint.of({"base_url": base_url}, None))
    if reads:
        assert checked is True
    else:
        assert isinstance(checked, ssl.SSLContext)
        assert checked.verify_mode is ssl.CERT_REQUIRED
        assert checked.check_hostname
        assert checked.get_ca_certs() == []


KEYS = [
    "sk-UPSTREAM1",
    "sk-other-key-of9",
    "pk_live_abcdefgh",
    "gsk_abcdefgh",
    "AIzaSyAAAAAAAAAAAA",
    "Bearer abcdef123456",
]


@given(st.sampled_from(KEYS), st.sampled_from([400, 401, 429, 500]), st.sampled_from(["error", "detail"]))
def test_keys_of_upstream_are_masked(key: str, status: int, field: str) -> None:
    """Neither our key nor what has the shape of one is in any part of an error, whatever the provider quotes."""
    endpoint = Endpoint.of({"base_url": "http://up.example", "api_key": "sk-UPSTREAM1", "name": "ok"}, None)
    body = json.dumps({field: {"message": f"Incorrect key: {key}.", "code": "x"}}).encode()
    with pytest.raises(HttpError) as caught:
        decoded(status, {"x-key": key}, body, endpoint)
    error, secret = caught.value, key.removeprefix("Bearer ")
    assert secret not in json.dumps([error.render(), error.to_dict(), error.body, dict(error.headers), error.sample])
    with pytest.raises(ReplyError) as reported:
        decoded(200, {}, json.dumps({"error": {"message": f"Incorrect key: {key}.", "code": key}}).encode(), endpoint)
    assert secret not in json.dumps([reported.value.render(), reported.value.to_dict()])


@pytest.mark.parametrize(
    "text", ["Bearer authentication is required.", "ask-me-later, risk-averse-people, task_manager"]
)
def test_words_are_no_keys(text: str) -> None:
    """What only looks a little like a key stays."""
    assert Endpoint.of({"base_url": "http://up.example"}, None).redact(text) == text


@pytest.mark.parametrize("name", ["", "ok"])
def test_hints_for_operators(name: str) -> None:
    """Whoever set the endpoint up reads how to mend it; of one with a name that is in the log alone."""
    endpoint = Endpoint.of({"base_url": "http://up.example", "name": name}, None)
    with pytest.raises(HttpError) as caught:
        decoded(401, {}, b"", endpoint)
    hint, origin = caught.value.hint or "", caught.value.origin
    assert ("INNKEEPER_API_KEY" in hint, "INNKEEPER_API_KEY" in origin) == (not name, bool(name))
