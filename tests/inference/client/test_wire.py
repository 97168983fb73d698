"""Responses: what a status and a body come to, and what errors say of them."""

import json
import ssl
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.client.endpoint import Endpoint
from innkeeper.inference.client.wire import Response, decoded, sample, trust
from innkeeper.inference.errors import SAMPLE_CHARACTERS, DecodeError, HttpError, ReplyError
from innkeeper.prompt import InnkeeperError, utc_now

KEY = "sk-test-0123456789"
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
