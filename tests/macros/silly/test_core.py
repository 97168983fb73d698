"""``{{trim}}`` takes newlines along."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.silly.core import trimmed_spans, without_spans, without_trims

PIECES = st.lists(st.sampled_from(["{{trim}}", "{{TRIM}}", "\n", "\r\n", "\r", " ", "x", "{{trim"]), max_size=20)


@given(PIECES)
def test_trims_agree_with_their_pattern(pieces: list[str]) -> None:
    """As the regular expression has it, for every text."""
    text = "".join(pieces)
    agreed = re.sub(r"(?:\r?\n)*\{\{trim\}\}(?:\r?\n)*", "", text, flags=re.IGNORECASE)
    assert without_spans(text, trimmed_spans(text)) == without_trims(text) == agreed


def test_a_million_newlines() -> None:
    """Long runs of newlines are walked once."""
    text = "\n" * 1_000_000 + "x{{trim}}" + "\n" * 1_000_000 + "{{trim}}y"
    assert without_spans(text, trimmed_spans(text)) == without_trims(text) == "\n" * 1_000_000 + "xy"
