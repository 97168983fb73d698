"""LoreTexts: the texts of the entries that fired, by the place they go to."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from innkeeper.content.entry import LorePosition
from innkeeper.lore import Activated

__all__ = ["DepthLore", "LoreTexts", "lore_texts"]


class DepthLore(msgspec.Struct, frozen=True):
    """Entries of one depth and role: their texts in order."""

    depth: int
    role: str
    texts: tuple[str, ...]


class LoreTexts(msgspec.Struct, frozen=True, kw_only=True):
    """Texts in prompt order. ``outlets`` are by name, joined."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    an_top: tuple[str, ...] = ()
    an_bottom: tuple[str, ...] = ()
    em_top: tuple[str, ...] = ()
    em_bottom: tuple[str, ...] = ()
    depth: tuple[DepthLore, ...] = ()
    outlets: dict[str, str] = {}


_FIELDS = {
    LorePosition.BEFORE_CHAR: "before",
    LorePosition.AFTER_CHAR: "after",
    LorePosition.AN_TOP: "an_top",
    LorePosition.AN_BOTTOM: "an_bottom",
    LorePosition.EM_TOP: "em_top",
    LorePosition.EM_BOTTOM: "em_bottom",
}


def lore_texts(activated: Iterable[Activated], *, reversed_ties: bool = True) -> LoreTexts:
    """Place the entries: ascending by order, ties in reverse of activation, outlets descending (`sillytavern.md` 21, 29).

    Without ``reversed_ties`` entries of one order stand as they were activated.
    """
    placed: dict[str, list[str]] = {name: [] for name in _FIELDS.values()}
    depths: dict[tuple[int, str], list[str]] = {}
    outlets: dict[str, list[str]] = {}
    for item in sorted(activated if reversed_ties else reversed(tuple(activated)), key=_descending):
        entry = item.compiled.entry
        if not item.content:
            continue
        if entry.position is LorePosition.AT_DEPTH:
            depths.setdefault((entry.depth, entry.role), []).insert(0, item.content)
        elif entry.position is LorePosition.OUTLET:
            outlets.setdefault(entry.outlet_name, []).append(item.content)
        else:
            placed[_FIELDS[entry.position]].insert(0, item.content)
    return LoreTexts(
        **{name: tuple(texts) for name, texts in placed.items()},
        depth=tuple(DepthLore(depth, role, tuple(texts)) for (depth, role), texts in depths.items()),
        outlets={name: "\n".join(texts) for name, texts in outlets.items() if name},
    )


def _descending(item: Activated) -> float:
    return -(item.compiled.entry.order or 0)
