"""Fake providers that answer by a script: a client that needs no network, and a server on this machine's loopback.

Fit for users' own tests, demos and trying things out. What a script may hold is in `innkeeper.inference.fake.script`.

>>> from innkeeper.inference import FakeClient
>>> FakeClient("Good evening.").chat("any", [{"role": "user", "content": "Hello"}]).content
'Good evening.'
"""

from __future__ import annotations

import math
import select
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from innkeeper.inference.client.blocking import Client
from innkeeper.inference.client.clients import AsyncClient
from innkeeper.inference.fake.script import Answer, Script, read_request, route

if TYPE_CHECKING:
    import httpx


_TICK: Final = 0.01


class FakeClient(Client):
    """A `Client` whose provider is a script in this process; see `EchoServer` for what a script holds.

    Everything but the network is real: requests are encoded, answers decoded, faults become the errors they would be. A
    stall is the timeout that it would end in, without the wait. `requests` are the request bodies so far.
    """

    def __init__(self, *script: Any, **settings: Any) -> None:
        provider = _Provider(script, _pieces)
        super().__init__(**{"base_url": "http://fake.invalid", "transport": provider.transport(), **settings})
        provider.timeout = self.endpoint.timeout
        self.requests = provider.requests


class AsyncFakeClient(AsyncClient):
    """`FakeClient` for event loops."""

    def __init__(self, *script: Any, **settings: Any) -> None:
        provider = _Provider(script, _pieces_async)
        super().__init__(**{"base_url": "http://fake.invalid", "transport": provider.transport(), **settings})
        provider.timeout = self.endpoint.timeout
        self.requests = provider.requests


class _Provider:
    """A provider in this process: the transport of a fake client. ``body`` makes the pieces of an answer."""

    def __init__(self, script: Sequence[Any], body: Callable[[Answer, httpx.Request], Any]) -> None:
        self.requests: list[dict[str, Any]] = []
        self.timeout = math.inf
        self._script = Script(script)
        self._body = body

    def transport(self) -> httpx.MockTransport:
        import httpx

        return httpx.MockTransport(self._handle)

    def _handle(self, request: httpx.Request) -> httpx.Response:
        import httpx

        if request.content:
            self.requests.append(msgspec.json.decode(request.content))
        answer = route(request.method, request.url.path, request.content, self._script)
        if answer.ending == "refuse":
            msg = "connection refused"
            raise httpx.ConnectError(msg, request=request)
        if answer.delay > self.timeout:
            msg = "nothing came"
            raise httpx.ReadTimeout(msg, request=request)
        return httpx.Response(answer.status, headers=dict(answer.headers), content=self._body(answer, request))


def _pieces(answer: Answer, request: httpx.Request) -> Iterator[bytes]:
    import httpx

    yield from answer.pieces()
    if answer.ending == "stall":
        msg = "nothing more came"
        raise httpx.ReadTimeout(msg, request=request)
    if answer.ending == "cut":
        msg = "peer closed connection without sending complete message body"
        raise httpx.RemoteProtocolError(msg, request=request)


async def _pieces_async(answer: Answer, request: httpx.Request) -> AsyncIterator[bytes]:
    for piece in _pieces(answer, request):
        yield piece


class Received(msgspec.Struct, frozen=True):
    """One request as the server got it; headers have lower-case names, ``raw`` is its body as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    raw: bytes = b""


class EchoServer:
    """An OpenAI-compatible server in a thread, as a context manager. Without a script it echoes the last message.

    ``script`` holds texts, `FakeReply`, `Fault`, whole bodies, or functions of the request. With ``api_key`` other keys
    get 401. `requests` are all that came, `base_url` is where to go; `left` are the moments (`time.monotonic`) at which
    clients went away while they were answered.
    """

    def __init__(self, *script: Any, api_key: str | None = None, port: int = 0) -> None:
        self.requests: list[Received] = []
        self.left: list[float] = []
        self.script = Script(script)
        self.api_key = api_key
        self.stopping = threading.Event()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.echo = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def base_url(self) -> str:
        """``http://127.0.0.1:port``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> Self:
        """Begin to answer; a ``with`` block does so by itself."""
        self._thread.start()
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop at once, also in the middle of a stall."""
        self.stopping.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # many connect at once, and none is reset
    block_on_close = False
    echo: EchoServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are part of the game."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer."""
        self._serve()

    do_POST = do_GET  # noqa: N815 - the base's names

    def _serve(self) -> None:
        echo = self.server.echo
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        authorised = echo.api_key is None or headers.get("authorization") == f"Bearer {echo.api_key}"
        answer = route(self.command, self.path, body, echo.script, authorised=authorised)
        echo.requests.append(Received(self.command, self.path, headers, read_request(body), body))
        self._send(answer)

    def _send(self, answer: Answer) -> None:
        if answer.ending == "refuse" or not self._waits(answer.delay):
            self.close_connection = True
            return
        headers = {**answer.headers, "transfer-encoding": "chunked"}
        lines = [f"HTTP/1.1 {answer.status} {self.responses.get(answer.status, ('', ''))[0]}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1")
        chunks = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in answer.pieces()]
        self.close_connection = not (
            self._drips([head] if not answer.head_pause else [bytes([byte]) for byte in head], answer.head_pause)
            and self._drips(chunks, answer.pause)
            and (answer.ending != "stall" or self._waits(math.inf))
            and answer.ending == "end"
            and self._drips([b"0\r\n\r\n"], 0)
        )

    def _drips(self, pieces: Sequence[bytes], pause: float) -> bool:
        """Write the pieces with a pause after each; whether client and server stayed to the end."""
        for piece in pieces:
            try:
                self.wfile.write(piece)
            except OSError:
                self.server.echo.left.append(time.monotonic())
                return False
            if not self._waits(pause):
                return False
        return True

    def _waits(self, seconds: float) -> bool:
        """Wait; whether the client is still there, and the server has not been stopped."""
        echo, end = self.server.echo, time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if echo.stopping.wait(min(left, _TICK)):
                return False
            if self._is_alone():
                echo.left.append(time.monotonic())
                return False
        return True

    def _is_alone(self) -> bool:
        """Whether the client has gone."""
        try:
            readable, _, _ = select.select([self.connection], [], [], 0)
            return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True
