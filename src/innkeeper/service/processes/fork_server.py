"""ForkServer: the process whose children are the workers.

It imports once what calls need, has no threads and holds no connection, so that a worker is a copy of it, made in
milliseconds and sharing its memory. That makes workers cheap to lose: whatever may have harmed one, it is ended, not mended.

Over its socket come orders: zero, with the socket of a worker to be started, or the number of a worker that is to be killed.
Back go the numbers of workers that ended, with how. When the socket closes, the server being gone, it ends its workers and
itself.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from innkeeper.processes import child
from innkeeper.service.settings import SECRETS, Settings

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


_ORDER: Final = struct.Struct("<q")
_END: Final = struct.Struct("<qi")
_LAST_SECONDS: Final = 2.0
"""How long the fork server has to end its workers and itself."""


class ForkServer:
    """The server's side of it: a process that is started now, orders to it, and its reports.

    ``operations`` is the table of operations, written ``module:name``; the process imports it under that name.
    """

    def __init__(self, settings: Settings, operations: str) -> None:
        self.control, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            command = child.python_command(f"{__name__}:main", str(number))
            nothing = subprocess.DEVNULL
            self._process = child.start(command, without=SECRETS, stdin=nothing, stdout=nothing, descriptors=[number])
        setup = pickle.dumps((settings.without_keys(), operations))
        self.control.sendall(_ORDER.pack(len(setup)) + setup)
        self.control.settimeout(0)

    def watch(self, loop: asyncio.AbstractEventLoop, report: Callable[[], object]) -> None:
        """Have ``report`` called in the loop when a worker has ended, or the fork server has."""
        loop.add_reader(self.control, report)

    def unwatch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Call nothing any more."""
        loop.remove_reader(self.control)

    async def start(self) -> socket.socket:
        """The server's end of a new worker's socket. Raises `OSError` where the fork server is gone."""
        mine, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self.control, [_ORDER.pack(0)], [theirs.fileno()])
            except OSError:
                mine.close()
                raise
        return mine

    def kill(self, pid: int) -> None:
        """End a worker, whatever it is doing, unless it has ended."""
        with suppress(OSError):
            self.control.send(_ORDER.pack(pid))

    def ends(self) -> list[tuple[int, int]] | None:
        """Workers that have ended, each with its exit code, or its signal as a negative number; None: the fork server has."""
        try:
            data = self.control.recv(_END.size * 256)
        except BlockingIOError:
            return []
        except OSError:
            return None
        return [*_END.iter_unpack(data)] if data else None

    def close(self) -> None:
        """End it, and with it its workers."""
        self.control.close()
        child.end(self._process, _LAST_SECONDS)


def main() -> None:
    """The process itself; its argument is the descriptor of its socket."""
    from innkeeper.service.processes.worker import load_gateway

    control = socket.socket(fileno=int(sys.argv[1]))
    child.ignore_stops()
    size = _ORDER.unpack(control.recv(_ORDER.size, socket.MSG_WAITALL))[0]
    setup = control.recv(size, socket.MSG_WAITALL)
    gateway = load_gateway(*pickle.loads(setup))  # noqa: S301 - from the process that started this one
    children: set[int] = set()
    signal.signal(signal.SIGCHLD, lambda *_: _report(control, children))
    gc.collect()
    gc.freeze()  # what is here stays; workers share it as long as nothing touches it
    while True:
        order, descriptors, _, _ = socket.recv_fds(control, _ORDER.size, 1)
        if len(order) < _ORDER.size:  # the server is gone, and nobody waits for what they do
            for pid in tuple(children):  # one that ends is taken out meanwhile
                _kill(pid)
            return
        if descriptors:
            children.add(_fork(control, descriptors[0], gateway))
        elif (pid := _ORDER.unpack(order)[0]) in children:
            _kill(pid)


def _kill(pid: int) -> None:
    """End a worker, unless it has just ended by itself."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _report(control: socket.socket, children: set[int]) -> None:
    """Tell the server which have ended. Runs between two steps of the loop."""
    with suppress(ChildProcessError, OSError):
        while (end := os.waitpid(-1, os.WNOHANG))[0]:
            children.discard(end[0])
            control.sendall(_END.pack(end[0], os.waitstatus_to_exitcode(end[1])))


def _fork(control: socket.socket, descriptor: int, gateway: Any) -> int:
    """The number of a new worker, which works on the socket ``descriptor``; in the worker this does not return."""
    try:
        return child.fork(lambda: _run(control, descriptor, gateway))
    except OSError:  # too many processes: the server sees that the socket closes
        return 0
    finally:
        os.close(descriptor)


def _run(control: socket.socket, descriptor: int, gateway: Any) -> None:
    from innkeeper.service.processes.worker import work

    control.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child.confine(gateway.state.settings.worker_memory)
    with socket.socket(fileno=descriptor) as connection:
        work(connection, gateway)
