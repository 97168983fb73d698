"""Cluster: the engine that builds shards on the machines of a Ray cluster, and gives them back in their order.

Shards are Ray's objects and their builds are tasks without effects, so a node that is lost takes no row along: Ray builds its
shards again elsewhere. What all rows share is put once and fetched once by each node. Paths in rows are read where a row is
built: the folders must be the same on all nodes.

Where a cluster's head is gone, Ray ends the process that speaks to it, whatever that does. So it is a process of its own, and
its end is an error here.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Final

import msgspec

from innkeeper.data.batch import BatchSettings, build_batch
from innkeeper.data.tables import from_bytes, to_bytes
from innkeeper.lazy import require
from innkeeper.processes import child
from innkeeper.prompt import InnkeeperError, UnavailableError
from innkeeper.prompt.typed.once import unpack

RETRIES: Final = 5
"""How often a shard is built again whose node or process is gone."""

AHEAD: Final = 2
"""Shards for each core of the cluster that are read before they are asked for."""


class ClusterCall(msgspec.Struct, frozen=True):
    """Build the shard that is the body, by ``settings``; without a body, give the next one that is built."""

    settings: bytes = b""


class ClusterAnswer(msgspec.Struct, frozen=True):
    """A built shard as the body, where one ``is_there``; or why the cluster has failed."""

    is_there: bool = False
    error: str = ""


class RayEngine:
    """An engine of `run_batch` on a Ray cluster. Close it when done; a cluster that was there before stays.

    ``address`` is the cluster's, such as ``auto`` or ``ray://head:10001``; without one Ray is started on this machine.
    Raises `UnavailableError` where Ray is not installed or the cluster does not answer.
    """

    def __init__(self, address: str | None = None) -> None:
        require("ray")
        try:
            host, has_port, port = (address or "").removeprefix("ray://").rpartition(":")
            if has_port:  # Ray itself waits for minutes
                socket.create_connection((host, int(port)), _PATIENCE).close()
            arguments = () if address is None else (address,)
            self._child = child.Child(child.start(child.python_command(f"{__name__}:main", *arguments), session=True))
            self._child.hello()
        except (EOFError, OSError, ValueError) as error:
            hint = "ray start --head on one machine, ray start --address=HEAD on the others"
            raise UnavailableError(
                f"the Ray cluster does not answer: {str(error) or 'Ray gave up'}", hint=hint
            ) from error

    def __call__(self, shards: Iterable[Any], settings: BatchSettings) -> Iterator[Any]:
        """Yield the results in order. Raises `UnavailableError` where the cluster is gone; the run goes on where it was."""
        call, failed = ClusterCall(msgspec.msgpack.encode(settings)), None
        try:
            for table in shards:
                if (built := self._asked(call, to_bytes(table))) is not None:
                    yield built
        except InnkeeperError as error:
            if isinstance(error, UnavailableError):
                raise
            failed = error
        while (built := self._asked(ClusterCall())) is not None:
            yield built
        if failed is not None:
            raise failed

    def _asked(self, call: ClusterCall, body: bytes = b"") -> Any:
        """A shard that is built, if there is one."""
        try:
            head, data = self._child.ask(call, body)
            answer = unpack(head, ClusterAnswer)
        except (EOFError, OSError):
            answer, data = ClusterAnswer(error="it is gone"), b""
        if answer.error:
            hint = "shards that are done are kept: start the cluster, and run the same again"
            raise UnavailableError(f"the Ray cluster has failed: {answer.error}", hint=hint)
        return from_bytes(data) if answer.is_there else None

    def close(self) -> None:
        """Leave the cluster."""
        if self._child.process.stdin is not None:
            self._child.process.stdin.close()
        child.end(self._child.process, _PATIENCE)


_PATIENCE: Final = 10.0
"""Seconds that a cluster has to answer, and to be left."""


def main() -> None:
    """The process that speaks to the cluster, whose address is its argument."""
    child.leave_after(_run)


def _run() -> None:
    import sys

    child.ignore_stops()
    source, target = child.take_pipes()
    ray: Any = import_module("ray")
    ray.init(address=next(iter(sys.argv[1:]), None), log_to_driver=False)
    built = ray.remote(num_cpus=1, max_retries=RETRIES)(build_batch)
    ahead = AHEAD * max(int(ray.cluster_resources().get("CPU", 1)), 1)
    waiting: deque[Any] = deque()
    known: dict[bytes, Any] = {}

    def answer(head: bytes, body: bytes) -> child.Answer:
        try:
            if body:
                settings = unpack(head, ClusterCall).settings
                if settings not in known:
                    known[settings] = ray.put(unpack(settings, BatchSettings))
                waiting.append(built.remote(from_bytes(body), known[settings]))
            if not waiting or (body and len(waiting) < ahead):
                return ClusterAnswer(), b"", False
            return ClusterAnswer(is_there=True), to_bytes(ray.get(waiting.popleft())), False
        except ray.exceptions.RayError as error:
            return ClusterAnswer(error=type(error).__name__), b"", True

    def send(part: bytes) -> None:
        target.write(part)
        target.flush()

    child.say_hello(target)
    child.answer_frames(source, send, answer)
    ray.shutdown()
