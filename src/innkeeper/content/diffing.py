"""Difference: where two cards or other JSON documents differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from innkeeper.content.character import Character
from innkeeper.content.finding import Path, show_path
from innkeeper.content.json import ABSENT

__all__ = ["Difference", "diff", "diff_trees"]


class Difference(msgspec.Struct, frozen=True):
    """One place where two documents differ: its path, and what stands there in each; `ABSENT` where nothing does."""

    path: str
    before: Any
    after: Any

    @property
    def kind(self) -> str:
        """``added``, ``removed`` or ``changed``."""
        return "added" if self.before is ABSENT else "removed" if self.after is ABSENT else "changed"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts; what is absent is left out."""
        sides = {"before": self.before, "after": self.after}
        told = {name: value for name, value in sides.items() if value is not ABSENT}
        return {"path": self.path, "kind": self.kind, **told}


def diff(before: Character, after: Character) -> tuple[Difference, ...]:
    """Where two cards differ, unknown fields included, in the order of the first.

    >>> one = Character.of({"name": "Mira", "description": "tall"})
    >>> [str(d.path) for d in diff(one, one.replace(description="small"))]
    ['description']
    """
    return diff_trees(before.document.tree, after.document.tree)


def diff_trees(before: Any, after: Any) -> tuple[Difference, ...]:
    """Where two trees of plain data differ. Lists are compared place by place."""
    return tuple(_differences(before, after, ()))


def _differences(before: Any, after: Any, path: Path) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            yield from _differences(before.get(key, ABSENT), after.get(key, ABSENT), (*path, key))
    elif isinstance(before, list) and isinstance(after, list):
        for index in range(max(len(before), len(after))):
            yield from _differences(_item(before, index), _item(after, index), (*path, index))
    elif type(before) is not type(after) or before != after:
        yield Difference(show_path(path), before, after)


def _item(items: list[Any], index: int) -> Any:
    return items[index] if index < len(items) else ABSENT
