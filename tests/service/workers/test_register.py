"""The register over HTTP: enrolment with an invitation, heartbeats, draining, and the document's address of an active worker."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient

from innkeeper.library.db.engine import Database
from innkeeper.library.workers.states import WorkerState
from innkeeper.library.workers.store import WorkerStore
from innkeeper.service.guard.grants import Keys
from innkeeper.service.guard.guard import Guard
from innkeeper.service.guard.work import Gate
from innkeeper.service.operations.http import routes
from innkeeper.service.operations.library import SharedLibrary
from innkeeper.service.operations.paths import WORKERS
from innkeeper.service.operations.scope import Resources
from innkeeper.service.settings import Settings
from innkeeper.service.workers.surface import worker_registry


def asked(library: SharedLibrary, settings: Settings) -> TestClient:
    """A client of a register behind the guard."""
    gate = Gate(calls=settings.max_calls, volume=settings.max_bodies, keys=settings.keys)
    guard = Middleware(Guard, settings=settings, gate=gate)
    app = Starlette(
        routes=routes(WORKERS, Resources(workers=partial(worker_registry, settings, library))), middleware=[guard]
    )
    return TestClient(app, "http://127.0.0.1", headers={"x-api-key": "k"})


class Registered:
    """A register with a client, and the store behind it."""

    def __init__(self, path: Path, **options: Any) -> None:
        settings = Settings(database=str(path), keys=Keys("k"), **options).checked()
        self.library = SharedLibrary(settings, watch=False)
        self.client = asked(self.library, settings)
        self.db = Database.open(path)
        self.store = WorkerStore(self.db)

    def post(self, path: str, **body: Any) -> tuple[int, Any]:
        """Status and body."""
        reply = self.client.post(path, json=body)
        return reply.status_code, reply.json()

    def enrol(
        self, url: str = "http://10.1.2.3:7861", hosts: tuple[str, ...] = ("10.0.0.0/8",), **more: Any
    ) -> tuple[int, Any]:
        """Invite and enrol."""
        return self.post("/v1/workers/enrol", token=self.store.invite(hosts=hosts), url=url, **more)


@pytest.fixture
def here(tmp_path: Path) -> Any:
    """A register with a database of its own."""
    made = Registered(tmp_path / "library.db")
    yield made
    made.library.close()
    made.db.close()


def test_a_life(here: Registered) -> None:
    """Enrolled, renewed, found by its kind, drained; the list shows no token."""
    status, made = here.enrol(state="starting", capabilities={"chat": True}, slots=2)
    assert status == 200
    assert (made["lease_seconds"], made["beat_seconds"]) == (45.0, 15.0)
    own = {"id": made["id"], "token": made["token"]}
    assert here.post("/functions/v1/get-active-worker-url", worker_type="chat")[0] == 404
    assert here.post("/v1/workers/heartbeat", **own, state="ready", capabilities={"chat": True})[1]["state"] == "ready"
    status, found = here.post("/functions/v1/get-active-worker-url", worker_type="chat")
    assert (status, found["success"], found["worker_url"], found["workerUrl"]) == (
        200,
        True,
        *["http://10.1.2.3:7861"] * 2,
    )
    assert (found["isHealthy"], found["worker_type"], found["workerCapabilities"]) == (True, "chat", {"chat": True})
    assert "/chat" in found["supportedEndpoints"]
    assert here.post("/v1/workers/drain", **own)[1] == {"state": "draining"}
    assert here.post("/v1/workers/heartbeat", **own, state="ready")[1]["state"] == "draining"
    assert here.post("/functions/v1/get-active-worker-url", worker_type="chat")[0] == 404
    text = here.client.get("/v1/workers").text
    assert made["id"] in text
    assert made["token"] not in text
    assert "token" not in text


def test_document_names(here: Registered) -> None:
    """The document's registration works with a token; a worker for videos is never given a chat, and the other way round."""
    token = here.store.invite(hosts=["10.0.0.0/8"])
    asked = {"worker_url": "http://10.0.0.9:7861/", "token": token, "auto_registered": True}
    status, made = here.post("/functions/v1/register-chat-worker", **asked)
    assert (status, made["success"], made["auto_registered"]) == (200, True, True)
    assert (
        here.post("/functions/v1/get-active-worker-url", worker_type="chat")[1]["worker_url"] == "http://10.0.0.9:7861"
    )
    assert here.post("/functions/v1/get-active-worker-url")[0] == 404  # wan
    assert here.post("/functions/v1/register-chat-worker", worker_url="http://10.0.0.9:7861")[0] == 400
    assert here.post("/functions/v1/update-worker-url", worker_url="http://10.0.0.9:1", token="x")[0] == 401
    here.store.move(made["id"], WorkerState.DEGRADED)
    found = here.post("/functions/v1/get-active-worker-url", worker_type="chat")[1]
    assert (found["isHealthy"], found["healthError"]) == (False, "degraded")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:7861",
        "http://localhost:7861",
        "http://169.254.169.254/latest",
        "http://[::1]:80",
        "http://2130706433/",
        "http://192.168.0.1",
        "http://user:word@10.0.0.1",
        "http://10.0.0.1/?a=b",
        "http://no-such-host.invalid",
        "file:///etc/passwd",
        "ftp://10.0.0.1",
        "10.0.0.1",
        "http://",
    ],
)
def test_addresses(here: Registered, url: str) -> None:
    """An address that is neither of the open internet nor what the invitation allows is refused, and uses no invitation up."""
    token = here.store.invite(hosts=["10.0.0.0/8"])
    assert here.post("/v1/workers/enrol", token=token, url=url)[0] == 403
    assert here.store.list() == ()
    assert here.store.invitation(token).used_at is None


def test_operator_allows(tmp_path: Path) -> None:
    """What the operator allows for the service is allowed for workers."""
    made = Registered(tmp_path / "library.db", allow_hosts=("localhost:7861",))
    assert made.enrol("http://localhost:7861", hosts=())[0] == 200
    assert made.enrol("http://localhost:7862", hosts=())[0] == 403
    made.library.close()
    made.db.close()


def test_what_is_wrong(here: Registered) -> None:
    """Wrong bodies, states, kinds and tokens are told apart from one another."""
    made = here.enrol()[1]
    own = {"id": made["id"], "token": made["token"]}
    assert here.post("/v1/workers/heartbeat", **{**own, "token": "x"})[0] == 401
    assert here.post("/v1/workers/drain", **{**own, "token": "x"})[0] == 401
    assert here.post("/v1/workers/heartbeat", **own, state="happy")[0] == 400
    assert here.post("/v1/workers/heartbeat", **own, slots=0)[0] == 400
    assert here.post("/v1/workers/heartbeat", **own, more=1)[0] == 400
    assert here.enrol(kind="song")[0] == 400
    assert here.client.post("/v1/workers/enrol", content=b'{"token":"\xff"}').status_code == 400
    assert here.post("/functions/v1/get-active-worker-url", worker_type=1)[0] == 400


def test_no_database() -> None:
    """A service without a database has no workers, and says how it would have."""
    settings = Settings().checked()
    reply = asked(SharedLibrary(settings), settings).get("/v1/workers")
    assert reply.status_code == 503
    assert "--database" in reply.json()["error"]["message"]
