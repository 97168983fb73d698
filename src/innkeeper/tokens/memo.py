"""Memo: what has been counted is not counted again, within bounds."""

import hashlib
import sys
import threading
from typing import Final

from innkeeper.tokens.limits import DIGEST_ABOVE, MEMO_BYTES, MEMO_ENTRIES

__all__ = ["SHARED_MEMO", "Key", "Memo", "key"]

Key = tuple[str, str | bytes]
"""A tokenizer's name and a text, or the text's digest."""

_DIGEST_BYTES: Final = 20
_OVERHEAD: Final = 160  # bytes of a dict slot and a tuple


def key(tokenizer: str, text: str) -> Key:
    """The key of a text: itself, or a digest of 20 bytes where it is long."""
    if len(text) <= DIGEST_ABOVE:
        return tokenizer, text
    return tokenizer, hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


class Memo:
    """A bounded map from (tokenizer, text) to a count; safe to share between threads and builds.

    It keeps two generations: entries that are asked for move to the young one, and when that is full the old one is
    forgotten as a whole. So the bounds hold at any time, a lookup is one or two dict reads without a lock, and what is in
    use stays.

    Args:
        entries: how many counts to remember.
        size: how many bytes of keys to remember.
    """

    def __init__(self, entries: int = MEMO_ENTRIES, size: int = MEMO_BYTES) -> None:
        self._entries = max(1, entries // 2)
        self._bytes = max(1, size // 2)
        self._young: dict[Key, int] = {}
        self._old: dict[Key, int] = {}
        self._used = 0
        self._lock = threading.Lock()

    def get(self, key: Key) -> int | None:
        """The remembered count, or None."""
        count = self._young.get(key)
        if count is None:
            count = self._old.get(key)
            if count is not None:
                self.put(key, count)
        return count

    def put(self, key: Key, count: int) -> None:
        """Remember a count."""
        size = _OVERHEAD + sys.getsizeof(key[1])
        if size > self._bytes:
            return
        with self._lock:
            if key not in self._young:
                if len(self._young) >= self._entries or self._used + size > self._bytes:
                    self._old, self._young, self._used = self._young, {}, 0
                self._used += size
            self._young[key] = count

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._young, self._old, self._used = {}, {}, 0

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys())


SHARED_MEMO: Final = Memo()
"""The memo that counters share unless they are given one of their own. Counts are facts, so sharing changes no result."""
