"""House: what one application keeps between calls. Call: what one call is given besides its arguments."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from innkeeper.prompt.clock import Clock
from innkeeper.prompt.errors import FormatError
from innkeeper.prompt.outside import fresh_seed
from innkeeper.service.gateway.custom_macros import CustomMacros
from innkeeper.service.settings import Settings

if TYPE_CHECKING:
    from innkeeper.service.gateway.operation import Operations
    from innkeeper.taverns.smart.options import SmartOptions

__all__ = ["NOW_HEADER", "SEED_HEADER", "Call", "House"]

NOW_HEADER = "x-innkeeper-now"
"""The moment a call happens in, ISO 8601; the machine's where a request does not say. Replies say it."""

SEED_HEADER = "x-innkeeper-seed"
"""What a call's chance is drawn from, a whole number; a fresh one where a request does not say. Replies say it."""

_SEED_DIGITS = 18


@dataclass(slots=True)
class House:
    """One application: its settings, its operations, the macros registered with it, and the lock of its files."""

    settings: Settings
    operations: Operations
    sockets: int = 0
    macros: CustomMacros = field(default_factory=CustomMacros)
    files: threading.RLock = field(default_factory=threading.RLock)


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the house it happens in, its moment and its seed."""

    house: House
    now: datetime
    seed: int

    @classmethod
    def of(cls, house: House, headers: Mapping[str, str]) -> Call:
        """The call that a request's headers describe.

        Raises:
            FormatError: a moment or a seed that is none.
        """
        return cls(house, Clock.at(headers.get(NOW_HEADER)).now, _seed(headers.get(SEED_HEADER)))

    def recorded(self) -> dict[str, str]:
        """The headers that make the same call again."""
        return {NOW_HEADER: self.now.isoformat(), SEED_HEADER: str(self.seed)}

    def options(self, *, macros: Mapping[str, Any] | None = None) -> SmartOptions:
        """What the smart tavern is told: profile, time, chance, and the registered macros unless others are given."""
        from innkeeper.service.gateway.custom_macros import bound
        from innkeeper.taverns.smart.options import SmartOptions

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
