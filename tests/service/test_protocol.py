"""Protocol: what is written together, and timers that are made once."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("uvicorn")

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import RequestResponseCycle
from uvicorn.server import ServerState

from innkeeper.service.protocol import ConnectionLimits, IdleTimer, protocols

HEAD: dict[str, Any] = {"type": "http.response.start", "status": 200, "headers": []}
REQUEST = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Wire(asyncio.Transport):
    """A transport that keeps what is written, and is never full."""

    protocol: Any = None

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.unsent = 0
        self.ended = ""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def get_protocol(self) -> Any:
        return self.protocol

    def is_closing(self) -> bool:
        return bool(self.ended)

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def close(self) -> None:
        self.ended = "closed"

    def abort(self) -> None:
        self.ended = "aborted"

    def resume_reading(self) -> None:
        pass

    def pause_reading(self) -> None:
        pass


def answered(reply: Callable[[Send], Awaitable[None]], *requests: bytes) -> list[bytes]:
    """What is written when an application answers so."""

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await reply(send)
        over.set()

    async def use() -> list[bytes]:
        http: Any = protocols(ConnectionLimits(60, 60, 10, 600))[0]
        config = Config(app, http=http, lifespan="off", log_config=None, access_log=False)
        config.load()
        wire = Wire()
        wire.protocol = http(config=config, server_state=ServerState(), app_state={})
        wire.protocol.connection_made(wire)
        for request in requests or (REQUEST,):
            wire.protocol.data_received(request)
        await over.wait()
        await asyncio.sleep(0)
        wire.protocol.connection_lost(None)
        wire.protocol = None
        return wire.written

    over = asyncio.Event()
    return asyncio.run(use())


def body(data: bytes, *, more: bool = False) -> dict[str, Any]:
    """A piece of a body."""
    return {"type": "http.response.body", "body": data, "more_body": more}


def test_a_reply_goes_in_one() -> None:
    """Head, body and the mark of its end are one write."""

    async def reply(send: Send) -> None:
        await send(HEAD)
        await send(body(b"whole"))

    (written,) = answered(reply)
    assert written.startswith(b"HTTP/1.1 200")
    assert written.endswith(b"\r\n\r\n5\r\nwhole\r\n0\r\n\r\n")


def test_a_head_does_not_wait_for_its_body() -> None:
    """Where the body comes later, the head goes before; each piece goes when it is there."""

    async def reply(send: Send) -> None:
        await send(HEAD)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await send(body(b"one", more=True))
        await asyncio.sleep(0)
        await send(body(b"two"))

    written = answered(reply)
    assert [piece[:8] for piece in written] == [b"HTTP/1.1", b"3\r\none\r\n", b"3\r\ntwo\r\n"]


def test_a_call_goes_when_it_is_answered() -> None:
    """What the server holds of it waits for no garbage collection, which would hold up all others."""

    async def reply(send: Send) -> None:
        await send(HEAD)
        await send(body(b"whole"))

    gc.collect()
    gc.disable()
    try:
        before = _cycles()
        answered(reply)
        assert _cycles() == before
    finally:
        gc.enable()


def _cycles() -> int:
    return sum(type(one) is RequestResponseCycle for one in gc.get_objects())


def test_requests_behind_one_another() -> None:
    """Their replies keep their order, each in one."""

    async def reply(send: Send) -> None:
        await send(HEAD)
        await send(body(b"whole"))

    written = answered(reply, REQUEST + REQUEST)
    assert len(written) in (1, 2)
    assert all(piece.endswith(b"0\r\n\r\n") for piece in written)


@pytest.mark.parametrize(
    ("requests", "seconds"),
    [
        ([REQUEST], 600),
        ([REQUEST, REQUEST[:9]], 60),
        ([REQUEST + REQUEST[:9]], 60),
        ([REQUEST, REQUEST[:9], REQUEST[9:]], 600),
    ],
    ids=["between two requests", "a request has begun", "one had begun before", "after the second"],
)
def test_how_long_a_connection_is_waited_for(requests: list[bytes], seconds: float) -> None:
    """It may rest between requests for longer than a request may take to be there once it has begun."""

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send(HEAD)
        await send(body(b"whole"))

    async def use() -> float:
        http: Any = protocols(ConnectionLimits(60, 60, 10, 600))[0]
        config = Config(app, http=http, lifespan="off", log_config=None, access_log=False)
        config.load()
        wire = Wire()
        wire.protocol = connection = http(config=config, server_state=ServerState(), app_state={})
        connection.connection_made(wire)
        for request in requests:
            connection.data_received(request)
            for _ in range(9):
                await asyncio.sleep(0)
        now = asyncio.get_running_loop().time()
        left: float = connection.idle._due - now
        connection.connection_lost(None)
        wire.protocol = None
        return left

    assert seconds - 5 < asyncio.run(use()) <= seconds


@pytest.mark.parametrize(("unsent", "left", "ended"), [(0, 0, "closed"), (5, 5, "aborted"), (5, 3, "")])
def test_an_idle_connection_ends(unsent: int, left: int, ended: str) -> None:
    """When its time is over and it was not stopped: gently where all was taken, not while something is being taken."""

    async def use() -> str:
        wire = Wire()
        timer, wire.unsent = IdleTimer(wire), unsent
        timer.wait(60)
        timer.stop()
        timer.wait(60)
        wire.unsent, timer._due = left, 0.0  # its time is over
        timer._expire()
        assert (timer._timer is None) == bool(ended)
        timer.close()
        return wire.ended

    assert asyncio.run(use()) == ended


def test_a_timer_is_made_once() -> None:
    """What was stopped runs out without a word; what waits longer or shorter than the loop's timer knows has it set anew."""

    async def use() -> str:
        wire = Wire()
        timer = IdleTimer(wire)
        timer.wait(60)
        made = timer._timer
        timer.stop()
        timer.wait(90)
        assert timer._timer is made
        timer.wait(30)
        assert made is not None
        assert made.cancelled()
        assert timer._timer is not made
        timer.wait(60)
        made = timer._timer
        timer._expire()
        assert timer._timer not in (made, None)
        timer.stop()
        timer._expire()
        assert timer._timer is None
        return wire.ended

    assert asyncio.run(use()) == ""
