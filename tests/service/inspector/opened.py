"""A workspace in this process, and a browser that has opened it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient, WebSocketTestSession

from innkeeper.prompt.data import EMPTY
from innkeeper.service.inspector.access import Access
from innkeeper.service.inspector.library.library_access import LibraryAccess
from innkeeper.service.inspector.session.messages import WorkspaceOptions
from innkeeper.service.inspector.session.process import EngineHere
from innkeeper.service.inspector.session.session import WorkspaceSession
from innkeeper.service.inspector.surface import Inspector
from innkeeper.service.inspector.workspace.disk import read_folder

EXAMPLES = Path(__file__).parents[3] / "examples"
BASE = "http://127.0.0.1:8123"
NOW = "2026-10-06T19:05:00+00:00"
OPTIONS = WorkspaceOptions(now=NOW)
SETTINGS = {"message": "Is the reef safe tonight?"}


class Browser(TestClient):
    """A browser at the inspector. It sends what pages of the inspector send."""

    def __init__(self, inspector: Inspector) -> None:
        super().__init__(inspector, base_url=BASE, headers={"origin": BASE}, follow_redirects=False)
        self.inspector = inspector
        self.get(f"/inspector/?token={inspector.access.new_token()}")

    def json(self, path: str) -> Any:
        """What the API tells."""
        reply = self.get(f"/v1/inspector/{path}")
        assert reply.status_code == 200, reply.text
        return reply.json()

    def live(self) -> WebSocketTestSession:
        """A connection for edits."""
        return self.websocket_connect(f"ws{BASE.removeprefix('http')}/v1/inspector/live")

    def id_of(self, name: str) -> str:
        """The id of a file."""
        files = self.json("workspace")["files"]
        return next(str(file["id"]) for file in files if file["name"] == name)


def answer_of(live: WebSocketTestSession) -> Any:
    """The next answer of a connection; findings that come while nobody types are passed over."""
    while True:
        told = json.loads(live.receive_text())
        if "inspection" in told or "error" in told:
            return told


def example_session(options: WorkspaceOptions = OPTIONS) -> WorkspaceSession:
    """The packaged example."""
    return WorkspaceSession("Skerrow", read_folder(EXAMPLES, writable=False), options, EngineHere, settings=SETTINGS)


def session_of(
    files: dict[str, bytes], folder: Path | None = None, settings: Mapping[str, Any] = EMPTY
) -> WorkspaceSession:
    """A workspace of some files, all of them used; on the disk where a folder is given."""
    given = []
    for name, data in files.items():
        path = None if folder is None else folder / name
        if path is not None:
            path.write_bytes(data)
        given.append((name, data, path))
    options = WorkspaceOptions(now=NOW, every=True)
    return WorkspaceSession("test", given, options, EngineHere, folder=folder, settings=settings)


def browser_of(session: WorkspaceSession, library: LibraryAccess | None = None) -> Browser:
    """A browser that has opened a workspace, with a library where one is given."""
    return Browser(Inspector(session, Access(), None, library))
