"""``{{trim}}`` takes newlines along."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.silly.core import without_trims

PIECES = st.lists(st.sampled_from(["{{trim}}", "{{TRIM}}", "\n", "\r\n", "\r", " ", "x", "{{trim"]), max_size=20)


@given(PIECES)
def test_trims_agree_with_their_pattern(pieces: list[str]) -> None:
    """As the regular expression has it, for every text."""
    text = "".join(pieces)
    assert without_trims(text) == re.sub(r"(?:\r?\n)*\{\{trim\}\}(?:\r?\n)*", "", text, flags=re.IGNORECASE)


def test_a_million_newlines() -> None:
    """Long runs of newlines are walked once."""
    assert without_trims("\n" * 1_000_000 + "x{{trim}}" + "\n" * 1_000_000 + "{{trim}}y") == "\n" * 1_000_000 + "xy"
