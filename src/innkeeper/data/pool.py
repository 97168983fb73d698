"""Pool: the processes that build shards side by side, and give them back in their order.

A shard whose process ends, since the system took its memory or killed it, is built again row by row in a new one; a row that
ends its process once more is an error of that row. So no row takes a run down.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, Final

import msgspec

from innkeeper.data.batch import BatchSettings, build_batch
from innkeeper.data.tables import arrow, from_bytes, to_bytes
from innkeeper.processes import child
from innkeeper.prompt import UnavailableError
from innkeeper.prompt.data import to_json
from innkeeper.prompt.typed.once import unpack

AHEAD: Final = 2
"""Shards for each process that are read before they are asked for: the rest of a dataset waits where it is."""

BUILDER_MEMORY: Final = 1024 * 1024 * 1024
"""Bytes that a process may have beyond those it starts with."""


_ALLOCATOR: Final = "ARROW_DEFAULT_MEMORY_POOL"
"""The variable by which pyarrow is told how to get its memory, before it is imported."""


class ShardTask(msgspec.Struct, frozen=True):
    """The settings of a shard, whose table is the body of the call."""

    settings: bytes


class BuiltShard(msgspec.Struct, frozen=True):
    """The shard is built; its table is the body."""


class Builders:
    """Processes that build, at most ``count`` of them. Close them when all is built."""

    def __init__(self, settings: BatchSettings, count: int | None = None) -> None:
        self.count = count or default_count()
        self._settings, self._task = settings, ShardTask(msgspec.msgpack.encode(settings))
        self._threads = ThreadPoolExecutor(self.count, thread_name_prefix="innkeeper-batch")
        self._idle: deque[child.Child] = deque()
        self._all: set[child.Child] = set()
        self._lock = Lock()
        self._closed = False

    def build(self, shards: Iterable[Any]) -> Iterator[Any]:
        """Yield the result of each shard, in their order. Raises what reading the shards raises, after what was read before."""
        waiting: deque[Future[Any]] = deque()
        source = iter(shards)
        failed: BaseException | None = None
        while True:
            while failed is None and len(waiting) < self.count * AHEAD:
                try:
                    waiting.append(self._threads.submit(self._built, next(source)))
                except StopIteration:
                    break
                except BaseException as error:  # noqa: BLE001 - it is raised once all before it is given
                    failed = error
            if not waiting:
                break
            yield waiting.popleft().result()
        if failed is not None:
            raise failed

    def close(self) -> None:
        """End all processes, whatever they do."""
        with self._lock:
            self._closed = True
            children = list(self._all)
        for one in children:
            one.close()
        self._threads.shutdown(cancel_futures=True)

    def _built(self, table: Any) -> Any:
        try:
            return self._asked(table)
        except (EOFError, OSError):
            rows = [self._row(table.slice(index, 1)) for index in range(table.num_rows)]
            return arrow().concat_tables(rows)

    def _row(self, table: Any) -> Any:
        """A row of a shard that ended its process."""
        try:
            return self._asked(table)
        except (EOFError, OSError):
            hint = "the row needs more memory than a process has, or the system killed it: build it alone to see"
            error = UnavailableError("the process that built this row has ended", hint=hint)
            return failed_rows(table, self._settings, error)

    def _asked(self, table: Any) -> Any:
        """Let a process build a table. Raises `EOFError` or `OSError` where it ends."""
        with self._lock:
            if self._closed:
                raise UnavailableError("the processes of this run are closed")
            one = self._idle.pop() if self._idle else self._started()
        try:
            _, body = one.ask(self._task, to_bytes(table))
        except BaseException:
            with self._lock:
                self._all.discard(one)
            one.close()
            raise
        with self._lock:
            self._idle.append(one)
        return from_bytes(body)

    def _started(self) -> child.Child:
        one = child.Child(child.start(child.python_command(f"{__name__}:main")))
        self._all.add(one)
        one.hello()
        return one


def default_count() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def failed_rows(table: Any, settings: BatchSettings, error: UnavailableError) -> Any:
    """The result of rows that all have the same error."""
    empty = build_batch(table.slice(0, 0), settings)
    text = to_json({**error.to_dict(), "at": {"asset": settings.source}}).decode()
    pa = arrow()
    columns = {
        field.name: table[field.name]
        if field.name in table.column_names
        else pa.array([text if field.name == "error" else None] * table.num_rows, field.type)
        for field in empty.schema
    }
    return pa.table(columns)


def main() -> None:
    """The process that builds."""
    child.leave_after(_run)


def _run() -> None:
    child.ignore_stops()
    source, target = child.take_pipes()

    def answer(head: bytes, body: bytes) -> child.Answer:
        settings = unpack(unpack(head, ShardTask).settings, BatchSettings)
        return BuiltShard(), to_bytes(build_batch(from_bytes(body), settings)), False

    def send(part: bytes) -> None:
        target.write(part)
        target.flush()

    os.environ[_ALLOCATOR] = "system"  # the usual one reserves a gibibyte at once, which the limit would count
    arrow()
    child.confine(BUILDER_MEMORY)
    child.say_hello(target)
    child.answer_frames(source, send, answer)
