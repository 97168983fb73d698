"""MacroRange: which macro made which part of a text; and how ranges stay true while the text goes on to be edited."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from innkeeper.prompt.block import Origin, Piece

__all__ = ["Edit", "MacroRange", "edited", "made_pieces"]


class MacroRange(msgspec.Struct, frozen=True, gc=False):
    """The characters from ``start`` to ``end`` (exclusive) of a text were made by a macro of this name."""

    start: int
    end: int
    macro: str


class Edit(NamedTuple):
    """The characters from ``start`` to ``end`` became ``length`` others, made by ``macro`` where it has a name."""

    start: int
    end: int
    length: int
    macro: str | None = None


def edited(ranges: Sequence[MacroRange], edits: Sequence[Edit]) -> list[MacroRange]:
    """The ranges after edits of the text; both are in order and do not overlap among themselves, and so is the result.

    A range around an edit grows or shrinks with it: what a macro stands for is its own, whatever is replaced in that later.
    Of a range that reaches into an edit the part outside stays; one inside an edit is gone, and the edit's macro has made
    what stands there now.
    """
    moved = [
        MacroRange(start, end, one.macro)
        for one in ranges
        if (start := _moved(one.start, edits, at_end=True)) < (end := _moved(one.end, edits, at_end=False))
    ]
    shift, made = 0, []
    for edit in edits:
        start = edit.start + shift
        shift += edit.length - (edit.end - edit.start)
        around = any(one.start <= edit.start and edit.end <= one.end for one in ranges)
        if edit.macro is not None and edit.length and not around:
            made.append(MacroRange(start, start + edit.length, edit.macro))
    return sorted([*moved, *made], key=lambda one: one.start)


def _moved(place: int, edits: Sequence[Edit], *, at_end: bool) -> int:
    """Where a place of the text before the edits is after them: one inside an edit is at its end, or at its start."""
    shift = 0
    for edit in edits:
        if place <= edit.start:
            break
        if place < edit.end:
            return edit.start + shift + (edit.length if at_end else 0)
        shift += edit.length - (edit.end - edit.start)
    return place + shift


def made_pieces(text: str, ranges: Iterable[MacroRange], origin: Origin) -> tuple[Piece, ...]:
    """``text`` cut at its ranges: pieces of ``origin``, those that a macro made with its name."""
    pieces, place = [], 0
    for one in ranges:
        if one.start > place:
            pieces.append(Piece(text[place : one.start], origin))
        by_macro = Origin(origin.asset, origin.field, origin.entry, one.macro, origin.name)
        pieces.append(Piece(text[one.start : one.end], by_macro))
        place = one.end
    return (*pieces, Piece(text[place:], origin)) if place < len(text) else tuple(pieces)
