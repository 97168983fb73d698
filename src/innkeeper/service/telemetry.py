"""What is known of the service from outside: a line a call, counters, spans. None has a prompt, an answer or a key in it.

**Logs** say who called what, which model answered, how much and how long, on the logger ``innkeeper.service``, as text or JSON.
``caller`` is a key's name, which is made from its digest, or an address.

**Metrics** are counters and times of all calls, as Prometheus reads them at ``/metrics``. Labels are names of the configuration
(routes, profiles) and of our own (surfaces, kinds of errors), never what a caller sent.

**Spans** follow OpenTelemetry's conventions for generative AI. Only the API is used: without an SDK that is set up, as
``opentelemetry-instrument`` does it, nothing happens. A server's span has the model's as its child. Both are made when a call has
ended, with the times that it had, and belong to the trace that the caller's ``traceparent`` names.
Names: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from datetime import datetime
from importlib.util import find_spec
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from innkeeper import __version__
from innkeeper.inference.routing.router import Router
from innkeeper.prompt.bounded_cache import stored_bytes
from innkeeper.prompt.machine import utc_now
from innkeeper.prompt.text import printable, redact, shorten
from innkeeper.service.guard.grants import PROBES
from innkeeper.service.guard.work import SOCKET, SWITCHED, CallRecord, Gate, Observer

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

# --------------------------------------------------------------------------------------------------------------- logs

LOG: Final = logging.getLogger("innkeeper.service")

SERVER_LOG: Final = logging.getLogger("uvicorn.error")
"""The server's own lines, which say what is wrong with it and not with a call."""

FORMATS: Final = ("none", "text", "json")
"""How `innkeeper serve` logs, on standard error."""

_SHOWN: Final = 200


def log_call(record: CallRecord) -> None:
    """Log a call that has ended; what watches over the service asks often, and is logged when the answer is no."""
    level = logging.DEBUG if record.path in PROBES and record.status == 200 else logging.INFO  # noqa: PLR2004 - HTTP's
    if LOG.isEnabledFor(level):
        words = f"{record.number} {record.method} {record.status} {record.seconds * 1000:.0f} ms"
        LOG.log(level, "%s", words, extra={"call": facts_of(record)})


def facts_of(record: CallRecord) -> dict[str, Any]:
    """What is logged of a call, without what is not known of it."""
    usage, model = record.usage, record.asked is not None
    facts = {
        "request_id": record.number,
        "caller": record.caller,
        "method": record.method,
        "path": _shown(quote(record.path[: 2 * _SHOWN], errors="replace")),
        "surface": record.surface,
        "status": record.status,
        "error": record.error,
        "upstream": _shown(record.upstream),
        "ms": round(record.seconds * 1000, 1),
        "first_byte_ms": None if record.first is None else round((record.first - record.began) * 1000, 1),
        "route": _shown(record.route),
        "profile": _shown(record.profile),
        "mode": record.mode,
        "body_sha256": record.body_sha256,
        "model": _shown(record.answered_by or record.model),
        "finish_reason": record.finish_reason,
        "input_tokens": usage.input_tokens if model else None,
        "output_tokens": usage.output_tokens if model else None,
        "cached_tokens": usage.cached_tokens if model else None,
        "estimated_tokens": (record.guess.input_tokens or 0) + (record.guess.output_tokens or 0) or None,
        "cost": record.cost or None,
    }
    return {name: value for name, value in facts.items() if value not in (None, "")}


def _shown(text: str) -> str:
    return shorten(redact(printable(text)), _SHOWN)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, and the facts of the call, or the message where the line is about none."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        facts: Mapping[str, Any] = getattr(record, "call", None) or {"message": record.getMessage()}
        head = {"time": utc_now().isoformat(timespec="milliseconds"), "level": record.levelname.lower()}
        return json.dumps({**head, **facts}, ensure_ascii=False, separators=(",", ":"))


