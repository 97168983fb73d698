"""Worker: a process of its own that computes one call after the other, within its memory and the processor's time.

Calls come and go as frames (`innkeeper.service.exchange`). What a request says is parsed here, so that the process that holds
the connections only moves bytes.

The system enforces what a call may take, so it holds also while a library keeps the interpreter's lock: an address limit turns
memory into a `MemoryError` (or the end of this process), a timer of the processor's time ends it. Whoever waits at the other
end of the socket then tells the caller so.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from pathlib import Path
from time import monotonic
from typing import Final

import msgspec

from innkeeper.prompt.once import unpack
from innkeeper.service.errors import WORKER_CALLS, WORKER_GROWTH, WORKER_SECONDS, memory_error
from innkeeper.service.exchange import (
    LENGTHS,
    HttpReply,
    Request,
    WorkerReply,
    WorkerStarted,
    WorkerTask,
    error_reply,
    frame,
)
from innkeeper.service.gateway.gateway import Gateway

try:
    import resource
except ImportError:  # Windows: the system enforces neither limit, and a call ends with its time on the wall
    resource = None  # type: ignore[assignment]


_GARBAGE: Final = 10_000
"""How many objects a worker makes before Python looks for those that nobody uses: as many as one or two builds make."""


def receive(connection: socket.socket) -> tuple[bytes, bytes] | None:
    """Head and body of the next frame; None where the other side is gone."""
    lengths = _exactly(connection, LENGTHS.size)
    if lengths is None:
        return None
    head_size, body_size = LENGTHS.unpack(lengths)
    head = _exactly(connection, head_size)
    body = _exactly(connection, body_size)
    return None if head is None or body is None else (bytes(head), bytes(body))


def _exactly(connection: socket.socket, size: int) -> bytearray | None:
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        count = connection.recv_into(rest)
        if not count:
            return None
        rest = rest[count:]
    return data


def confine(memory: int) -> None:
    """Let this process have ``memory`` bytes more than it has, leave no core of its prompts, and give way to the server."""
    if resource is None:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    except OSError:  # not Linux: the address limit would have to be guessed
        return
    limit = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def work(connection: socket.socket, gateway: Gateway, number: int | None = None) -> None:
    """Answer calls until the other side is gone, or this process has grown, or is old.

    ``number`` is what the other side calls this process: its own number of processes, unless it says another.
    """
    gc.freeze()  # what is here stays
    gc.set_threshold(_GARBAGE)
    settings, calls, until, size = gateway.state.settings, 0, monotonic() + WORKER_SECONDS, _peak_memory()
    _send(connection, WorkerStarted(number or os.getpid()))
    while (parts := receive(connection)) is not None:
        calls += 1
        _end_after(settings.cpu_budget)
        reply, macros, sound = _answer(gateway, *parts)
        _end_after(0)
        last = not sound or calls >= WORKER_CALLS or monotonic() > until or _peak_memory() - size > WORKER_GROWTH
        _send(connection, WorkerReply(reply.status, dict(reply.headers), reply.media_type, macros, last), reply.body)
        if last:
            return


def _end_after(seconds: float) -> None:
    """Have the system end this process once it has kept the processor busy for so long; 0 takes that back."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _send(connection: socket.socket, head: msgspec.Struct, body: bytes = b"") -> None:
    for part in frame(head, body):
        connection.sendall(part)


def _answer(gateway: Gateway, head: bytes, body: bytes) -> tuple[HttpReply, dict[str, str] | None, bool]:
    """The reply, the custom macros where the call changed them, and whether this process is as sound as before."""
    try:
        task = unpack(head, WorkerTask)
        state = gateway.state
        state.sockets = task.sockets
        if task.macros is not None:
            state.macros.replace(task.macros)
        before = state.macros.table
        reply = gateway.answer(Request(task.method, task.path, task.query, task.headers, body), task.limits)
    except MemoryError:
        return error_reply(memory_error(gateway.state.settings.worker_memory)), None, False
    return reply, None if state.macros.table is before else state.macros.table, True


def _peak_memory() -> int:
    """The most memory that this process has had, in bytes."""
    if resource is None:
        return 0
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024
