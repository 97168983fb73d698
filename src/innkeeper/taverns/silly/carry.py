"""Carry: what one generation leaves for the next one of the same chat: timed effects, and texts its lore scan will see.

SillyTavern writes some injections only after the scan, so they are visible to the next generation's (`sillytavern.md` 38).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from innkeeper.prompt.frozen import EMPTY

__all__ = ["Carry", "carried_scans", "read_carry"]


class Carry(msgspec.Struct, frozen=True):
    """``timed`` is the timed effects' state; ``scans`` are texts by key for the next lore scan."""

    timed: Any = None
    scans: Mapping[str, str] = EMPTY

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, for ``plan.carry``."""
        return {"timed": self.timed, "scans": dict(self.scans)}


def read_carry(raw: Any) -> Carry:
    """A carry from a plan's ``carry``, or from bare timed effects."""
    if not isinstance(raw, Mapping):
        return Carry()
    if "timed" not in raw and "scans" not in raw:
        return Carry(raw)
    scans = raw.get("scans")
    return Carry(raw.get("timed"), {str(k): str(v) for k, v in scans.items()} if isinstance(scans, Mapping) else EMPTY)


def carried_scans(raw: Any) -> Mapping[str, str]:
    """The carried texts that the lore scan sees."""
    return read_carry(raw).scans
