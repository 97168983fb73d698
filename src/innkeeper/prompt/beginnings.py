"""Beginnings: values made by going through sequences of frozen objects; of one that begins like a known one, only its rest."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import is_
from typing import Any, Final, Generic, TypeVar

from innkeeper.prompt.bounded_cache import BoundedCache

T = TypeVar("T")
V = TypeVar("V")

LOOK_BACK: Final = 8
"""Objects from the end on at which a known beginning may end (no error: a sequence is gone through from its first object)."""

_BYTES_AN_OBJECT: Final = 16


class Beginnings(Generic[T, V]):
    """Keeps values of sequences, of which a chat that grows is the example. Objects count as the same by their identity.

    ``start`` is the value of no objects. ``more`` takes a value, the objects behind those it was made of, and the key; it returns
    the value of all, and must change nothing.
    """

    def __init__(self, start: V, more: Callable[[V, tuple[T, ...], Any], V]) -> None:
        self._start, self._more = start, more
        self._known: BoundedCache[tuple[int, int, Hashable], tuple[tuple[T, ...], V]] = BoundedCache()

    def of(self, objects: tuple[T, ...], key: Hashable = None) -> V:
        """The value of these objects for a key, which says what it depends on besides them."""
        length = len(objects)
        for end in range(length, max(length - LOOK_BACK, 0), -1):
            known = self._known.get((end, id(objects[end - 1]), key))
            if known is not None and all(map(is_, known[0], objects)):
                break
        else:
            end, known = 0, ((), self._start)
        if end == length:
            return known[1]
        value = self._more(known[1], objects[end:], key)
        self._known.put((length, id(objects[-1]), key), (objects, value), _BYTES_AN_OBJECT * length)
        return value
