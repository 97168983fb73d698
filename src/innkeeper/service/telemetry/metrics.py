"""Metrics: counters and times of all calls, as Prometheus reads them at ``/metrics``.

Labels are names of the configuration (routes, profiles) and of our own (surfaces, kinds of errors), never what a caller sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from innkeeper.prompt.bounded_cache import stored_bytes
from innkeeper.service.guard.work import SOCKET, SWITCHED, CallRecord, Gate

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


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
