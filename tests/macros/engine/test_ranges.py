"""Ranges of what macros made: kept true through edits, and cut into pieces."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.engine.ranges import MacroRange, RangeEdit, edited, made_pieces
from innkeeper.prompt.block import Origin

LENGTH = 24
HERE = Origin("character", field="description")


@st.composite
def spans(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Spans of a text in order, none empty, none over another."""
    places = sorted(draw(st.sets(st.integers(0, LENGTH), max_size=8)))
    return [(start, end) for start, end in itertools.pairwise(places) if draw(st.booleans())]


ranges_of = spans().map(lambda found: [MacroRange(start, end, f"m{start}") for start, end in found])


def makers(ranges: list[MacroRange], length: int) -> list[str | None]:
    """For each character the macro that made it."""
    made: list[str | None] = [None] * length
    for one in ranges:
        made[one.start : one.end] = [one.macro] * (one.end - one.start)
    return made


@given(ranges_of, spans(), st.data())
def test_ranges_move_with_the_text(
    ranges: list[MacroRange], changed: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Characters that stay keep their macro. New ones are of the macro around the edit, or else of the edit's own."""
    edits = [
        RangeEdit(start, end, data.draw(st.integers(0, 5)), data.draw(st.sampled_from([None, "new"])))
        for start, end in changed
    ]
    before = makers(ranges, LENGTH)
    after: list[str | None] = []
    place = 0
    for edit in edits:
        around = [one.macro for one in ranges if one.start <= edit.start and edit.end <= one.end]
        after += before[place : edit.start] + [around[0] if around else edit.macro] * edit.length
        place = edit.end
    after += before[place:]
    moved = edited(ranges, edits)
    assert makers(moved, len(after)) == after
    assert all(one.start < one.end <= len(after) for one in moved)
    assert all(one.end <= other.start for one, other in itertools.pairwise(moved))


@given(st.text(min_size=LENGTH, max_size=LENGTH), ranges_of)
def test_pieces_cover_the_text(text: str, ranges: list[MacroRange]) -> None:
    """The pieces, joined, are the text; each range is one of them, with the macro beside the origin."""
    pieces = made_pieces(text, ranges, HERE)
    assert "".join(piece.text for piece in pieces) == text
    assert all(piece.text for piece in pieces)
    made = [(piece.text, piece.origin.macro) for piece in pieces if piece.origin.macro]
    assert made == [(text[one.start : one.end], one.macro) for one in ranges]
    assert {(piece.origin.asset, piece.origin.field) for piece in pieces} == {("character", "description")}


@given(
    st.lists(st.integers(0, 6), min_size=0, max_size=8),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 5)), max_size=4),
)
def test_ranges_move_as_if_each_were_looked_at_alone(gaps: list[int], cuts: list[tuple[int, int]]) -> None:
    """Going through ranges and edits once gives what each range gives with these edits by itself."""
    places = [sum(gaps[: index + 1]) for index in range(len(gaps))]
    ranges = [
        MacroRange(start, end, f"m{start}")
        for start, end in zip(places[::2], places[1::2], strict=False)
        if start < end
    ]
    edits, place = [], 0
    for gap, length in cuts:
        edits.append(RangeEdit(place + gap, place + gap + 2, length))
        place += gap + 2
    assert edited(ranges, edits) == [moved for one in ranges for moved in edited([one], edits)]
