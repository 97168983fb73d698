"""What is known of the service from outside: lines, metrics, spans; no prompt, answer or key is in them."""

import io
import json
import logging

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from innkeeper.inference.response.response import ModelResponse, Usage
from innkeeper.service.guard.work import CallRecord, Gate
from innkeeper.service.telemetry import (
    LOG,
    SERVER_LOG,
    JsonFormatter,
    ServiceMetrics,
    Spans,
    facts_of,
    log_call,
    log_to_stderr,
    spans,
)

# ----------------------------------------------------------------------------------------------------------------- logs


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
    assert not {"error", "cost", "cached_tokens", "estimated_tokens"} & facts.keys()
    guessed = call()
    guessed.book(Usage(input_tokens=5, output_tokens=2), 0.5, estimated=True)
    assert (facts_of(guessed)["estimated_tokens"], facts_of(guessed)["cost"]) == (7, 0.5)
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


# -------------------------------------------------------------------------------------------------------------- metrics


@pytest.fixture
def gate() -> Gate:
    """A gate."""
    return Gate(calls=3, volume=100)


def test_model_call(gate: Gate) -> None:
    """Tokens and cost are counted by route and profile, by kind."""
    metrics, record = ServiceMetrics(gate), CallRecord(method="POST", surface="chat", status=200)
    record.asks(route="local", profile="mira", model="what-the-caller-asked-for")
    record.usage, record.cost, record.first = Usage(input_tokens=7, output_tokens=3), 0.5, record.began + 0.01
    record.ended = record.began + 0.02
    metrics.observe(record)
    text = metrics.text().decode()
    assert 'innkeeper_calls_total{method="POST",status="200",surface="chat"} 1.0' in text
    assert 'innkeeper_tokens_total{kind="input",profile="mira",route="local"} 7.0' in text
    assert 'innkeeper_cost_total{profile="mira",route="local"} 0.5' in text
    assert 'innkeeper_call_seconds_bucket{le="0.02",surface="chat"}' in text
    assert "what-the-caller-asked-for" not in text


def test_labels_are_few(gate: Gate) -> None:
    """Whatever callers send, there are only so many rows."""
    metrics = ServiceMetrics(gate)
    for number in range(50):
        metrics.observe(CallRecord(method=f"M{number}", path=f"/p{number}", status=404, error="unknown_name"))
    text = metrics.text().decode()
    assert 'innkeeper_calls_total{method="other",status="404",surface="other"} 50.0' in text
    assert 'innkeeper_errors_total{error="unknown_name",surface="other"} 50.0' in text


def test_now(gate: Gate) -> None:
    """What goes on now is looked at when it is asked for."""
    metrics = ServiceMetrics(gate)
    with gate.ticket("a") as ticket, gate.ticket("a") as other:
        ticket.carry(40)
        ticket.enter()
        other.enter("chat")
        text = metrics.text().decode()
        assert "innkeeper_bodies_bytes 40.0" in text
        assert "innkeeper_calls_open 1.0" in text
        assert "innkeeper_answers_open 1.0" in text
    assert "innkeeper_calls_open 0.0" in metrics.text().decode()


# ---------------------------------------------------------------------------------------------------------------- spans


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    """What takes the spans."""
    return InMemorySpanExporter()


@pytest.fixture
def tracing(exporter: InMemorySpanExporter) -> Spans:
    """Spans that go there."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Spans(provider)


def ended(**facts: object) -> CallRecord:
    """A call that asked a model and has ended."""
    record = CallRecord(method="POST", surface="chat", status=200, number="n-1")
    record.asks(route="local", model="m", provider="openai")
    record.book(Usage(input_tokens=7, output_tokens=3), 0, estimated=False)
    record.answered(ModelResponse(id="r", model="m", created=1, finish="stop"))
    for name, value in facts.items():
        setattr(record, name, value)
    record.ended = record.began + 0.5
    return record


def test_pair(tracing: Spans, exporter: InMemorySpanExporter) -> None:
    """The model's span is a child of the server's, with the names of the conventions and the times of the call."""
    tracing.observe(ended(trace="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
    model, server = exporter.get_finished_spans()
    assert (model.kind, server.kind) == (SpanKind.CLIENT, SpanKind.SERVER)
    assert model.name == "chat m"
    assert model.parent is not None
    assert model.parent.span_id == server.context.span_id
    assert f"{server.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert model.attributes is not None
    assert model.attributes["gen_ai.usage.input_tokens"] == 7
    assert model.attributes["gen_ai.response.finish_reasons"] == ("stop",)
    assert model.attributes["gen_ai.provider.name"] == "openai"
    assert server.start_time is not None
    assert server.end_time is not None
    assert server.end_time - server.start_time == pytest.approx(0.5e9, rel=0.01)


def test_failure(tracing: Spans, exporter: InMemorySpanExporter) -> None:
    """An error has its kind; a broken trace of the caller begins one of our own."""
    tracing.observe(ended(status=502, error="http", trace="00-junk"))
    model, server = exporter.get_finished_spans()
    assert {span.status.status_code for span in (model, server)} == {StatusCode.ERROR}
    assert model.attributes is not None
    assert model.attributes["error.type"] == "http"
    assert server.parent is None


def test_no_model(tracing: Spans, exporter: InMemorySpanExporter) -> None:
    """A call that asked no model has no span."""
    tracing.observe(CallRecord(ended=1.0))
    assert not exporter.get_finished_spans()


def test_without_sdk() -> None:
    """Where nothing is set up, nothing happens."""
    for observe in spans():
        observe(ended())
