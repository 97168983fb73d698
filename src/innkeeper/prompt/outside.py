"""What only the machine knows, time and chance: asked here and nowhere else, by doors, which record it in the request."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

__all__ = ["fresh_seed", "utc_now"]


def utc_now() -> datetime:
    """The machine's time, aware, in UTC."""
    return datetime.now(UTC)


def fresh_seed() -> int:
    """A new 32-bit seed for a door that wants chance."""
    return secrets.randbits(32)
