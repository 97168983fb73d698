"""A lorebook of another application in the words of this tavern: keys become conditions, positions its own.

What this tavern cannot say is left out and told: secondary keys, regular expressions, chance, time, groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.content.entry import LorebookEntry, LorePosition
from innkeeper.content.lorebook import Lorebook
from innkeeper.prompt.errors import Where
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.state import State
from innkeeper.taverns.smart.containers import list_in

__all__ = ["carried_book", "is_smart_book"]

_MODES: Final = ("always", "conditional")
_OWN_POSITIONS: Final = ("user", "assistant", "system")
_FOREIGN_FIELDS: Final = frozenset({"key", "keys", "insertion_order"})
_POSITIONS: Final[Mapping[LorePosition, str]] = {
    LorePosition.BEFORE_CHAR: "before_char",
    LorePosition.AFTER_CHAR: "after_char",
}
_UNSAYABLE: Final = (",", "::", "{{", "}}", "<<", ">>")
"""What a keyword cannot have in it."""

_DEFAULT_ORDER: Final = 100


def is_smart_book(raw: Any) -> bool:
    """Whether the entries of a book are written in this tavern's words."""
    listed = list_in(raw) if isinstance(raw, Mapping) else raw
    entries = [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, (list, tuple)) else []
    if any(entry.get("mode") in _MODES or entry.get("position") in _OWN_POSITIONS for entry in entries):
        return True
    foreign = any(_FOREIGN_FIELDS & entry.keys() for entry in entries)
    return isinstance(listed, (list, tuple)) and not foreign


def carried_book(book: Lorebook, state: State) -> dict[str, Any]:
    """The book as this tavern's file would have it."""
    losses: dict[str, int] = {}
    entries = [_entry(entry, losses) for entry in book.entries]
    for what, count in losses.items():
        state.note(
            NoteKind.FALLBACK,
            f"{count} entries of the book {book.name!r}: {what}",
            where=Where(asset=book.name or "lorebook"),
            data={"entries": count},
        )
    return {"name": book.name, "entries": entries}


def _entry(entry: LorebookEntry, losses: dict[str, int]) -> dict[str, Any]:
    keys = [key for key in entry.keys if key.strip()]
    said = [key for key in keys if not _is_unsayable(key)]
    for what, is_lost in (
        ("keys that are patterns or have commas in them are not looked for", len(said) < len(keys)),
        ("keys are looked for as they are written, in the whole chat", bool(said) and not entry.constant),
        ("secondary keys do not count", bool(entry.secondary_keys)),
        ("they always fire where they could, without chance", entry.use_probability and entry.probability != 100),  # noqa: PLR2004 - percent
        ("their place has none here: they stand after the character", _placed(entry) is None),
    ):
        if is_lost:
            losses[what] = losses.get(what, 0) + 1
    return {
        "id": entry.id,
        "name": entry.comment or entry.name or "",
        "enabled": entry.enabled,
        "mode": "always" if entry.constant else "conditional",
        "condition": "{{keywords:any::" + ",".join(said) + "}}" if said else "",
        "keys": said,
        "position": _placed(entry) or "after_char",
        "depth": entry.depth,
        "order": _DEFAULT_ORDER if entry.order is None else entry.order,
        "content": entry.content,
    }


def _is_unsayable(key: str) -> bool:
    return key.startswith("/") or any(part in key for part in _UNSAYABLE)


def _placed(entry: LorebookEntry) -> str | None:
    if entry.position is LorePosition.AT_DEPTH:
        return entry.role if entry.role in _OWN_POSITIONS else "system"
    return _POSITIONS.get(entry.position)
