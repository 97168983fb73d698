"""StoredProfiles: profiles as rows of the library: a ``profile.toml``, the files that it names, and who may call it.

A row holds what a folder would, byte for byte, so that either becomes the other. What is stored has been opened before; what is
read is looked at again by whoever uses it, since rows can be written by others.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import delete, insert, select, update

from innkeeper.library.db.engine import Database
from innkeeper.library.db.tables.logs import profile_files as files
from innkeeper.library.db.tables.logs import profiles as rows
from innkeeper.prompt.errors import ConfigError, LimitError, UnknownNameError, UsageError, Where
from innkeeper.taverns.profiles.files import FileNameError, FolderFiles, checked_parts
from innkeeper.taverns.profiles.opened import PROFILE_FILE, OpenProfile, open_profile
from innkeeper.taverns.profiles.profile import MAX_PROFILE_BYTES, Profile, parse_profile

MAX_STORED_VOLUME: Final = 64 * 1024 * 1024
"""Bytes of all files of a profile that is stored (`LimitError`)."""

_ADDRESS: Final = "give the address a name: innkeeper serve --route NAME=ADDRESS:MODEL, and route = 'NAME'"


class ProfileRow(NamedTuple):
    """What a list says of a stored profile. ``digest`` changes with its document and its files."""

    name: str
    tenant: str
    owner: str
    digest: str
    updated_at: str


class StoredProfile(msgspec.Struct, frozen=True, kw_only=True):
    """A profile with its files by their names.

    Keys of ``tenant``, and only the key ``owner``, may call it; where these are empty, all may.
    """

    name: str
    document: bytes
    files: Mapping[str, bytes] = {}
    tenant: str = ""
    owner: str = ""

    def checked(self) -> Profile:
        """What its document says.

        Raises:
            FormatError, ConfigError: the document is no profile, one of another name, or names an address to ask.
            FileNameError: a file leads out of a folder, or stands in for the document.
            UsageError: the document names a file that is not stored.
            LimitError: the document, or all files together, are too large.
        """
        where = Where(asset=self.name)
        if len(self.document) > MAX_PROFILE_BYTES:
            raise LimitError(
                PROFILE_FILE,
                limit="MAX_PROFILE_BYTES",
                allowed=MAX_PROFILE_BYTES,
                found=len(self.document),
                where=where,
            )
        size = sum(map(len, self.files.values()))
        if size > MAX_STORED_VOLUME:
            what = "the files of a stored profile"
            raise LimitError(what, limit="MAX_STORED_VOLUME", allowed=MAX_STORED_VOLUME, found=size, where=where)
        profile = parse_profile(self.document, name=self.name, asset=PROFILE_FILE)
        if profile.name != self.name:
            raise ConfigError(f"the profile calls itself {profile.name!r}", where=where, hint="store it by that name")
        if any("://" in (word or "") for word in (profile.provider, profile.model, profile.route)):
            raise ConfigError("a stored profile names a route or a provider, no address", where=where, hint=_ADDRESS)
        for name in self.files:
            if "/".join(checked_parts(name)) != name or name == PROFILE_FILE:
                raise FileNameError(f"{name!r:.80} is not a file beside the profile", where=where)
        for name in profile.files:
            if name not in self.files:
                raise UsageError(f"the profile names the file {name!r:.80}, which is not stored with it", where=where)
        return profile

    def opened(self) -> OpenProfile:
        """It, read. Raises as `checked` and `open_profile`."""
        return open_profile(self.checked(), self.files)


def folder_profile(folder: Path, *, name: str | None = None, tenant: str = "", owner: str = "") -> StoredProfile:
    """The profile in a folder, as a row holds it. ``name`` is for one that does not say its own.

    Raises as `open_profile`.
    """
    source = FolderFiles(folder)
    document = source.read(PROFILE_FILE, limit="MAX_PROFILE_BYTES", allowed=MAX_PROFILE_BYTES)
    profile = parse_profile(document, name=name or folder.resolve().name, asset=str(folder / PROFILE_FILE))
    open_profile(folder)
    read = {"/".join(checked_parts(one)): source.read(one) for one in profile.files}
    return StoredProfile(name=profile.name, document=document, files=read, tenant=tenant, owner=owner)


def write_folder(stored: StoredProfile, folder: Path, *, force: bool = False) -> tuple[str, ...]:
    """Write a stored profile as a folder; the names of its files. Raises `UsageError` for files that exist, as `checked` does."""
    from innkeeper.content.files.saving import save_bytes

    stored.checked()
    folder.mkdir(parents=True, exist_ok=True)
    written = {**stored.files, PROFILE_FILE: stored.document}
    for name, data in written.items():
        path = folder.joinpath(*checked_parts(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        save_bytes(path, data, force=force)
    return tuple(written)


class StoredProfiles:
    """The profiles of one database. Every method is one transaction."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def all(self) -> tuple[ProfileRow, ...]:
        """All of them, by their names."""
        columns = (rows.c.name, rows.c.tenant, rows.c.owner, rows.c.digest, rows.c.updated_at)
        with self.db.reading() as connection:
            return tuple([ProfileRow(*row) for row in connection.execute(select(*columns).order_by(rows.c.name))])

    def get(self, name: str) -> StoredProfile:
        """One with its files. Raises `UnknownNameError`."""
        with self.db.snapshot() as connection:
            row = connection.execute(select(rows).where(rows.c.name == name)).first()
            if row is None:
                known = connection.execute(select(rows.c.name).order_by(rows.c.name)).scalars().all()
                raise UnknownNameError("stored profile", name, known)
            stored_files = connection.execute(
                select(files.c.name, files.c.content).where(files.c.profile == name)
            ).all()
        read = {one.name: bytes(one.content) for one in stored_files}
        return StoredProfile(
            name=row.name, document=row.document.encode(), files=read, tenant=row.tenant, owner=row.owner
        )

    def put(self, stored: StoredProfile, *, replace: bool = False) -> ProfileRow:
        """Store a profile, once it has been opened.

        Raises `UsageError` for a name that is taken, and as `StoredProfile.opened`.
        """
        digest, now = stored.opened().digest, self.db.now()
        values: dict[str, Any] = {
            "tenant": stored.tenant,
            "owner": stored.owner,
            "document": stored.document.decode("utf-8-sig"),
            "digest": digest,
            "updated_at": now,
        }
        with self.db.transaction() as connection:
            there = connection.execute(select(rows.c.name).where(rows.c.name == stored.name)).first() is not None
            if there and not replace:
                hint = "use --force to replace it"
                raise UsageError(
                    f"there is a profile {stored.name!r} already", where=Where(self.db.location), hint=hint
                )
            if there:
                connection.execute(update(rows).where(rows.c.name == stored.name).values(values))
                connection.execute(delete(files).where(files.c.profile == stored.name))
            else:
                connection.execute(insert(rows).values(name=stored.name, created_at=now, **values))
            for name, content in stored.files.items():
                connection.execute(insert(files).values(profile=stored.name, name=name, content=content))
        return ProfileRow(stored.name, stored.tenant, stored.owner, digest, now)

    def remove(self, name: str) -> None:
        """Forget a profile. Raises `UnknownNameError`."""
        with self.db.transaction() as connection:
            if not connection.execute(delete(rows).where(rows.c.name == name)).rowcount:
                raise UnknownNameError("stored profile", name, [row.name for row in self.all()])

    def close(self) -> None:
        """Close the database."""
        self.db.close()
