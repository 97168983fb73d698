"""Pool: the workers as the server sees them, and whose turn it is.

A worker has one call at a time. A call that takes too long loses its worker, not the service: the worker is killed, the caller is
told, and another one is started. Turns go round by caller, and nobody holds more than a share of the workers, so that one who
sends much waits for himself.

What the application keeps (the custom macros) is the server's. A worker gets it with a call and sends back what the call made
of it; where another call was quicker, the call is made again on the newer state.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections import Counter, deque
from time import monotonic
from typing import Any, Final, NamedTuple

from innkeeper.processes.child import LENGTHS, OUT_OF_TIME, frame
from innkeeper.prompt.typed.once import unpack
from innkeeper.service.errors import (
    GROW_SECONDS,
    MAX_WAITING,
    RETRY_SECONDS,
    SPARE_SECONDS,
    OverloadError,
    TimeBudgetError,
    WorkerLostError,
)
from innkeeper.service.exchange import HttpReply, Request, WorkerReply, WorkerStarted, WorkerTask
from innkeeper.service.gateway.state import AppState
from innkeeper.service.guard.work import give_back, share
from innkeeper.service.processes.fork_server import ForkServer
from innkeeper.service.processes.spawner import Spawner
from innkeeper.service.settings import Settings, default_start_method

_STATUS_SECONDS: Final = 1.0
"""How long the report of a worker's end may take."""


