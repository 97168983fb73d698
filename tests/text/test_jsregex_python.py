"""JavaScript's regular expressions in the words of another package: where there is a translation, both find the same."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.text import jsreplace
from innkeeper.text.jsregex_python import python_of
from innkeeper.text.jsreplace import ReplaceRunner


class Find(NamedTuple):
    """A pattern."""

    pattern: str
    flags: str = ""


@pytest.mark.parametrize(
    ("pattern", "flags"),
    [
        ("cat", "gi"),
        (r"\*([^*]+)\*", "g"),
        ("[“”]", "g"),
        (r"<think>[\s\S]*?</think>", "g"),
        (r"\(OOC:[^)]*\)", "gi"),
        (r"\b(?:cat|dog)s?\b", "gi"),
        (r"^\s*Mira:", "gm"),
        (r"(?<who>\w+) said$", ""),
        (r"(?<!c)a(?=t)", "g"),
        (r"\n{3,}", "g"),
        ("{{char}}", "g"),
    ],
)
def test_translated(pattern: str, flags: str) -> None:
    """What people write is run the quick way."""
    assert python_of(pattern, flags) is not None


@pytest.mark.parametrize(
    ("pattern", "flags"),
    [
        ("é", "i"),
        ("a", "u"),
        ("a*", ""),
        ("(a)+b", ""),
        (r"(a)\1", ""),
        ("(?:a*)+b", ""),
        ("\U0001f600", ""),
        (r"\ud83d", ""),
        ("(?=(a))a", ""),
        (r"[\D]", ""),
        (r"[\b]a", ""),
        ("[]a", ""),
        (r"\cAa", ""),
        ("(" * 70 + "a" + ")" * 70, ""),
        ("(?=a)*a", ""),
        ("(", ""),
        ("a{2,1}", ""),
        ("(?:(?:a{99}){99}){99}", ""),
    ],
)
def test_not_translated(pattern: str, flags: str) -> None:
    """What could be read in two ways is left to JavaScript."""
    assert python_of(pattern, flags) is None


_ATOMS = st.sampled_from([
    *("a", "b", "ab", "É", "é", "[ab]", "[^a]", "[a-cé]", ".", r"\d", r"\w", r"\W", r"\s", r"\S", r"\b", r"\B", "^", "$"),
    *("(a)", "(a|b)", "(?:ab|)", "(?:a|ab)", "(?=a)", "(?!b)", "(?<=a)", "(?<!b)", "(?<n>b)", r"\n", r"\u0041", r"\x41"),
    *("1", "{", "}", "]", "-", "K", "s", r"[\s\S]", r"[\w-]", r"[^\s]", r"\.", r"\/", "|", "a{2}", "b{0,2}?", "[.]", "[a-]"),
])  # fmt: skip
_PATTERNS = st.lists(
    st.tuples(_ATOMS, st.sampled_from(["", "", "", "*", "+", "?", "{2}", "+?", "*?"])), max_size=6
).map(lambda parts: "".join(a + b for a, b in parts))


@given(
    _PATTERNS,
    st.sampled_from(["", "g", "gi", "gm", "gs", "gims"]),
    st.text("abAB1 \n\r\u2028\xa0éÉK\u212aſs{-.]_", max_size=10),
)
def test_the_same(pattern: str, flags: str, text: str) -> None:
    """Matches, groups and places are those that JavaScript finds."""
    find = Find(pattern, flags)
    if not jsreplace.valid(find) or python_of(pattern, flags) is None:
        return
    quick = ReplaceRunner(lambda _what, _why: None).split(find, text)
    slow = ReplaceRunner(lambda _what, _why: None)
    slow._text, slow._has_astral = text, True
    assert quick == slow.split(find, text)
