"""Finding: a defect of a file that could be read all the same."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.prompt.errors import StrictModeError, Where
from innkeeper.prompt.note import Note, NoteKind

if TYPE_CHECKING:
    from collections.abc import Iterable


Path = tuple[str | int, ...]
"""A place in a JSON document: keys and indexes from the root."""

EXCERPT_CHARS: Final = 80
"""Characters of a wrong value that are shown."""


class Level(StrEnum):
    """The severity of a `Finding`."""

    INFO = "info"
    """Worth knowing: something is preserved, but has no effect."""
    WARNING = "warning"
    """Not as the format says; best effort went on."""
    ERROR = "error"
    """A rule that the format makes a MUST."""


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One fact about a file: a rule's name, a sentence, and where: a JSON path such as ``data.tags[3]``, or a line.

    With both, ``line`` and ``column`` (from 1) are those in the text at the path.
    """

    rule: str
    message: str
    path: str = ""
    level: Level = Level.WARNING
    line: int | None = None
    column: int | None = None
    hint: str | None = None

    def __str__(self) -> str:
        """The sentence, with its place in front when that is known."""
        line = f"line {self.line}" if self.line is not None else ""
        line += f", column {self.column}" if self.column is not None else ""
        position = " ".join(part for part in (line, self.path) if part)
        return f"{position}: {self.message}" if position else self.message

    def where(self, asset: str | None = None) -> Where:
        """The place as errors and notes carry it."""
        return Where(asset=asset, path=self.path or None, line=self.line, column=self.column)

    def to_note(self, asset: str | None = None) -> Note:
        """The finding as a note of a plan, about the file or asset called ``asset``."""
        return Note(NoteKind.WARNING, self.message, where=self.where(asset), hint=self.hint)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts, without the absent ones."""
        facts: dict[str, Any] = msgspec.to_builtins(self)
        return facts | {"level": self.level.value}


def show_path(path: Path) -> str:
    """A path as people read it.

    >>> show_path(("data", "tags", 3))
    'data.tags[3]'
    """
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).removeprefix(".")


def shown(value: object) -> str:
    """A value as a message quotes it: its JSON type, and itself when short."""
    scalar = isinstance(value, (str, int, float)) or value is None
    text = json.dumps(value, ensure_ascii=False) if scalar else "a list" if isinstance(value, list) else "an object"
    return text if len(text) <= EXCERPT_CHARS else text[: EXCERPT_CHARS - 1] + "…"


def refuse_findings(findings: Iterable[Finding], asset: str | None = None) -> None:
    """Turn the first warning or error among the findings into an exception.

    Raises:
        StrictModeError: there is one.
    """
    for finding in findings:
        if finding.level is not Level.INFO:
            raise StrictModeError(finding.message, where=finding.where(asset), hint=finding.hint, rule=finding.rule)
