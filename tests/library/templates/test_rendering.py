"""Rendering: values once and literally, the same bytes every time, in both syntaxes."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library import limits
from innkeeper.library.errors import FieldError, MissingVariablesError
from innkeeper.library.templates.rendering import Programs, render
from innkeeper.library.templates.template import Variable
from innkeeper.macros.engine.errors import MacroError, MacroLimitError, UnknownMacroError
from innkeeper.macros.mustache import Included
from innkeeper.prompt.determinism import Clock
from innkeeper.prompt.text import scalar_text
from innkeeper.tokens import default_counter
from tests.library.making import lookup_of, made

TRICKS = [
    "{{b}}",
    "{{{b}}}",
    "{% if b %}",
    "$1",
    "$&",
    r"\1",
    r"\{{b}}",
    r"\g<0>",
    "{{> part}}",
    "{{#b}}{{/b}}",
    r"\{x\}",
]


@pytest.mark.parametrize("syntax", ["mustache", "liquid"])
@pytest.mark.parametrize("value", TRICKS)
def test_values_are_literal(syntax: str, value: str) -> None:
    """A value that looks like a tag, a group or an escape stays the text that it is."""
    version = made("t", "<{{a}}>{{b}}", variables="a b", syntax=syntax)
    assert render(version, {"a": value, "b": "B"}).text == f"<{value}>B"


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_value_is_literal(one: str, other: str) -> None:
    """For any two values, in either syntax, the result is the texts around them and nothing else."""
    for syntax in ("mustache", "liquid"):
        version = made("t", "[{{a}}|{{b}}]", variables="a b", syntax=syntax)
        assert render(version, {"a": one, "b": other}).text == f"[{one}|{other}]"


def test_report() -> None:
    """The result says what it was made of: version, variables, parts, what was ignored, and tokens if counted."""
    version = made("t", "{{a}} {{> p}}", variables="a", partials=(("p", 1),))
    rendered = render(version, {"a": "x", "c": 1}, lookup=lookup_of(made("p", "y")), counter=default_counter())
    assert (rendered.text, rendered.version_id, rendered.parts) == ("x y", "id-t@1", (("p", 1),))
    assert (rendered.ignored, rendered.tokens, rendered.variables[0].tokens) == (("c",), 2, 1)
    assert render(version, {"a": "x"}, lookup=lookup_of(made("p", "y"))).tokens is None


def test_ranges_say_where_the_text_is_from() -> None:
    """Each run of the text names its template, also of partials and of the one that is extended, and its variable."""
    base = made("base", "A{{$b}}old{{/b}}{{> p}}C", partials=(("p", 1),))
    child = made("child", "{{$b}}[{{x}}]{{/b}}", version=2, extends=("base", 1), variables="x")
    parts = lookup_of(base, made("p", "part"))
    rendered = render(child, {"x": "new"}, lookup=parts, ranges=True)
    assert render(child, {"x": "new"}, lookup=parts) == msgspec.structs.replace(rendered, ranges=())
    assert rendered.text == "A[new]partC"
    assert [tuple(each) for each in rendered.ranges] == [
        (1, "base@1", None),
        (2, "child@2", None),
        (5, "child@2", "x"),
        (6, "child@2", None),
        (10, "p@1", None),
        (11, "base@1", None),
    ]
    liquid = made("t", "<{{a}}>", variables="a", syntax="liquid")
    assert render(liquid, {"a": "b"}, ranges=True).ranges == ((3, "t@1", None),)


@given(st.text(max_size=30), st.text(max_size=30))
def test_ranges_cover_the_text(one: str, other: str) -> None:
    """They rise, have no gap, and a variable's ranges hold its value."""
    rendered = render(made("t", "[{{a}}|{{b}}{{a}}]", variables="a? b?"), {"a": one, "b": other}, ranges=True)
    ends = [each.end for each in rendered.ranges]
    assert ends == sorted(set(ends))
    assert ends[-1] == len(rendered.text)
    starts = dict(zip(ends, [0, *ends], strict=False))
    runs = [rendered.text[starts[each.end] : each.end] for each in rendered.ranges if each.variable == "a"]
    assert set(runs) <= {scalar_text(one)}


def test_sections() -> None:
    """Sections show and hide by what is empty."""
    version = made("t", "{{#a}}yes {{a}}{{/a}}{{^a}}no{{/a}}", variables="a?")
    assert [render(version, {"a": value}).text for value in ("x", "", None)] == ["yes x", "no", "no"]


