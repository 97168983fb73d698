"""What macros made of a text, in both engines."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.engine.ranges import MacroRange
from innkeeper.macros.silly import substitute
from tests.macros.macro_texts import HOSTILE, environment

Engine = Literal["new", "legacy"]
ENGINES: tuple[Engine, ...] = ("new", "legacy")
VALUES = {"one": "①①", "two": "②"}

pieces = st.sampled_from(
    ("a", " ", "\n", "\\{", "\\}", "{{trim}}", "{{one}}", "{{two}}", "{{nonesuch}}", "{{noop}}", "}}", "{")
)


@pytest.mark.parametrize("pack", ENGINES)
@given(text=st.lists(pieces, max_size=16).map("".join))
def test_a_range_is_what_its_macro_stands_for(pack: Engine, text: str) -> None:
    """Each range holds the value of its macro, whatever was cut out of the text around it; no value is outside a range."""
    ranges: list[MacroRange] = []
    result = substitute(text, environment(), pack=pack, dynamic=VALUES, ranges=ranges)
    values = [(one.macro, result[one.start : one.end]) for one in ranges]
    assert all(VALUES[name] == value for name, value in values)
    assert sum(len(value) for _, value in values) == sum(result.count(mark) for mark in "①②")


@pytest.mark.parametrize("pack", ENGINES)
@given(text=HOSTILE)
def test_recording_changes_nothing(pack: Engine, text: str) -> None:
    """The text is the same with ranges as without; they are in order, do not overlap, and lie within it."""
    ranges: list[MacroRange] = []
    result = substitute(text, environment(), pack=pack, ranges=ranges)
    assert result == substitute(text, environment(), pack=pack)
    places = [place for one in ranges for place in (one.start, one.end)]
    assert places == sorted(places)
    assert all(one.start < one.end <= len(result) for one in ranges)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("I am {{char}}.", [("char", "Mira")]),
        ("I am <BOT>.", [("char", "Mira")]),
        ("{{description}}", [("charDescription", "Mira runs a workshop.")]),
        ("{{if 1}}{{user}} came{{/if}}", [("if", "Tomas came")]),
        ("{{.n = 3}}{{.n}} {{reverse::ab}}", [(".n", "3"), ("reverse", "ba")]),
        ("{{nonesuch::{{char}}}}", []),
    ],
    ids=["plain", "mark", "other-name", "block", "shorthand", "kept"],
)
def test_a_range_has_the_macros_own_name(text: str, made: list[tuple[str, str]]) -> None:
    """Other names, marks and blocks are of the macro that they stand for; what a kept tag holds is no macro's."""
    ranges: list[MacroRange] = []
    result = substitute(text, environment(), ranges=ranges)
    assert [(one.macro, result[one.start : one.end]) for one in ranges] == made


def test_what_a_later_pass_replaces_in_a_value_stays_the_first_macros() -> None:
    """In the former engine a variable may hold a macro; what comes of it is the variable's."""
    env = environment()
    env.variables.set("v", "I am {{char}}!")
    ranges: list[MacroRange] = []
    result = substitute("Hello, {{getvar::v}}", env, pack="legacy", ranges=ranges)
    assert [(one.macro, result[one.start : one.end]) for one in ranges] == [("getvar", "I am Mira!")]
