"""Metrics: what Prometheus reads of calls."""

import pytest

from innkeeper.inference.response.response import Usage
from innkeeper.service.guard.work import CallRecord, Gate
from innkeeper.service.telemetry.metrics import ServiceMetrics


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
