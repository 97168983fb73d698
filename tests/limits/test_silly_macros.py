"""Both macro engines of SillyTavern: what hostile texts cost."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from innkeeper.macros.engine.environment import CardFields, MacroEnvironment
from innkeeper.macros.silly import substitute
from innkeeper.prompt.allowance import BuildLimits, allowed
from innkeeper.prompt.note import Note
from tests.limits.growth import Family, fresh, held, spending, stops


def _filled(pack: Any, text: str, *, ranges: bool = False, **fields: Any) -> str:
    env = MacroEnvironment(user="Ann", char="Bob", warn=lambda _note: None, **fields)
    return substitute(text, env, pack=pack, ranges=[] if ranges else None)


def _new(name: str, part: str, size: int, *, before: str = "", ranges: bool = False) -> Family:
    return Family(name, lambda n: _filled("new", fresh() + before + part * n, ranges=ranges), size, "macros")


def _legacy(name: str, part: str, size: int, *, before: str = "") -> Family:
    return Family(f"legacy: {name}", lambda n: _filled("legacy", before + part * n), size, "macros")


FAMILIES = (
    _new("separators", "a::", 3_000, before="{{random::"),
    _new("choices", "{{random::a::b}}", 600),
    _new("angle brackets", "<USER>", 1_500),
    _new("picks", "{{pick::a::b}}", 60),
    _new("conditions", "{{if 1}}", 1_000),
    _new("names", "{{user}}", 1_000),
    _new("names with ranges", "{{user}}", 1_000, ranges=True),
    _new("escapes with ranges", "\\{", 4_000, before="{{noop}}{{char}}" * 500, ranges=True),
    _new("openers", "{{ ", 4_000),
    _new("openers of macros", "{{user ", 1_000),
    _new("trims", "{{trim}}\n", 1_000),
    _new("else", "{{else}}", 1_200, before="{{if 1}}"),
    _new("closed", "{{user}}{{/user}}", 600),
    _new("flags", "! ", 40_000, before="{{"),
    Family(
        "a list that grows",
        lambda n: _filled("new", "{{setvar::x::[]}}" + "{{addvar::x::1}}" * n),
        200,
        "variables",
        steep=True,
    ),
    Family(
        "keys",
        lambda n: _filled("new", f"{{{{setvarkey::x::{n}::1}}}}" + "{{setvarkey::x::1::1}}" * n),
        100,
        "variables",
        steep=True,
    ),
    Family(
        "a text that grows",
        lambda n: _filled("new", ("{{addvar::x::" + "b" * 1_000 + "}}") * n),
        100,
        "variables",
        steep=True,
    ),
    Family(
        "a field that is long",
        lambda n: _filled("new", "{{description}}" * n, card=CardFields(description="{{user}}" * 200)),
        400,
        "macros",
    ),
    _legacy("names", "{{user}}", 4_000),
    _legacy("openers", "{{roll {{random: {{pick: {{setvar::", 1_500),
    _legacy("braces", "}}", 100_000, before="{{roll {{random: {{datetimeformat "),
    _legacy("unknown", "{{a}}", 30_000),
    _legacy("picks", "{{pick::a::b}}", 60),
    _legacy("variables", "{{setvar::a::b}}", 600),
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_twice_the_text_costs_twice_as_much(family: Family) -> None:
    """Time and memory grow as the text does, until a limit or the allowance ends it."""
    assert held(family)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_texts_are_charged_for(family: Family) -> None:
    """The allowance is charged, and where it is spent the engine stops asking."""
    assert spending(family)[family.engine] > 100
    assert stops(family) <= 20


@pytest.mark.parametrize("pack", ["new", "legacy"])
def test_where_the_allowance_is_spent_macros_stay(pack: Any) -> None:
    """The text stays from there on as it is written, and a note says why."""
    notes: list[Note] = []
    text = fresh() + "a{{getvar::x}}" * 1_000
    env = MacroEnvironment(user="Ann", char="Bob", warn=notes.append)
    with allowed(BuildLimits(steps=90_000 if pack == "new" else 40_000)):
        made = substitute(text, env, pack=pack)
        assert substitute("{{getvar::x}}", env, pack=pack) == "{{getvar::x}}"
    assert made.endswith("a{{getvar::x}}a{{getvar::x}}")
    assert len(made) < len(text)
    assert any("MAX_BUILD_STEPS" in note.message for note in notes)


def test_marks_of_one_text_are_limited() -> None:
    """Marks behind the first 100,000 are text, and a note says so."""
    notes: list[Note] = []
    env = partial(MacroEnvironment, user="Ann", warn=notes.append)
    assert substitute("{{random::" + "a::" * 200_000 + "}}{{user}}", env()).endswith("}}{{user}}")
    assert [note.message for note in notes] == ["the marks of one text exceeds the limit MAX_MARKS of 100,000"]
