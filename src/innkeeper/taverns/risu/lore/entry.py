"""LoreEntry: an entry as RisuAI stores it, and how entries of other books become one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from innkeeper.content.entry import LorebookEntry, LorePosition, SelectiveLogic, Spelling
from innkeeper.content.json.record import as_flag
from innkeeper.content.lorebook import Lorebook
from innkeeper.prompt.bounded_cache import BoundedCache

DEFAULT_ORDER: Final = 100
CHILD: Final = "child"
FOLDER: Final = "folder"


class LoreEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An entry. ``key`` and ``secondkey`` list keys between commas; ``comment`` is its name.

    ``book`` and ``uid`` say where it came from; ``id`` is RisuAI's own, empty where it has none.
    """

    key: str = ""
    secondkey: str = ""
    comment: str = ""
    content: str = ""
    mode: str = "normal"
    insertorder: float = DEFAULT_ORDER
    always_active: bool = False
    selective: bool = False
    use_regex: bool = False
    id: str = ""
    disabled: bool = False
    """Whether its book has switched it off, which RisuAI does not heed."""
    book: str = ""
    uid: int | str = 0

    @property
    def stored(self) -> dict[str, Any]:
        """The entry as RisuAI stores it."""
        return {
            "key": self.key,
            "comment": self.comment,
            "content": self.content,
            "mode": self.mode,
            "insertorder": self.insertorder,
            "alwaysActive": self.always_active,
            "secondkey": self.secondkey,
            "selective": self.selective,
            **({"useRegex": True} if self.use_regex else {}),
            **({"id": self.id} if self.id else {}),
        }


def stored_entries(items: Any, book: str = "") -> Iterator[LoreEntry]:
    """The entries of a list in RisuAI's own words; what is no object is left out."""
    for index, item in enumerate(items if isinstance(items, (list, tuple)) else ()):
        if isinstance(item, Mapping):
            yield _stored(item, book, index)


def book_entries(book: Lorebook, name: str = "") -> tuple[LoreEntry, ...]:
    """The entries of a book. Those of RisuAI's own are read as stored, others as RisuAI imports them."""
    name = name or book.name
    key = (id(book), name)
    known = _BOOKS.get(key)
    if known is not None:
        return known
    entries = tuple(
        _stored(entry.raw, name, entry.id) if entry.spelling is Spelling.RISU else _imported(entry, name)
        for entry in book.entries
    )
    return _BOOKS.put(key, entries, sum(_ENTRY_BYTES + 2 * len(entry.content) for entry in entries), alive=book)


_ENTRY_BYTES: Final = 400
_BOOKS: Final[BoundedCache[tuple[int, str], tuple[LoreEntry, ...]]] = BoundedCache(items=64)
"""The entries of books, by the books' identity: they are frozen, and the same in the next build."""


def _stored(item: Mapping[str, Any], book: str, uid: int | str) -> LoreEntry:
    order = item.get("insertorder")
    return LoreEntry(
        key=_text(item.get("key")),
        secondkey=_text(item.get("secondkey")),
        comment=_text(item.get("comment")),
        content=_text(item.get("content")),
        id=_text(item.get("id")),
        mode=_text(item.get("mode")) or "normal",
        insertorder=order if isinstance(order, (int, float)) else DEFAULT_ORDER,
        always_active=bool(as_flag(item.get("alwaysActive"))),
        selective=bool(as_flag(item.get("selective"))),
        use_regex=bool(as_flag(item.get("useRegex"))),
        book=book,
        uid=uid,
    )


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else ""


def _imported(entry: LorebookEntry, book: str) -> LoreEntry:
    return LoreEntry(
        key=", ".join(entry.keys),
        secondkey=", ".join(entry.secondary_keys),
        comment=entry.comment if entry.name is None else entry.name,
        content="\n".join([*_decorator_lines(entry), entry.content]),
        insertorder=entry.order or 0,
        always_active=entry.constant,
        selective=entry.selective and entry.selective_logic is SelectiveLogic.AND_ANY,
        use_regex=bool(entry.use_regex) and bool(entry.keys) and entry.keys[0].startswith("/"),
        book=book,
        uid=entry.id,
        disabled=not entry.enabled,
    )


def _decorator_lines(entry: LorebookEntry) -> list[str]:
    """Return the decorators that say what SillyTavern's fields say, in the order in which RisuAI writes them."""
    lines = []
    if entry.match_whole_words is not None:
        lines.append("@@match_full_word" if entry.match_whole_words else "@@match_partial_word")
    if entry.delay:
        lines.append(f"@@activate_only_after {entry.delay}")
    keys = entry.secondary_keys if entry.selective else ()
    match entry.selective_logic if keys else None:
        case SelectiveLogic.NOT_ALL:
            lines.append(f"@@exclude_keys_all {','.join(keys)}")
        case SelectiveLogic.NOT_ANY:
            lines += [f"@@exclude_keys {key}" for key in reversed(keys)]
        case SelectiveLogic.AND_ALL:
            lines += [f"@@additional_keys {key}" for key in reversed(keys)]
    if entry.position is LorePosition.AT_DEPTH:
        lines += [f"@@depth {entry.depth}", f"@@role {entry.role}"]
    if entry.use_probability and entry.probability is not None and entry.probability != 100:  # noqa: PLR2004 - always
        lines.append(f"@@probability {entry.probability:g}")
    return lines
