"""The containers world books come in, flattened into one list of entries in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from innkeeper.prompt.errors import LimitError, Where
from innkeeper.taverns.smart.compat import Compat
from innkeeper.taverns.smart.limits import MAX_BOOK_DEPTH

__all__ = ["entries_of", "list_in"]


def entries_of(world_books: Any, compat: Compat) -> list[dict[str, Any]]:
    """The entries (objects only) of ``world_books``, depth first.

    An array, arrays within it, an object with ``entries`` or with ``world_book.entries`` (3-smarttavern, *input*); with
    `Compat.wide_books` also arrays of such objects, and books by name. Anything else has no entries.
    Raises `LimitError` beyond `MAX_BOOK_DEPTH`.
    """
    return list(_entries(world_books, compat.wide_books, 0))


def _entries(value: Any, wide: bool, depth: int) -> Iterator[dict[str, Any]]:  # noqa: FBT001 - recursion's own
    if depth > MAX_BOOK_DEPTH:
        what = "the nesting of world books"
        raise LimitError(what, limit="MAX_BOOK_DEPTH", allowed=MAX_BOOK_DEPTH, where=Where(path="world_books"))
    if isinstance(value, (list, tuple)):
        yield from _of_array(value, wide, depth)
    elif isinstance(value, dict):
        listed = list_in(value)
        if listed is None and wide:
            for book in value.values():
                if isinstance(book, (list, tuple)) or (isinstance(book, dict) and list_in(book) is not None):
                    yield from _entries(book, wide, depth + 1)
        for entry in listed or ():
            if isinstance(entry, dict):
                yield entry
            elif wide and isinstance(entry, (list, tuple)):
                yield from _of_array(entry, wide, depth + 1)


def _of_array(value: Any, wide: bool, depth: int) -> Iterator[dict[str, Any]]:  # noqa: FBT001 - recursion's own
    for item in value:
        if isinstance(item, (list, tuple)) or (wide and isinstance(item, dict) and _is_book(item)):
            yield from _entries(item, wide, depth + 1)
        elif isinstance(item, dict):
            yield item


def _is_book(item: Mapping[str, Any]) -> bool:
    return "content" not in item and list_in(item) is not None


_KEYS: Final = ("entries", "world_book")


def list_in(book: Mapping[str, Any]) -> list[Any] | tuple[Any, ...] | None:
    """The array of a book's entries: its ``entries``, else those of its ``world_book``; ``None`` where there is none."""
    entries, inner = (book.get(key) for key in _KEYS)
    if isinstance(entries, (list, tuple)):
        return entries
    found = inner.get("entries") if isinstance(inner, Mapping) else None
    return found if isinstance(found, (list, tuple)) else None
