"""Server: the inspector alone, on this machine."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from innkeeper.service.app import address, library, listen, server_of
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
    library_access: LibraryAccess | None = None,
) -> None:
    """Serve one workspace on this machine until told to stop (SIGTERM, Ctrl-C).

    Args:
        session: the workspace.
        ready: called once with the address that opens it, when it can be opened.
        port: where to listen; 0 takes any free port.
        talk: what answers prompts.
        library_access: the library beside it.

    Raises:
        ConfigError: the port is taken.
        UnavailableError: the extra ``serve`` is not installed.
    """
    library("uvicorn")
    library("websockets")
    settings = Settings(host=_HOST, port=port, stop_seconds=1)
    listener = listen(settings)
    inspector = Inspector(session, Access(), talk, library_access)
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    server = server_of(inspector, settings)
    ready(entrance(address(settings, listener), inspector.access))
    server.run(sockets=[listener])


def entrance(base: str, access: Access) -> str:
    """The address that opens the inspector once."""
    return f"{base}{PAGE}?token={access.new_token()}"
