"""Edits: changes of plain data at a path, what differs between two trees, and paths as texts name them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from innkeeper.content.finding import Path, show_path
from innkeeper.content.json import ABSENT
from innkeeper.content.json.text import decode_json, encode_json
from innkeeper.prompt.errors import UsageError

MAX_EDIT_DEPTH: Final = 64
"""Keys and indexes in the path of an edit (`UsageError`)."""


def plain(value: Any) -> Any:
    """A value of an edit as a document holds it. Raises what `decode_json` raises."""
    return decode_json(encode_json(value))


def edited(tree: Any, path: Path, value: Any) -> Any:
    """The tree with ``value`` at ``path``, or without it (`ABSENT`); what is not on the way is shared.

    Raises:
        UsageError: the path leads nowhere.
    """
    if len(path) > MAX_EDIT_DEPTH:
        raise UsageError("the path of an edit is too long", hint=f"at most {MAX_EDIT_DEPTH} keys and indexes")
    try:
        return _edited(tree, path, value)
    except (KeyError, IndexError, TypeError):
        raise UsageError(f"there is nothing to change at {show_path(path)!r}") from None


def _edited(tree: Any, path: Path, value: Any) -> Any:
    if not path:
        if value is ABSENT:
            raise KeyError
        return value
    part, rest = path[0], path[1:]
    if isinstance(tree, dict) and isinstance(part, str):
        if not rest and value is ABSENT:
            return {key: item for key, item in tree.items() if key != part}
        return {**tree, part: _edited(tree[part], rest, value) if rest else value}
    if isinstance(tree, list) and isinstance(part, int) and not isinstance(part, bool) and 0 <= part <= len(tree):
        if not rest and value is ABSENT:
            return tree[:part] + tree[part + 1 :]
        return [*tree[:part], _edited(tree[part], rest, value) if rest else value, *tree[part + 1 :]]
    raise TypeError


def inserted(tree: Any, path: Path, value: Any) -> Any:
    """The tree with ``value`` before the item at ``path`` of a list. Raises `UsageError`."""
    *parent, index = path or (None,)
    items = existing(tree, tuple(part for part in parent if part is not None))[1]
    if not isinstance(items, list) or not isinstance(index, int) or not 0 <= index <= len(items):
        raise UsageError(f"nothing can be inserted at {show_path(path)!r}", hint="an index of a list, or the one after")
    return edited(tree, path[:-1], [*items[:index], value, *items[index:]])


def existing(tree: Any, path: Path) -> tuple[Path, Any]:
    """As much of a path as there is, and the value there."""
    for index, part in enumerate(path):
        try:
            inside = isinstance(tree, dict if isinstance(part, str) else list)
            tree = tree[part] if inside else None
        except (KeyError, IndexError):
            tree = None
        if tree is None:
            return path[:index], None
    return path, tree


def differences(before: Any, after: Any, path: Path = ()) -> dict[Path, Any]:
    """What makes ``after`` of ``before``: values by their paths, `ABSENT` for what is gone; a list of another length whole."""
    if before is after:
        return {}
    if isinstance(before, dict) and isinstance(after, dict) and _same_order(before, after):
        changes: dict[Path, Any] = {(*path, key): ABSENT for key in before if key not in after}
        for key, item in after.items():
            changes |= differences(before[key], item, (*path, key)) if key in before else {(*path, key): item}
        return changes
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        changes = {}
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            changes |= differences(old, new, (*path, index))
        return changes
    return {} if _equal(before, after) else {path: after}


def overlapping(path: Path, changes: Iterable[Path]) -> bool:
    """Whether one of the changes is at the path, within it or around it."""
    return any(path[: len(other)] == other[: len(path)] for other in changes)


def _same_order(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether the keys of both come in one order, the new ones last."""
    common = [key for key in before if key in after]
    return common == [*after][: len(common)]


def _equal(before: Any, after: Any) -> bool:
    """Whether two values are written alike: 1 and true, or 1 and 1.0, are not."""
    return type(before) is type(after) and bool(before == after) and encode_json(before) == encode_json(after)


_PART: Final = re.compile(r"\[([^\]]*)(?:\]|\Z)|\.?([^.\[\]]+)")


def text_path(text: str) -> Path:
    """A path as findings name it, ``data.tags[3]``, in parts; what is in brackets is an index where it is a number.

    >>> text_path("data.tags[3]")
    ('data', 'tags', 3)
    """
    return tuple(
        int(index) if index.isascii() and index.isdecimal() else index or key for index, key in _PART.findall(text)
    )
