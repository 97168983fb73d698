"""The application: surfaces beside one another behind one guard, and the server that runs it.

The server is uvicorn with the limits that it does not set by itself, idle connections among them.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from innkeeper.lazy import install_line
from innkeeper.prompt.errors import ConfigError, UnavailableError
from innkeeper.service.errors import MAX_CONNECTIONS, MAX_HEADERS, MAX_SOCKET_MESSAGE, REST_SECONDS
from innkeeper.service.settings import Settings

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from innkeeper.inference.routing.models import Models
    from innkeeper.library.log.spendings import Spendings
    from innkeeper.service.guard.accounts import Ledger
    from innkeeper.service.guard.work import Gate
    from innkeeper.service.inspector.surface import Inspector


OPERATIONS: Final = "innkeeper.service.gateway.operations:OPERATIONS"
"""The table of operations, where nothing else is said."""

_GARBAGE: Final = 1_000, 5, 200
"""When Python looks for garbage while calls wait: often among few objects, since a look takes as long as there are any. What
streams hold while they are open is looked through seldom: that takes long, and little of it is garbage."""


def serve(
    settings: Settings,
    ready: Callable[[str], None],
    operations: str = OPERATIONS,
    *,
    grpc_ready: Callable[[str], object] = str,
    models: Models | None = None,
    inspector: Inspector | None = None,
) -> None:
    """Answer until told to stop (SIGTERM, Ctrl-C); calls under way are finished first.

    Args:
        settings: what to serve and how.
        ready: called once with the address, when the socket takes connections.
        operations: what `create_app` takes.
        grpc_ready: called once with the address of gRPC, where that is answered.
        models: what `create_app` takes.
        inspector: what `create_app` takes.

    Raises:
        ConfigError: settings that do not go together, or an address that is taken.
        UnavailableError: the extra ``serve`` is not installed.
    """
    library("uvicorn")
    library("websockets")
    app = create_app(settings, operations, grpc_ready=grpc_ready, models=models, inspector=inspector)
    door = listen(settings)
    _allow_files(2 * MAX_CONNECTIONS)
    # Any client can cause warnings; errors are ours.
    server_log = logging.getLogger("uvicorn.error")
    server_log.setLevel(logging.ERROR)
    server_log.addFilter(_is_no_end_of_a_call)
    server = server_of(app, settings, lambda: setattr(app.state.readiness, "stopping", True))
    app.state.pool.prepare()
    from innkeeper.service.model_surfaces import warm

    warm()
    gc.collect()
    gc.freeze()  # what is here stays: to walk through it again would hold every call up for a tenth of a second
    gc.set_threshold(*_GARBAGE)
    try:
        ready(address(settings, door))
        server.run(sockets=[door])
    finally:
        app.state.pool.close()


def _is_no_end_of_a_call(line: logging.LogRecord) -> bool:
    """Whether a line of the server's says something else than that a call was cut short when the service stopped."""
    return not (line.exc_info and isinstance(line.exc_info[1], asyncio.CancelledError))


def _allow_files(count: int) -> None:
    """Have room for so many open sockets, as far as the system lets us: a stream holds the client's and the provider's."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows, which has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def listen(settings: Settings) -> socket.socket:
    """The socket at the settings' address, bound. Raises `ConfigError` where that cannot be."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host.strip("[]"),
            settings.port,
            type=socket.SOCK_STREAM,
            proto=socket.IPPROTO_TCP,
            flags=socket.AI_PASSIVE,
        )[0]
        # With the protocol named, connections send at once: asyncio looks at it before it turns delays off.
        door = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise _no_door(settings, error) from error
    try:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind(address)
        door.listen(MAX_CONNECTIONS)
    except OSError as error:
        door.close()
        raise _no_door(settings, error) from error
    return door


def address(settings: Settings, door: socket.socket) -> str:
    """Where the service is, as people type it."""
    host = settings.host.strip("[]")
    return f"http://{f'[{host}]' if ':' in host else host}:{door.getsockname()[1]}"


def _no_door(settings: Settings, error: Exception) -> ConfigError:
    reason = getattr(error, "strerror", None) or str(error)
    hint = "choose another --port or --host; a service takes the port above its own, too, for gRPC"
    return ConfigError(f"cannot listen on {settings.host}:{settings.port}: {reason}", hint=hint)


def server_of(app: Any, settings: Settings, stopping: Callable[[], object] = lambda: None) -> Any:
    """The server of an application, with limits on its connections. SIGTERM ends it, after ``stopping`` was called."""
    from innkeeper.service.protocol import ConnectionLimits, protocols

    uvicorn = library("uvicorn")
    http, sockets = protocols(
        ConnectionLimits(settings.header_seconds, settings.body_seconds, MAX_CONNECTIONS, REST_SECONDS)
    )
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http=http,
            ws=sockets,
            ws_max_size=min(MAX_SOCKET_MESSAGE, settings.max_body),
            ws_per_message_deflate=False,  # a few bytes would become many, on the event loop
            h11_max_incomplete_event_size=MAX_HEADERS,
            backlog=MAX_CONNECTIONS,
            timeout_keep_alive=REST_SECONDS,
            timeout_graceful_shutdown=settings.stop_seconds,
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            lifespan="on",
        )
    )

    def stop(*_: object) -> None:
        stopping()
        server.should_exit = True

    if threading.current_thread() is threading.main_thread():
        # The server takes the signal, finishes, and raises it again, which is to end this process in the ordinary way.
        signal.signal(signal.SIGTERM, stop)
    return server


