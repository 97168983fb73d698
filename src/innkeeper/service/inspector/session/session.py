"""Session: what the server keeps of a workspace: files as they were saved, what was changed since, and its process.

It looks into none of them. It is what a lost process is started from again, and the one place that reads and writes files.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import InnkeeperError, UnknownNameError, UsageError, Where
from innkeeper.prompt.typed.once import decode, unpack
from innkeeper.service.exchange import encode
from innkeeper.service.inspector.session.messages import (
    EngineCall,
    EngineReply,
    InstallOpening,
    InstallSource,
    OpenedFile,
    WorkspaceOptions,
    WorkspaceState,
)
from innkeeper.service.inspector.session.process import EngineProcess, Engines
from innkeeper.service.inspector.views.exchanges import LiveShared, SharedChange
from innkeeper.service.inspector.views.installed import InstallChoice
from innkeeper.service.inspector.views.workspace import Conflict, ConflictEnd, FileView, Saved, view_of
from innkeeper.service.inspector.workspace.beginnings import beginning
from innkeeper.service.inspector.workspace.disk import ChangedFileError, read_installed, save_new, save_over, stamp_of
from innkeeper.taverns.silly.install.files import user_folder

MAX_EDITS: Final = 500
"""Edits that are kept apart (no error: the documents are kept as they are then)."""


WATCH_SECONDS: Final = 1.0
"""Seconds between two looks at the files on the disk, while a page is open."""


class OpenPage(Protocol):
    """An open page, which is sent what others change."""

    def tell(self, message: bytes) -> None:
        """Send a message when there is time."""


class SessionFile:
    """A file: where it is, the bytes that its edits are of, its document where that was edited, and what is on the disk.

    ``stamp`` is of the file on the disk as it was last read or written; ``theirs`` is what another program wrote there while
    the file was edited here.
    """

    def __init__(self, id: str, name: str, data: bytes, path: Path | None = None) -> None:  # noqa: A002 - the field's name
        self.id, self.name, self.data, self.path = id, name, data, path
        self.copy: bytes | None = None
        self.theirs: bytes | None = None
        self.fresh = False
        self.image: bytes | None = None
        self.disk = data
        self.stamp = None if path is None else stamp_of(path)

    @property
    def is_edited(self) -> bool:
        """Whether something of it is nowhere else, beside edits that are kept apart."""
        return self.fresh or any(part is not None for part in (self.copy, self.theirs, self.image))

    def saved(self, data: bytes) -> None:
        """Have these bytes, here and on the disk."""
        self.data = self.disk = data
        self.copy = self.theirs = self.image = None
        self.fresh = False
        self.stamp = None if self.path is None else stamp_of(self.path)

    def changed_on_disk(self) -> bytes | None:
        """What another program has written since the last look; None where nobody has."""
        stamp = None if self.path is None else stamp_of(self.path)
        if self.path is None or stamp is None or stamp == self.stamp or self.path.is_symlink():
            return None
        with suppress(OSError):
            data = self.path.read_bytes()
            self.stamp = stamp
            return None if data == self.disk else data
        return None


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
        install: the SillyTavern folder that the files are of; `open_install` opens them.
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
        install: InstallSource | None = None,
    ) -> None:
        self.title, self.options, self.folder, self.install = title, options, folder, install
        self.files: dict[str, SessionFile] = {}
        self.settings: dict[str, Any] = dict(settings)
        self._edits: list[tuple[_EditPath, bytes]] = []
        self._count = 0
        for name, data, path in files:
            self._add(name, data, path)
        self._engine = engines(self.opening)
        self.pages: set[OpenPage] = set()
        """Open pages."""
        self._watching: asyncio.Task[None] | None = None
        self.admit: Callable[[int], None] = lambda _: None
        """Raises `LimitError` where there is no room for so many bytes more."""

    @property
    def size(self) -> int:
        """Bytes of files and edits."""
        held = [
            each for file in self.files.values() for each in (file.data, file.copy, file.theirs, file.image) if each
        ]
        return sum(map(len, held)) + sum(len(raw) for _, raw in self._edits)

    def _add(self, name: str, data: bytes, path: Path | None = None) -> SessionFile:
        self._count += 1
        file = SessionFile(f"f{self._count}", name, data, path)
        self.files[file.id] = file
        return file

    def opening(self) -> bytes:
        """All that a process is started from."""
        writable = self.folder is not None
        files = tuple(
            view_of(OpenedFile, file, writable=file.path is not None or writable) for file in self.files.values()
        )
        return msgspec.msgpack.encode(
            WorkspaceState(
                title=self.title,
                files=files,
                edits=tuple(raw for _, raw in self._edits),
                settings=encode(self.settings) if self.settings else None,
                options=self.options,
                install=self.install,
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

    # ----------------------------------------------------------------------------------------------------------- shared

    @property
    def live(self) -> int:
        """How many pages are open."""
        return len(self.pages)

    def enter(self, page: OpenPage) -> None:
        """A page is open from now on; while one is, the files on the disk are watched."""
        self.pages.add(page)
        if self._watching is None:
            self._watching = asyncio.ensure_future(self._watch())

    def leave(self, page: OpenPage) -> None:
        """A page has gone away."""
        self.pages.discard(page)
        if not self.pages and self._watching is not None:
            self._watching.cancel()
            self._watching = None

    def share(self, message: bytes, *, but: OpenPage | None = None) -> None:
        """Send all open pages but one what it has changed."""
        for page in self.pages:
            if page is not but:
                page.tell(message)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            with suppress(InnkeeperError):
                await self.look()

    async def look(self) -> None:
        """Take in what another program has written: as the file, or where it is edited here as the other side of a conflict."""
        files = list(self.files.values())
        changed = await asyncio.to_thread(lambda: [(file, data) for file in files if (data := file.changed_on_disk())])
        for file, data in changed:
            self.admit(len(data))
            await self._meet(file, data)
        if changed:
            self.share(RELOAD)

    async def _meet(self, file: SessionFile, data: bytes) -> None:
        answer, body = await self.ask(EngineCall("meet", file.id), data)
        if not answer.is_ok:
            return
        file.disk = data
        if decode(body, FileView).conflict:
            file.theirs = data
        else:
            file.data = data
            self._forget(file.id)

    async def resolve(self, name: str, body: bytes) -> tuple[EngineReply, bytes]:
        """End a conflict. What is on the disk then counts as seen."""
        file = self.file(name)
        answer, conflict = await self.ask(EngineCall("conflict", name))
        if not answer.is_ok:
            return answer, conflict
        answer, reply = await self.ask(EngineCall("resolve", name), body)
        if answer.is_ok:
            _, copies = await self.ask(EngineCall("copies"))
            if decode(conflict, Conflict).readable or decode(body, ConflictEnd).take == "theirs":
                file.data = file.disk
            file.theirs = None
            self._forget(name)
            file.copy = unpack(copies, dict[str, bytes]).get(name)
            self.share(RELOAD)
        return answer, reply

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

    # ---------------------------------------------------------------------------------------------------------- install

    async def choose(self, body: bytes) -> tuple[EngineReply, bytes]:
        """Open something else of the SillyTavern folder. Files with edits stay open. Raises `UnknownNameError`, `LimitError`."""
        if self.install is None:
            raise UnknownNameError("SillyTavern folder", "")
        source = msgspec.structs.replace(self.install, choice=decode(body, InstallChoice))
        answer, data = await self.ask(EngineCall("choose"), msgspec.msgpack.encode(source))
        if not answer.is_ok:
            return answer, data
        await asyncio.to_thread(self.open_install, source, unpack(data, InstallOpening))
        await self.ask(EngineCall("open"), self.opening())
        self.share(RELOAD)
        return await self.ask(EngineCall("view"))

    def open_install(self, source: InstallSource, opening: InstallOpening) -> None:
        """Have the files of a choice. Those that are open already stay as they are. Raises `LimitError`."""
        read = read_installed(user_folder(source.root, linked=source.linked), opening.files)
        edited = {path.file for path, _ in self._edits}
        before = {file.name: file for file in self.files.values() if file.id in edited or file.is_edited}
        self.install, self.title = source, opening.title
        self.files = {file.id: file for file in before.values()}
        ids = {name: before[name].id if name in before else self._add(name, data, path).id for name, data, path in read}
        used = [ids[file.name] for file in opening.files if file.is_used and file.name in ids and file.data is None]
        persona = next((ids[file.name] for file in opening.files if file.data is not None), None)
        self.settings = {"used": used, "persona": persona} | {
            name: self.settings[name] for name in ("seed", "now") if name in self.settings
        }

    # ------------------------------------------------------------------------------------------------------------ files

    async def begin(self, kind: str) -> tuple[EngineReply, bytes]:
        """A new file of a kind, which is to be saved. Raises `UnknownNameError`, and `LimitError` as `add`."""
        there = () if self.folder is None else await asyncio.to_thread(_names_in, self.folder)
        return await self.add(*beginning(kind, [*(file.name for file in self.files.values()), *there]), fresh=True)

    async def repaint(self, name: str, image: bytes) -> tuple[EngineReply, bytes]:
        """Have another picture for a card. Raises `LimitError` where there is no room for it."""
        self.admit(len(image))
        answer, body = await self.ask(EngineCall("repaint", name), image)
        if answer.is_ok:
            self.file(name).image = image
            self.share(RELOAD)
        return answer, body

    async def add(self, name: str, data: bytes, *, fresh: bool = False) -> tuple[EngineReply, bytes]:
        """One more file, in memory until it is saved. Raises `LimitError` where there is no room for it."""
        self.admit(len(data))
        file = self._add(name, data)
        file.fresh = fresh
        call = EngineCall("add", file.id, file.name, number=int(fresh), flag=self.folder is not None)
        answer, body = await self.ask(call, data)
        if not answer.is_ok:
            del self.files[file.id]
        self.share(RELOAD)
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
            self.share(RELOAD)
        return answer, body

    async def revert(self, name: str) -> tuple[EngineReply, bytes]:
        """A file as it is saved."""
        file = self.file(name)
        self._forget(name)
        file.data, file.theirs, file.image = file.disk, None, None
        answer = await self.ask(EngineCall("revert", name))
        self.share(RELOAD)
        return answer

    async def save(self, name: str) -> tuple[EngineReply, bytes]:
        """Write a file. What was there is kept beside it.

        Raises:
            UsageError: there is no place for it.
            ChangedFileError: another program has changed the file: there is a conflict now.
            MissingFileError: it cannot be written.
        """
        file = self.file(name)
        answer, data = await self.ask(EngineCall("written", name))
        if not answer.is_ok:
            return answer, data
        backup = None
        if file.path is not None:
            backup = await self._save_over(file, file.path, data)
        elif self.folder is not None:
            file.path = await asyncio.to_thread(save_new, self.folder, file.name, data)
        else:
            raise UsageError(f"{file.name} has no place to be saved in", hint="export it instead")
        self._forget(name)
        file.saved(data)
        answer, body = await self.ask(EngineCall("saved", name), data)
        self.share(RELOAD)
        if not answer.is_ok:
            return answer, body
        return answer, msgspec.json.encode(Saved(decode(body, FileView), backup))

    async def _save_over(self, file: SessionFile, path: Path, data: bytes) -> str | None:
        if file.theirs is not None:
            raise ChangedFileError("another program has changed the file", where=Where(asset=path.name))
        try:
            return await asyncio.to_thread(save_over, path, file.disk, data)
        except ChangedFileError:
            file.stamp = None
            await self.look()
            raise


RELOAD: Final = msgspec.json.encode(LiveShared(SharedChange(reload=True)))
"""What is sent when more than edits and settings have changed."""


def _names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]
