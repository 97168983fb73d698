"""Text as the engine accepts it, and Piece: a run of text that knows where it came from.

Lone surrogates (halves of UTF-16 pairs, which JSON can spell) become U+FFFD one for one, so offsets stay right, and a `Watch`
counts them; everything else, NUL included, is kept as it is. Text without any costs nothing more; where some were found, the
data are searched once more for their places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Mended",
    "Origin",
    "Piece",
    "Watch",
    "join_pieces",
    "lone_in",
    "mended_in",
    "scalar_text",
    "strip_pieces",
    "watching",
]


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where text came from: ``asset`` (``character``, ``history``, a book's name …), the field or entry in it, the macro."""

    asset: str
    field: str | None = None
    entry: str | None = None
    macro: str | None = None

    def __str__(self) -> str:
        """``asset.field[entry]{{macro}}``, without the parts that are not known."""
        field = f".{self.field}" if self.field else ""
        entry = f"[{self.entry}]" if self.entry is not None else ""
        return f"{self.asset}{field}{entry}" + (f" {{{{{self.macro}}}}}" if self.macro else "")


class Piece(msgspec.Struct, frozen=True):
    """A run of text with one origin. A block's pieces, concatenated, are its content."""

    text: str
    origin: Origin


def join_pieces(parts: Iterable[Iterable[Piece]], separator: str, origin: Origin) -> tuple[Piece, ...]:
    """The pieces of all parts with ``separator`` (of ``origin``) between parts; parts without text are left out."""
    joined: list[Piece] = []
    for part in parts:
        run = [piece for piece in part if piece.text]
        if not run:
            continue
        if joined and separator:
            joined.append(Piece(separator, origin))
        joined += run
    return tuple(joined)


def strip_pieces(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """The pieces of the same text after ``str.strip``: blanks at both ends and empty pieces are gone."""
    run = [piece for piece in pieces if piece.text]
    while run and not run[0].text.strip():
        del run[0]
    while run and not run[-1].text.strip():
        del run[-1]
    if run:
        run[0] = Piece(run[0].text.lstrip(), run[0].origin)
        run[-1] = Piece(run[-1].text.rstrip(), run[-1].origin)
    return tuple(run)


_LONE: Final = re.compile("[\ud800-\udfff]")


class Mended(msgspec.Struct, frozen=True):
    """What was mended in one field of a request: how many halves, and the place of the first."""

    field: str
    count: int
    first: str


class Watch:
    """Counts the halves mended while it watches."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


_WATCH: Final[ContextVar[Watch | None]] = ContextVar("innkeeper_mending", default=None)


@contextmanager
def watching() -> Iterator[Watch]:
    """A watch over everything mended inside the block, in this thread; an outer watch does not see it."""
    watch = Watch()
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


def mended_in(field: str, value: Any, watch: Watch) -> Mended:
    """What ``watch`` saw while ``value`` was read for ``field``, with the place in it. Sets the watch to zero."""
    count, watch.count = watch.count, 0
    places = lone_in(value, field)
    return Mended(field, count, next((place for place, _ in places), field))


def lone_in(value: Any, path: str) -> Iterator[tuple[str, int]]:
    """The places in plain data (keys too) with lone surrogates, in order, each with how many."""
    if isinstance(value, str):
        count = 0 if value.isascii() else len(_LONE.findall(value))
        if count:
            yield path, count
    elif isinstance(value, Mapping):
        for key, item in value.items():
            name = str(key)
            place = f"{path}." + _LONE.sub("\ufffd", name)
            yield from lone_in(name, place)
            yield from lone_in(item, place)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from lone_in(item, f"{path}[{index}]")
