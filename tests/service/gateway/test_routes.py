"""WebSockets: how many, for how long, and what a full house answers."""

import asyncio
import json
from typing import Any

import pytest

from innkeeper.service import Gateway
from innkeeper.service.gateway import routes as socket
from innkeeper.service.gateway.routes import Sockets
from innkeeper.service.work import Gate

TEXT = "smarttavern/macro/process_text"


def gate(**limits: Any) -> Gate:
    """A gate for tests."""
    given: dict[str, Any] = {"calls": 2, "volume": 100, "workers": 1, "seconds": 5}
    return Gate(**{**given, **limits})


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

        await sockets({"type": "websocket", "headers": [], "path": "/ws"}, receive, send)
        return sent

    return asyncio.run(run())


def test_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that is silent for too long is closed, and counted no more."""
    monkeypatch.setattr(socket, "IDLE_SECONDS", 0.01)
    gateway = Gateway()
    sent = converse(Sockets(gateway, gate()), {"type": "websocket.receive", "text": '{"type": "ping"}'})
    assert [event["type"] for event in sent] == ["websocket.accept", "websocket.send", "websocket.close"]
    assert gateway.state.sockets == 0


@pytest.mark.parametrize("fail", [True, False])
def test_gone(fail: bool) -> None:
    """A client that goes away, also in the middle of an answer, is counted no more."""
    gateway = Gateway()
    converse(
        Sockets(gateway, gate()),
        {"type": "websocket.receive", "text": "{}"},
        {"type": "websocket.disconnect", "code": 1006},
        fail=fail,
    )
    assert gateway.state.sockets == 0


def test_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """One connection too many is refused before it is accepted."""
    monkeypatch.setattr(socket, "MAX_SOCKETS", 0)
    assert [event["type"] for event in converse(Sockets(Gateway(), gate()))] == ["websocket.close"]


@pytest.mark.parametrize(("limits", "code"), [({"calls": 0}, "OVERLOAD"), ({"seconds": -1}, "TIME_BUDGET")])
def test_limits(limits: dict[str, Any], code: str) -> None:
    """Calls over a WebSocket are under the same limits."""
    message = {"type": "function_call", "function": TEXT, "params": {"text": "a"}}
    sockets = Sockets(Gateway(), gate(**limits))
    reply = asyncio.run(sockets.reply({"text": json.dumps(message)}))
    assert (reply["success"], reply["error"]["error_code"]) == (False, code)
