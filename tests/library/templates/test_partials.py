"""Composing: partials, inheritance, circles, tiers, limits, and who is touched by a change."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from innkeeper.library import limits
from innkeeper.library.errors import InvalidTemplateError
from innkeeper.library.templates.partials import compose, impact, included, no_parts
from innkeeper.library.templates.rendering import render
from innkeeper.library.templates.template import TemplateVersion
from innkeeper.macros.engine.errors import MacroLimitError, MacroSyntaxError
from innkeeper.prompt.errors import InnkeeperError
from tests.library.making import lookup_of, made

RULES = made("rules", "Be {{tone}}.", variables="tone")
BASE = made("base", "A{{$one}}1{{/one}}B{{$two}}2{{#x}}x{{/x}}{{/two}}C", variables="x?")


def _text(version: TemplateVersion, *others: TemplateVersion, **values: str) -> str:
    return render(version, values, lookup=lookup_of(*others)).text


def test_partial_brings_text_and_variables() -> None:
    """What a partial says and declares becomes part of the template; the parts are reported."""
    version = made("t", "{{> rules}} {{>rules}}", partials=(("rules", 1),))
    rendered = render(version, {"tone": "kind"}, lookup=lookup_of(RULES))
    assert (rendered.text, rendered.parts) == ("Be kind. Be kind.", (("rules", 1),))


def test_partials_are_pinned() -> None:
    """A later version of a partial changes nothing for who pins the earlier."""
    later = made("rules", "Other.", version=2)
    version = made("t", "{{> rules}}", partials=(("rules", 1),))
    assert _text(version, RULES, later, tone="calm") == "Be calm."


def test_own_declaration_counts_before_that_of_a_partial() -> None:
    """Who includes a partial may give its variable another default."""
    from innkeeper.library.templates.template import Variable

    own = (Variable(name="tone", required=False, default="loud"),)
    assert _text(made("t", "{{> rules}}", partials=(("rules", 1),), variables=own), RULES) == "Be loud."


def test_extending_replaces_blocks() -> None:
    """A template that extends another is that other with its own blocks; what it leaves out stays."""
    child = made("child", "{{$two}}zwei{{/two}}\n", extends=("base", 1))
    assert _text(child, BASE) == "A1BzweiC"


def test_extending_without_text_takes_all() -> None:
    """Without text of its own it is the other as it is."""
    assert _text(made("child", " \n", extends=("base", 1)), BASE, x="y") == "A1B2xC"


def test_extending_over_two_steps() -> None:
    """The nearest block counts; a block inside a block can be replaced too."""
    middle = made("middle", "{{$one}}[{{$inner}}i{{/inner}}]{{/one}}{{$two}}II{{/two}}", extends=("base", 1))
    child = made("child", "{{$two}}zwei{{/two}}{{$inner}}J{{/inner}}", extends=("middle", 1))
    assert _text(child, BASE, middle) == "A[J]BzweiC"


def test_block_inside_itself_ends() -> None:
    """A block that holds itself falls back on what it holds, and does not go round."""
    child = made("child", "{{$one}}<{{$one}}own{{/one}}>{{/one}}", extends=("base", 1))
    assert _text(child, BASE) == "A<own>B2C"


def test_partial_may_extend() -> None:
    """A partial can itself extend another template."""
    child = made("child", "{{$one}}!{{/one}}", extends=("base", 1))
    assert _text(made("t", "({{> child}})", partials=(("child", 1),)), BASE, child) == "(A!B2C)"


def test_liquid_parts() -> None:
    """Liquid templates include partials by the same tag, and extend without text of their own."""
    part = made("part", "{{ name | upcase }}", syntax="liquid", variables="name")
    parent = made("parent", "Hi {{> part }}!", syntax="liquid", partials=(("part", 1),))
    child = made("child", "", syntax="liquid", extends=("parent", 1))
    assert _text(child, part, parent, name="mira") == "Hi MIRA!"


@dataclass(frozen=True)
class Case:
    id: str
    version: TemplateVersion
    others: tuple[TemplateVersion, ...]
    error: type[InnkeeperError]
    message: str


LOOP = (made("a", "{{> b}}", partials=(("b", 1),)), made("b", "{{> a}}", partials=(("a", 1),)))
CHAIN = [made(f"p{n}", f"{{{{> p{n + 1}}}}}", partials=((f"p{n + 1}", 1),)) for n in range(40)]
BOMB = [made(f"q{n}", f"{{{{> q{n + 1}}}}}" * 10, partials=((f"q{n + 1}", 1),)) for n in range(9)]
LIQUID = made("liquid", "x", syntax="liquid")

MISTAKES = [
    Case("not pinned", made("t", "\n {{> rules}}"), (RULES,), InvalidTemplateError, "t:2:2: 'rules' is not pinned"),
    Case("not there", made("t", "{{> rules}}", partials=(("rules", 3),)), (RULES,), InvalidTemplateError, "version 3"),
    Case("parent not there", made("t", "", extends=("base", 3)), (BASE,), InvalidTemplateError, "version 3"),
    Case(
        "of a higher tier",
        made("t", "{{> up}}", partials=(("up", 1),)),
        (made("up", content_mode="nsfw"),),
        InvalidTemplateError,
        "higher tier",
    ),
    Case(
        "parent of a higher tier",
        made("t", "", extends=("up", 1)),
        (made("up", content_mode="nsfw"),),
        InvalidTemplateError,
        "higher tier",
    ),
    Case(
        "other syntax", made("t", "{{> liquid}}", partials=(("liquid", 1),)), (LIQUID,), InvalidTemplateError, "liquid"
    ),
    Case("circle", LOOP[0], LOOP, InvalidTemplateError, "a → b → a"),
    Case(
        "circle of one",
        made("t", "", extends=("t", 1)),
        (made("t", "", extends=("t", 1)),),
        InvalidTemplateError,
        "t → t",
    ),
    Case("deep", CHAIN[0], tuple(CHAIN), MacroLimitError, "MAX_PART_DEPTH"),
    Case("bomb", BOMB[0], (*BOMB, made("q9", "x")), MacroLimitError, "MAX_PARTS"),
    Case(
        "long",
        made("t", "{{> big}}" * 5, partials=(("big", 1),)),
        (made("big", "x" * 100_000),),
        MacroLimitError,
        "MAX_TEMPLATE_CHARS",
    ),
    Case(
        "many tags",
        made("t", "{{> many}}" * 5, partials=(("many", 1),)),
        (made("many", "{{a}}" * 4_000, variables="a?"),),
        MacroLimitError,
        "MAX_TAGS",
    ),
    Case(
        "deep sections",
        made("t", "{{#a}}" * 40 + "{{> deep}}" + "{{/a}}" * 40, partials=(("deep", 1),), variables="a?"),
        (made("deep", "{{#a}}" * 40 + "{{/a}}" * 40, variables="a?"),),
        MacroLimitError,
        "MAX_SECTION_DEPTH",
    ),
    Case(
        "text beside blocks",
        made("t", "{{$one}}{{/one}}\nmore", extends=("base", 1)),
        (BASE,),
        MacroSyntaxError,
        "t:2:1",
    ),
    Case(
        "name beside blocks",
        made("t", "{{x}}", extends=("base", 1)),
        (BASE,),
        MacroSyntaxError,
        "outside of a block",
    ),
    Case(
        "liquid with text",
        made("t", "more", syntax="liquid", extends=("liquid", 1)),
        (LIQUID,),
        MacroSyntaxError,
        "beside that",
    ),
    Case(
        "mistake in a part",
        made("t", "{{> bad}}", partials=(("bad", 1),)),
        (made("bad", "x {{"),),
        MacroSyntaxError,
        "bad:1:3",
    ),
]


@pytest.mark.parametrize("case", MISTAKES, ids=lambda case: case.id)
def test_mistake(case: Case) -> None:
    """What cannot be put together is an error of its own kind."""
    with pytest.raises(case.error) as caught:
        compose(case.version, lookup_of(*case.others))
    assert case.message in str(caught.value)


def test_many_parts_are_read_once() -> None:
    """As many inclusions as are allowed of one long part cost one reading; the limit is on what comes out."""
    part = made("part", "{{! " + "x" * 100_000 + "}}")
    version = made("t", "{{> part}}" * limits.MAX_PARTS, partials=(("part", 1),))
    assert compose(version, lookup_of(part)).nodes == ()


def test_lookup_of_nothing() -> None:
    """A template without parts needs no lookup."""
    assert no_parts("x", 1) is None
    assert compose(made("t", "a")).nodes == ("a",)


@pytest.mark.parametrize("syntax", ["mustache", "liquid"])
def test_included_names(syntax: str) -> None:
    """The names that a text includes are found, inside of sections too."""
    text = "{{> a}} {{> b.c }}" if syntax == "liquid" else "{{> a}}{{#x}}{{$y}}{{> b.c }}{{/y}}{{/x}}"
    assert included(made("t", text, syntax=syntax)) == {"a", "b.c"}


def test_impact_list() -> None:
    """Who takes in a template, directly or by others, by inclusion or inheritance, is listed by name."""
    one = made("one", "{{> rules}}", partials=(("rules", 1),))
    two = made("two", "", extends=("one", 1))
    newer = made("newer", "{{> rules}}", partials=(("rules", 2),))
    known = [RULES, made("rules", version=2), two, one, newer, made("alone")]
    assert [version.name for version in impact("rules", known)] == ["newer", "one", "two"]
    assert [version.name for version in impact("rules", known, 1)] == ["one", "two"]
    assert impact("alone", known) == ()


def test_impact_over_several_ways() -> None:
    """Who takes in a template by several ways is listed once."""
    one = made("one", "{{> rules}}", partials=(("rules", 1),))
    both = made("both", "{{> rules}}{{> one}}", partials=(("rules", 1), ("one", 1)))
    assert impact("rules", [RULES, one, both]) == (both, one)
