"""Spans: what OpenTelemetry's conventions for generative AI say of a call that asked a model.

Only the API is used: without an SDK that is set up, as ``opentelemetry-instrument`` does it, nothing happens. A server's span
has the model's as its child; both are made when the call has ended, with the times that it had, and belong to the trace that the
caller's ``traceparent`` names. What was said is in neither.

Names: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/
"""

from __future__ import annotations

from datetime import datetime
from importlib.util import find_spec
from typing import Any, Final

from innkeeper import __version__
from innkeeper.service.guard.work import CallRecord, Observer

_FAILED: Final = 500


def spans() -> list[Observer]:
    """Who makes the spans; nobody where ``opentelemetry-api`` (the extra ``telemetry``) is not installed."""
    return [] if find_spec("opentelemetry") is None else [Spans().observe]


class Spans:
    """Makes the spans of calls. ``provider`` is the tracer provider; the one that is set up where left out."""

    def __init__(self, provider: Any = None) -> None:
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._trace, self._propagator, self._has_provider = trace, TraceContextTextMapPropagator(), provider is not None
        self._tracer = trace.get_tracer("innkeeper", __version__, tracer_provider=provider)

    def observe(self, record: CallRecord) -> None:
        """The spans of a call that has ended; none for those that asked no model."""
        trace = self._trace
        if record.asked is None or record.ended is None or not self._is_heard():
            return
        parent = self._propagator.extract({"traceparent": record.trace}) if record.trace else None
        name = f"{record.method} {record.surface or record.path}"
        server = self._tracer.start_span(
            name, parent, trace.SpanKind.SERVER, server_attributes(record), start_time=_nanoseconds(record.at)
        )
        child = self._tracer.start_span(
            f"{record.operation or 'chat'} {record.model}".rstrip(),
            trace.set_span_in_context(server),
            trace.SpanKind.CLIENT,
            model_attributes(record),
            start_time=_nanoseconds(record.moment(record.asked)),
        )
        end = _nanoseconds(record.moment(record.ended))
        for span, failed in ((child, bool(record.error)), (server, record.status >= _FAILED)):
            if failed:
                span.set_status(trace.StatusCode.ERROR, record.error)
            span.end(end)

    def _is_heard(self) -> bool:
        """Whether an SDK is set up, so that spans go anywhere."""
        return self._has_provider or not isinstance(self._trace.get_tracer_provider(), self._trace.ProxyTracerProvider)


def server_attributes(record: CallRecord) -> dict[str, Any]:
    """What the span of the server says."""
    facts = {
        "http.request.method": record.method,
        "http.response.status_code": record.status,
        "http.route": record.surface,
        "innkeeper.request_id": record.number,
        "error.type": record.error,
    }
    return {name: value for name, value in facts.items() if value not in (None, "")}


def model_attributes(record: CallRecord) -> dict[str, Any]:
    """What the span of the model says."""
    usage = record.usage
    facts = {
        "gen_ai.operation.name": record.operation or "chat",
        "gen_ai.provider.name": record.provider,
        "gen_ai.request.model": record.model,
        "gen_ai.response.model": record.answered_by,
        "gen_ai.response.id": record.response_id,
        "gen_ai.response.finish_reasons": (record.finish_reason,) if record.finish_reason else None,
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "innkeeper.route": record.route,
        "innkeeper.profile": record.profile,
        "error.type": record.error,
    }
    return {name: value for name, value in facts.items() if value not in (None, "")}


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1_000