def create_app(
    settings: Settings | None = None,
    operations: str = OPERATIONS,
    *,
    grpc_ready: Callable[[str], object] = str,
    models: Models | None = None,
    inspector: Inspector | None = None,
) -> Starlette:
    """The service as an ASGI application. A surface is a list of routes; later ones mount beside the gateway.

    The guard stands before all of them: origins, keys, sizes, and how much is done at once. Calls are computed by workers,
    processes that the application starts with its lifespan, or with its first call, and ends with its lifespan.

    Args:
        settings: what to serve and how; the defaults where left out.
        operations: the table of what the gateway answers, written ``module:name``, under which the workers import it.
        grpc_ready: called with the address of gRPC when the lifespan has begun to answer there.
        models: who answers at ``/v1``; the model on this machine where left out.
        inspector: the inspector, whose pages are among the service's; it is closed with the application.

    Raises:
        ConfigError: settings that do not go together.
        UnavailableError: the extra ``serve`` is not installed.
    """
    checked = (settings or Settings()).checked()
    library("starlette.routing")
    from innkeeper.service.connect.connect import RUN, connect_mount
    from innkeeper.service.connect.grpc_server import grpc_served
    from innkeeper.service.connect.runs import Runs
    from innkeeper.service.gateway.gateway import Gateway
    from innkeeper.service.gateway.routes import gateway_pages, gateway_socket
    from innkeeper.service.gateway.system import gateway_description
    from innkeeper.service.guard.application import guarded_application
    from innkeeper.service.health import Readiness, health_pages
    from innkeeper.service.model_surfaces import ModelRoutes, response_store
    from innkeeper.service.operations.surfaces import LibrarySurfaces
    from innkeeper.service.pages import described_routes
    from innkeeper.service.processes.pool import Pool
    from innkeeper.service.prompts.stored_profiles import stored_folders
    from innkeeper.service.prompts.surface import PromptSurface
    from innkeeper.service.telemetry import ServiceMetrics, log_call, spans

    checked, folders = stored_folders(checked)
    module, _, name = operations.partition(":")
    gateway = Gateway(checked, getattr(import_module(module), name), ready=False)
    pool = Pool(checked, operations, gateway.state)
    gate = _gate(checked)
    metrics, readiness = ServiceMetrics(gate), Readiness()
    readiness.checks["workers"] = pool.is_ready
    prompts = PromptSurface(checked, pool, models, folders)
    surfaces = LibrarySurfaces(checked, prompts.models, prompts.local, prompts.routes)
    prompts.gate = surfaces.gate
    model_routes = ModelRoutes(surfaces.models, response_store(checked), surfaces.gate)
    runs = Runs(checked, prompts.local, surfaces.gate)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        pool.open()
        try:
            async with prompts.followed(), surfaces.served(), grpc_served(runs, checked, gate, grpc_ready):
                yield
                readiness.stopping = True
        finally:
            if inspector is not None:
                await inspector.close()
            await runs.close()
            await model_routes.close()
            await gate.ledger.close()
            pool.close()

    gate.observers = (log_call, metrics.observe, *spans())
    metrics.watch_router(surfaces.router)
    tables = [
        health_pages(readiness, metrics, surfaces.router, lambda: () if checked.keys else model_routes.models.cards()),
        gateway_pages(gateway, pool),
        *model_routes.tables(),
        prompts.pages(),
    ]
    others = chain([gateway_description(gateway.state), RUN], surfaces.descriptions())
    app = guarded_application(
        [
            *described_routes(tables, others, keyed=bool(checked.keys)),
            gateway_socket(gateway, gate, pool),
            *surfaces.routes(),
            connect_mount(runs, checked),
            *(() if inspector is None else inspector.routes),
        ],
        checked,
        gate,
        lifespan=lifespan,
        access=None if inspector is None else inspector.access,
    )
    app.state.pool, app.state.readiness = pool, readiness
    return app


def _gate(settings: Settings) -> Gate:
    from innkeeper.service.guard.accounts import read_prices
    from innkeeper.service.guard.work import Gate

    return Gate(
        calls=settings.max_calls,
        volume=settings.max_bodies,
        answers=settings.max_answers,
        keys=settings.keys,
        prices=read_prices(settings.prices),
        ledger=_ledger(settings),
        seconds=settings.time_budget,
    )


def _ledger(settings: Settings) -> Ledger:
    """Where it stands what keys have spent: in the library's database where one is named and some key's money is counted."""
    from innkeeper.service.guard.accounts import Ledger, spendings_in_memory

    if settings.database is None or not settings.keys.is_metered:
        return Ledger(spendings_in_memory)
    from innkeeper.lazy import require

    require("sqlalchemy")

    def opened() -> Spendings:
        from innkeeper.library.db.engine import Database
        from innkeeper.library.log.spendings import Spendings

        return Spendings(Database.open(settings.database))

    return Ledger(opened)


def library(name: str) -> Any:
    """The module ``name`` of a library of the extra ``serve``.

    Raises:
        UnavailableError: the library is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        missing = name.partition(".")[0]
        if error.name != missing:
            raise
        raise UnavailableError(
            f"the service needs the library {missing}, which is not installed", hint=install_line("'innkeeper[serve]'")
        ) from error
