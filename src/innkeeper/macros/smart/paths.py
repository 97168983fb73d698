"""Paths: how the smart macros name a variable inside of others, as ``stat.mood['last seen'][0]``.

A dot separates keys, ``[3]`` is an index, ``['a.b']`` and ``[bare]`` are keys. Empty parts do not count, and a bracket or quote
that is not closed ends with the path (`smarttavern.md` 3). ``a.0`` is the key ``0``, not an index. A path that cannot be written
is a `MacroArgumentError`; SmartTavern leaks an IndexError there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from innkeeper.macros.engine.errors import MAX_LIST_INDEX, MacroArgumentError, MacroLimitError
from innkeeper.macros.smart.options import MAX_PATH_CHARS, MAX_PATH_PARTS
from innkeeper.prompt.errors import Where
from innkeeper.prompt.memo import Memo

__all__ = ["MISSING", "parse", "read", "write"]


MISSING: Final[Any] = object()
"""What `read` returns, unless told otherwise, where nothing is."""

_PART: Final = re.compile(
    r"""\['(?P<single>[^']*)(?:'[^\]]*\]?|\Z)|\["(?P<double>[^"]*)(?:"[^\]]*\]?|\Z)|\[(?P<bracket>[^\]]*)\]?|\.|(?P<key>[^.\[]+)""",
)
_INDEX: Final = re.compile(r"-?\d+")
_LONGEST_INDEX: Final = 18
_PARSED: Final[Memo[str, tuple[str | int, ...]]] = Memo(items=2048, size=8 * 1024 * 1024)
_PART_BYTES: Final = 32
"""What a character of a path stands for in memory, once it is in parts."""
_SHOWN: Final = 200


def parse(path: str) -> tuple[str | int, ...]:
    """The keys (texts) and indexes (numbers) of a path. Raises `MacroLimitError` for one too long."""
    if len(path) > MAX_PATH_CHARS:
        raise _limit("a variable's path", "MAX_PATH_CHARS", MAX_PATH_CHARS, len(path))
    return _PARSED.get_or_make(path, lambda: _parsed(path), _PART_BYTES * len(path))


def _parsed(path: str) -> tuple[str | int, ...]:
    parts = tuple(part for part in map(_part, _PART.finditer(path)) if part != "")
    if len(parts) > MAX_PATH_PARTS:
        raise _limit("the parts of a variable's path", "MAX_PATH_PARTS", MAX_PATH_PARTS, len(parts))
    return parts


def _part(found: re.Match[str]) -> str | int:
    if found["bracket"] is None:
        return found["single"] or found["double"] or found["key"] or ""
    text = found["bracket"].strip()
    if not _INDEX.fullmatch(text):
        return text
    return int(text) if len(text) <= _LONGEST_INDEX else int(text[:_LONGEST_INDEX])


def read(table: Mapping[str, Any], path: str, missing: Any = MISSING) -> Any:
    """The value at ``path``, or ``missing``; of the empty path the whole table. A negative index finds nothing."""
    value: Any = table
    for part in parse(path):
        if isinstance(part, int):
            if not isinstance(value, list) or not 0 <= part < len(value):
                return missing
            value = value[part]
        else:
            value = value.get(part, MISSING) if isinstance(value, dict) else MISSING
            if value is MISSING:
                return missing
    return value


def write(table: dict[str, Any], path: str, value: Any, *, index_keys: bool = False) -> int:
    """Set the value at ``path``, making what is missing on the way; returns how many list items were added.

    What is missing gives way to a container; so does any other value of a dictionary, but not of a list. A path that ends with
    the key of what is no dictionary is ignored, and so is one with the index of what is no list, unless it is the last part of
    the path, of a dictionary, and ``index_keys`` has it stored as a text. Raises `MacroArgumentError` for a path that goes on
    behind the key of what is no dictionary and for a negative index that is not in its list, and `MacroLimitError` for an
    index above `MAX_LIST_INDEX`; then nothing is changed at that part.
    """
    parts, grown = parse(path), 0
    place: Any = table
    for part, behind in zip(parts, (*parts[1:], None), strict=False):
        key: Any = part
        if isinstance(part, str):
            if not isinstance(place, dict):
                _only_last(place, part, behind, path)
                return grown
        elif isinstance(place, list):
            grown += _room(place, part, path)
        elif isinstance(place, dict) and behind is None and index_keys:
            key = str(part)
        else:
            return grown
        if behind is None:
            place[key] = value
            return grown
        place = _inner(place, key, behind)
    return grown


def _only_last(place: Any, key: str, behind: str | int | None, path: str) -> None:
    if behind is not None:
        kind = "a list" if isinstance(place, list) else f"a value of type {type(place).__name__}"
        msg = f"{kind} has no key {key[:_SHOWN]!r}"
        raise MacroArgumentError(
            msg, where=Where(path=path[:_SHOWN]), hint="name an item of a list by its index: list[0]"
        )


def _inner(place: Any, key: Any, behind: str | int) -> Any:
    """The container at ``key``, made when there is none; a value in a list stays."""
    found = place.get(key) if isinstance(place, dict) else place[key]
    if found is None or (isinstance(place, dict) and not isinstance(found, (dict, list))):
        place[key] = found = [] if isinstance(behind, int) else {}
    return found


def _room(place: list[Any], index: int, path: str) -> int:
    """Make sure a list has an index; returns how many items that took."""
    if index > MAX_LIST_INDEX:
        raise _limit("the index of a variable", "MAX_LIST_INDEX", MAX_LIST_INDEX, index).at(path=path)
    if index < -len(place):
        msg = f"the list has no item {index}: it has {len(place)}"
        raise MacroArgumentError(msg, where=Where(path=path), hint="count from the start of the list")
    added = max(0, index + 1 - len(place))
    place.extend([None] * added)
    return added


def _limit(what: str, name: str, allowed: int, found: int) -> MacroLimitError:
    return MacroLimitError(what, limit=name, allowed=allowed, found=found)
