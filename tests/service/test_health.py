"""Health, readiness and metrics over HTTP."""

import pytest

from innkeeper.service import Keys, Settings
from innkeeper.service.guard.grants import Grant
from tests.service.guard.test_guard import KEYED, OPEN, ask

GRANTED = Settings(
    keys=Keys("bot", "watch", grants={"bot": Grant(scope=("chat",)), "watch": Grant(scope=("metrics",))})
)


@pytest.mark.parametrize("settings", [OPEN, KEYED], ids=["open", "keyed"])
def test_probes(settings: Settings) -> None:
    """Whether the service is there, and whether it is ready, is told without a key; before its workers start it is not ready."""
    health, ready = ask(settings, "GET", "/health"), ask(settings, "GET", "/ready")
    assert (health.status_code, health.json()) == (200, {"status": "ok"})
    assert (ready.status_code, ready.json()) == (503, {"status": "starting", "waiting_for": ["workers"]})
    assert ready.headers["retry-after"] == "1"
    assert ask(settings, "POST", "/health", content=b"{}").status_code == 200


@pytest.mark.parametrize(("key", "status"), [("", 401), ("bot", 403), ("watch", 200)])
def test_metrics(key: str, status: int) -> None:
    """Metrics need a key where there are keys, and the scope where a key has scopes."""
    reply = ask(GRANTED, "GET", "/metrics", {"X-API-Key": key} if key else {})
    assert reply.status_code == status
    if status == 200:
        assert "innkeeper_lag_seconds" in reply.text
        assert "innkeeper_stores_bytes" in reply.text
        assert reply.headers["content-type"].startswith("text/plain")
