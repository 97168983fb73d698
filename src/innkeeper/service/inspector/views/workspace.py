"""Workspace: files, their findings and edits, and the settings that a prompt is built with.

Places in a file are paths of keys and indexes from the root of its document; characters are counted in code points.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from innkeeper.prompt.errors import InnkeeperError
from innkeeper.service.inspector.views.installed import InstallView

Kind = Literal["character", "lorebook", "preset", "persona", "chat", "request", "profile", "other"]
"""What a file holds."""

Path = tuple[str | int, ...]
"""A place in a document."""


V = TypeVar("V", bound=msgspec.Struct)


def view_of(kind: type[V], row: object, **fields: Any) -> V:
    """Return the view of a row: ``fields``, and the attributes of the row that its other fields are named after."""
    columns = (name for name in kind.__struct_fields__ if name not in fields)
    return kind(**{name: getattr(row, name) for name in columns}, **fields)


class ProblemView(msgspec.Struct, frozen=True):
    """Why something was not done: a kind of error, a sentence, how to mend it, and where."""

    code: str
    message: str
    hint: str | None = None
    where: str | None = None


def problem_of(error: InnkeeperError) -> ProblemView:
    """An error as the page shows it."""
    facts = error.to_dict()
    where = str(error.where) if error.where is not None and str(error.where) else None
    return ProblemView(facts["kind"], facts["message"], facts.get("hint"), where)


def problem_body(error: InnkeeperError) -> bytes:
    """The body of a reply that is an error: ``{"error": …}``."""
    return msgspec.json.encode({"error": problem_of(error)})


class FindingView(msgspec.Struct, frozen=True):
    """Something to know about a place in a file, or about the prompt. ``fix`` is an edit that mends it, where one is safe.

    ``where`` is a place in no file that is open. ``line`` and ``column`` (from 1) are in the text at ``path``, without a path in
    the file's own. The page has a word for each ``code``.
    """

    severity: Literal["error", "warning", "note"]
    code: str
    message: str
    hint: str | None = None
    file: str | None = None
    path: Path = ()
    fix: Edit | None = None
    where: str | None = None
    line: int | None = None
    column: int | None = None


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a working copy: the ``value`` at ``path``, or with ``remove`` nothing there.

    An empty path replaces the whole document. In a list, the index after the last appends, and with ``insert`` the value goes
    in before what is there.
    """

    file: str
    path: Path
    value: Any | UnsetType = UNSET
    remove: bool = False
    insert: bool = False


class FileView(msgspec.Struct, frozen=True):
    """A file of the workspace. ``bytes`` as saved, ``used`` by the settings, ``changed`` since it was saved.

    ``conflict``: another program has changed the file on the disk since it was edited here.
    ``parts`` are the presets and templates of a preset's file.
    """

    id: str
    name: str
    kind: Kind
    bytes: int
    used: bool
    changed: bool
    writable: bool
    picture: bool
    parts: tuple[str, ...] = ()
    findings: tuple[FindingView, ...] = ()
    conflict: bool = False


class SettingsView(msgspec.Struct, frozen=True, kw_only=True):
    """What is built beside the files. ``used`` are ids of files; ``turn`` cuts the chat after so many messages of it.

    ``dialect``: whom the prompt is built for; None: whom the profile or the tavern builds for. ``reserve``: tokens kept free for
    the answer. ``persona``: the id of the file of the one that is used.
    """

    tavern: str
    profile: str | None = None
    dialect: str | None = None
    model: str | None = None
    context_window: int | None = None
    reserve: int | None = None
    seed: int = 0
    now: str = ""
    message: str | None = None
    turn: int | None = None
    persona: str | None = None
    used: tuple[str, ...] = ()


class SettingsChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Some of the settings: those that are not left out."""

    tavern: str | UnsetType = UNSET
    profile: str | UnsetType | None = UNSET
    dialect: str | UnsetType | None = UNSET
    model: str | UnsetType | None = UNSET
    context_window: int | UnsetType | None = UNSET
    reserve: int | UnsetType | None = UNSET
    seed: int | UnsetType = UNSET
    now: str | UnsetType = UNSET
    message: str | UnsetType | None = UNSET
    turn: int | UnsetType | None = UNSET
    persona: str | UnsetType | None = UNSET
    used: tuple[str, ...] | UnsetType = UNSET


class Variation(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The workspace with other settings; with ``saved``, its files as they were saved and not as edited."""

    settings: SettingsChange | UnsetType = UNSET
    saved: bool = False


class Workspace(msgspec.Struct, frozen=True):
    """What is open. ``turns``: messages of the chat; ``library`` and ``talk``: whether those rooms are there.

    ``install``: what is open of a SillyTavern folder, where it is one.
    """

    title: str
    files: tuple[FileView, ...]
    settings: SettingsView
    taverns: tuple[str, ...]
    dialects: tuple[str, ...]
    turns: int
    library: bool
    talk: bool
    profiles: tuple[str, ...] = ()
    formats: dict[str, tuple[str, ...]] = {}
    routes: tuple[str, ...] = ()
    install: InstallView | None = None


class FileContent(msgspec.Struct, frozen=True):
    """A working copy: its document, or its text where that is no JSON."""

    file: FileView
    document: Any = None
    text: str | None = None


class FileReply(msgspec.Struct, frozen=True):
    """The file after it was reverted."""

    file: FileView


class Changes(msgspec.Struct, frozen=True):
    """What saving would change: the document as saved and as edited, indented."""

    before: str
    after: str


class ConflictField(msgspec.Struct, frozen=True):
    """A place that both have changed: its value here and on the disk; null where there is none."""

    path: Path
    mine: Any = None
    theirs: Any = None


class Conflict(msgspec.Struct, frozen=True):
    """What both have changed, and how many other places each has. ``readable``: whether the file on the disk can be merged."""

    fields: tuple[ConflictField, ...]
    mine: int
    theirs: int
    readable: bool


class ConflictEnd(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a conflict ends: all of theirs, all of mine, or both, where ``mine`` lists the fields that are taken from here."""

    take: Literal["theirs", "mine", "merge"]
    mine: tuple[Path, ...] = ()


class EntriesCopy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Entries of a file that are to be put into the lorebook of another, ``to``."""

    file: str
    paths: tuple[Path, ...]
    to: str


class EntryEdits(msgspec.Struct, frozen=True):
    """The edits that do it; they are for whoever asked to make."""

    edits: tuple[Edit, ...]


class Saved(msgspec.Struct, frozen=True):
    """The file after it was saved; ``backup`` is the name of the original, kept beside it."""

    file: FileView
    backup: str | None = None
