"""Session: what the server keeps of a workspace: files as they were saved, what was changed since, and its process.

It looks into none of them. It is what a lost process is started from again, and the one place that reads and writes files.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import UnknownNameError, UsageError
from innkeeper.prompt.typed.once import decode, unpack
from innkeeper.service.exchange import encode
from innkeeper.service.inspector.session.messages import (
    EngineCall,
    EngineReply,
    OpenedFile,
    WorkspaceOptions,
    WorkspaceState,
)
from innkeeper.service.inspector.session.process import EngineProcess, Engines
from innkeeper.service.inspector.views.workspace import FileView, Saved
from innkeeper.service.inspector.workspace.disk import save_new, save_over

MAX_EDITS: Final = 500
"""Edits that are kept apart (no error: the documents are kept as they are then)."""


class SessionFile:
    """A file: where it is, its bytes as they were saved, and its document where that was edited."""

    def __init__(self, id: str, name: str, data: bytes, path: Path | None = None) -> None:  # noqa: A002 - the field's name
        self.id, self.name, self.data, self.path = id, name, data, path
        self.copy: bytes | None = None


class _EditPath(msgspec.Struct, frozen=True):
    """What of an edit the server looks at: where it is."""

    file: str
    path: tuple[str | int, ...] = ()
    remove: bool = False
    insert: bool = False


class WorkspaceSession:
    """One workspace of the server.

    Args:
        title: what the page calls it.
        files: names, bytes, and where each can be saved; None for what is only read.
        options: what it is beside them.
        engines: what makes the process; it is given what to open.
        folder: where new files are saved; None: nowhere.
        settings: what of the settings differs from the usual.
    """

    def __init__(
        self,
        title: str,
        files: Iterable[tuple[str, bytes, Path | None]],
        options: WorkspaceOptions = WorkspaceOptions(),  # noqa: B008 - a frozen value
        engines: Callable[[Callable[[], bytes]], Engines] = EngineProcess,
        *,
        folder: Path | None = None,
        settings: Mapping[str, Any] = EMPTY,
    ) -> None:
        self.title, self.options, self.folder = title, options, folder
        self.files: dict[str, SessionFile] = {}
        self.settings: dict[str, Any] = dict(settings)
        self._edits: list[tuple[_EditPath, bytes]] = []
        self._count = 0
        for name, data, path in files:
            self._add(name, data, path)
        self._engine = engines(self.opening)
        self.live = 0
        """Open pages."""
        self.admit: Callable[[int], None] = lambda _: None
        """Raises `LimitError` where there is no room for so many bytes more."""

    @property
    def size(self) -> int:
        """Bytes of files and edits."""
        files = sum(len(file.data) + len(file.copy or b"") for file in self.files.values())
        return files + sum(len(raw) for _, raw in self._edits)

    def _add(self, name: str, data: bytes, path: Path | None = None) -> SessionFile:
        self._count += 1
        file = SessionFile(f"f{self._count}", name, data, path)
        self.files[file.id] = file
        return file

    def opening(self) -> bytes:
        """All that a process is started from."""
        writable = self.folder is not None
        files = tuple(
            OpenedFile(file.id, file.name, file.data, file.path is not None or writable, file.copy)
            for file in self.files.values()
        )
        return msgspec.msgpack.encode(
            WorkspaceState(
                title=self.title,
                files=files,
                edits=tuple(raw for _, raw in self._edits),
                settings=encode(self.settings) if self.settings else None,
                options=self.options,
            )
        )

    def file(self, name: str) -> SessionFile:
        """A file by its id. Raises `UnknownNameError`."""
        try:
            return self.files[name]
        except KeyError:
            raise UnknownNameError("file", name, self.files) from None

    async def ask(self, call: EngineCall, body: bytes = b"") -> tuple[EngineReply, bytes]:
        """What the process answers. Raises `TimeBudgetError`, `WorkerLostError`."""
        return await self._engine.call(call, body)

    async def close(self) -> None:
        """End the process."""
        await self._engine.close()

    # ------------------------------------------------------------------------------------------------------------- live

    def note(self, edits: Iterable[bytes], settings: dict[str, Any] | None) -> None:
        """Keep edits and settings for a process that is started later; what is no edit was refused by the one there is."""
        for raw in edits:
            try:
                path = decode(raw, _EditPath)
            except msgspec.DecodeError:
                continue
            last = self._edits[-1][0] if self._edits else None
            if last == path and not path.insert and not path.remove:
                self._edits[-1] = (path, raw)
            else:
                self._edits.append((path, raw))
        self.settings |= settings or {}

    async def settle(self) -> None:
        """Keep the documents as they are where many edits have come together."""
        if len(self._edits) <= MAX_EDITS:
            return
        before = len(self._edits)
        answer, body = await self.ask(EngineCall("copies"))
        if answer.is_ok and len(self._edits) == before:
            copies = unpack(body, dict[str, bytes])
            for file in self.files.values():
                file.copy = copies.get(file.id)
            self._edits.clear()

    def _forget(self, name: str) -> None:
        """What was edited in a file is saved, or taken back."""
        self.file(name).copy = None
        self._edits = [(path, raw) for path, raw in self._edits if path.file != name]

    # ------------------------------------------------------------------------------------------------------------ files

    async def add(self, name: str, data: bytes) -> tuple[EngineReply, bytes]:
        """One more file, in memory until it is saved. Raises `LimitError` where there is no room for it."""
        self.admit(len(data))
        file = self._add(name, data)
        answer, body = await self.ask(EngineCall("add", file.id, file.name, flag=self.folder is not None), data)
        if not answer.is_ok:
            del self.files[file.id]
        return answer, body

    async def open_replay(self, data: bytes) -> tuple[EngineReply, bytes]:
        """A replay bundle, which alone is used from now on. Raises `LimitError` where there is no room for it."""
        self.admit(len(data))
        file = self._add(f"replay-{self._count + 1}.json", data)
        answer, body = await self.ask(EngineCall("open_replay", file.id, file.name), data)
        if not answer.is_ok:
            del self.files[file.id]
        else:
            view: dict[str, Any] = msgspec.json.decode(body)
            self.settings = view["settings"]
        return answer, body

    async def revert(self, name: str) -> tuple[EngineReply, bytes]:
        """A file as it is saved."""
        self._forget(name)
        return await self.ask(EngineCall("revert", name))

    async def save(self, name: str) -> tuple[EngineReply, bytes]:
        """Write a file. What was there is kept beside it.

        Raises:
            UsageError: there is no place for it, or the file there is another than was opened.
            MissingFileError: it cannot be written.
        """
        file = self.file(name)
        answer, data = await self.ask(EngineCall("written", name))
        if not answer.is_ok:
            return answer, data
        backup = None
        if file.path is not None:
            backup = await asyncio.to_thread(save_over, file.path, file.data, data)
        elif self.folder is not None:
            file.path = await asyncio.to_thread(save_new, self.folder, file.name, data)
        else:
            raise UsageError(f"{file.name} has no place to be saved in", hint="export it instead")
        file.data = data
        self._forget(name)
        answer, body = await self.ask(EngineCall("saved", name), data)
        if not answer.is_ok:
            return answer, body
        return answer, msgspec.json.encode(Saved(decode(body, FileView), backup))
