"""Messages: every one has an answer, and a call's result is what HTTP gives."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.service.gateway.messages import converse
from tests.service.gateway.calls import gateway, post

TEXT = "smarttavern/macro/process_text"


def said(message: Any) -> Any:
    """The answer to a message, as data."""
    return json.loads(converse(gateway(), message if isinstance(message, bytes) else json.dumps(message).encode()))


@pytest.mark.parametrize("function", [TEXT, f"modules/{TEXT}", f"/{TEXT}/"])
def test_call(function: str) -> None:
    """An operation is called by its path, with its namespace or without, and answers as over HTTP."""
    arguments = {"text": "{{upper:a}}"}
    reply = said({"type": "function_call", "function": function, "params": arguments})
    assert list(reply) == ["type", "function", "success", "result"]
    assert (reply["function"], reply["success"]) == (function, True)
    assert reply["result"] == post(gateway(), f"modules/{TEXT}", arguments)[1]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ({"function": "smarttavern.macro"}, "FUNCTION_PATH_FORMAT"),
        ({"function": 3}, "FUNCTION_PATH_FORMAT"),
        ({"function": "no/such"}, "NOT_FOUND"),
    ],
)
def test_no_operation(call: dict[str, Any], error: str) -> None:
    """A call of what is not there says so, with the function as it was written."""
    reply = said({"type": "function_call", **call})
    assert reply == {"type": "function_result", **call, "success": False, "error": error}


def test_refused() -> None:
    """Arguments that do not fit, and an operation's own refusal, are errors, not results."""
    for function, params in ((TEXT, {}), ("smarttavern/in_chat_constructor/construct", {"history": 3}), (TEXT, [])):
        assert said({"type": "function_call", "function": function, "params": params})["success"] is False
    role = {"history": [{"role": "wizard", "content": "x"}], "presets_in_chat": [], "world_books": []}
    reply = said({"type": "function_call", "function": "smarttavern/in_chat_constructor/construct", "params": role})
    assert set(reply["error"]) == {"error", "problem"}


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b'{"type": "function_call", "params": NaN}', "INVALID_JSON"),
        (b"[" * 100_000, "INVALID_JSON"),
        (b"{", "INVALID_JSON"),
        (b"", "INVALID_JSON"),
        (b"\xff", "INVALID_JSON"),
        (b"3", "INVALID_MESSAGE"),
        (b"{}", "UNKNOWN_TYPE"),
    ],
)
def test_garbage(message: bytes, code: str) -> None:
    """What is no message is told what is wrong with it."""
    assert said(message)["error_code"] == code


@given(st.binary(max_size=40))
def test_any_bytes(message: bytes) -> None:
    """Any bytes get an answer with a type."""
    assert "type" in said(message)
