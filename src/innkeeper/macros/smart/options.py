"""MacroOptions: what a run of the smart macros is given besides texts and variables: moment, chance, macros, compat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from innkeeper.macros.smart.chance import Chance, seeded
from innkeeper.macros.smart.compat import FIXED, MacroCompat
from innkeeper.prompt.clock import EPOCH
from innkeeper.prompt.frozen import EMPTY

if TYPE_CHECKING:
    from innkeeper.macros.smart.environment import MacroEnvironment

__all__ = ["CustomMacro", "MacroOptions"]

CustomMacro = Callable[[str, str, "MacroEnvironment"], Any]
"""A macro of the caller's: called with its name (lower case), what follows the first colon, and the environment; returns the
value whose text it stands for (``None``: nothing). A raised error leaves nothing in its place and a note."""


class MacroOptions(msgspec.Struct, frozen=True, kw_only=True):
    """One run's options.

    ``python`` off leaves every ``{{python:…}}`` without a result, with a note. ``now`` is the moment that time macros tell,
    in the zone they tell it in (1970-01-01 UTC unless given). ``random`` is what is drawn from; ``None``: a stream of
    ``seed``, anew for each run. ``macros`` are further ones by name (compared in lower case); built-in ones win.
    """

    compat: MacroCompat = FIXED
    python: bool = True
    now: datetime = EPOCH
    random: Chance | None = None
    seed: int = 0
    macros: Mapping[str, CustomMacro] = EMPTY

    def chance(self) -> Chance:
        """What a run draws from."""
        return seeded(self.seed) if self.random is None else self.random
