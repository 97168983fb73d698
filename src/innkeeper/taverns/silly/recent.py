"""Recent: what was made of a value in an earlier build, found again by the value itself.

A chat grows by a message a turn. Messages, the lines and drafts made of them, their tokens and blocks are frozen values, so
what is made of the same one is the same; here it is kept, within bounds, and a turn costs what is new in it.
"""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

__all__ = ["MAX_KEPT", "Recent"]

T = TypeVar("T")

MAX_KEPT: Final = 16_384
"""How many results one memory holds at most, in two generations."""


class Recent(Generic[T]):
    """Results by the identity of a frozen value and what else they depend on. Bounded; what is in use stays.

    The value is kept beside the result, so its identity cannot become another value's. Losing an entry to a race between
    threads costs making it again, nothing else.
    """

    __slots__ = ("_entries", "_old", "_young")

    def __init__(self, entries: int = MAX_KEPT) -> None:
        self._entries = max(1, entries // 2)
        self._young: dict[tuple[int, Any], tuple[Any, T]] = {}
        self._old: dict[tuple[int, Any], tuple[Any, T]] = {}

    def get(self, value: Any, also: Any = None) -> T | None:
        """What was made of ``value`` under the same ``also`` (hashable), or ``None``."""
        place = (id(value), also)
        entry = self._young.get(place)
        if entry is not None:
            return entry[1]
        entry = self._old.get(place)
        return None if entry is None else self.put(value, entry[1], also)

    def put(self, value: Any, made: T, also: Any = None) -> T:
        """Remember ``made``; returns it."""
        if len(self._young) >= self._entries:
            self._old, self._young = self._young, {}
        self._young[id(value), also] = (value, made)
        return made

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys())
