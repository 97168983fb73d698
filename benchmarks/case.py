"""What a benchmark hands to the runner."""

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Case"]


@dataclass(frozen=True, slots=True)
class Case:
    """One measure: something to run, and, where there is one, another way to get the same to hold it against.

    Both callables take nothing; what they return is ignored, unless the case is ``timed``: then ``run`` returns the seconds that
    count. Set-up belongs outside them.
    """

    name: str
    run: Callable[[], object]
    against: Callable[[], object] | None = None
    against_name: str = ""
    note: str = ""
    """Sizes and units of the input, for the reader of the table."""
    published: float | None = None
    """What the other way takes, in seconds, where it cannot be run here; ``against_name`` says whose figure it is."""
    timed: bool = False
