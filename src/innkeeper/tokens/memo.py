"""What counts are remembered under, and the memo that counters share."""

import hashlib
import sys
from typing import Final

from innkeeper.prompt.memo import Memo

__all__ = ["SHARED_MEMO", "TextKey", "key_bytes", "text_key"]

TextKey = tuple[str, str | bytes]
"""A tokenizer's name and a text, or the text's digest."""

DIGEST_ABOVE: Final = 1024
"""Texts of more characters are remembered by a digest, not by themselves."""

_DIGEST_BYTES: Final = 20


def text_key(tokenizer: str, text: str) -> TextKey:
    """The key of a text: itself, or a digest of 20 bytes where it is long."""
    if len(text) <= DIGEST_ABOVE:
        return tokenizer, text
    return tokenizer, hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def key_bytes(key: TextKey) -> int:
    """How many bytes a key keeps."""
    return sys.getsizeof(key[1])


SHARED_MEMO: Final[Memo[TextKey, int]] = Memo(items=200_000, size=64 * 1024 * 1024)
"""The memo that counters share unless they are given one of their own. Counts are facts, so sharing changes no result."""