def log_to_stderr(kind: str) -> None:
    """Have the service's lines written to standard error, as ``text`` or ``json``; ``none``: leave logging as it is."""
    if kind == "none":
        return
    handler = logging.StreamHandler()
    handler.setFormatter(
        JsonFormatter() if kind == "json" else logging.Formatter("%(asctime)s %(levelname)s %(message)s")
    )
    for logger in (LOG, SERVER_LOG):
        logger.addHandler(handler)
        logger.propagate = False
    LOG.setLevel(logging.INFO)


# ------------------------------------------------------------------------------------------------------------ metrics

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120)
_METHODS: Final = frozenset({"GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS", SOCKET})
_TOKENS: Final = ("input", "output", "cached", "reasoning")


class ServiceMetrics:
    """The metrics of one application. They need ``prometheus-client``, of the extra ``serve``."""

    def __init__(self, gate: Gate) -> None:
        from prometheus_client import CollectorRegistry, Counter, Histogram

        self.registry: CollectorRegistry = CollectorRegistry()
        named: dict[str, Any] = {"namespace": "innkeeper", "registry": self.registry}
        self._calls = Counter("calls", "Calls that have ended.", ("surface", "method", "status"), **named)
        self._errors = Counter("errors", "Calls that ended with an error of this kind.", ("surface", "error"), **named)
        times = {**named, "buckets": _SECONDS}
        self._seconds = Histogram("call_seconds", "How long calls took.", ("surface",), **times)
        self._first = Histogram("first_byte_seconds", "How long the first byte took.", ("surface",), **times)
        self._tokens = Counter("tokens", "Tokens as providers counted them.", ("route", "profile", "kind"), **named)
        self._cost = Counter(
            "cost", "What the answers cost, by the prices of the service.", ("route", "profile"), **named
        )
        self._watch(gate, named)

    def _watch(self, gate: Gate, named: dict[str, Any]) -> None:
        """What is going on now, looked at when it is asked for."""
        from prometheus_client import Gauge

        for name, words, look in (
            ("calls_open", "Calls that are being computed.", gate.calls.total),
            ("answers_open", "Calls that wait for a model.", gate.answers.total),
            ("bodies_bytes", "Bytes of bodies and replies that are held.", gate.volume.total),
            ("stores_bytes", "Bytes that stores in memory hold together.", stored_bytes),
            ("lag_seconds", "How late the event loop is.", lambda: gate.lag.seconds),
        ):
            Gauge(name, words, **named).set_function(look)

    def watch_router(self, router: Router) -> None:
        """Show which deployments are closed, and why: looked at when it is asked for."""
        from prometheus_client.core import GaugeMetricFamily

        class Closed:
            def collect(self) -> Iterator[Any]:
                words = "Deployments to which nothing goes now, and why."
                family = GaugeMetricFamily("innkeeper_deployment_closed", words, labels=("deployment", "state"))
                for each in router.report(monotonic()):
                    if each.state != "open":
                        family.add_metric((each.deployment, each.state), 1)
                yield family

        self.registry.register(Closed())

    def observe(self, record: CallRecord) -> None:
        """Count a call that has ended."""
        surface = record.surface or "other"
        self._calls.labels(surface, record.method if record.method in _METHODS else "other", record.status).inc()
        if record.status != SWITCHED:  # a WebSocket stays open as long as its client likes; its messages are calls
            self._seconds.labels(surface).observe(record.seconds)
        if record.first is not None:
            self._first.labels(surface).observe(record.first - record.began)
        if record.error:
            self._errors.labels(surface, record.error).inc()
        if record.asked is not None:
            self._model(record)

    def _model(self, record: CallRecord) -> None:
        for kind in _TOKENS:
            if count := getattr(record.usage, f"{kind}_tokens"):
                self._tokens.labels(record.route, record.profile, kind).inc(count)
        if record.cost:
            self._cost.labels(record.route, record.profile).inc(record.cost)

    def text(self) -> bytes:
        """The page."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)


# -------------------------------------------------------------------------------------------------------------- spans

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
