"""What one application of the gateway keeps between calls, and what one call gets besides its arguments."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from innkeeper.prompt.determinism import Clock
from innkeeper.prompt.errors import FormatError, LimitError
from innkeeper.prompt.machine import fresh_seed
from innkeeper.prompt.note import Note
from innkeeper.service.gateway.operation import Operations
from innkeeper.service.limits import MAX_MACROS
from innkeeper.service.settings import Settings

__all__ = ["EXPLAIN_HEADER", "NOTES_HEADER", "NOW_HEADER", "SEED_HEADER", "AppState", "Call", "CustomMacros"]

NOW_HEADER: Final = "x-innkeeper-now"
"""The moment a call happens in, ISO 8601; the machine's where a request does not say. Replies say it."""

SEED_HEADER: Final = "x-innkeeper-seed"
"""What a call's chance is drawn from, a whole number; a fresh one where a request does not say. Replies say it."""

EXPLAIN_HEADER: Final = "x-innkeeper-explain"
"""With the value 1, a reply tells what was left out and why: ``notes``, and from construct ``verdicts`` on every entry."""

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

    def all(self) -> dict[str, str]:
        """Name to handler."""
        return dict(self._handlers)


@dataclass(slots=True)
class AppState:
    """One application: its settings, its operations, the macros registered with it, and the lock of its files."""

    settings: Settings
    operations: Operations
    sockets: int = 0
    macros: CustomMacros = field(default_factory=CustomMacros)
    files: threading.RLock = field(default_factory=threading.RLock)


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the application it reached, its moment, its seed, and whether its reply explains itself.

    Operations add to ``notes`` what they could not do.
    """

    state: AppState
    now: datetime
    seed: int
    explain: bool = False
    notes: list[Note] = field(default_factory=list)

    @classmethod
    def of(cls, state: AppState, headers: Mapping[str, str]) -> Call:
        """The call that a request's headers describe.

        Raises:
            FormatError: the moment is not a time, or the seed is not a number.
        """
        explain = headers.get(EXPLAIN_HEADER) == "1"
        return cls(state, Clock.at(headers.get(NOW_HEADER)).now, _seed(headers.get(SEED_HEADER)), explain)

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
