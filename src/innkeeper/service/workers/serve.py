"""Running a worker: its socket, its enrolment, and the server, which finishes what it has when it is told to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

import msgspec

from innkeeper.jobs.worker.engine import WorkerEngine
from innkeeper.jobs.worker.media_engine import MediaEngine
from innkeeper.service.app import address, library, listen, server_config
from innkeeper.service.guard.grants import Keys
from innkeeper.service.settings import Settings
from innkeeper.service.workers.agent import Membership, WorkerAgent
from innkeeper.service.workers.app import worker_app


def serve_worker(
    engine: WorkerEngine | MediaEngine,
    settings: Settings,
    ready: Callable[[str], None],
    join: Callable[[str], Membership] | None = None,
) -> None:
    """Execute requests until told to stop (SIGTERM, Ctrl-C); those under way are finished first.

    Args:
        engine: what executes.
        settings: its address, keys and limits. Who has joined a service takes calls with the key of its membership alone.
        ready: called once with the address, when the socket takes connections.
        join: makes of the address a membership, where the worker is to belong to a service.

    Raises:
        ConfigError: an address that is taken, or that others can reach while no key is set.
        UnavailableError: the service does not take the worker, or the extra ``serve`` is not installed.
    """
    uvicorn = library("uvicorn")
    door = listen(settings)
    at = address(settings, door)
    try:
        membership = None if join is None else join(at)
        own = settings if membership is None else msgspec.structs.replace(settings, keys=Keys(membership.call_key))
        around = None if membership is None else WorkerAgent(engine, membership).around
        app = worker_app(engine, own.checked(), around)
    except BaseException:
        door.close()
        raise
    server = uvicorn.Server(server_config(uvicorn, app, own))
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: _stop(server, engine))
    ready(at)
    server.run(sockets=[door])


def _stop(server: Any, engine: WorkerEngine | MediaEngine) -> None:
    engine.drain()
    server.should_exit = True
