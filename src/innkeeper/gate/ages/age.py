"""Ages: what a mention of one can mean: years from a lowest to a highest, how certain, and whom it is about.

Forms of each language are data (`innkeeper.gate.words.languages`); what a number means in each kind of form is here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isqrt
from typing import Final, NamedTuple

from innkeeper.gate.limits import ADULT_AGE

BORN_SINCE: Final = 2010
"""A year of birth from which on a person is taken for a minor: a detector has no clock, and errs on this side."""

PERHAPS: Final = "perhaps"
"""The kind of a number without a cue, beside a word for a person: weak evidence."""

BARE: Final = (3, 120)
"""The years that a number alone can mean, where something says that it is an age."""

TAGGED: Final = (8, 99)
"""The years that a mere sign can mean: ``15f``."""


class Age(NamedTuple):
    """An age in a view: where it stands, the lowest and highest year of life it can mean, and how certain it is (0 to 1)."""

    start: int
    end: int
    low: float
    high: float
    certainty: float
    kind: str
    subject: str = ""
    """Whom it is about, where that can be told: ``kin``, ``thing``, or the cue before it (``she is``)."""

    @property
    def minor(self) -> bool:
        """Whether it is, or may be, an age below adulthood."""
        return self.low < ADULT_AGE

    @property
    def adult(self) -> bool:
        """Whether it is an age of an adult for certain."""
        return self.low >= ADULT_AGE


_OPEN: Final = 200.0
_MAX_GRADE: Final = 13
_COLLEGE: Final = range(1, 7)
_NEARLY: Final = 21
_TEENS: Final = range(13, ADULT_AGE)
_LAST_CLASS: Final = BORN_SINCE + 2 * ADULT_AGE
"""The year in which the last of those leave school who may be minors."""

YearRange = tuple[float, float, float]
"""The lowest year of life, the highest, and how certain that is, from 0 to 1."""


def _years(value: int) -> YearRange | None:
    return (value, value, 0.95) if value < _OPEN else None


def _under(value: int) -> YearRange | None:
    return (
        (0, value - 1, 0.9)
        if 0 < value <= ADULT_AGE
        else ((0, value - 1, 0.5) if ADULT_AGE < value <= _NEARLY else None)
    )


def _born(value: int) -> YearRange | None:
    if value >= BORN_SINCE and value < BORN_SINCE + ADULT_AGE:
        return (0, ADULT_AGE - 1, 0.7)
    return (ADULT_AGE, _OPEN, 0.7) if BORN_SINCE - 110 < value < BORN_SINCE - 2 else None


KINDS: Final[Mapping[str, Callable[[int], YearRange | None]]] = {
    "years": _years,
    "spell": _years,
    "months": lambda value: (value / 12, value / 12, 0.95),
    "weeks": lambda value: (value / 52, value / 52, 0.95),
    "days": lambda value: (value / 366, value / 366, 0.95),
    "under": _under,
    "over": lambda value: (value, _OPEN, 0.45) if TAGGED[0] <= value < _OPEN else None,
    "barred": lambda value: (0, value - 1, 0.9) if value >= ADULT_AGE else None,
    "half": lambda value: (value / 2, value / 2, 0.7),
    "double": lambda value: (value * 2, value * 2, 0.7),
    "square": lambda value: (value * value, value * value, 0.6) if value >= BARE[0] else None,
    "root": lambda value: (isqrt(value), isqrt(value), 0.6) if BARE[0] ** 2 <= value else None,
    "birthday": lambda value: (value, value, 0.8) if value < _OPEN else None,
    "early birthday": lambda value: (0, value - 1, 0.9) if 0 < value <= ADULT_AGE else None,
    "french school": lambda value: (17 - value, 18 - value, 0.8) if value in _COLLEGE else None,
    "tag": lambda value: (value, value, 0.7) if TAGGED[0] <= value <= TAGGED[1] else None,
    "bare": lambda value: (value, value, 0.7) if BARE[0] <= value <= BARE[1] else None,
    "teen": lambda value: (value, value, 0.6) if value in _TEENS else None,
    "born": _born,
    "class of": lambda value: (
        (ADULT_AGE - 1, ADULT_AGE + 4, 0.5) if BORN_SINCE + ADULT_AGE < value < _LAST_CLASS else None
    ),
    PERHAPS: lambda value: (value, value, 0.5) if TAGGED[0] <= value < ADULT_AGE else None,
}
"""What each kind of form means: the range of years and the certainty for a number, or nothing."""


NUMBERED: Final = tuple(
    f"age.{kind}"
    for kind in (
        *("years", "spell", "months", "weeks", "days", "under", "over", "half", "double", "square", "root"),
        *("birthday", "early_birthday", "tag", "bare", "teen", "born", "school", "french_school", "named"),
    )
)
"""What the entries of ages begin with that a number tells."""


def years_of(kind: str, value: int) -> YearRange | None:
    """The lowest year, the highest, and the certainty of a number in a kind of form; nothing where it is no age."""
    if (meaning := KINDS.get(kind)) is not None:
        return meaning(value)
    school, _, years = kind.partition("+")
    if school == "school":
        return (value + int(years), value + int(years) + 1, 0.8) if 1 <= value <= _MAX_GRADE else None
    raise KeyError(kind)


def has_figures(text: str) -> bool:
    """Whether a text has Western figures."""
    return any(map(text.__contains__, _DIGITS))


_DIGITS: Final = "0123456789"
