"""Framing's lore: the book entries before and after the character, chosen by the older rules that framing has.

Here an entry is on only when it says so, and a conditional one is triggered by ``keys``, not by its condition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from innkeeper.prompt.errors import Where
from innkeeper.taverns.smart.conditions import is_conditional
from innkeeper.taverns.smart.errors import EntryNumberError
from innkeeper.taverns.smart.sources import framed_entry_source
from innkeeper.taverns.smart.values import text_of, whole_number
from innkeeper.taverns.smart.verdict import Rule

__all__ = ["framed_lore", "framing_order", "is_said", "screen_framed"]

_DEFAULT_ORDER: Final = 100


class _Framed(NamedTuple):
    order: int
    place: int
    entry: dict[str, Any]


def framed_lore(
    entries: Iterable[dict[str, Any]], position: str, contains: Callable[[str], bool]
) -> list[dict[str, Any]]:
    """The messages of the entries at ``position``, by order and then place. ``contains`` tests a key against the history.

    Raises `EntryNumberError` for an entry that would be placed and whose order is no number.
    """
    found = [
        _Framed(framing_order(entry, f"world_books[{index}]"), index, entry)
        for index, entry in enumerate(entries)
        if text_of(entry.get("position"), "world_books") == position and screen_framed(entry, contains) is None
    ]
    return [
        {"role": "system", "content": each.entry["content"], "source": _source(each, position)}
        for each in sorted(found, key=lambda each: each[:2])
    ]


def _source(each: _Framed, position: str) -> dict[str, Any]:
    return framed_entry_source(each.entry, each.place, position)


def screen_framed(entry: dict[str, Any], contains: Callable[[str], bool]) -> Rule | None:
    """The rule that keeps an entry out of its place around the character, or ``None``."""
    if entry.get("enabled") is not True:
        return Rule.DISABLED
    if not is_said(entry.get("content")):
        return Rule.BLANK
    if is_conditional(entry) and not any(map(contains, _keys(entry.get("keys")))):
        return Rule.KEYS
    return None


def _keys(keys: Any) -> list[str]:
    """The keys to look for: a text or a list of them, other values in it as text, without the blanks around them."""
    listed = [keys] if isinstance(keys, str) else keys if isinstance(keys, (list, tuple)) else ()
    texts = (text_of(key, "world_books").strip() for key in listed)
    return [text for text in texts if text]


def is_said(content: Any) -> bool:
    """Whether content is text with more than blanks."""
    return isinstance(content, str) and bool(content.strip())


def framing_order(entry: dict[str, Any], path: str) -> int:
    """An entry's order. Raises `EntryNumberError` with the words of Python's own error."""
    order = entry.get("order")
    number = whole_number(order, _DEFAULT_ORDER)
    if number is None:
        raise EntryNumberError(_refusal(order), where=Where(path=f"{path}.order"))
    return number


def _refusal(order: Any) -> str:
    try:
        int(order)
    except (TypeError, ValueError, OverflowError) as error:
        return str(error)
    return "not a whole number"  # pragma: no cover - whole_number refused it by the same call
