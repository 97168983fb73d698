"""Server: the inspector alone, on this machine; and beside the service, behind its keys."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from innkeeper.service.app import address, library, listen, server_config
from innkeeper.service.guard.auth_throttle import AuthThrottle
from innkeeper.service.inspector.access import Access, Visitor
from innkeeper.service.inspector.desk.desk import Desk
from innkeeper.service.inspector.surface import PAGE, Inspector
from innkeeper.service.settings import Settings, presented_key

if TYPE_CHECKING:
    from innkeeper.service.inspector.library.room import LibraryRoom
    from innkeeper.service.inspector.talking import Talk


SURFACE: Final = "inspector"
"""What a key must be allowed to look at workspaces."""

_HOST: Final = "127.0.0.1"


def serve_inspector(
    desk: Desk,
    ready: Callable[[str], None],
    *,
    port: int = 0,
    talk: Talk | None = None,
    library_room: LibraryRoom | None = None,
) -> None:
    """Serve one workspace on this machine until told to stop (SIGTERM, Ctrl-C).

    Args:
        desk: the workspace.
        ready: called once with the address that opens it, when it can be opened.
        port: where to listen; 0 takes any free port.
        talk: what answers prompts.
        library_room: the library beside it.

    Raises:
        ConfigError: the port is taken.
        UnavailableError: the extra ``serve`` is not installed.
    """
    uvicorn = library("uvicorn")
    library("websockets")
    settings = Settings(host=_HOST, port=port, stop_seconds=1)
    door = listen(settings)
    inspector = Inspector(desk, Access(), talk, library_room)
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    server = uvicorn.Server(server_config(uvicorn, inspector, settings))
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: setattr(server, "should_exit", True))
    ready(entrance(address(settings, door), inspector.access))
    server.run(sockets=[door])


def entrance(base: str, access: Access) -> str:
    """The address that opens the inspector once."""
    return f"{base}{PAGE}?token={access.new_token()}"


def access_of(settings: Settings) -> Access:
    """Who may look beside a service: whoever opens the one-time address, and keys that may use the surface `SURFACE`."""
    if not settings.keys:
        return Access()
    guesses = AuthThrottle(settings.keys)

    def keyed(headers: Mapping[str, str], client: str) -> Visitor | None:
        if not presented_key(headers):
            return None
        name = guesses.caller(headers, client)
        grant = settings.keys.grant(name)
        grant.check_surface(SURFACE)
        return Visitor(name, grant)

    return Access(None, keyed)
