"""Note: one typed fact about a build that is not the first choice: ignored, lossy, estimated, repaired, failed."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.errors import Where

__all__ = ["Note", "NoteKind"]


class NoteKind(StrEnum):
    """What kind of compromise a `Note` reports. One list for the whole engine."""

    WARNING = "warning"
    """Something in outside data is not right; best effort went on."""
    IGNORED = "ignored"
    """An accepted input has no effect in this tavern."""
    LOSS = "loss"
    """A dialect cannot carry something the plan holds."""
    REPAIR = "repair"
    """Something was changed so that it could be used: lone surrogates, role order."""
    EVICTED = "evicted"
    """A block was dropped to fit the window."""
    ESTIMATE = "estimate"
    """A figure is an estimate, not an exact count."""
    FALLBACK = "fallback"
    """Another source, model or template than the one asked for."""
    QUIRK = "quirk"
    """A compatibility switch decided something."""
    MACRO = "macro"
    """A macro or template did not evaluate; its text was kept."""
    LORE = "lore"
    """A lorebook entry could not be used as written."""
    LIMIT = "limit"
    """A named limit cut something short."""


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """One fact: ``kind``, a sentence, the step that found it, the place it is about, and its numbers in ``data``."""

    kind: NoteKind
    message: str
    step: str | None = None
    where: Where | None = None
    hint: str | None = None
    data: FrozenDict = EMPTY

    def __str__(self) -> str:
        """The sentence, with its place in front when that is known."""
        return f"{self.where}: {self.message}" if self.where and str(self.where) else self.message

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts, without the absent ones."""
        facts: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return facts
