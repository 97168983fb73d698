"""Clock: the moment a build happens in. Time enters a build only through this value."""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, UTC, datetime
from typing import TYPE_CHECKING, Final

import msgspec

from innkeeper.prompt.errors import FormatError
from innkeeper.prompt.machine import utc_now

if TYPE_CHECKING:
    from datetime import tzinfo

__all__ = ["EPOCH", "Clock"]

_HINT: Final = "write it like 2026-01-15T12:34:56Z"
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(msgspec.Struct, frozen=True):
    """One aware moment with a zone and a locale. It does not tick: a build happens at one instant."""

    now: datetime
    locale: str = "en-US"

    @classmethod
    def at(cls, moment: datetime | str | None, locale: str = "en-US") -> Clock:
        """A clock at an aware moment, an ISO 8601 text, or (``None``) the wall clock. Naive moments are UTC.

        Raises `FormatError` for what is not a moment, or in a year that not every zone can write (1 and 9999).
        """
        if moment is None:
            return cls(utc_now(), locale)
        if isinstance(moment, str):
            moment = _parse(moment)
        if not isinstance(moment, datetime):
            raise FormatError(f"now must be a moment, not {type(moment).__name__}", hint=_HINT)
        if not MINYEAR < moment.year < MAXYEAR:
            raise FormatError(f"the year {moment.year} is out of range", hint=_HINT)
        return cls(moment if moment.tzinfo else moment.replace(tzinfo=UTC), locale)

    @property
    def epoch_ms(self) -> int:
        """Milliseconds since 1970-01-01 UTC."""
        delta = self.now - EPOCH
        return (delta.days * 86_400 + delta.seconds) * 1000 + delta.microseconds // 1000

    def in_zone(self, zone: tzinfo) -> datetime:
        """The same moment as another zone writes it."""
        return self.now.astimezone(zone)


def _parse(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        msg = f"not an ISO 8601 moment: {text[:40]!r}"
        raise FormatError(msg, hint=_HINT) from error