class WorkerProcess(asyncio.Protocol):
    """One worker's socket. It has no ``pid`` until it has started; ``code`` is how it ended, once the fork server has said so."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._parts: list[bytes] = []
        self._size = 0
        self._needed = LENGTHS.size
        self._transport: asyncio.Transport | None = None
        self._reply: asyncio.Future[tuple[WorkerReply, bytes] | None] | None = None
        self.pid = 0
        self.caller = ""
        self.macros: dict[str, str] | None = None
        self.since = monotonic()
        self.code: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is open."""
        self._transport = transport  # type: ignore[assignment]  # a socket's transport reads and writes
        self._pool.connected(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """The worker has ended."""
        self._transport = None
        self._settle(None)
        self._pool.lost(self)

    def data_received(self, data: bytes) -> None:
        """Collect a frame. There is never more than one: a worker sends one when it has started, and one for each call."""
        self._parts.append(data)
        self._size += len(data)
        if self._size < self._needed:
            return
        data = data if len(self._parts) == 1 else b"".join(self._parts)
        head_size, body_size = LENGTHS.unpack_from(data)
        start = LENGTHS.size + head_size
        self._needed = start + body_size
        if self._size < self._needed:
            self._parts = [data]
            return
        self._parts, self._size, self._needed = [], 0, LENGTHS.size
        self._take(data[LENGTHS.size : start], data[start:])

    def _take(self, head: bytes, body: bytes) -> None:
        if self.pid:
            self._settle((unpack(head, WorkerReply), body))
        else:
            self.pid = unpack(head, WorkerStarted).pid
            self._pool.started(self)

    def call(self, task: WorkerTask, body: bytes) -> asyncio.Future[tuple[WorkerReply, bytes] | None]:
        """What the worker answers; None: it ended in the middle."""
        self._reply = asyncio.get_running_loop().create_future()
        if self._transport is None:
            self._settle(None)
        else:
            for part in frame(task, body):
                self._transport.write(part)
        return self._reply

    def is_busy(self) -> bool:
        """Whether it was given a call and has neither answered nor ended, also where nobody waits for it any more."""
        return self._reply is not None and (self._reply.cancelled() or not self._reply.done())

    def close(self) -> None:
        """Close its socket, which ends it once its call is over."""
        if self._transport is not None:
            self._transport.abort()

    def _settle(self, result: tuple[WorkerReply, bytes] | None) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_result(result)


class Pool:
    """All workers of one application. They belong to the event loop they are used in; in another one they are started anew.

    Args:
        settings: how many workers, and what a call may take.
        operations: the table of operations, written ``module:name``, under which the workers import it.
        state: what the application keeps.
    """

    def __init__(self, settings: Settings, operations: str, state: AppState) -> None:
        self._settings = settings
        self._operations = operations
        self._state = state
        self._turns = FairQueue(share(settings.workers))
        self._workers: set[WorkerProcess] = set()
        self._connected: set[WorkerProcess] = set()
        self._idle: list[WorkerProcess] = []
        self._running: dict[int, WorkerProcess] = {}
        self._starts: set[asyncio.Task[None]] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._source: ForkServer | Spawner | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def prepare(self) -> ForkServer | Spawner:
        """What starts the workers; a fork server is started now, unless it runs, and gets ready by itself."""
        if self._source is None:
            method = self._settings.start_method or default_start_method()
            self._source = (Spawner if method == "spawn" else ForkServer)(self._settings, self._operations)
        return self._source

    def open(self) -> None:
        """Start a first worker."""
        self._use_running_loop()
        if not self._workers:
            self._start()

    def _use_running_loop(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            if self._loop is not None:
                self.close()
            self._loop = loop

    def is_ready(self) -> bool:
        """Whether there is a worker that has started."""
        return any(worker.pid for worker in self._workers)

    def close(self) -> None:
        """End all workers. Calls under way end with `WorkerLostError`."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        if self._loop is not None and not self._loop.is_closed():
            for start in self._starts:
                start.cancel()
            for worker in self._connected:
                worker.close()
        self._workers.clear()
        self._idle.clear()
        self._close_source()
        self._loop = None

    async def answer(self, request: Request, caller: str) -> HttpReply:
        """The reply to a request, computed by a worker when it is the caller's turn.

        Raises:
            TimeBudgetError: it took too long, waiting included, or too much of a processor's time.
            WorkerLostError: its worker ended in the middle, for another reason.
        """
        self._use_running_loop()
        seconds = self._settings.time_budget
        try:
            async with asyncio.timeout(seconds):
                while (reply := await self._attempt(request, caller)) is None:
                    pass
        except TimeoutError:
            raise TimeBudgetError("the time of one call", limit="TIME_BUDGET", allowed=seconds) from None
        return reply

    async def _attempt(self, request: Request, caller: str) -> HttpReply | None:
        """The reply; None where another call changed the state that this one was to change."""
        worker = await self._turn(caller)
        try:
            table = self._state.macros.table
            macros = None if worker.macros is table else table
            task = WorkerTask(
                request.method, request.path, request.query, dict(request.headers), macros, self._state.sockets,
                self._settings.keys.grant(caller).limits,
            )  # fmt: skip
            answer = await worker.call(task, request.body)
            if answer is None:
                raise await self._reason(worker)
            done, body = answer
            worker.macros = table if done.macros is None else None
            if done.last:
                self._workers.discard(worker)
            if done.macros is not None:
                if self._state.macros.table is not table:
                    return None
                self._state.macros.replace(done.macros)
            return HttpReply(done.status, body, done.headers, done.media_type)
        finally:
            self._leave(worker)

    async def _turn(self, caller: str) -> WorkerProcess:
        turn: asyncio.Future[WorkerProcess] = asyncio.get_running_loop().create_future()
        self._turns.add(caller, turn)
        self._dispatch()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._leave(turn.result())
            self._turns.remove(caller, turn)
            raise

    def _leave(self, worker: WorkerProcess) -> None:
        """A call is over, one way or the other."""
        self._turns.leave(worker.caller)
        if worker.is_busy():  # nobody waits for it
            self._workers.discard(worker)
            if self._source is not None:
                self._source.kill(worker.pid)
        elif worker in self._workers:
            worker.since = monotonic()
            self._idle.append(worker)
            if len(self._workers) > 1:
                self._later("spare", SPARE_SECONDS)
        self._dispatch()

    def _dispatch(self) -> None:
        """Give workers to those whose turn it is, the last one first: its caches are warm."""
        while self._idle and (turn := self._turns.next()):
            worker = self._idle.pop()
            worker.caller = turn.caller
            turn.future.set_result(worker)
        if not self._turns.is_waiting():
            return
        if len(self._workers) < min(os.cpu_count() or 1, self._settings.workers):
            self._start()
        elif len(self._workers) < self._settings.workers:
            self._later("grow", GROW_SECONDS)

    def _later(self, name: str, seconds: float) -> None:
        if name not in self._timers:
            self._timers[name] = asyncio.get_running_loop().call_later(seconds, self._tick, name)

    def _tick(self, name: str) -> None:
        del self._timers[name]
        if name == "spare":
            self._end_spare()
        elif self._turns.is_waiting() and not self._idle and len(self._workers) < self._settings.workers:
            self._start()
            self._dispatch()

    def _end_spare(self) -> None:
        """End workers that have had nothing to do for long; the others are looked at again."""
        idle_since = monotonic() - SPARE_SECONDS
        while len(self._workers) > 1 and self._idle and self._idle[0].since <= idle_since:
            worker = self._idle.pop(0)
            self._workers.discard(worker)
            worker.close()
        if len(self._workers) > 1:
            self._later("spare", SPARE_SECONDS)

    def _start(self) -> None:
        """Start one more worker."""
        worker = WorkerProcess(self)
        self._workers.add(worker)
        start = asyncio.get_running_loop().create_task(self._connect(worker))
        self._starts.add(start)
        start.add_done_callback(self._starts.discard)

    async def _connect(self, worker: WorkerProcess) -> None:
        try:
            end = await self._started_worker()
        except OSError:
            self.lost(worker)
            return
        try:
            await asyncio.get_running_loop().create_connection(lambda: worker, sock=end)
        except asyncio.CancelledError:
            end.close()
            raise

    async def _started_worker(self) -> socket.socket:
        """The server's end of a new worker's socket; a fork server that is gone is started once more. Raises `OSError`."""
        for _ in range(2):
            source = self.prepare()
            source.watch(asyncio.get_running_loop(), self._report)
            try:
                return await source.start()
            except OSError:
                if isinstance(source, Spawner):
                    raise
                self._close_source()
        raise OSError("no worker could be started")

    def _close_source(self) -> None:
        if self._source is None:
            return
        if self._loop is not None and not self._loop.is_closed():
            self._source.unwatch(self._loop)
        self._source.close()
        self._source = None

    def connected(self, worker: WorkerProcess) -> None:
        """A worker's socket is open; it is closed with the pool at the latest."""
        self._connected.add(worker)

    def started(self, worker: WorkerProcess) -> None:
        """A worker is ready for calls."""
        self._running[worker.pid] = worker
        if worker in self._workers:
            self._idle.append(worker)
            self._dispatch()
        else:
            worker.close()

    def lost(self, worker: WorkerProcess) -> None:
        """A worker's socket is closed. Where it never started, a call that waits is told, or we would try for ever."""
        self._connected.discard(worker)
        self._workers.discard(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        if not worker.pid and (turn := self._turns.next()):
            self._turns.leave(turn.caller)
            turn.future.set_exception(WorkerLostError("no process could be started for this call"))
        self._dispatch()

    def _report(self) -> None:
        """Take in which workers have ended, and how."""
        ends = self._source.ends() if self._source is not None else None
        if ends is None:
            self._close_source()
            self._running.clear()
            return
        for pid, code in ends:
            worker = self._running.pop(pid, None)
            if worker is not None:
                worker.code.set_result(code)

    async def _reason(self, worker: WorkerProcess) -> TimeBudgetError | WorkerLostError:
        """Why a worker ended in the middle of a call."""
        try:
            code = await asyncio.wait_for(worker.code, _STATUS_SECONDS)
        except TimeoutError:
            code = 0
        if code == OUT_OF_TIME:
            allowed = self._settings.cpu_budget
            return TimeBudgetError("the processor's time of one call", limit="MAX_CPU_BUDGET", allowed=allowed)
        return WorkerLostError("the process that computed this call ended in the middle of it", code=code)


class QueuedCall(NamedTuple):
    """A call that waits for a worker."""

    caller: str
    future: asyncio.Future[Any]


class FairQueue:
    """Who gets the next worker: of the callers that hold fewer than ``most``, the one that holds the fewest.

    Callers that hold the same number take turns; the calls of one caller keep their order.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[str, deque[asyncio.Future[Any]]] = {}
        self._held: Counter[str] = Counter()

    def add(self, caller: str, future: asyncio.Future[Any]) -> None:
        """A call begins to wait. Raises `OverloadError` where too many do."""
        held = len(self._waiting.get(caller, ()))
        if held >= share(MAX_WAITING) or sum(map(len, self._waiting.values())) >= MAX_WAITING:
            raise OverloadError("waiting calls", limit="MAX_WAITING", allowed=MAX_WAITING, retry_after=RETRY_SECONDS)
        self._waiting.setdefault(caller, deque()).append(future)

    def remove(self, caller: str, future: asyncio.Future[Any]) -> None:
        """A call waits no more, if it did."""
        queue = self._waiting.get(caller, deque())
        if future in queue:
            queue.remove(future)
        if not queue:
            self._waiting.pop(caller, None)

    def is_waiting(self) -> bool:
        """Whether a call waits that may have a worker."""
        return any(self._held[caller] < self._most for caller in self._waiting)

    def next(self) -> QueuedCall | None:
        """The call whose turn it is; its caller holds one worker more until `leave`."""
        caller = min(self._waiting, key=self._held.__getitem__, default=None)
        if caller is None or self._held[caller] >= self._most:
            return None
        queue = self._waiting.pop(caller)
        turn = QueuedCall(caller, queue.popleft())
        if queue:
            self._waiting[caller] = queue
        self._held[caller] += 1
        return turn if not turn.future.done() else self._skip(caller)

    def _skip(self, caller: str) -> QueuedCall | None:
        self.leave(caller)
        return self.next()

    def leave(self, caller: str) -> None:
        """A caller holds one worker less."""
        give_back(self._held, caller, 1)
