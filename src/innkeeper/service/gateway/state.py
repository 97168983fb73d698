"""What one application of the gateway keeps between calls, and what one call gets besides its arguments."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from innkeeper.prompt.clock import Clock
from innkeeper.prompt.errors import FormatError
from innkeeper.prompt.machine import fresh_seed
from innkeeper.prompt.note import Note
from innkeeper.service.gateway.custom_macros import CustomMacros
from innkeeper.service.settings import Settings

if TYPE_CHECKING:
    from innkeeper.service.gateway.operation import Operations
    from innkeeper.taverns.smart.compat import SmartOptions

__all__ = ["EXPLAIN_HEADER", "NOTES_HEADER", "NOW_HEADER", "SEED_HEADER", "AppState", "Call"]

NOW_HEADER = "x-innkeeper-now"
"""The moment a call happens in, ISO 8601; the machine's where a request does not say. Replies say it."""

SEED_HEADER = "x-innkeeper-seed"
"""What a call's chance is drawn from, a whole number; a fresh one where a request does not say. Replies say it."""

EXPLAIN_HEADER = "x-innkeeper-explain"
"""With the value 1, a reply tells what was left out and why: ``notes``, and from construct ``verdicts`` on every entry."""

NOTES_HEADER = "x-innkeeper-notes"
"""How many notes there are on a reply; left out where there are none."""

_SEED_DIGITS = 18


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
    """One call: the house it happens in, its moment, its seed, and whether its reply explains itself.

    Operations add to ``notes`` what they could not do.
    """

    house: AppState
    now: datetime
    seed: int
    explain: bool = False
    notes: list[Note] = field(default_factory=list)

    @classmethod
    def of(cls, house: AppState, headers: Mapping[str, str]) -> Call:
        """The call that a request's headers describe.

        Raises:
            FormatError: a moment or a seed that is none.
        """
        explain = headers.get(EXPLAIN_HEADER) == "1"
        return cls(house, Clock.at(headers.get(NOW_HEADER)).now, _seed(headers.get(SEED_HEADER)), explain)

    def recorded(self) -> dict[str, str]:
        """The headers that make the same call again, and the number of notes where there are any."""
        told = {NOTES_HEADER: str(len(self.notes))} if self.notes else {}
        return {NOW_HEADER: self.now.isoformat(), SEED_HEADER: str(self.seed), **told}

    def explained(self, result: Any) -> Any:
        """An operation's result, with the notes where the call asks for them."""
        if not self.explain or not isinstance(result, dict):
            return result
        return {**result, "notes": [{"text": str(note), **note.to_dict()} for note in self.notes]}

    def options(self, *, macros: Mapping[str, Any] | None = None) -> SmartOptions:
        """What the smart tavern is told: profile, time, chance, and the registered macros unless others are given."""
        from innkeeper.service.gateway.custom_macros import bound
        from innkeeper.taverns.smart.compat import SmartOptions

        settings = self.house.settings
        return SmartOptions.of(
            settings.profile,
            python=settings.python,
            now=self.now,
            seed=self.seed,
            macros=bound(self) if macros is None else macros,
        )


def _seed(text: str | None) -> int:
    if text is None:
        return fresh_seed()
    if not (text.isascii() and text.isdigit() and len(text) <= _SEED_DIGITS):
        raise FormatError("the seed is no whole number", hint=f"{SEED_HEADER}: a number of up to {_SEED_DIGITS} digits")
    return int(text)
