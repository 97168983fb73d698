"""A clock that is set by the test, and identifiers that count."""

import itertools
from datetime import UTC, datetime, timedelta

from innkeeper.prompt.determinism import Clock


class Counted:
    """Time goes on a second a look; identifiers are numbered."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
        self._numbers = itertools.count(1)

    def now(self) -> Clock:
        """The moment, a second later each time."""
        self.moment += timedelta(seconds=1)
        return Clock.at(self.moment)

    def fresh_id(self) -> str:
        """The next number."""
        return f"id-{next(self._numbers):06}"
