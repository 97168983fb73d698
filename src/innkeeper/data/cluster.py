"""Cluster: the engine that builds shards on the machines of a Ray cluster, and gives them back in their order.

Shards are Ray's objects and their builds are tasks without effects, so a node that is lost takes no row along: Ray builds its
shards again elsewhere. What all rows share is put once and fetched once by each node. Paths in rows are read where a row is
built: the folders must be the same on all nodes.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Final

from innkeeper.data.batch import BatchSettings, build_batch
from innkeeper.lazy import require
from innkeeper.prompt import UnavailableError

RETRIES: Final = 5
"""How often a shard is built again whose node or process is gone."""

AHEAD: Final = 2
"""Shards for each core of the cluster that are read before they are asked for."""


class RayEngine:
    """An engine of `run_batch` on a Ray cluster. Close it when done; a cluster that was there before stays.

    ``address`` is the cluster's, such as ``auto`` or ``ray://head:10001``; without one Ray is started on this machine.
    Raises `UnavailableError` where Ray is not installed or the cluster does not answer.
    """

    def __init__(self, address: str | None = None, **options: Any) -> None:
        require("ray")
        self._ray: Any = import_module("ray")
        try:
            host, has_port, port = (address or "").removeprefix("ray://").rpartition(":")
            if has_port:  # Ray itself waits for minutes, and then ends the process
                socket.create_connection((host, int(port)), _PATIENCE).close()
            self._ray.init(address=address, ignore_reinit_error=True, log_to_driver=False, **options)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            hint = "ray start --head on one machine, ray start --address=HEAD on the others"
            raise UnavailableError(f"the Ray cluster does not answer: {error}", hint=hint) from error

    def __call__(self, shards: Iterable[Any], settings: BatchSettings) -> Iterator[Any]:
        """Yield the results in order. Raises `UnavailableError` where the cluster is gone; the run goes on where it was."""
        built = self._ray.remote(num_cpus=1, max_retries=RETRIES)(build_batch)
        common = self._ray.put(settings)
        waiting: deque[Any] = deque()
        try:
            ahead = AHEAD * max(int(self._ray.cluster_resources().get("CPU", 1)), 1)
            for table in shards:
                waiting.append(built.remote(table, common))
                if len(waiting) >= ahead:
                    yield self._ray.get(waiting.popleft())
            while waiting:
                yield self._ray.get(waiting.popleft())
        except self._ray.exceptions.RayError as error:
            hint = "shards that are done are kept: start the cluster, and run the same again"
            raise UnavailableError(f"the Ray cluster has failed: {type(error).__name__}", hint=hint) from error

    def close(self) -> None:
        """Leave the cluster."""
        self._ray.shutdown()


_PATIENCE: Final = 10.0
"""Seconds that a cluster has to answer."""
