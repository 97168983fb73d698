"""The data folder: which files requests may name, and reading and writing them.

Files are named as the original does, ``backend_projects/SmartTavern/data/presets/NAME/preset.json``, or from the data folder
on. Names that lead out of it, absolute ones, hidden files and symbolic links are refused. A failure is a body, as in the
original: ``{error, message}`` with a code.
"""

from __future__ import annotations

import stat
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, Final

from innkeeper.content.files.saving import save_bytes
from innkeeper.content.json.text import decode_json, encode_json
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.service.gateway.state import AppState

__all__ = ["MAIN_FILES", "PREFIX", "DataError", "named", "read_bytes", "read_json", "root_of", "within", "write_json"]

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


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file, whole or not at all. Raises `DataError`: ``WRITE_FAILED``."""
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
