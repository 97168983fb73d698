"""Protocol: HTTP and WebSockets as the server speaks them, with the limits that uvicorn does not have.

A client may not hold what others need by being slow: headers, bodies and the taking of replies have their times, and where there
are too many connections, the one whose request has been waited for the longest makes room for the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from innkeeper.service.errors import MAX_HEADERS

_SLICE = MAX_HEADERS // 2


class ConnectionLimits(NamedTuple):
    """Seconds until headers must be there, until a reply must be taken, and that a connection may rest between two requests.

    ``connections`` is how many there may be.
    """

    header_seconds: float
    reply_seconds: float
    connections: int
    rest_seconds: float


class PendingRequests:
    """The connections whose requests are not there in full, in the order in which they began to be waited for."""

    def __init__(self) -> None:
        self._since: dict[Any, asyncio.Transport] = {}

    def add(self, connection: Any, transport: asyncio.Transport) -> None:
        """A request is to come."""
        self._since.pop(connection, None)
        self._since[connection] = transport

    def remove(self, connection: Any) -> None:
        """The request is there, or the connection is gone."""
        self._since.pop(connection, None)

    def evict(self) -> None:
        """Hang up on the one that has been waited for the longest."""
        if self._since:
            self._since.pop(next(iter(self._since))).abort()


class _WriteTimeout:
    """Hangs up on a client that does not take what was written, within the time for a reply."""

    limits: ConnectionLimits
    transport: asyncio.Transport
    _timer: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        super().pause_writing()  # type: ignore[misc]  # mixed into protocols
        self._timer = asyncio.get_running_loop().call_later(self.limits.reply_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._cancel_timer()
        super().resume_writing()  # type: ignore[misc]

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timer()
        super().connection_lost(exc)  # type: ignore[misc]

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Http(_WriteTimeout, H11Protocol):
    """Counts the time from a connection's beginning, or a request's, to the end of its headers, and that between requests."""

    pending: PendingRequests
    idle: IdleTimer
    rests = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self.pending.evict()
        self.idle = IdleTimer(transport)
        self._expect(self.limits.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self.pending.remove(self)
        self.idle.close()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.rests:
            self.rests = False
            self.idle.wait(self.limits.header_seconds)
        # In slices, since h11 measures only headers that have not ended yet.
        for start in range(0, len(data), _SLICE):
            if self.transport.is_closing() or self.transport.get_protocol() is not self:
                return
            super().data_received(data[start : start + _SLICE])

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before or self.transport.get_protocol() is not self:
            self.idle.stop()
        if self.cycle is not None and self.cycle is not before:
            self.cycle.send = _together(self.cycle)  # type: ignore[method-assign, assignment]  # before anybody has called it
        if self.cycle is not None and not (self.cycle.more_body or self.cycle.response_complete):
            self.pending.remove(self)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle is None or self.cycle.response_complete:  # else the next request was there already
            self.rests = not self.conn.trailing_data[0]
            self._expect(self.limits.rest_seconds if self.rests else self.limits.header_seconds)

    def _expect(self, seconds: float) -> None:
        self.idle.wait(seconds)
        self.pending.add(self, self.transport)


def _together(cycle: RequestResponseCycle) -> Callable[[Any], Coroutine[Any, Any, None]]:
    """A cycle's ``send`` that writes each event at once, and the head of a reply with the first of its body.

    Where that does not follow at once, the head goes alone, before whatever comes next in the loop.
    """
    send, over, corked = cycle.send, cycle.on_response, _Corked(cycle.transport)

    async def sent(event: Any) -> None:
        corked.hold()
        try:
            await send(event)
        finally:
            if event["type"] == "http.response.start":
                asyncio.get_running_loop().call_soon(corked.let_go)
            else:
                corked.let_go()

    def complete() -> None:
        corked.let_go()
        vars(cycle).pop("send")  # it knows the cycle, which would not go before a garbage collection
        over()

    cycle.transport, cycle.on_response = corked, complete  # type: ignore[assignment]  # a cycle uses no more of it
    return sent


class _Corked:
    """A transport as far as a reply needs it, whose writes can be held and then go in one."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._held: list[bytes] | None = None

    def hold(self) -> None:
        """Hold what is written from now on."""
        if self._held is None:
            self._held = []

    def let_go(self) -> None:
        """Write what was held."""
        held, self._held = self._held, None
        if held:
            self._transport.write(held[0] if len(held) == 1 else b"".join(held))

    def write(self, data: bytes) -> None:
        """Write, now or later."""
        if self._held is None:
            self._transport.write(data)
        elif data:
            self._held.append(data)

    def close(self) -> None:
        """Close when all is written."""
        self.let_go()
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether it is being closed."""
        return self._transport.is_closing()


class _Socket(_WriteTimeout, WebSocketsSansIOProtocol):
    """Ends in time also where the other side takes nothing."""

    async def run_asgi(self) -> None:
        await super().run_asgi()
        self.loop.call_later(self.limits.header_seconds, self.transport.abort)


def protocols(limits: ConnectionLimits) -> tuple[type[asyncio.Protocol], type[asyncio.Protocol]]:
    """The classes of connections, for HTTP and for WebSockets, of one server."""
    http = type("Http", (_Http,), {"limits": limits, "pending": PendingRequests()})
    return http, type("Socket", (_Socket,), {"limits": limits})


class IdleTimer:
    """One connection's. `wait` begins to count, `stop` ends it; a client that still takes its reply is waited for.

    The loop's timer is made once for many waits: when it comes too early, or would come too late, it is set anew. `close` takes
    it back.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._seconds = 0.0
        self._unsent = 0
        self._due: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def wait(self, seconds: float) -> None:
        """Hang up in so many seconds, unless stopped."""
        loop = asyncio.get_running_loop()
        self._seconds, self._unsent = seconds, self._transport.get_write_buffer_size()
        self._due = loop.time() + seconds
        if self._timer is not None and self._timer.when() > self._due:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = loop.call_at(self._due, self._expire)

    def stop(self) -> None:
        """Count no more."""
        self._due = None

    def close(self) -> None:
        """Count no more, ever."""
        self._due = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        self._timer, loop = None, asyncio.get_running_loop()
        if self._due is None:
            return
        if loop.time() < self._due:
            self._timer = loop.call_at(self._due, self._expire)
            return
        left = self._transport.get_write_buffer_size()
        if not left:
            self._transport.close()
        elif left < self._unsent:
            self.wait(self._seconds)  # a slow reader of a large reply
        else:
            self._transport.abort()
