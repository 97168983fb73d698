"""What counts are remembered under."""

import pytest

from innkeeper.tokens.memo import DIGEST_ABOVE, key_bytes, text_key


@pytest.mark.parametrize(("length", "kind"), [(DIGEST_ABOVE, str), (DIGEST_ABOVE + 1, bytes)])
def test_long_texts_are_kept_as_digests(length: int, kind: type) -> None:
    """Up to the limit a key holds the text, above it 20 bytes."""
    assert isinstance(text_key("a", "x" * length)[1], kind)
    assert key_bytes(text_key("a", "x" * length)) < DIGEST_ABOVE + 100


def test_keys_differ_by_tokenizer_and_text() -> None:
    """The same text under another tokenizer is another key; so is one lone surrogate beside another."""
    assert len({text_key("a", "x"), text_key("b", "x"), text_key("a", "y")}) == 3
    assert text_key("a", "\ud800" * 2000) != text_key("a", "\ud801" * 2000)
