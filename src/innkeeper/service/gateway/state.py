"""State of the gateway: what it keeps in its data folder."""

from __future__ import annotations

import glob
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from innkeeper.content.files.private import one_writer
from innkeeper.content.files.saving import save_bytes
from innkeeper.content.json.text import decode_json, encode_json
from innkeeper.prompt.allowance import DEFAULT_LIMITS, BuildLimits
from innkeeper.prompt.determinism import Clock
from innkeeper.prompt.errors import FormatError, InnkeeperError, LimitError
from innkeeper.prompt.machine import fresh_seed
from innkeeper.prompt.note import Note
from innkeeper.service.errors import MAX_MACROS
from innkeeper.service.gateway.operation import Operations
from innkeeper.service.settings import Settings

if TYPE_CHECKING:
    from innkeeper.taverns.profiles.opened import Profiles


PREFIX: Final = "backend_projects/SmartTavern/data"
"""How the original names its data folder; replies name files from here."""

MAIN_FILES: Final = MappingProxyType(
    {
        "presets": "preset.json",
        "characters": "character.json",
        "world_books": "worldbook.json",
        "personas": "persona.json",
        "regex_rules": "regex_rule.json",
        "llm_configs": "llm_config.json",
        "conversations": "conversation.json",
    }
)
"""Folders of the data folder and the file that each folder in them has."""

_MAX_FILE: Final = 32 * 1024 * 1024
_MAX_NAME: Final = 1_024


class DataError(Exception):
    """A refusal or failure with the original's code; `body` is what the caller gets. Stays inside the gateway."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def body(self) -> dict[str, Any]:
        """``{error, message}``."""
        return {"error": self.code, "message": self.message}


def root_of(state: AppState) -> Path:
    """The data folder. Raises `DataError` where the service has none."""
    if state.settings.data is None:
        raise DataError("NO_DATA_FOLDER", "this service was started without a data folder (--data)")
    return state.settings.data


def within(state: AppState, name: str, folder: str | None = None) -> Path:
    """The path of a file that a request names, in ``folder`` of the data folder or anywhere below it.

    Raises:
        DataError: ``INVALID_INPUT`` for no name, ``OUT_OF_SCOPE`` for one that leads out, hides or is a link.
    """
    if not name.strip() or len(name) > _MAX_NAME or not name.isprintable():
        raise DataError("INVALID_INPUT", "file 必须为非空字符串")  # the original's words: a text that is not empty
    parts = _parts(name)
    outside = parts is None or len(parts) < 2 or (folder is not None and parts[0] != folder)  # noqa: PLR2004 - folder, file
    if parts is None or outside or any(part.startswith(".") for part in parts):
        raise _out_of_scope(folder)
    path = root_of(state)
    for part in parts:
        path /= part
        if path.is_symlink():
            raise _out_of_scope(folder)
    return path


def named(state: AppState, path: Path) -> str:
    """How replies name a file."""
    return f"{PREFIX}/{path.relative_to(root_of(state)).as_posix()}"


def read_bytes(path: Path) -> bytes:
    """A file. Raises `DataError`: ``NOT_FOUND``, ``READ_FAILED``."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise DataError("NOT_FOUND", "no such file")
        with path.open("rb") as file:
            data = file.read(_MAX_FILE + 1)
    except FileNotFoundError as error:
        raise DataError("NOT_FOUND", "no such file") from error
    except OSError as error:
        raise DataError("READ_FAILED", "the file cannot be read") from error
    if len(data) > _MAX_FILE:
        raise DataError("READ_FAILED", f"the file is larger than {_MAX_FILE} bytes")
    return data


def read_json(path: Path) -> Any:
    """A JSON file. Raises `DataError`: ``NOT_FOUND``, ``READ_FAILED``."""
    try:
        return decode_json(read_bytes(path), name=path.name)
    except InnkeeperError as error:
        raise DataError("READ_FAILED", str(error)) from error


@contextmanager
def writing(state: AppState) -> Iterator[None]:
    """The files of the data folder are this call's alone: other calls that write wait, in this process and in others.

    The lock goes with the process that holds it, so one that is killed keeps nobody waiting.
    """
    with one_writer(root_of(state)):
        yield


def sweep(folder: Path, name: str) -> None:
    """Remove what writers of a file that were killed have left beside it. To be called where nobody else writes."""
    for draft in folder.glob(f".{glob.escape(name)}.*.tmp"):
        with suppress(OSError):
            draft.unlink()


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file, whole or not at all. Raises `DataError`: ``WRITE_FAILED``."""
    sweep(path.parent, path.name)
    try:
        save_bytes(path, encode_json(value, indent=2), force=True)
    except (InnkeeperError, OSError) as error:
        raise DataError("WRITE_FAILED", "the file cannot be written") from error


def _parts(name: str) -> tuple[str, ...] | None:
    plain = name.strip().replace("\\", "/")
    path = PurePosixPath(plain.removeprefix(f"{PREFIX}/"))
    bad = path.is_absolute() or ".." in path.parts or ":" in plain
    return None if bad else path.parts


def _out_of_scope(folder: str | None) -> DataError:
    # The original's words: only files below the folder may be read.
    return DataError("OUT_OF_SCOPE", f"仅允许读取 {folder or 'data'} 目录下的文件")


NOW_HEADER: Final = "x-innkeeper-now"
"""The moment a call happens in, ISO 8601; the machine's where a request does not say. Replies say it."""

