"""The gate: what hostile texts cost to be judged."""

from __future__ import annotations

import pytest

from innkeeper.gate.detector import default_detector
from tests.limits.growth import Family, fresh, held, spending

TEXTS = {
    "ages": "A bronze, cast fifteen years ago. ",
    "spellings": "fiftene yeers olde ",
    "numbers behind names": "Retrato. Ana (15) e {word} Rui, 14. ",
    "numbers that count": "Two boys of 12 and 14 {word} for 15 euros. ",
    "glued words": "museum nude a {word} drawing of fifteen police ",
    "one word without end": "{word}" + "null" * 30,
    "signs for letters": "a*{word}**b~" * 4,
    "several languages": "Мальчики 12 и 14 лет, 車の中の{word}十五歳。 ",
}


def _text(pattern: str, size: int) -> str:
    """A sign and a sum, then so many copies, each with a word of its own that is like none of any language."""
    words = ("".join("zqxj"[n >> 2 * place & 3] for place in range(5)) for n in range(size))
    return "* ten plus five " + fresh() + "".join(pattern.format(word=word) for word in words)


SHORT = 100
LONG = 300
"""Copies: of a tenth of a second in all, and of several times as much, for what grows slowly."""


def _families(size: int) -> tuple[Family, ...]:
    return tuple(
        Family(name, lambda n, pattern=pattern: default_detector().scan(_text(pattern, n)), size, "gate")  # type: ignore[misc]
        for name, pattern in TEXTS.items()
    )


def _require_held(family: Family) -> None:
    default_detector().scan("fifteen years")  # its lists are read
    assert held(family)
    assert spending(family)["gate"] > 100


@pytest.mark.sampled(3)
@pytest.mark.parametrize("family", _families(SHORT), ids=lambda family: family.name)
def test_twice_the_text_costs_twice_as_much(family: Family) -> None:
    """Hundreds of numbers, with and without people beside them: time and memory grow as the text does.

    The short form of `test_twice_a_long_text_costs_twice_as_much`.
    """
    _require_held(family)


@pytest.mark.endurance
@pytest.mark.parametrize("family", _families(LONG), ids=lambda family: family.name)
def test_twice_a_long_text_costs_twice_as_much(family: Family) -> None:
    """The same of three times as many."""
    _require_held(family)
