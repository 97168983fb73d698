"""Case: one golden case of an original system, and the reader of case files.

A file is a JSON list of ``{name, input, expected | error, …}``. Which tavern a case belongs to is read from its keys, or
from the folder it lies in (``silly``, ``smart``, ``risu``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import FormatError, Where

TAVERNS: Final = ("silly", "smart", "risu")
"""Taverns that have golden cases, and the folder names they lie under."""

_SILLY_KEYS: Final = frozenset({"api", "kind", "chat_id", "text", "world_info"})


class Case(msgspec.Struct, frozen=True):
    """One case. ``raw`` is everything the file says about it; ``base`` the shared input some files are merged over."""

    name: str
    tavern: str
    area: str
    raw: Mapping[str, Any]
    source: str
    base: Mapping[str, Any] = EMPTY

    @property
    def input(self) -> Any:
        """What the case feeds in."""
        return self.raw.get("input")

    @property
    def expected(self) -> Any:
        """What the original answered; ``None`` when it answered with an error."""
        return self.raw.get("expected")


def load_cases(paths: Iterable[str | Path]) -> Iterator[Case]:
    """Every case of the files, and of the ``*.json`` files below the folders.

    Raises `FormatError` naming the file, or the folder in which there is no case.
    """
    for path in paths:
        root = Path(path)
        if not root.exists():
            raise FormatError("no such file or folder", where=Where(asset=str(path)))
        is_empty = root.is_dir()
        for file in sorted(root.rglob("*.json")) if root.is_dir() else [root]:
            for case in _cases_of(file, explicit=not root.is_dir()):
                is_empty = False
                yield case
        if is_empty:
            raise FormatError("there is no case in this folder", where=Where(asset=str(path)))


def _cases_of(file: Path, *, explicit: bool) -> Iterator[Case]:
    data = _read(file)
    if not isinstance(data, list):
        if explicit:
            raise FormatError("a case file is a JSON list of cases", where=Where(asset=str(file)))
        return
    if not explicit and not any(isinstance(raw, dict) and "input" in raw for raw in data):
        return  # facts of another kind, such as a table of models
    base = _read(file.with_name("_base.json")) if file.with_name("_base.json").exists() else EMPTY
    for index, raw in enumerate(data):
        if not isinstance(raw, dict) or "input" not in raw:
            raise FormatError("a case needs a name and an input", where=Where(asset=str(file), path=f"[{index}]"))
        tavern = _tavern(raw, file)
        area = str(raw.get("area") or raw.get("call") or file.stem)
        yield Case(str(raw.get("name") or f"{file.stem}[{index}]"), tavern, area, raw, str(file), base)


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise FormatError(f"cannot read cases: {error}", where=Where(asset=str(file))) from error


def _tavern(raw: Mapping[str, Any], file: Path) -> str:
    if "call" in raw:
        return "smart"
    named = next((part for part in reversed(file.parts) if part in TAVERNS), None)
    body = raw["input"]
    if named != "risu" and isinstance(body, dict) and _SILLY_KEYS & body.keys():
        return "silly"
    return named or "risu"
