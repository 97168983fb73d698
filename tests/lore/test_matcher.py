"""Keys: plain text, JavaScript regular expressions, and the literal that every match must contain."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.lore.matcher import KeyIndex, Pattern, parse_key, required_literal
from innkeeper.text.automaton import LONGEST_TEXT


@dataclass(frozen=True)
class Case:
    """A key, its pattern (``None``: plain text) and flags."""

    text: str
    pattern: str | None
    flags: str = ""


CASES = (
    Case("ferry", None),
    Case("/ferry/", "ferry"),
    Case("/ferry/gi", "ferry", "gi"),
    Case(" /a/ ", "a"),
    Case("/a/x", None),
    Case("/a/ii", None),
    Case("/a/v", None),
    Case("/a/d", None),
    Case("/a/gimsuy", "a", "gimsuy"),
    Case("\ufeff/a/\u2003", "a"),
    Case("/a/\x1c", None),
    Case("//", None),
    Case("/a/b/", None),
    Case(r"/a\/b/", "a/b"),
    Case("/", None),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.text)
def test_parse(case: Case) -> None:
    """Only a slash, a pattern without bare slashes, a slash and known flags make a regular expression."""
    found = parse_key(case.text).regex
    assert (found.pattern if found else None, found.flags if found else "") == (case.pattern, case.flags)


@dataclass(frozen=True)
class Literal:
    """A pattern and the literal every match contains."""

    pattern: str
    literal: str
    flags: str = ""


LITERALS = (
    Literal("prarisolmus?", "prarisolmu"),
    Literal("ab{2}c", ""),
    Literal("abc|d", ""),
    Literal("gate(s)", "gate"),
    Literal(r"gate\d", "gate"),
    Literal("a+bc", "bc"),
    Literal("KEY", "key", "i"),
    Literal("key", "", "iu"),
    Literal("x", ""),
    Literal("", ""),
)


@pytest.mark.parametrize("case", LITERALS, ids=lambda case: f"{case.pattern}/{case.flags}")
def test_required_literal(case: Literal) -> None:
    """The literal is never more than what is sure."""
    assert required_literal(case.pattern, case.flags) == case.literal


@given(st.from_regex(r"\A[a-c?*+.^$]{0,8}\Z"), st.text("abc", max_size=12))
def test_literal_is_in_every_match(pattern: str, text: str) -> None:
    """Whatever the pattern matches contains its literal."""
    try:
        found = re.search(pattern, text)
    except re.error:
        return
    if found is not None:
        assert required_literal(pattern, "") in found.group()


WORDS = ("bell", "reef", "lamp", "fog", "mail", "boat")


@pytest.mark.parametrize("length", [LONGEST_TEXT, LONGEST_TEXT + 1, 1_000_000])
def test_long_keys(length: int) -> None:
    """A key of any length is found beside short ones, and does not keep the index from being made."""
    index = KeyIndex([Pattern("a" * length), *map(Pattern, WORDS)])
    assert index.hits("A" * length + " and the Reef") == {0, 2}
    assert index.hits("a" * (length - 1)) == frozenset()
