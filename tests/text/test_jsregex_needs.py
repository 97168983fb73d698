"""What a pattern needs: a text without it never matches."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import BuildLimits
from innkeeper.prompt.allowance import AllowanceError, allowed
from innkeeper.text.jsregex_needs import needs_of
from innkeeper.text.jsreplace import ReplaceRunner


class Find(NamedTuple):
    """A pattern."""

    pattern: str
    flags: str = ""


@pytest.mark.parametrize(
    ("pattern", "flags", "needs"),
    [
        ("cat", "", ("cat",)),
        ("Cat", "i", ("cat",)),
        ("cat|dog", "", ("cat", "dog")),
        ("cat|", "", ()),
        ("ab?cd", "", ("cd",)),
        ("ab+c", "", ("ab",)),
        ("\\*([^*]+)\\*", "", ("*",)),
        ("<think>[\\s\\S]*?</think>", "", ("</think>",)),
        ("[“”]", "", ("“", "”")),
        ("[a-z]", "", ()),
        ("[^a]", "", ()),
        ("\\d+", "", tuple("0123456789")),
        ("\\n{3,}", "", ("\n\n\n",)),
        ("(?:OOC: )?x{2}", "", ("xx",)),
        ("(?=cat)", "", ()),
        ("^cat$", "m", ("cat",)),
        ("\\u201cso", "", ("“so",)),
        ("(a)\\1", "", ()),
        ("é", "i", ()),
        ("k", "iu", ()),
        ("\\p{L}cat", "u", ("cat",)),
        ("{{char}}", "", ("{{char}}",)),
        ("(", "", ()),
        ("a)", "", ()),
        ("", "", ()),
        ("[", "", ()),
        ("\\", "", ()),
        ("*", "", ()),
        ("(" * 80 + "a" + ")" * 80, "", ()),
        ("(?<w>ab)+", "", ("ab",)),
        ("[😀]", "", ()),
        ("\\ud83dx", "", ()),
        ("\\x41b", "", ("Ab",)),
    ],
)
def test_needs(pattern: str, flags: str, needs: tuple[str, ...]) -> None:
    """The longest text that is sure, or several of which one is; nothing where nothing is."""
    assert needs_of(pattern, flags) == needs


_ATOMS = st.sampled_from([
    *("a", "b", "ab", "É", "é", "[ab]", "[^a]", ".", r"\d", r"\w", r"\b", "^", "$", "(a)", "(a|b)", "(?:ab|)", "(?=a)"),
    *(r"\n", "(?!b)", r"\u0041", "1", r"\s", "{", "a{2}", "b{0,2}", "K", "😀", "(?<n>b)"),
])  # fmt: skip
_PATTERNS = st.lists(st.tuples(_ATOMS, st.sampled_from(["", "", "*", "+", "?", "{2}", "|"])), max_size=6).map(
    lambda parts: "".join(a + b for a, b in parts)
)


@given(_PATTERNS, st.sampled_from(["g", "gi", "gu", "gm", "gs", "giu"]), st.text("abAB1 \néÉK\u212a😀{", max_size=8))
def test_never_wrong(pattern: str, flags: str, text: str) -> None:
    """Whatever JavaScript finds, one of the needs is in it."""
    needs = needs_of(pattern, flags)
    split = ReplaceRunner(lambda _what, _why: None).split(Find(pattern, flags), text)
    if needs and split is not None:
        within = text.lower() if "i" in flags else text
        assert any(need in within for need in needs)


def test_long_patterns_are_not_read() -> None:
    """What takes longer to read than to run needs nothing that is known; reading is charged."""
    assert needs_of("a" * 2_001, "g") == ()
    with allowed(BuildLimits(steps=5_000)), pytest.raises(AllowanceError):
        needs_of("a" * 2_000, "g")
