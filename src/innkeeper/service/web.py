"""What every page does with a call: ticket, JSON in and out, errors in its shape, work that ends when its client goes away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, Final, TypeVar

from starlette.requests import Request as WebRequest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from innkeeper.inference.errors import RequestCancelledError
from innkeeper.inference.response.views.view import ErrorFacts, json_bytes
from innkeeper.prompt.data import parse_json
from innkeeper.prompt.errors import InnkeeperError, UsageError
from innkeeper.service.error_facts import error_headers, facts_of, openai_error
from innkeeper.service.exchange import JSON
from innkeeper.service.guard.work import Ticket

LARGE: Final = 256 * 1024
"""Bytes from which on a body is read beside the event loop."""

_T = TypeVar("_T")


class Stop:
    """Stops the work that goes on under it, now or as soon as there is some. It belongs to one event loop."""

    def __init__(self) -> None:
        self._is_set = False
        self._end: Callable[[], object] | None = None

    def is_set(self) -> bool:
        """Whether it was stopped."""
        return self._is_set

    def set(self) -> None:
        """Stop it."""
        self._is_set = True
        if self._end is not None:
            self._end()

    def on(self, end: Callable[[], object] | None) -> None:
        """What ends the work that goes on now; None where there is none."""
        self._end = end


async def unless_gone(receive: Receive, work: Awaitable[_T], stop: Stop | None = None) -> _T:
    """What ``work`` gives, unless the client goes away or ``stop`` is set before: then it is cancelled.

    It goes on in the caller's own task: only who waits for the client is another.
    Raises `RequestCancelledError` in that case.
    """
    stop, task, gone = stop or Stop(), asyncio.current_task(), asyncio.ensure_future(_gone(receive))
    assert task is not None  # noqa: S101 - this is a coroutine
    cancelled, before = False, task.cancelling()

    def end(_: object = None) -> None:
        nonlocal cancelled
        if not cancelled:
            cancelled = task.cancel()

    gone.add_done_callback(end)
    stop.on(end)
    if stop.is_set():
        end()
    try:
        return await work
    except asyncio.CancelledError:
        if not cancelled or task.uncancel() > before:
            raise
        raise RequestCancelledError("the answer was cancelled, or nobody waits for it any more") from None
    finally:
        stop.on(None)
        gone.remove_done_callback(end)
        gone.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def repeat(seconds: float, work: Callable[[], Awaitable[object]]) -> None:
    """Do ``work`` every so many seconds, until this is cancelled."""
    while True:
        await asyncio.sleep(seconds)
        await work()


class EventStream(Response):
    """Server-sent events as they come. A client that goes away, or ``stop``, ends the generator, whatever that waits for.

    ``over`` is awaited at the end, however that comes.
    """

    def __init__(
        self, pieces: AsyncGenerator[bytes], headers: Mapping[str, str], stop: Stop, over: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(None, 200, dict(headers), "text/event-stream")
        del self.headers["content-length"]
        self._pieces, self._stop, self._over = pieces, stop, over

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces."""
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await unless_gone(receive, self._sent(send), self._stop)
        except RequestCancelledError:
            if not self._stop.is_set():
                return
        finally:
            await self._over()
        await send({"type": "http.response.body", "body": b""})

    async def _sent(self, send: Send) -> None:
        async with aclosing(self._pieces) as pieces:
            async for piece in pieces:
                if piece:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})


def ticket_of(web: WebRequest) -> Ticket:
    """The ticket of a call."""
    ticket: Ticket = web.scope["innkeeper.ticket"]
    return ticket


async def json_body(web: WebRequest) -> Mapping[str, Any]:
    """The JSON object that a request brings; a large one is read beside the event loop. Raises `UsageError`, `InputError`."""
    raw = await web.body()
    read = asyncio.to_thread(parse_json, raw, asset="body") if len(raw) > LARGE else None
    body = parse_json(raw, asset="body") if read is None else await read
    if not isinstance(body, dict):
        raise UsageError("the body must be a JSON object")
    return body


def json_response(body: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A reply with a JSON body."""
    return Response(json_bytes(body), status, dict(headers or {}), JSON)


def failure(error: InnkeeperError, envelope: Callable[[ErrorFacts], dict[str, Any]]) -> Response:
    """The reply to an error, in a surface's own shape."""
    facts = facts_of(error)
    return json_response(envelope(facts), facts.status, error_headers(error))


def with_errors(
    endpoint: Callable[[WebRequest], Awaitable[Response]],
    write: Callable[[InnkeeperError], dict[str, Any]] = openai_error,
) -> Callable[[WebRequest], Awaitable[Response]]:
    """The endpoint, with its errors in the log of calls and as replies: in OpenAI's shape, or in another."""

    async def call(web: WebRequest) -> Response:
        try:
            return await endpoint(web)
        except InnkeeperError as error:
            ticket_of(web).record.failed(error)
            return json_response(write(error), facts_of(error).status, error_headers(error))

    return call
