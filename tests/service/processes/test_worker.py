"""The worker's own side: frames in, frames out, until it is time to go."""

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from innkeeper.processes import child
from innkeeper.processes.child import frame
from innkeeper.prompt.allowance import BuildLimits
from innkeeper.service import Gateway, Settings
from innkeeper.service.errors import WORKER_CALLS
from innkeeper.service.exchange import Request, WorkerReply, WorkerStarted, WorkerTask
from innkeeper.service.processes import worker
from innkeeper.service.processes.worker import work

MACRO = "/api/modules/smarttavern/macro"
HEADERS = {"content-type": "application/json"}


def receive(connection: socket.socket) -> tuple[bytes, bytes] | None:
    """The next frame of a socket."""
    with connection.makefile("rb") as source:
        return child.receive(source)


@contextmanager
def working(settings: Settings) -> Iterator[socket.socket]:
    """A worker in a thread, and the server's end of its socket."""
    mine, theirs = socket.socketpair()
    mine.settimeout(20)
    gateway = Gateway(settings)

    def live() -> None:
        with theirs:
            work(theirs, gateway)

    thread = threading.Thread(target=live)
    thread.start()
    with mine:
        head, _ = receive(mine) or (b"", b"")
        assert msgspec.msgpack.decode(head, type=WorkerStarted).pid
        yield mine
    thread.join(120)
    assert not thread.is_alive()


@pytest.fixture(autouse=True)
def no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a thread of the tests' own process, the timer must not end it."""
    monkeypatch.setattr(signal, "setitimer", lambda *_: None)


def ask(
    connection: socket.socket, path: str, body: bytes, macros: dict[str, str] | None = None
) -> tuple[WorkerReply, bytes]:
    """One call."""
    for part in frame(WorkerTask("POST", path, "", HEADERS, macros), body):
        connection.sendall(part)
    head, answer = receive(connection) or (b"", b"")
    return msgspec.msgpack.decode(head, type=WorkerReply), answer


def test_calls() -> None:
    """A call is answered as the gateway answers it, large bodies too; what it made of the custom macros comes with it."""
    with working(Settings()) as connection:
        done, body = ask(connection, f"{MACRO}/process_text", b'{"text": "{{upper:a}}"}')
        assert (done.status, body, done.macros, done.last) == (
            200,
            b'{"text":"A","variables":{"initial":{},"final":{}}}',
            None,
            False,
        )
        large = b'{"text": "%s"}' % (b"a" * 200_000)
        assert len(ask(connection, f"{MACRO}/process_text", large)[1]) > 200_000
        register = b'{"macros": [{"name": "X", "handler_api": "smarttavern/macro/process_text"}]}'
        done, _ = ask(connection, f"{MACRO}/register", register, {"y": "z"})
        assert done.macros == {"y": "z", "x": "smarttavern/macro/process_text"}
        done, body = ask(connection, f"{MACRO}/list", b"{}", {})
        assert b'"items":{}' in body


def test_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call for which there is no memory is told so, and the worker goes."""

    def full(self: Gateway, request: Request, limits: BuildLimits | None) -> None:
        raise MemoryError

    monkeypatch.setattr(Gateway, "answer", full)
    with working(Settings()) as connection:
        done, body = ask(connection, f"{MACRO}/list", b"{}")
        assert (done.status, done.last) == (413, True)
        assert b"MAX_WORKER_MEMORY" in body
        assert receive(connection) is None


@pytest.mark.parametrize(("name", "value"), [("WORKER_CALLS", 1), ("WORKER_GROWTH", -1), ("WORKER_SECONDS", -1.0)])
def test_last(monkeypatch: pytest.MonkeyPatch, name: str, value: float) -> None:
    """A worker that has done much, has grown or is old says that this call was its last."""
    assert WORKER_CALLS > 1
    monkeypatch.setattr(worker, name, value)
    with working(Settings()) as connection:
        assert ask(connection, f"{MACRO}/list", b"{}")[0].last
        assert receive(connection) is None


def test_half_a_frame() -> None:
    """A frame that ends early is the end."""
    mine, theirs = socket.socketpair()
    with mine, theirs:
        mine.sendall(frame(WorkerTask("GET", "/", "", {}), b"x" * 100_000)[0])
        mine.shutdown(socket.SHUT_WR)
        assert receive(theirs) is None


def test_a_system_that_enforces_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without limits of the system a worker answers all the same."""
    monkeypatch.setattr(child, "resource", None)
    child.confine(1)
    with working(Settings()) as connection:
        assert ask(connection, f"{MACRO}/process_text", b'{"text": "a"}')[0].status == 200
