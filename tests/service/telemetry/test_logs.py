"""Logs: a line a call, in which nothing is that was said."""

import io
import json
import logging

import pytest

from innkeeper.inference.response.response import Usage
from innkeeper.service.guard.work import CallRecord
from innkeeper.service.telemetry.logs import LOG, SERVER_LOG, JsonFormatter, facts_of, log_call, log_to_stderr


def call() -> CallRecord:
    """A call that has ended."""
    record = CallRecord(
        number="abc-1", caller="0123456789abcdef", method="POST", path="/v1/chat/completions", surface="chat"
    )
    record.asks(route="local", model="m", profile="mira")
    record.usage, record.status, record.ended = Usage(input_tokens=7, output_tokens=3), 200, record.began + 0.25
    record.first = record.began + 0.1
    return record


def test_facts() -> None:
    """What is known is told under its name; what is not is left out."""
    facts = facts_of(call())
    assert facts["request_id"] == "abc-1"
    assert (facts["route"], facts["profile"], facts["model"], facts["status"]) == ("local", "mira", "m", 200)
    assert (facts["ms"], facts["first_byte_ms"], facts["input_tokens"], facts["output_tokens"]) == (250.0, 100.0, 7, 3)
    assert not {"error", "cost", "cached_tokens"} & facts.keys()
    assert facts_of(CallRecord()).keys() <= {"status", "ms"}


def test_hostile_path() -> None:
    """What a caller writes into a path is short, on one line and without what looks like a key."""
    facts = facts_of(CallRecord(path="/a\n\x1b[31m/" + "sk-" + "a1B2" * 12 + "x" * 5_000))
    assert len(facts["path"]) <= 200
    assert facts["path"].isprintable()
    assert "a1B2a1B2" not in facts["path"]


def test_json_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line is one object, also one that is about no call; `none` changes nothing."""
    stream = io.StringIO()
    monkeypatch.setattr(SERVER_LOG, "handlers", [])
    monkeypatch.setattr(SERVER_LOG, "propagate", True)
    for name, value in (("handlers", []), ("level", LOG.level), ("propagate", True)):
        monkeypatch.setattr(LOG, name, value)
    log_to_stderr("none")
    assert not LOG.handlers
    log_to_stderr("json")
    monkeypatch.setattr(LOG.handlers[0], "stream", stream)
    LOG.isEnabledFor(logging.INFO)
    LOG.manager._clear_cache()  # type: ignore[attr-defined]  # the level was put back behind its back
    log_call(call())
    LOG.error("%s: internal error: %s", "abc-2", "RuntimeError")
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert (first["level"], first["request_id"]) == ("info", "abc-1")
    assert second["message"] == "abc-2: internal error: RuntimeError"


def test_text_line(caplog: pytest.LogCaptureFixture) -> None:
    """As text a line has number, method, status and time."""
    with caplog.at_level(logging.INFO, LOG.name):
        log_call(call())
    assert caplog.messages == ["abc-1 POST 200 250 ms"]
    assert JsonFormatter().format(caplog.records[0]).startswith('{"time":')
