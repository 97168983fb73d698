"""MacroRange: which macro made which part of a text; and how ranges stay true while the text goes on to be edited."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from innkeeper.prompt.block import Origin, Piece


class MacroRange(msgspec.Struct, frozen=True, gc=False):
    """The characters from ``start`` to ``end`` (exclusive) of a text were made by a macro of this name."""

    start: int
    end: int
    macro: str


class RangeEdit(NamedTuple):
    """The characters from ``start`` to ``end`` became ``length`` others, made by ``macro`` where it has a name."""

    start: int
    end: int
    length: int
    macro: str | None = None


def edited(ranges: Sequence[MacroRange], edits: Iterable[RangeEdit]) -> list[MacroRange]:
    """The ranges after edits of the text; both are in order and do not overlap among themselves, and so is the result.

    A range around an edit grows or shrinks with it: what a macro stands for is its own, whatever is replaced in that later.
    Of a range that reaches into an edit the part outside stays; one inside an edit is gone, and the edit's macro has made
    what stands there now. Both are gone through once.
    """
    ends = [position for one in ranges for position in (one.start, one.end)]
    moved: list[int] = []
    made, shift, near = [], 0, 0
    for edit in edits:
        start = edit.start + shift
        while len(moved) < len(ends) and ends[len(moved)] < max(edit.end, edit.start + 1):
            position, starts = ends[len(moved)], not len(moved) % 2
            inside = start + edit.length if starts else start
            moved.append(position + shift if position <= edit.start else inside)
        while near < len(ranges) and ranges[near].end < edit.end:
            near += 1
        around = near < len(ranges) and ranges[near].start <= edit.start
        if edit.macro is not None and edit.length and not around:
            made.append(MacroRange(start, start + edit.length, edit.macro))
        shift += edit.length - (edit.end - edit.start)
    moved += [position + shift for position in ends[len(moved) :]]
    remaining = [
        MacroRange(start, end, one.macro)
        for one, start, end in zip(ranges, moved[::2], moved[1::2], strict=True)
        if start < end
    ]
    return sorted([*remaining, *made], key=lambda one: one.start)


def made_pieces(text: str, ranges: Iterable[MacroRange], origin: Origin) -> tuple[Piece, ...]:
    """``text`` cut at its ranges: pieces of ``origin``, those that a macro made with its name."""
    pieces, position = [], 0
    for one in ranges:
        if one.start > position:
            pieces.append(Piece(text[position : one.start], origin))
        by_macro = Origin(origin.asset, origin.field, origin.entry, one.macro, origin.name)
        pieces.append(Piece(text[one.start : one.end], by_macro))
        position = one.end
    return (*pieces, Piece(text[position:], origin)) if position < len(text) else tuple(pieces)
