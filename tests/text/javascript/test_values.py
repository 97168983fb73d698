"""Numbers and text as JavaScript has them."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.text.javascript.values import (
    SPACES,
    Offsets,
    fixed,
    is_space,
    json_text,
    length_of,
    number_text,
    parse_float,
    parse_int,
    parse_json,
    strip,
    strip_end,
    strip_start,
    text_of,
    text_of_units,
    to_number,
    units_of,
)

NUMBERS = [
    (1.0, "1"),
    (-0.0, "0"),
    (0.1, "0.1"),
    (1e20, "100000000000000000000"),
    (1e21, "1e+21"),
    (1e-6, "0.000001"),
    (1e-7, "1e-7"),
    (1.5e-10, "1.5e-10"),
    (0.1 + 0.2, "0.30000000000000004"),
    (123456789012345680000.0, "123456789012345680000"),
    (5e-324, "5e-324"),
    (math.inf, "Infinity"),
    (-math.inf, "-Infinity"),
    (math.nan, "NaN"),
]


@pytest.mark.parametrize(("number", "text"), NUMBERS, ids=str)
def test_number_text(number: float, text: str) -> None:
    """Numbers print with the shortest digits, and with an exponent only where JavaScript has one."""
    assert number_text(number) == text


@given(st.floats(allow_nan=False))
def test_numbers_read_back(number: float) -> None:
    """What a number prints as reads as the number."""
    assert to_number(number_text(number)) == number


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("", 0),
        (" 5 ", 5),
        ("007", 7),
        ("0x10", 16),
        ("1e3", 1000),
        (".5", 0.5),
        ("-5", -5),
        (None, 0),
        (True, 1),
        ([5], 5),
    ],
    ids=repr,
)
def test_to_number(value: Any, number: float) -> None:
    """Blank text is 0, and so is null; hexadecimal and exponents count."""
    assert to_number(value) == number


@pytest.mark.parametrize("value", ["x", "1_000", "1 2", "0x", "٣", "inf", "1e", [1, 2], {}], ids=repr)
def test_what_is_no_number(value: Any) -> None:
    """Python's own spellings of numbers are none here."""
    assert math.isnan(to_number(value))


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "null"), (True, "true"), (3, "3"), (1.5, "1.5"), (["p", None, [1]], "p,,1"), ({"a": 1}, "[object Object]")],
    ids=repr,
)
def test_text_of(value: Any, text: str) -> None:
    """Values print as String() prints them."""
    assert text_of(value) == text


def test_json_text() -> None:
    """JSON without spaces; whole numbers without a point; keys that are numbers come first."""
    assert json_text({"b": [1.0, None], "2": "é", "1": True}) == '{"1":true,"2":"é","b":[1,null]}'
    assert (
        json_text([12345678901234567890, 1.7782790150905092e16, 1e21])
        == "[12345678901234567000,17782790150905092,1e+21]"
    )


def test_blank_space_and_units() -> None:
    """The byte order mark is blank, the next-line control is not; an emoji is two units."""
    assert strip("\ufeff\u2028 x\x85 ") == "x\x85"
    assert [Offsets("a😀b").at(place) for place in range(4)] == [0, 1, 3, 4]


@given(st.text("\ufeff\x1c\x1f\x85\xa0\u2003\u2028\u200b \n\tab"))
def test_one_white_space_for_all(text: str) -> None:
    """Trimming, and the class of regular expressions, know the same characters: JavaScript's, which are not Python's."""
    spaces = f"[{SPACES}]"
    assert strip_start(text) == re.sub(f"\\A{spaces}+", "", text)
    assert strip_end(text) == re.sub(f"{spaces}+\\Z", "", text)
    assert strip(text) == strip_end(strip_start(text))
    assert is_space(text) is (re.fullmatch(f"{spaces}+", text) is not None)


@pytest.mark.parametrize(
    ("text", "number"), [("12px", 12), (" -1.5e1x", -15), (".5", 0.5), ("Infinityx", math.inf), ("x", math.nan)]
)
def test_parse_float_reads_the_number_at_the_start(text: str, number: float) -> None:
    """What stands behind it does not matter."""
    assert parse_float(text) == pytest.approx(number, nan_ok=True)


@pytest.mark.parametrize(
    ("text", "base", "number"),
    [
        ("12.9", 10, 12),
        ("0xff", 10, 255),
        ("FFz", 16, 255),
        ("0x10", 16, 16),
        ("-7", 10, -7),
        ("0x", 10, math.nan),
        ("z", 16, math.nan),
    ],
)
def test_parse_int_reads_the_whole_number_at_the_start(text: str, base: int, number: float) -> None:
    """Digits of the base count, and ``0x`` before those of base 16."""
    assert parse_int(text, base) == pytest.approx(number, nan_ok=True)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (1.005, 2, "1.00"),
        (2.5, 0, "3"),
        (-2.5, 0, "-3"),
        (-0.4, 0, "-0"),
        (1e21, 2, "1e+21"),
        (math.nan, 1, "NaN"),
        (0.0, 2, "0.00"),
    ],
)
def test_fixed_rounds_the_exact_value(value: float, digits: int, text: str) -> None:
    """1.005 is a little less than its digits say."""
    assert fixed(value, digits) == text


@pytest.mark.parametrize("text", ["NaN", "{a:1}", "", "[" * 100_000, "Infinity"])
def test_what_is_no_json_is_refused(text: str) -> None:
    """Python reads more than JSON; lists without end are refused, too."""
    with pytest.raises(ValueError, match=r".*"):
        parse_json(text)


def test_units_are_those_of_utf_16() -> None:
    """A character beyond U+FFFF is two units."""
    assert length_of("a\N{GRINNING FACE}") == 3
    assert text_of_units(units_of("a\N{GRINNING FACE}\ud83d")) == "a\N{GRINNING FACE}\ud83d"
