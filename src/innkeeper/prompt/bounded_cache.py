"""BoundedCache: the one cache for values that are costly to compute and never change, bounded in items and bytes, thread-safe.

All stores of a process together stand under one ceiling, `MAX_STORES_BYTES`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from threading import Lock
from time import monotonic
from typing import Any, Final, Generic, Protocol, TypeVar, cast
from weakref import ref

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

ITEM_OVERHEAD: Final = 160
"""Bytes that each item costs besides its value: a slot of a dict and two tuples. Added to every size."""

MAX_STORES_BYTES: Final = 1024 * 1024 * 1024
"""Bytes that the stores of a process hold together (no error: what was used longest ago is forgotten)."""

CHECK_EVERY: Final = 256 * 1024
"""Bytes that a store takes in before it looks at the ceiling: so far the sum may exceed it, a store."""


class BoundedStore(Protocol):
    """A store that stands under the ceiling."""

    turned: float
    """When it forgot something last, by the process's own clock."""

    @property
    def held(self) -> int:
        """Bytes that it holds."""
        ...

    def turn(self) -> None:
        """Forget what was used longest ago, or came first."""
        ...


_STORES: Final[set[ref[BoundedStore]]] = set()
"""All stores that are alive. Single operations on the set are atomic, so it needs no lock."""

_TRIMMING: Final = Lock()


def keep_below_ceiling(store: BoundedStore) -> None:
    """Count a store among those that stand under the ceiling, as long as it lives."""
    _STORES.add(ref(store, _STORES.discard))


def stored_bytes() -> int:
    """Bytes that all stores of this process hold now; a value in both generations of its store counts twice."""
    return sum(store.held for store in _living())


def trim_stores(ceiling: int = MAX_STORES_BYTES) -> None:
    """Forget what was used longest ago, in whichever store, until all of them hold ``ceiling`` bytes at most."""
    # Whoever finds the lock taken need not wait: another thread is trimming already.
    if not _TRIMMING.acquire(blocking=False):
        return
    try:
        if stored_bytes() <= ceiling:
            return
        # An old generation holds what was not asked for since its store turned, so the earliest turn goes first. The second
        # round drops what had been young in the first.
        for _ in range(2):
            for store in sorted(_living(), key=lambda store: store.turned):
                if stored_bytes() <= ceiling:
                    return
                store.turn()
    finally:
        _TRIMMING.release()


def _living() -> list[BoundedStore]:
    return [store for each in list(_STORES) if (store := each()) is not None]


class BoundedCache(Generic[K, V]):
    """A bounded cache; values that are used again and again stay.

    It keeps two generations: a value that is asked for moves to the young one, and when that has half of the items or of
    the bytes, it becomes the old one and the old one is forgotten. So a lookup is one or two dict reads without a lock. A race
    between threads costs making a value twice, nothing else.

    Args:
        items: how many values it holds at most (2 or more).
        size: how many bytes they stand for at most, each with `ITEM_OVERHEAD`. What is larger than half of it is not kept.
    """

    __slots__ = (
        *("__weakref__", "_lock", "_max_bytes", "_max_items", "_old", "_old_used", "_unchecked", "_used", "_young"),
        "turned",
    )

    def __init__(self, *, items: int = 16_384, size: int = 64 * 1024 * 1024) -> None:
        self._max_items = max(1, items // 2)
        self._max_bytes = size // 2
        self._lock = Lock()
        self.turned = 0.0
        """When the young generation became the old one last, by the process's own clock."""
        self.clear()
        keep_below_ceiling(self)

    def get(self, key: K) -> V | None:
        """Return the cached value for ``key``, or ``None``."""
        item = self._young.get(key)
        if item is None:
            item = self._old.get(key)
            if item is None:
                return None
            self._keep(key, item)
        return item[0]

    def get_all(self, keys: Iterable[K]) -> list[V | None]:
        """What `get` returns for each key: much quicker than one by one where all were asked for of late."""
        listed = list(keys)
        items = list(map(self._young.get, listed))
        if all(items):
            return [item[0] for item in items if item]
        for index in [index for index, item in enumerate(items) if item is None]:
            item = items[index] = self._old.get(listed[index])
            if item is not None:
                self._keep(listed[index], item)
        return [None if item is None else item[0] for item in items]

    def of_each(
        self: BoundedCache[int, V],
        objects: Sequence[T],
        make: Callable[[list[T]], Sequence[V]],
        size: Callable[[T], int],
    ) -> list[V]:
        """The values of objects by their identity. ``make`` makes those that are missing, all at once."""
        values = self.get_all(map(id, objects))
        new = [index for index, value in enumerate(values) if value is None]
        for index, value in zip(new, make([objects[index] for index in new]) if new else (), strict=True):
            values[index] = self.put(id(objects[index]), value, size(objects[index]), alive=objects[index])
        return cast("list[V]", values)

    def put(self, key: K, value: V, size: int, alive: Any = None) -> V:
        """Keep ``value``, which stands for ``size`` bytes, and return it.

        ``alive`` is kept as long as the value: the object whose ``id`` the key holds, so that no other can get that ``id``.
        """
        self._keep(key, (value, size + ITEM_OVERHEAD, alive))
        return value

    def get_or_make(self, key: K, make: Callable[[], V], size: int) -> V:
        """Return the cached value for ``key``, or call ``make`` and cache its result (``None`` is not cached)."""
        value = self.get(key)
        return self.put(key, make(), size) if value is None else value

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._young: dict[K, tuple[V, int, Any]] = {}
            self._old: dict[K, tuple[V, int, Any]] = {}
            self._used = self._old_used = self._unchecked = 0

    def turn(self) -> None:
        """Forget the old generation; what is young becomes old."""
        with self._lock:
            self._turn()

    @property
    def held(self) -> int:
        """Bytes that both generations stand for: quick, and never less than `size`."""
        return self._used + self._old_used

    def grow(self, size: int) -> None:
        """Hold values that stand for ``size`` bytes from now on, where that is more than before."""
        self._max_bytes = max(self._max_bytes, size // 2)

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys())

    @property
    def size(self) -> int:
        """The bytes of all cached values, with the overhead of each."""
        return sum(item[1] for item in {**self._old, **self._young}.values())

    def _keep(self, key: K, item: tuple[V, int, Any]) -> None:
        size = item[1]
        if size > self._max_bytes:
            return
        with self._lock:
            replaced = self._young.get(key)
            if replaced is not None:
                self._used -= replaced[1]
            elif len(self._young) >= self._max_items:
                self._turn()
            if self._used + size > self._max_bytes:
                self._turn()
            self._used += size
            self._young[key] = item
            self._unchecked += size
            if self._unchecked < CHECK_EVERY:
                return
            self._unchecked = 0
        # outside the lock of this store: trimming takes the lock of each, also of this one
        trim_stores()

    def _turn(self) -> None:
        self._old, self._young, self._old_used, self._used = self._young, {}, self._used, 0
        self.turned = monotonic()
