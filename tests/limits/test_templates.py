"""Template languages, Liquid, Handlebars and those of chats: what hostile templates cost."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.dialects.chat_template import render_chat_template
from innkeeper.dialects.report import Report
from innkeeper.dialects.sillytavern.bodies.custom import read_yaml
from innkeeper.macros.handlebars import render_handlebars
from innkeeper.macros.liquid import render
from innkeeper.prompt.allowance import AllowanceError, BuildLimits, allowed
from tests.limits.growth import Family, fresh, held, spending, stops


def _liquid(name: str, part: str, size: int, *, before: str = "", after: str = "", **values: Any) -> Family:
    return Family(f"liquid: {name}", lambda n: render(fresh() + before + part * n + after, values), size, "liquid")


def _handlebars(name: str, part: str, size: int, *, before: str = "", after: str = "", **values: Any) -> Family:
    return Family(
        f"handlebars: {name}",
        lambda n: render_handlebars(fresh() + before + part * n + after, values),
        size,
        "handlebars",
    )


FAMILIES = (
    _liquid("tags", "{{a}}", 150, a="x"),
    _liquid("filters", " | upcase", 250, before="{{ 'a'", after="}}"),
    _liquid("loops", "{% for i in (1..100) %}{{i}}{% endfor %}", 10),
    _liquid("long texts", "{{ a | strip_html | escape | size }}", 5, a="<x>" * 3_000),
    _liquid("writes", "{% assign b = a | split: ',' %}", 4, a="a," * 2_000),
    Family(
        "liquid: a word's numbers",
        lambda n: render("".join(f"{{{{ '{fresh()}' | hash7 }}}}" for _ in range(n))),
        10,
        "chance",
    ),
    _handlebars("tags", "{{a}}", 250, a="x"),
    _handlebars("arguments", "a ", 800, before="{{lookup this ", after="}}"),
    _handlebars("lists", "{{a}}", 60, a=[1] * 200),
    Family(
        "handlebars: loops with nothing in them",
        lambda n: render_handlebars("{{#each a}}{{#each @root.b}}{{/each}}{{/each}}", {"a": [1] * n, "b": [1] * 100}),
        40,
        "handlebars",
    ),
    Family("fields of a preset", lambda n: read_yaml("a: 1\n" * n, "x", Report("test")), 1_500, "dialects"),
    Family("fields that nest", lambda n: read_yaml("[" * n, "x", Report("test")), 10_000, "dialects"),
    Family(
        "chat templates",
        lambda n: render_chat_template("{{ x }}" * n, {"x": "a" * 500}, messages=1, trusted=True),
        8_000,
        "templates",
    ),
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_twice_the_template_costs_twice_as_much(family: Family) -> None:
    """Time and memory grow as the template does, until a limit or the allowance ends it."""
    assert held(family)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_templates_are_charged_for(family: Family) -> None:
    """The allowance is charged, and where it is spent the engine stops asking."""
    assert spending(family)[family.engine] > 100
    assert stops(family) <= 3


def test_a_template_without_an_allowance_left() -> None:
    """Liquid gives the template back with the error; the others raise it."""
    with allowed(BuildLimits(steps=100)):
        result = render("{{a}}" * 100, {"a": "x"})
        assert (result.text, type(result.error)) == ("{{a}}" * 100, AllowanceError)
        with pytest.raises(AllowanceError, match="asked for by handlebars"):
            render_handlebars(fresh() + "{{a}}" * 100, {"a": "x"})
        with pytest.raises(AllowanceError, match="asked for by templates"):
            render_chat_template("x" * 200, {}, messages=1, trusted=True)


@pytest.mark.parametrize("trusted", [True, False], ids=["here", "apart"])
def test_a_chat_template_is_charged_for_what_it_makes(trusted: bool) -> None:
    """More than the build may still make is refused, in this process and in one of its own."""
    with allowed(BuildLimits(output=1_000)) as allowance:
        assert render_chat_template("{{ 'a' * 900 }}", {}, messages=1, trusted=trusted) == "a" * 900
        assert allowance.output == 100
        with pytest.raises(AllowanceError, match="characters made"):
            render_chat_template("{{ 'a' * 900 }}", {}, messages=1, trusted=trusted)
