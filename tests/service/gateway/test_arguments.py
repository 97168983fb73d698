"""Arguments: bodies, forms and queries are read as the original reads them, within limits."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper.service import Gateway, Request, Settings
from tests.service.gateway.calls import get, post
from tests.service.programs import DOCUMENT

MACRO = "modules/smarttavern/macro"
TEXT = f"{MACRO}/process_text"
CONSTRUCT = "modules/smarttavern/in_chat_constructor/construct"

FORM = (
    b'--XX\r\nContent-Disposition: form-data; name="text"\r\n\r\n{{upper:d}}\r\n'
    b'--XX\r\nContent-Disposition: form-data; name="other"\r\n\r\nx\r\n--XX\r\nbroken\r\n--XX--'
)


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain", b"[{{upper:a}}]", "[A]"),
        ("application/x-www-form-urlencoded", b'{"text": "{{upper:b}}"}', "B"),
        ("application/x-www-form-urlencoded", b"{not json", "{not json"),
        ("application/x-www-form-urlencoded", b"a=b", "a=b"),
        ("application/octet-stream", b"\xff", "\ufffd"),
        ("application/vnd.x+json; charset=utf-8", b'{"text": "c"}', "c"),
        (
            "multipart/form-data; boundary=XX",
            FORM,
            "D",
        ),
    ],
)
def test_other_bodies(kind: str, body: bytes, text: str) -> None:
    """Forms, plain texts and what `curl -d` sends are read as the original reads them."""
    reply = Gateway().answer(Request.of("POST", f"/api/{TEXT}", {"content-type": kind}, body))
    assert json.loads(reply.body)["text"] == text


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary="])
def test_broken_forms(kind: str) -> None:
    """A form without a boundary has no fields."""
    reply = Gateway().answer(Request.of("POST", f"/api/{TEXT}", {"content-type": kind}, b"x"))
    assert json.loads(reply.body)["missing"] == ["text"]


def test_untyped_body() -> None:
    """An object of JSON is read also where nothing says that it is one."""
    body = json.dumps(DOCUMENT).encode()
    reply = Gateway().answer(Request.of("POST", f"/api/{CONSTRUCT}", {}, body))
    assert len(json.loads(reply.body)["messages"]) == 4


def test_query_names() -> None:
    """Query keys are put in snake case."""
    target = "/api/modules/smarttavern/chat_branches/retry_user_message?userNodeId=u"
    assert get(Gateway(), target) == (200, {"error": "Either 'doc' or 'file' must be provided"})


def test_not_a_number() -> None:
    """``NaN``, which Python's parser takes and JSON does not have, is refused in the same envelope."""
    status, said = post(Gateway(), TEXT, b'{"text": NaN}')
    assert (status, list(said)) == (200, ["error"])


def test_deep_and_large_bodies() -> None:
    """Nesting and size of a body have limits with names."""
    deep = b'{"text": "a", "variables": ' + b'{"a":' * 80 + b"1" + b"}" * 81
    small = Gateway(Settings(max_body=1_000))
    for gateway, body, limit in (
        (Gateway(), deep, "json_depth"),
        (small, b'{"text": "' + b"a" * 2_000 + b'"}', "file_bytes"),
    ):
        status, said = post(gateway, TEXT, body)
        assert (status, said["problem"]["details"]["limit"]) == (413, limit)


@settings(max_examples=100)
@given(
    body=st.binary(max_size=60),
    kind=st.sampled_from(["application/json", "text/plain", "multipart/form-data; boundary=a"]),
)
def test_any_bytes(body: bytes, kind: str) -> None:
    """Any bytes of any kind get an answer."""
    reply = Gateway().answer(Request.of("POST", f"/api/{CONSTRUCT}", {"content-type": kind}, body))
    assert reply.status in {200, 400, 413, 422}
    assert isinstance(json.loads(reply.body), dict)
