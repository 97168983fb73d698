"""UserFolder: one user's files of a SillyTavern install, read-only and by names that cannot lead out of the folder.

Names of files come from cards, settings and chats, which nobody has vetted: a name is one part of a path, and what a link
leads to has to be below the folder as well. Keys (``secrets.json``) are never opened. `user_folder` finds the folder of a user
in an install; `mapping_of`, `list_of` and `text_of` read what nobody has vetted as what it should be.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from innkeeper.content.errors import LIMITS, Limits, MissingFileError, check_limit
from innkeeper.content.files.reader import Reader, missing_as_error
from innkeeper.content.json.text import decode_json
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.errors import FormatError, InputError, Where
from innkeeper.prompt.near import did_you_mean
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.prompt.text import shorten

SETTINGS: Final = "settings.json"
"""The file that everything selected is in."""

SECRETS: Final = "secrets.json"
"""The file with the keys of providers, which is never opened."""

DEFAULT_USER: Final = "default-user"
"""The handle of the user of an install for one."""

ATTACHED: Final = (("user", "images"), ("user", "files"))
"""The folders that attached pictures and files are in."""

MAX_FILES: Final = 20_000
"""Files of one of the folders that are looked at (no error: the rest is not seen)."""

_MARKS: Final = (SETTINGS, "characters", "chats")
_FORBIDDEN: Final = frozenset("/\\\0")
_LONGEST: Final = 255
_SHOWN: Final = 80


class UserFolder:
    """The files below ``root``. What had to be passed over is in ``notes``, in order.

    ``linked`` are folders outside that links in it may lead to, as where characters lie on another disk; ``edited`` are
    bytes as `with_edits` takes them.
    """

    def __init__(
        self,
        root: Path,
        limits: Limits = LIMITS,
        linked: Iterable[str | Path] = (),
        edited: Mapping[str, bytes] = EMPTY,
    ) -> None:
        self.root = root
        self.limits = limits
        self._edited = edited
        self.notes: list[Note] = []
        self._linked = tuple(Path(folder).expanduser().resolve() for folder in linked)
        self._real = root.resolve()

    def again(self) -> UserFolder:
        """Return the folder without its notes, to be read anew."""
        return UserFolder(self.root, self.limits, self._linked, self._edited)

    def with_edits(self, edited: Mapping[str, bytes]) -> UserFolder:
        """The folder with these bytes in the place of those of files, by their names in it: chats and JSON alone."""
        return UserFolder(self.root, self.limits, self._linked, edited)

    def note(self, message: str, *, kind: NoteKind = NoteKind.WARNING, at: str | None = None, **data: Any) -> None:
        """Say something of the folder, or of the file ``at`` in it."""
        self.notes.append(Note(kind, message, where=None if at is None else Where(asset=at), data=FrozenDict(data)))

    def path(self, *parts: str) -> Path | None:
        """The path of a file; ``None`` for a missing one, or if its name or a link leads out of the folder."""
        shown = shorten("/".join(parts), _SHOWN)
        if not all(map(_is_name, parts)) or parts[-1].casefold() == SECRETS:
            self.note(f"{shown!r} is not the name of a file in this folder: it is not read", kind=NoteKind.LIMIT)
            return None
        path = self.root.joinpath(*parts)
        try:
            if not path.is_file():
                if path.exists():
                    self.note("this is not a regular file: it is not read", at=shown)
                return None
            return path if self._is_inside(path, shown) else None
        except (OSError, RuntimeError, ValueError) as error:
            self._unreadable(error, shown)
            return None

    def _is_inside(self, path: Path, shown: str) -> bool:
        """Whether what a path leads to is in the folder, and is not the keys under another name."""
        real = path.resolve()
        if not any(real.is_relative_to(folder) for folder in (self._real, *self._linked)):
            message = "this link leads out of the folder: it is not read; --linked FOLDER allows a folder outside"
            self.note(message, kind=NoteKind.LIMIT, at=shown)
            return False
        if real.name.casefold() == SECRETS:
            self.note("this link leads to the keys of providers: it is not read", kind=NoteKind.LIMIT, at=shown)
            return False
        return True

    def _unreadable(self, error: Exception, shown: str) -> None:
        self.note(f"this cannot be read: {getattr(error, 'strerror', None) or error}", at=shown)

    def names(self, *folder: str, suffix: str) -> tuple[str, ...]:
        """The names of files with a suffix, sorted; at most `MAX_FILES` of them. Of a folder outside there are none."""
        path, shown = self.root.joinpath(*folder), shorten("/".join(folder), _SHOWN)
        try:
            if not path.is_dir() or not self._is_inside(path, shown):
                return ()
            names = sorted(file.name for file in path.iterdir() if file.name.endswith(suffix))
        except (OSError, RuntimeError) as error:
            self._unreadable(error, shown)
            return ()
        if len(names) > MAX_FILES:
            self.note(f"of {len(names)} files {MAX_FILES} are looked at", kind=NoteKind.LIMIT, at=shown)
        return tuple(names[:MAX_FILES])

    def data(self, *parts: str, size_limit: str = "file_bytes") -> bytes | None:
        """The bytes of a file; ``None`` where `path` is. Raises `LimitError`, and `MissingFileError`."""
        path = self.path(*parts)
        if path is None:
            return None
        if (name := "/".join(parts)) in self._edited:
            return self._edited[name]
        with Reader(path, self.limits, size_limit=size_limit) as reader:
            return reader.all()

    def media(self, url: str) -> bytes | None:
        """The bytes of an attached file or a picture that a chat names by its address in the application; see `Ports.media`."""
        try:
            parts = unquote(urlsplit(url).path).strip("/").split("/")
        except ValueError:
            return None
        if "://" in url[:_SHOWN] or tuple(parts[:2]) not in ATTACHED:
            return None
        try:
            return self.data(*parts)
        except (InputError, MissingFileError):
            return None

    def json(self, *parts: str, keys_limit: str = "json_keys") -> Mapping[str, Any] | None:
        """The object in a JSON file; ``None``, with a note, if it is missing or damaged."""
        name = "/".join(parts)
        try:
            data = self.data(*parts)
            tree = None if data is None else decode_json(data, self.limits, name=name, keys_limit=keys_limit)
        except (InputError, MissingFileError) as error:
            line = error.where.line if error.where is not None else None
            self.note(f"{error.message}; read as if it were not there", at=name if line is None else f"{name}:{line}")
            return None
        if tree is not None and not isinstance(tree, dict):
            self.note("this is not a JSON object; read as if it were not there", at=name)
            return None
        return tree


def _is_name(part: str) -> bool:
    return part not in ("", ".", "..") and not _FORBIDDEN & set(part) and len(part.encode(errors="replace")) <= _LONGEST


def user_folder(
    path: str | Path, user: str | None = None, *, limits: Limits = LIMITS, linked: Iterable[str | Path] = ()
) -> UserFolder:
    """The folder of a user, from itself, from the data folder that it is in, or from the install's own.

    ``user`` is a handle; without one it is the only user, or the default one. ``linked`` is that of `UserFolder`.

    Raises:
        MissingFileError: there is no such folder, or it cannot be read.
        FormatError: no user's folder is there, or several, and ``user`` does not say which.
    """
    with missing_as_error(os.fspath(path)):
        return _user_folder(Path(os.path.expanduser(path)), user, limits, linked)  # noqa: PTH111 - of nobody's home it makes nothing


def _user_folder(base: Path, user: str | None, limits: Limits, linked: Iterable[str | Path]) -> UserFolder:
    if not base.is_dir():
        raise MissingFileError(f"there is no folder {shorten(str(base), _SHOWN)!r}", where=Where(asset=str(base)))
    if user is None and _is_user(base):
        return UserFolder(base, limits, linked)
    users = [account for root in (base, base / "data") for account in _users(root, limits)]
    named = {account.name: account for account in reversed(users)}
    chosen = named.get(user or (DEFAULT_USER if DEFAULT_USER in named else next(iter(named), "")))
    if chosen is None or (user is None and len(named) > 1 and DEFAULT_USER not in named):
        raise FormatError(
            _no_user(user, named), where=Where(asset=str(base)), hint=did_you_mean(user or "", named, _which(named))
        )
    return UserFolder(chosen, limits, linked)


def _is_user(folder: Path) -> bool:
    try:
        return (folder / SETTINGS).is_file() or all((folder / mark).is_dir() for mark in _MARKS[1:])
    except OSError:
        return False


def _users(root: Path, limits: Limits) -> Iterable[Path]:
    if not root.is_dir():
        return ()
    folders = [path for path in sorted(root.iterdir()) if path.is_dir() and _is_user(path)]
    check_limit(limits, "archive_entries", len(folders), "the number of users", asset=str(root))
    return folders


def _no_user(user: str | None, named: Mapping[str, Path]) -> str:
    if user is not None:
        return f"there is no user {shorten(user, _SHOWN)!r} here"
    return "there are several users here" if named else "this is not a SillyTavern data folder"


def _which(named: Mapping[str, Path]) -> str:
    if named:
        return f"users: {', '.join(sorted(named))}; give the folder of one"
    return (
        "a user's folder has settings.json, characters and chats: data/default-user, or data, or the install's folder"
    )


def mapping_of(value: Any, *path: str) -> Mapping[str, Any]:
    """The object at a path of objects; an empty one if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def list_of(value: Any) -> list[Any]:
    """A list, or an empty one."""
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """A text, or an empty one."""
    return value if isinstance(value, str) else ""
