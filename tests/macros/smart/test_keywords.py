"""Keywords: forms, precedence, and true or false whatever is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.smart.keywords import parse
from innkeeper.macros.smart.options import CACHED_KEYWORD_CHARS, MAX_PARENTHESES

TEXT = "Ayla is an engineer. 艾拉 is here & there"


def holds(params: str) -> bool:
    """Whether the test holds for the text."""
    return parse(params).matches(TEXT.__contains__)


TRUE = [
    "Ayla", "Bob, Ayla", "艾拉,工程师", "!Bob", "!Ayla | engineer", "!(Bob | Carl)", "(Bob | Ayla) & engineer", "an engineer",
    ",Ayla", "Ayla,", "Bob,,Ayla", "(Ayla,)", "engineer.", "any::Bob,an engineer", "SOME::Ayla", "all::Ayla, engineer",
    "none::Bob", "none::", "xor::Ayla,Bob", "include::", "include::Ayla", "include::Ayla::EXCLUDE::Bob",
    "include::Ayla::exclude::", "include::Ayla::other::here", "expr::Ayla & !Bob", "expr::", "!!Ayla", "Ayla ^ Bob",
    "Ayla ^ is ^ an", "! Ayla ^ is", "Bob & Carl | Ayla", "any::a::b",
]  # fmt: skip
FALSE = [
    "", "  ", "ayla", "Bob & Ayla", "Ayla ^ engineer", "Ayla &", "& Ayla", "(Ayla", "Ayla)", "()", "Ayla ^ !Bob", "!", ",",
    "any::", "all::", "all::Ayla,Bob", "none::Ayla", "xor::Ayla,engineer", "xor::", "exclude::Bob", "foo::Ayla",
    "any::Bob::Ayla", "include::Ayla::exclude::here", "is\nan",
    "(" * (MAX_PARENTHESES + 1) + "Ayla" + ")" * (MAX_PARENTHESES + 1),
]  # fmt: skip


@pytest.mark.parametrize("params", TRUE, ids=repr)
def test_holds(params: str) -> None:
    """These find what they look for."""
    assert holds(params) is True


@pytest.mark.parametrize("params", FALSE, ids=repr)
def test_does_not_hold(params: str) -> None:
    """These do not, or cannot be read."""
    assert holds(params) is False


def test_tokens_are_the_keywords_of_a_test() -> None:
    """Each once, in order, wherever it stands."""
    assert parse("a & !(b | c), a").tokens == ("a", "b", "c")
    assert parse("include::x,y::exclude::z").tokens == ("x", "y", "z")
    assert parse("(a").tokens == ()


def test_long_tests_are_read_as_short_ones() -> None:
    """A test that is not kept gives the same."""
    words = ",".join(f"w{number}" for number in range(CACHED_KEYWORD_CHARS))
    assert not holds(words)
    assert holds(words + ",Ayla")


@given(st.text(alphabet="ab,&|!^() :", max_size=30))
def test_any_text_is_a_test(params: str) -> None:
    """Nothing raises, and only the keywords told are asked for."""
    test = parse(params)
    asked: list[str] = []

    def contains(word: str) -> bool:
        asked.append(word)
        return False

    test.matches(contains)
    assert set(asked) <= set(test.tokens)
