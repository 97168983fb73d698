"""StoredFolders: the stored profiles of a library as folders in a private directory, where the service's processes read them.

So there is one way to read a profile, and workers need no database. The directory follows the database: a profile that is stored,
changed or removed is seen within moments. A row that is no valid profile is left out, and the log says why.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from innkeeper.prompt.errors import InnkeeperError, UsageError
from innkeeper.taverns.profiles.files import checked_parts
from innkeeper.taverns.profiles.opened import PROFILE_FILE

if TYPE_CHECKING:
    from innkeeper.library.profiles import ProfileRow, StoredProfile, StoredProfiles
    from innkeeper.service.settings import Settings


LOG: Final = logging.getLogger("innkeeper.service")

FOLLOW_SECONDS: Final = 1.0
"""Seconds between two refreshes of the stored profiles."""


class StoredFolders:
    """One folder with a folder for each stored profile. Close it with the application.

    Args:
        opened: opens the database.
        taken: names that other profiles have.
    """

    def __init__(self, opened: Callable[[], StoredProfiles], taken: Collection[str] = ()) -> None:
        self._opened, self._taken = opened, taken
        self._rows: StoredProfiles | None = None
        self._known: dict[str, ProfileRow] = {}
        self._complained: dict[str, str] = {}
        self.folder = Path(tempfile.mkdtemp(prefix="innkeeper-profiles-"))
        self.changed: Callable[[], object] = bool
        """Called when a profile has come, changed or gone."""
        atexit.register(self._forget, os.getpid())

    def row(self, name: str) -> ProfileRow | None:
        """Return the row of a profile with its owner; None for one that is not stored."""
        return self._known.get(name)

    def hidden(self, tenant: str, owner: str) -> tuple[str, ...]:
        """Return the profiles that are hidden from a caller."""
        return tuple(
            [row.name for row in self._known.values() if not (row.tenant in ("", tenant) and row.owner in ("", owner))]
        )

    def refresh(self) -> None:
        """Update the folders from the rows. Raises `DatabaseError`."""
        rows = {row.name: row for row in self._store().all()}
        before = self._known
        for name, row in rows.items():
            if before.get(name) != row:
                self._take(row)
        gone = [name for name in before if name not in rows]
        for name in gone:
            self._drop(name)
        if self._known != before:
            self.changed()

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Follow the rows within the block; remove the folders after it."""
        task = asyncio.create_task(self._follow())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Remove the folders, and close the database."""
        self._forget(os.getpid())
        if self._rows is not None:
            self._rows.close()

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(FOLLOW_SECONDS)
            try:
                await asyncio.to_thread(self.refresh)
            except InnkeeperError as error:  # the folders stay as they are until it is back
                self._complain("", f"stored profiles are not followed: {error.message}")
            else:
                self._complained.pop("", None)

    def _take(self, row: ProfileRow) -> None:
        """Write one profile's folder; an invalid row has none."""
        try:
            if row.name in self._taken:
                raise UsageError("another profile has its name")
            stored = self._store().get(row.name)
            stored.checked()
            _write(stored, self.folder / row.name)
        except (InnkeeperError, OSError) as error:
            self._drop(row.name)
            words = error.message if isinstance(error, InnkeeperError) else str(error.strerror)
            self._complain(row.name, f"the stored profile {row.name!r:.80} is left out: {words}")
        else:
            self._known = {**self._known, row.name: row}
            self._complained.pop(row.name, None)

    def _drop(self, name: str) -> None:
        if name in self._known:
            self._known = {known: row for known, row in self._known.items() if known != name}
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def _complain(self, name: str, words: str) -> None:
        """Log it once, not with each refresh."""
        if self._complained.get(name) != words:
            self._complained[name] = words
            LOG.warning("%s", words)

    def _store(self) -> StoredProfiles:
        if self._rows is None:
            self._rows = self._opened()
        return self._rows

    def _forget(self, process: int) -> None:
        """Remove the folders, in the process that created them."""
        if os.getpid() == process:
            shutil.rmtree(self.folder, ignore_errors=True)


def _write(stored: StoredProfile, folder: Path) -> None:
    """Write the files, then the document that names them, then remove the others: readers always get all that is named."""
    written = {**stored.files, PROFILE_FILE: stored.document}
    for name, data in written.items():
        path = folder.joinpath(*checked_parts(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and path.read_bytes() == data:
            continue
        fresh = path.with_name(f".{path.name}")
        fresh.write_bytes(data)
        fresh.replace(path)
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if path.relative_to(folder).as_posix() not in written:
            path.unlink()


def stored_folders(settings: Settings) -> tuple[Settings, StoredFolders | None]:
    """Return the settings of a service with the folder of its stored profiles, and these; None if they are off.

    Raises `DatabaseError`, and `UnavailableError` without the library's extra.
    """
    if not settings.stored_profiles:
        return settings, None
    from innkeeper.lazy import require
    from innkeeper.taverns.profiles.opened import Profiles

    require("sqlalchemy")

    def opened() -> StoredProfiles:
        from innkeeper.library.db.engine import Database
        from innkeeper.library.profiles import StoredProfiles

        return StoredProfiles(Database.open(settings.database))

    folders = StoredFolders(opened, frozenset(Profiles(settings.profiles)))
    try:
        folders.refresh()
    except BaseException:
        folders.close()
        raise
    return msgspec.structs.replace(settings, profile_folder=folders.folder), folders
