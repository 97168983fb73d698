"""The word generator: golden values through the filters are in ``test_liquid_filters``; its own rules are here."""

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.wordchance import chance, chances, utf8_units


@given(st.text(max_size=50), st.integers())
def test_chance_is_a_number_below_one(word: str, counter: int) -> None:
    """Any word and counter give a number in [0, 1), the same each time, with a period of 1000 counters."""
    number = chance(utf8_units(word), counter)
    assert 0 <= number < 1
    assert number == chance(utf8_units(word), counter + 1000)


def test_units_decide() -> None:
    """ASCII words draw the same from bytes and from UTF-16 units; others do not."""
    assert chance(b"seed", 3) == chance([ord(letter) for letter in "seed"], 3)
    assert chances(utf8_units("é")) != chances((ord("é"),))
