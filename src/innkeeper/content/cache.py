"""Cache: the values made last, by content hash, bounded in number and in bytes; safe between threads."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["Cache"]

T = TypeVar("T")


class Cache(Generic[T]):
    """A bounded memory of values that are costly to make and never change.

    Args:
        items: how many values are kept.
        size: how many bytes all kept values may have been made from; a larger single source is not kept.
    """

    def __init__(self, items: int = 256, size: int = 64 * 1024 * 1024) -> None:
        self.items = items
        self.size = size
        self._kept: OrderedDict[str, tuple[T, int]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: str, size: int, make: Callable[[], T]) -> T:
        """The value for ``key``, made from ``size`` bytes if it is not kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        value = make()
        if size <= self.size:
            self._keep(key, value, size)
        return value

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._bytes = 0

    def _keep(self, key: str, value: T, size: int) -> None:
        with self._lock:
            self._bytes += size - self._kept.pop(key, (value, 0))[1]
            self._kept[key] = (value, size)
            while len(self._kept) > self.items or self._bytes > self.size:
                self._bytes -= self._kept.popitem(last=False)[1][1]
