"""Calls: their moment and chance are told and can be asked for again, and what was left out."""

import json

import pytest

from innkeeper.service import Gateway, Request
from tests.service.gateway.calls import JSON_HEADERS, post

MACRO = "modules/smarttavern/macro"
TEXT = f"{MACRO}/process_text"


def test_same_call_again() -> None:
    """A reply's headers tell its moment and seed; a call with them gives the same bytes."""
    text = json.dumps({"text": "{{time}} {{random:1:1000000}}|{{python:random.random()}}"}).encode()
    gateway = Gateway()
    first = gateway.answer(Request.of("POST", f"/api/{TEXT}", JSON_HEADERS, text))
    again = gateway.answer(Request.of("POST", f"/api/{TEXT}", {**JSON_HEADERS, **first.headers}, text))
    assert first.body == again.body
    assert {"x-innkeeper-now", "x-innkeeper-seed"} <= set(again.headers)


def test_notes_are_counted_and_told_when_asked() -> None:
    """What could not be done is counted in a header, so the body stays the original's; with the header it is in the body."""
    body = json.dumps({"text": "{{foo}}{{python:9**9**8}}"}).encode()
    plain = Gateway().answer(Request.of("POST", f"/api/{TEXT}", JSON_HEADERS, body))
    assert plain.headers["x-innkeeper-notes"] == "2"
    assert list(json.loads(plain.body)) == ["text", "variables"]
    _, told = post(Gateway(), TEXT, body, X_Innkeeper_Explain="1")
    assert [(note["kind"], note["data"]["kind"]) for note in told["notes"]] == [
        ("macro", "unknown_macro"),
        ("limit", "sandbox_limit"),
    ]


@pytest.mark.parametrize("headers", [{"X_Innkeeper_Now": "noon"}, {"X_Innkeeper_Seed": "-1"}])
def test_bad_moment(headers: dict[str, str]) -> None:
    """A moment or a seed that is none is refused."""
    status, said = post(Gateway(), TEXT, {"text": "a"}, **headers)
    assert (status, said["problem"]["kind"]) == (422, "format")
