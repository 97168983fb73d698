"""Spans: what a tracer gets of a call that asked a model."""

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from innkeeper.inference.response.response import ModelResponse, Usage
from innkeeper.service.guard.work import CallRecord
from innkeeper.service.telemetry.spans import Spans, spans


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
