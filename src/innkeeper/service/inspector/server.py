"""Server: the inspector alone, on this machine."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from innkeeper.service.app import address, library, listen, server_config
from innkeeper.service.inspector.access import Access
from innkeeper.service.inspector.session.session import WorkspaceSession
from innkeeper.service.inspector.surface import PAGE, Inspector
from innkeeper.service.settings import Settings

if TYPE_CHECKING:
    from innkeeper.service.inspector.library.library_access import LibraryAccess
    from innkeeper.service.inspector.talking import InspectorTalk


_HOST: Final = "127.0.0.1"


def serve_inspector(
    session: WorkspaceSession,
    ready: Callable[[str], None],
    *,
    port: int = 0,
    talk: InspectorTalk | None = None,
    library_room: LibraryAccess | None = None,
) -> None:
    """Serve one workspace on this machine until told to stop (SIGTERM, Ctrl-C).

    Args:
        session: the workspace.
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
    inspector = Inspector(session, Access(), talk, library_room)
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    server = uvicorn.Server(server_config(uvicorn, inspector, settings))
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: setattr(server, "should_exit", True))
    ready(entrance(address(settings, door), inspector.access))
    server.run(sockets=[door])


def entrance(base: str, access: Access) -> str:
    """The address that opens the inspector once."""
    return f"{base}{PAGE}?token={access.new_token()}"
