"""Health, readiness and metrics over HTTP."""

from time import monotonic

import pytest
from msgspec import structs

from innkeeper import __version__
from innkeeper.inference.routing.deployment import EMBEDDED
from innkeeper.inference.routing.failures import Failure
from innkeeper.inference.routing.health import LONGEST_REST
from innkeeper.inference.routing.policy import RoutePolicy
from innkeeper.inference.routing.router import Router
from innkeeper.service import Keys, Settings
from innkeeper.service.guard.grants import Grant
from innkeeper.service.health import ADDRESSES
from innkeeper.service.operations.surfaces import LibrarySurfaces
from tests.service.guard.test_guard import KEYED, OPEN, applications, ask  # noqa: F401 - a fixture

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


@pytest.mark.parametrize("settings", [OPEN, KEYED], ids=["open", "keyed"])
def test_the_address_says_what_is_here(settings: Settings) -> None:
    """The address that is printed at the start says name, version and where to go, to browsers as a page, and no more."""
    reply = ask(settings, "GET", "/", {"accept": "application/json"})
    models = ["local"] if settings is OPEN else []  # who has no key learns no names
    assert reply.json() == {"name": "Innkeeper", "version": __version__, "model_names": models, **ADDRESSES}
    page = ask(settings, "GET", "/", {"accept": "text/html,*/*"})
    assert page.headers["content-type"].startswith("text/html")
    assert all(f'href="{path}"' in page.text for path in ADDRESSES.values())
    assert "<script" not in page.text
    assert ("Models: local." in page.text) == (settings is OPEN)


def test_addresses_are_there() -> None:
    """Every address on the page at the root is answered."""
    for path in ADDRESSES.values():
        assert ask(OPEN, "GET", path).status_code in {200, 503}  # the second until workers have started


def test_what_a_running_service_passes_over_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deployment that rests, or whose breaker is open, is listed with its reason, and counted where Prometheus looks."""
    learnt = Router([EMBEDDED])
    learnt.end(EMBEDDED, lambda health, _: health.failed(Failure.QUOTA, monotonic(), RoutePolicy()))
    monkeypatch.setattr(LibrarySurfaces, "router", learnt)
    own = structs.replace(GRANTED, max_calls=7)  # an application that no other test has asked for
    listed = ask(own, "GET", "/v1/routes", {"X-API-Key": "watch"}).json()
    assert listed["object"] == "list"
    (report,) = listed["data"]
    assert (report["deployment"], report["state"], report["failures"]) == (EMBEDDED.name, "cooldown", 0)
    assert 0 < report["seconds"] <= LONGEST_REST
    numbers = ask(own, "GET", "/metrics", {"X-API-Key": "watch"}).text
    assert f'innkeeper_deployment_closed{{deployment="{EMBEDDED.name}",state="cooldown"}} 1.0' in numbers
    assert ask(GRANTED, "GET", "/v1/routes", {"X-API-Key": "bot"}).status_code == 403


@pytest.mark.parametrize(("key", "status"), [("", 401), ("bot", 403), ("watch", 200)])
def test_metrics(key: str, status: int) -> None:
    """Metrics need a key where there are keys, and the scope where a key has scopes."""
    reply = ask(GRANTED, "GET", "/metrics", {"X-API-Key": key} if key else {})
    assert reply.status_code == status
    if status == 200:
        assert "innkeeper_lag_seconds" in reply.text
        assert "innkeeper_stores_bytes" in reply.text
        assert reply.headers["content-type"].startswith("text/plain")