def test_fence_in_both_syntaxes() -> None:
    """A variable that is set off is set off wherever it is used."""
    variables = (Variable(name="a", fence=True),)
    for syntax in ("mustache", "liquid"):
        assert render(made("t", "{{a}}", variables=variables, syntax=syntax), {"a": "x"}).text == "<<<a\nx\na>>>"


def test_missing_and_wrong_say_the_template() -> None:
    """Errors about values name the template that wanted them."""
    version = made("t", "{{a}}", variables="a")
    with pytest.raises(MissingVariablesError) as caught:
        render(version, {})
    assert (str(caught.value), caught.value.to_dict()["details"]) == (
        "t: variables without a value: a",
        {"missing": ["a"]},
    )
    with pytest.raises(FieldError, match=r"t: values\.a"):
        render(version, {"a": []})


def test_undeclared_is_an_error() -> None:
    """A name that nothing declares is never quietly empty, even where a value of that name is given."""
    with pytest.raises(MissingVariablesError, match="b"):
        render(made("t", "{{b}}"), {"b": "x"})
    with pytest.raises(UnknownMacroError):
        render(made("t", "{{ b }}", syntax="liquid"), {"b": "x"})


def test_liquid_logic() -> None:
    """Liquid templates loop over lists and test what is empty."""
    variables = (Variable(name="l", type="list"), Variable(name="m", required=False))
    version = made(
        "t", "{% for i in l %}({{ i }}){% endfor %}{% if m %}!{% endif %}", variables=variables, syntax="liquid"
    )
    assert render(version, {"l": ["a", "b"]}).text == "(a)(b)"


def test_liquid_knows_no_time_of_its_own() -> None:
    """What ``now`` means is given; left out it is always the same moment."""
    version = made("t", "{{ 'now' | date: '%Y' }}", syntax="liquid")
    assert render(version, {}).text == "1970"
    assert render(version, {}, clock=Clock.at("2026-01-15T00:00:00Z")).text == "2026"


def test_liquid_mistakes_name_the_template() -> None:
    """An error of Liquid says in which template."""
    with pytest.raises(MacroError) as caught:
        render(made("t", "\n{% if %}", syntax="liquid"), {})
    assert caught.value.where is not None
    assert (caught.value.where.asset, caught.value.where.line) == ("t", 2)


@pytest.mark.parametrize("ranges", [False, True])
def test_bomb(*, ranges: bool) -> None:
    """A small template and a large value do not become a huge text."""
    version = made("t", "{{a}}" * 1_000, variables="a")
    with pytest.raises(MacroLimitError) as caught:
        render(version, {"a": "x" * (limits.MAX_RENDERED_CHARS // 500)}, ranges=ranges)
    assert caught.value.limit == "MAX_RENDERED_CHARS"


def test_programs_are_kept_and_checked() -> None:
    """A composed template is kept; where version or part are others, it is made anew; the oldest goes first."""
    programs = Programs(entries=2)
    part, version = made("p", "1"), made("t", "{{> p}}", partials=(("p", 1),))
    first = programs.get(version, lookup_of(part))
    assert programs.get(version, lookup_of(part)) is first
    assert programs.get(msgspec.structs.replace(version), lookup_of(part)) is first
    assert programs.get(version, lookup_of(made("p", "2"))).nodes == (Included("p", 1, ("2",)),)
    forged = msgspec.structs.replace(version, system_prompt="other", partials=())
    assert programs.get(forged, lookup_of()).nodes == ("other",)
    again = programs.get(version, lookup_of(part))
    for name in "ab":
        programs.get(made(name), lookup_of())
    assert programs.get(version, lookup_of(part)) is not again


@given(st.text(alphabet="ab{}#^/$>!% \n|if", max_size=60), st.dictionaries(st.sampled_from("ab"), st.text(max_size=9)))
def test_any_template_renders_or_fails_with_a_type(text: str, values: dict[str, str]) -> None:
    """Whatever template and values, the end is a text or an error of the tree, in either syntax."""
    from innkeeper.prompt.errors import InnkeeperError

    for syntax in ("mustache", "liquid"):
        version = made("t", text, variables="a? b?", syntax=syntax)
        found: object = None
        try:
            found = render(version, values).text
        except InnkeeperError as error:
            found = error.where or error.details
        assert found is not None
