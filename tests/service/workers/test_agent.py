"""The agent: a worker enrols once, renews its lease, and drains when it is told to."""

from __future__ import annotations

import asyncio
import stat
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from innkeeper.inference.routing.models import RouteModels
from innkeeper.inference.routing.route import Route, Routes
from innkeeper.jobs.worker.engine import WorkerEngine
from innkeeper.library.workers.states import WorkerState
from innkeeper.library.workers.store import call_key, digest
from innkeeper.prompt.errors import UnavailableError, UsageError
from innkeeper.service.workers.agent import Membership, WorkerAgent, enrol

BEATS = 4
MEMBER = Membership("http://inn", "http://worker", "w1", "ab" * 32)


class Answers:
    """A service that answers with these, the last again and again; what it was sent is kept."""

    def __init__(self, *replies: tuple[int, Any]) -> None:
        self.replies = list(replies)
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.heard = threading.Event()

    def __call__(self, path: str, body: Mapping[str, Any]) -> tuple[int, Any]:
        self.sent.append((path, dict(body)))
        if len(self.sent) >= BEATS:
            self.heard.set()
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


def lived(*replies: tuple[int, Any]) -> tuple[WorkerState, Answers]:
    """The state of a worker that has renewed its lease some times, and what the service was sent."""
    service = Answers(*replies)

    async def run() -> WorkerState:
        engine = WorkerEngine({"m": Route(name="m", model="m")}, RouteModels(Routes()))
        await engine.start()
        agent = WorkerAgent(engine, MEMBER, service, seconds=0.01)
        async with agent.around():
            await asyncio.to_thread(service.heard.wait, 10)
            state = engine.state
        await engine.close()
        return state

    return asyncio.run(run()), service


def test_enrols() -> None:
    """An invitation becomes a membership, from which the key of callers follows; a refusal is told in the service's words."""
    service = Answers((200, {"id": "w1", "token": "ab" * 32}))
    assert enrol("http://inn", "http://worker", "inv", {"slots": 2}, service) == MEMBER
    assert service.sent == [("/v1/workers/enrol", {"token": "inv", "url": "http://worker", "slots": 2})]
    assert MEMBER.call_key == call_key(digest(MEMBER.token))
    with pytest.raises(UnavailableError, match="opens nothing"):
        enrol("http://inn", "u", "inv", {}, Answers((401, {"error": {"message": "this token opens nothing here"}})))
    with pytest.raises(UnavailableError, match="status 0"):
        enrol("http://inn", "u", "inv", {}, Answers((0, {})))


def test_renews() -> None:
    """It renews its lease with what it can do, and at the end says that it is dead."""
    state, service = lived((200, {"state": "ready"}))
    assert state is WorkerState.READY
    path, body = service.sent[0]
    assert (path, body["id"], body["state"]) == ("/v1/workers/heartbeat", "w1", "ready")
    assert body["capabilities"]["pure_inference"]
    assert service.sent[-1][1]["state"] == "dead"


@pytest.mark.parametrize("reply", [(200, {"state": "draining"}), (200, {"state": "quarantined"}), (401, {})])
def test_drains(reply: tuple[int, Any]) -> None:
    """It takes nothing more where the service says so, or does not know it any more."""
    assert lived((200, {"state": "ready"}), reply)[0] is WorkerState.DRAINING


@pytest.mark.parametrize("reply", [(0, {}), (503, {"error": {}}), (200, ["?"])])
def test_a_service_that_is_away(reply: tuple[int, Any]) -> None:
    """A service that does not answer is asked again; the worker goes on."""
    assert lived(reply)[0] is WorkerState.READY


def test_kept(tmp_path: Path) -> None:
    """What is kept is for its owner alone, and counts for the same service and address only."""
    path = tmp_path / "worker.json"
    assert Membership.read(path, MEMBER.service, MEMBER.url) is None
    MEMBER.keep(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Membership.read(path, MEMBER.service, MEMBER.url) == MEMBER
    assert Membership.read(path, MEMBER.service, "http://elsewhere") is None
    path.write_text("?")
    with pytest.raises(UsageError):
        Membership.read(path, MEMBER.service, MEMBER.url)
