"""Text as the engine accepts it.

Lone surrogates (halves of UTF-16 pairs, which JSON can spell) become U+FFFD one for one, so offsets stay right; a `MendingWatch`
counts them. Everything else, NUL included, stays as it is. Text without any costs nothing more; where there are some, the
data are searched once more for their places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import msgspec

__all__ = [
    "Mended",
    "MendingWatch",
    "lone_in",
    "mended_in",
    "scalar_text",
    "watching",
]


_LONE: Final = re.compile("[\ud800-\udfff]")


class Mended(msgspec.Struct, frozen=True):
    """What was mended in one field of a request: how many halves, and the place of the first."""

    field: str
    count: int
    first: str


class MendingWatch:
    """Counts the halves mended while it watches."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


_WATCH: Final[ContextVar[MendingWatch | None]] = ContextVar("innkeeper_mending", default=None)


@contextmanager
def watching() -> Iterator[MendingWatch]:
    """A watch over everything mended inside the block, in this thread; an outer watch does not see it."""
    watch = MendingWatch()
    token = _WATCH.set(watch)
    try:
        yield watch
    finally:
        _WATCH.reset(token)


def scalar_text(text: str) -> str:
    """``text`` with each lone surrogate as U+FFFD; the same object when there is none."""
    if text.isascii() or not _LONE.search(text):
        return text
    mended, count = _LONE.subn("\ufffd", text)
    watch = _WATCH.get()
    if watch is not None:
        watch.count += count
    return mended


def mended_in(field: str, value: Any, watch: MendingWatch) -> Mended:
    """What ``watch`` saw while ``value`` was read for ``field``, with the place in it. Sets the watch to zero."""
    count, watch.count = watch.count, 0
    return Mended(field, count, next((path for path, _ in lone_in(value, field)), field))


def lone_in(value: Any, path: str) -> Iterator[tuple[str, int]]:
    """The places in plain data (keys too) with lone surrogates, in order, each with how many."""
    if isinstance(value, str):
        count = 0 if value.isascii() else len(_LONE.findall(value))
        if count:
            yield path, count
    elif isinstance(value, Mapping):
        for key, item in value.items():
            name = str(key)
            below = f"{path}." + _LONE.sub("\ufffd", name)
            yield from lone_in(name, below)
            yield from lone_in(item, below)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from lone_in(item, f"{path}[{index}]")