SEED_HEADER: Final = "x-innkeeper-seed"
"""What a call's chance is drawn from, a whole number; a fresh one where a request does not say. Replies say it."""

EXPLAIN_HEADER: Final = "x-innkeeper-explain"
"""With the value 1, a reply tells what was left out and why: ``notes``, and from construct ``verdicts`` on every entry."""

LIMITS_HEADER: Final = "x-innkeeper-limits"
"""What a call's work may take, as in ``seconds=0.5, steps=1000000``; never more than the service allows the caller."""

NOTES_HEADER: Final = "x-innkeeper-notes"
"""How many notes there are on a reply; left out where there are none."""

_SEED_DIGITS: Final = 18


class CustomMacros:
    """Names that callers registered, in lower case, and the operations they stand for. At most ``MAX_MACROS``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handlers: dict[str, str] = {}

    def add(self, handlers: Mapping[str, str]) -> None:
        """Add or replace. Raises `LimitError` where there would be too many; then none is added."""
        with self._lock:
            merged = {**self._handlers, **handlers}
            if len(merged) > MAX_MACROS:
                raise LimitError("custom macros", limit="MAX_MACROS", allowed=MAX_MACROS, found=len(merged))
            self._handlers = merged

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._handlers = {}

    def replace(self, handlers: dict[str, str]) -> None:
        """Have these and no others."""
        with self._lock:
            self._handlers = handlers

    @property
    def table(self) -> dict[str, str]:
        """Name to handler. A change makes another table, so that whoever holds one can tell."""
        return self._handlers

    def all(self) -> dict[str, str]:
        """Name to handler, as a copy."""
        return dict(self._handlers)


@dataclass(slots=True)
class AppState:
    """One application: its settings, its operations, its open WebSockets, and the macros registered with it."""

    settings: Settings
    operations: Operations
    sockets: int = 0
    macros: CustomMacros = field(default_factory=CustomMacros)
    _profiles: Profiles | None = None

    @property
    def profiles(self) -> Profiles:
        """The profiles of the settings' folders, looked for when they are first asked for. Raises as `Profiles` does."""
        if self._profiles is None:
            from innkeeper.taverns.profiles.opened import Profiles

            self._profiles = Profiles(self.settings.profiles, self.settings.profile_folder)
        return self._profiles


@dataclass(frozen=True, slots=True)
class GatewayCall:
    """One call: the application it reached, its moment, its seed, and whether its reply explains itself.

    Operations add to ``notes`` what they could not do.
    """

    state: AppState
    now: datetime
    seed: int
    explain: bool = False
    limits: BuildLimits | None = None
    notes: list[Note] = field(default_factory=list)

    @classmethod
    def of(cls, state: AppState, headers: Mapping[str, str], limits: BuildLimits | None = None) -> GatewayCall:
        """The call that a request's headers describe. It may take what they ask for, within ``limits`` and the settings'.

        Raises:
            FormatError: the moment is not a time, or the seed is not a number.
            UsageError: the limits are none.
        """
        explain = headers.get(EXPLAIN_HEADER) == "1"
        asked = BuildLimits.read(headers[LIMITS_HEADER].split(",")) if LIMITS_HEADER in headers else BuildLimits()
        most = (limits or BuildLimits()).within(state.settings.limits).with_defaults(DEFAULT_LIMITS)
        return cls(
            state, Clock.at(headers.get(NOW_HEADER)).now, _seed(headers.get(SEED_HEADER)), explain, asked.within(most)
        )

    def headers(self) -> dict[str, str]:
        """The headers that make the same call again, and the number of notes where there are any."""
        count = {NOTES_HEADER: str(len(self.notes))} if self.notes else {}
        return {NOW_HEADER: self.now.isoformat(), SEED_HEADER: str(self.seed), **count}

    def explained(self, result: Any) -> Any:
        """An operation's result, with the notes where the call asks for them."""
        if not self.explain or not isinstance(result, dict):
            return result
        return {**result, "notes": [{"text": str(note), **note.to_dict()} for note in self.notes]}


def _seed(text: str | None) -> int:
    if text is None:
        return fresh_seed()
    if not (text.isascii() and text.isdigit() and len(text) <= _SEED_DIGITS):
        raise FormatError(
            "the seed is not a whole number", hint=f"{SEED_HEADER}: a number of up to {_SEED_DIGITS} digits"
        )
    return int(text)
