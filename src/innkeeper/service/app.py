"""The application: surfaces beside one another behind one guard, and the server that runs it.

The server is uvicorn with the limits that it does not set by itself, idle connections among them.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from innkeeper.prompt.errors import ConfigError, UnavailableError
from innkeeper.service.errors import MAX_CONNECTIONS, MAX_HEADERS, MAX_SOCKET_MESSAGE, STOP_SECONDS
from innkeeper.service.settings import Settings

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from innkeeper.service.gateway.operation import Operations

__all__ = ["IdleTimer", "address", "create_app", "library", "listen", "serve"]


def serve(settings: Settings, ready: Callable[[str], None], operations: Operations | None = None) -> None:
    """Answer until told to stop (SIGTERM, Ctrl-C); calls under way are finished first.

    Args:
        settings: what to serve and how.
        ready: called once with the address, when the socket takes connections.
        operations: what `create_app` takes.

    Raises:
        ConfigError: settings that do not go together, or an address that is taken.
        UnavailableError: the extra ``serve`` is not installed.
    """
    uvicorn = library("uvicorn")
    library("websockets")
    app = create_app(settings, operations)
    door = listen(settings)
    ready(address(settings, door))
    # Any client can cause warnings; errors are ours.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    if threading.current_thread() is threading.main_thread():
        # The server takes the signal, finishes, and raises it again, which is to end this process in the ordinary way.
        signal.signal(signal.SIGTERM, lambda *_: None)
    uvicorn.Server(_config(uvicorn, app, settings)).run(sockets=[door])


def listen(settings: Settings) -> socket.socket:
    """The socket at the settings' address, bound. Raises `ConfigError` where that cannot be."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
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
        door.bind(place)
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
    return ConfigError(
        f"cannot listen on {settings.host}:{settings.port}: {reason}", hint="choose another --port or --host"
    )


def _config(uvicorn: Any, app: Any, settings: Settings) -> Any:
    return uvicorn.Config(
        app,
        http=_protocol(settings.header_seconds),
        ws="websockets-sansio",
        ws_max_size=MAX_SOCKET_MESSAGE,
        h11_max_incomplete_event_size=MAX_HEADERS,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=STOP_SECONDS,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
    )


def _protocol(seconds: float) -> type:
    """HTTP as uvicorn speaks it, which hangs up on clients whose headers do not arrive in time."""
    h11_protocol: Any = library("uvicorn.protocols.http.h11_impl").H11Protocol

    class Impatient(h11_protocol):  # type: ignore[misc]  # uvicorn is imported only where it is needed
        """Counts the time from a connection's beginning, or the end of a reply, to the end of the next headers."""

        idle: IdleTimer

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.idle = IdleTimer(transport, seconds)
            self.idle.wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self.idle.stop()
            super().connection_lost(exc)

        def handle_events(self) -> None:
            before = self.cycle
            super().handle_events()
            if self.cycle is not before or self.transport.get_protocol() is not self:
                self.idle.stop()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.cycle is None or self.cycle.response_complete:  # else the next request was there already
                self.idle.wait()

    return Impatient


class IdleTimer:
    """One connection's. `wait` begins to count, `stop` ends it; a client that still takes its reply is waited for."""

    def __init__(self, transport: asyncio.Transport, seconds: float) -> None:
        self._transport = transport
        self._seconds = seconds
        self._unsent = 0
        self._timer: asyncio.TimerHandle | None = None

    def wait(self) -> None:
        """Hang up in so many seconds, unless stopped."""
        self.stop()
        self._unsent = self._transport.get_write_buffer_size()
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._late)

    def stop(self) -> None:
        """Count no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        left = self._transport.get_write_buffer_size()
        if not left:
            self._transport.close()
        elif left < self._unsent:
            self.wait()  # a slow reader of a large reply
        else:
            self._transport.abort()


def create_app(settings: Settings | None = None, operations: Operations | None = None) -> Starlette:
    """The service as an ASGI application. A surface is a list of routes; later ones mount beside the gateway.

    The guard stands before all of them: origins, keys, sizes, and how much is done at once.

    Args:
        settings: what to serve and how; the defaults where left out.
        operations: what the gateway answers, `OPERATIONS` with others, for instance; `OPERATIONS` where left out.

    Raises:
        ConfigError: settings that do not go together.
        UnavailableError: the extra ``serve`` is not installed.
    """
    checked = (settings or Settings()).checked()
    starlette, middleware = library("starlette.applications"), library("starlette.middleware")
    from innkeeper.service.gateway.gateway import Gateway
    from innkeeper.service.gateway.routes import routes
    from innkeeper.service.guard import Guard, missing
    from innkeeper.service.work import Gate

    gate = Gate(
        calls=checked.max_calls, volume=checked.max_bodies, workers=checked.workers, seconds=checked.time_budget
    )
    app = starlette.Starlette(
        routes=routes(Gateway(checked, operations), gate),
        middleware=[middleware.Middleware(Guard, settings=checked, gate=gate)],
        exception_handlers={404: missing, 405: missing},
    )
    app.router.redirect_slashes = False
    return app  # type: ignore[no-any-return]  # the library is imported by name


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
            f"the service needs the library {missing}, which is not installed", hint="pip install 'innkeeper[serve]'"
        ) from error
