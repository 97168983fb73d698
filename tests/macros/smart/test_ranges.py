"""What macros made of a text, with values scanned again and without."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.engine.ranges import MacroRange
from innkeeper.macros.smart import FIXED, SMARTTAVERN, MacroCompat, expand, expand_pieces
from innkeeper.prompt.block import Origin
from tests.macros.smart.smart_texts import HOSTILE, TABLES, environment

WAYS = [pytest.param(FIXED, id="fixed"), pytest.param(SMARTTAVERN, id="as-in-smarttavern")]
HERE = Origin("preset", field="prompts", entry="main")


@pytest.mark.parametrize("compat", WAYS)
@given(text=HOSTILE, table=TABLES)
def test_recording_changes_nothing(compat: MacroCompat, text: str, table: dict[str, Any]) -> None:
    """The text is the same with ranges as without, and the pieces, joined, are the text; none is empty."""
    ranges: list[MacroRange] = []
    result = expand(text, environment(table, compat), ranges=ranges)
    assert result == expand(text, environment(table, compat))
    places = [place for one in ranges for place in (one.start, one.end)]
    assert places == sorted(places)
    assert all(one.start < one.end <= len(result) for one in ranges)
    pieces = expand_pieces(text, environment(table, compat), HERE)
    assert "".join(piece.text for piece in pieces) == result
    assert all(piece.text for piece in pieces)


@pytest.mark.parametrize("compat", WAYS)
@given(st.lists(st.sampled_from(["x ", "}", "{{getvar:a}}", "{{upper:b}}", "{{user}}", "{{noop}}", "{{nonesuch}}"])))
def test_a_range_is_what_its_macro_stands_for(compat: MacroCompat, parts: list[str]) -> None:
    """Each range holds its macro's value; neighbours are apart although they are of one name."""
    values = {"getvar": "①①", "upper": "B", "user": "②"}
    env = environment({"a": "①①", "user_name": "②"}, compat)
    ranges: list[MacroRange] = []
    result = expand("".join(parts), env, ranges=ranges)
    made = [(one.macro, result[one.start : one.end]) for one in ranges]
    assert made == [(name, values[name]) for part in parts if (name := part.strip("{}").partition(":")[0]) in values]


def test_macros_in_a_value_are_part_of_it() -> None:
    """Where values are scanned again, what they lead to is the macro's whose value they are; so are its halves of marks."""
    env = environment({"a": "<{{getvar:b}}>", "b": "deep"}, SMARTTAVERN)
    pieces = expand_pieces("1 {{getvar:a}} 2 {{upper:{{getvar:b}}}}", env, HERE)
    assert [(piece.text, piece.origin.macro) for piece in pieces] == [
        ("1 ", None),
        ("<deep>", "getvar"),
        (" 2 ", None),
        ("DEEP", "upper"),
    ]
