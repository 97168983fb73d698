"""WebSockets: how many, for how long, and what a full house answers."""

import asyncio
import json
from typing import Any

import pytest

from innkeeper.prompt.errors import InnkeeperError
from innkeeper.service import Gateway, HttpReply, Request, Settings
from innkeeper.service.errors import TimeBudgetError, WorkerLostError
from innkeeper.service.gateway import routes as socket
from innkeeper.service.gateway.routes import Sockets
from innkeeper.service.guard.work import CallRecord, Gate

TEXT = "smarttavern/macro/process_text"


class Computed:
    """A pool that answers at once, in this process, or fails."""

    def __init__(self, gateway: Gateway, error: InnkeeperError | None = None) -> None:
        self._gateway = gateway
        self._error = error

    async def answer(self, request: Request, caller: str) -> HttpReply:
        """The reply."""
        if self._error is not None:
            raise self._error
        return self._gateway.answer(request)


RECORD = CallRecord(caller="a")


def made(gateway: Gateway, error: InnkeeperError | None = None, calls: int = 2) -> Sockets:
    """The WebSockets of a gateway."""
    return Sockets(gateway, Gate(calls=calls, volume=300), Computed(gateway, error))  # type: ignore[arg-type]


def converse(sockets: Sockets, *messages: dict[str, Any], fail: bool = False) -> list[dict[str, Any]]:
    """What the service sends to a client with these messages, which then falls silent."""

    async def run() -> list[dict[str, Any]]:
        waiting, sent = [{"type": "websocket.connect"}, *messages], []

        async def receive() -> Any:
            return waiting.pop(0) if waiting else await asyncio.sleep(60)

        async def send(event: Any) -> None:
            if fail and event["type"] == "websocket.send":
                raise OSError("gone")
            sent.append(event)

        await sockets({"type": "websocket", "headers": [], "path": "/ws", "innkeeper.record": RECORD}, receive, send)
        return sent

    return asyncio.run(run())


def test_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that is silent for too long is closed, and counted no more."""
    monkeypatch.setattr(socket, "IDLE_SECONDS", 0.01)
    gateway = Gateway()
    sent = converse(made(gateway), {"type": "websocket.receive", "text": '{"type": "ping"}'})
    assert [event["type"] for event in sent] == ["websocket.accept", "websocket.send", "websocket.close"]
    assert gateway.state.sockets == 0


@pytest.mark.parametrize("fail", [True, False])
def test_gone(fail: bool) -> None:
    """A client that goes away, also in the middle of an answer, is counted no more."""
    gateway = Gateway()
    converse(
        made(gateway),
        {"type": "websocket.receive", "text": "{}"},
        {"type": "websocket.disconnect", "code": 1006},
        fail=fail,
    )
    assert gateway.state.sockets == 0


def test_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """One connection too many is refused before it is accepted."""
    monkeypatch.setattr(socket, "MAX_SOCKETS", 0)
    assert [event["type"] for event in converse(made(Gateway()))] == ["websocket.close"]


CALL = {"type": "function_call", "function": TEXT, "params": {"text": "a"}}


@pytest.mark.parametrize(
    ("calls", "size", "error", "code"),
    [
        (0, 0, None, "OVERLOAD"),
        (2, 500, None, "OVERLOAD"),
        (2, 2_000, None, "BODY_LIMIT"),
        (2, 0, TimeBudgetError("x", limit="TIME_BUDGET", allowed=1), "TIME_BUDGET"),
        (2, 0, WorkerLostError("x"), "WORKER_LOST"),
    ],
)
def test_limits(calls: int, size: int, error: InnkeeperError | None, code: str) -> None:
    """Calls over a WebSocket are under the limits of all calls, and a refusal is an answer."""
    sockets = made(Gateway(Settings(max_body=1_000)), error, calls)
    reply = json.loads(asyncio.run(sockets.reply({"text": json.dumps(CALL) + " " * size}, RECORD)))
    assert (reply["success"], reply["error"]["error_code"]) == (False, code)


def test_large_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that is larger than a message may be is refused with its size."""
    monkeypatch.setattr(socket, "MAX_SOCKET_MESSAGE", 10)
    reply = json.loads(asyncio.run(made(Gateway()).reply({"text": json.dumps(CALL)}, RECORD)))
    assert reply["error"]["problem"]["details"]["limit"] == "MAX_SOCKET_MESSAGE"


@pytest.mark.parametrize("event", [{"text": '{"type": "ping"}'}, {"bytes": b'{"type":"ping"}'}])
def test_ping(event: dict[str, Any]) -> None:
    """A ping is answered whatever else is going on."""
    assert asyncio.run(made(Gateway(), calls=0).reply(event, RECORD)) == b'{"type":"pong"}'
