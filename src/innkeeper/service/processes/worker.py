"""Worker: a process of its own that computes one call after the other, within its memory and the processor's time.

Calls come and go as frames (`innkeeper.processes.child`). What a request says is parsed here, so that the process that holds
the connections only moves bytes. Where the system ends this process, since a call takes too much, whoever waits at the other
end of the socket tells the caller so.
"""

from __future__ import annotations

import gc
import os
import socket
from importlib import import_module
from itertools import count
from time import monotonic
from typing import Final

from innkeeper.processes import child
from innkeeper.prompt.typed.once import unpack
from innkeeper.service.errors import WORKER_CALLS, WORKER_GROWTH, WORKER_SECONDS, memory_error
from innkeeper.service.exchange import HttpReply, Request, WorkerReply, WorkerStarted, WorkerTask, error_reply
from innkeeper.service.gateway.gateway import Gateway
from innkeeper.service.settings import Settings

_GARBAGE: Final = 10_000
"""How many objects a worker makes before Python looks for those that nobody uses: as many as one or two builds make."""


def load_gateway(settings: Settings, operations: str) -> Gateway:
    """Return the gateway over a table of operations, written ``module:name``."""
    module, _, name = operations.partition(":")
    return Gateway(settings, getattr(import_module(module), name))


def work(connection: socket.socket, gateway: Gateway, number: int | None = None) -> None:
    """Answer calls until the other side is gone, or this process has grown, or is old.

    ``number`` is what the other side calls this process: its own number of processes, unless it says another.
    """
    gc.freeze()  # what is here stays
    gc.set_threshold(_GARBAGE)
    calls, until, size = count(1), monotonic() + WORKER_SECONDS, child.peak_memory()

    def answer(head: bytes, body: bytes) -> child.Answer:
        reply, macros, sound = _answer(gateway, head, body)
        grown = child.peak_memory() - size > WORKER_GROWTH
        last = not sound or next(calls) >= WORKER_CALLS or monotonic() > until or grown
        return WorkerReply(reply.status, dict(reply.headers), reply.media_type, macros, last), reply.body, last

    for part in child.frame(WorkerStarted(number or os.getpid())):
        connection.sendall(part)
    with connection.makefile("rb") as source:
        child.answer_frames(source, connection.sendall, answer, seconds=gateway.state.settings.cpu_budget)


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
