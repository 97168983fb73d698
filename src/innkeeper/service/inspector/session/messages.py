"""Frames: what travels between the server and the process of a workspace: heads in MessagePack, bodies as bytes."""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from innkeeper.service.inspector.views.installed import InstallChoice


class EngineCall(msgspec.Struct, frozen=True, array_like=True):
    """What is asked: the name of an operation, and what it is about."""

    name: str
    argument: str = ""
    detail: str = ""
    number: int = 0
    flag: bool = False


class EngineReply(msgspec.Struct, frozen=True, array_like=True):
    """How it is answered: an HTTP status, a media type, the name of a file."""

    status: int = 200
    media_type: str = "application/json"
    name: str = ""

    @property
    def is_ok(self) -> bool:
        """Whether it is no error."""
        return self.status == HTTPStatus.OK


class OpenedFile(msgspec.Struct, frozen=True):
    """A file as it was saved, where it was edited its document as it is now (JSON), and what else is on the disk.

    ``fresh``: it was begun here and never saved. ``image``: the picture that the card goes into when it is saved.
    """

    id: str
    name: str
    data: bytes
    writable: bool = True
    copy: bytes | None = None
    theirs: bytes | None = None
    fresh: bool = False
    image: bytes | None = None


class WorkspaceOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a workspace is beside its files and settings.

    ``now`` is the time of builds. With ``every`` all files are used, and not one of each kind. ``talk``: whether models can be
    asked, ``routes`` which; ``library``: whether there is a library beside it.
    """

    now: str = ""
    every: bool = False
    talk: bool = False
    routes: tuple[str, ...] = ()
    library: bool = False


class InstallSource(msgspec.Struct, frozen=True):
    """A user's folder of SillyTavern, folders outside that links in it may lead to, and what of it is open."""

    root: str
    linked: tuple[str, ...] = ()
    choice: InstallChoice = InstallChoice()


class OpeningFile(msgspec.Struct, frozen=True):
    """A file of a folder that is to be opened, by its name in it; ``data`` where it is in another file."""

    name: str
    data: bytes | None = None
    is_used: bool = True


class InstallOpening(msgspec.Struct, frozen=True):
    """What is to be opened of a folder."""

    title: str
    files: tuple[OpeningFile, ...]


class WorkspaceState(msgspec.Struct, frozen=True, kw_only=True):
    """All that a workspace is made of: its files, edits that are not in their copies, the settings that differ from the usual."""

    title: str = ""
    files: tuple[OpenedFile, ...] = ()
    edits: tuple[bytes, ...] = ()
    settings: bytes | None = None
    options: WorkspaceOptions = WorkspaceOptions()
    install: InstallSource | None = None
