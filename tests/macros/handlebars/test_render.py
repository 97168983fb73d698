"""Handlebars templates: what they render to, where their errors point, and that no template takes the process down."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.engine.errors import MacroArgumentError, MacroLimitError, MacroSyntaxError, UnknownMacroError
from innkeeper.macros.handlebars.render import render_handlebars
from innkeeper.macros.handlebars.syntax import HANDLEBARS_LIMITS
from innkeeper.prompt import InnkeeperError

VALUES = {"char": "Mira", "user": "Sam", "empty": "", "list": ["a", "b"], "card": {"name": "M", "age": 3}, "no": False}


@dataclass(frozen=True)
class Case:
    id: str
    template: str
    text: str
    values: dict[str, Any] = field(default_factory=lambda: VALUES)


CASES = [
    Case("value", "{{char}} & {{user}}", "Mira & Sam"),
    Case("nothing is escaped", "{{x}}{{{x}}}{{&x}}", "<&'><&'><&'>", {"x": "<&'>"}),
    Case("unknown names go to missing", "{{foo}} {{getvar::v}} {{foo bar}}", "<foo> <getvar::v> <foo>"),
    Case("unknown paths are empty", "[{{foo.bar}}{{../char}}{{@foo}}]", "[]"),
    Case("paths", "{{card.name}}{{card/age}}{{this.char}}{{./user}}{{@root.char}}", "M3MiraSamMira"),
    Case("lengths", "{{char.length}}{{list.length}}{{x.length}}", "422", {**VALUES, "x": "\U0001f600"}),
    Case("items", "{{list.[1]}}{{list.[0]}}{{lookup list 1}}{{list.[9]}}", "bab"),
    Case("if", "{{#if char}}y{{else}}n{{/if}}{{#if empty}}y{{else}}n{{/if}}{{#if foo}}y{{/if}}", "yn"),
    Case("unless", "{{#unless empty}}y{{else}}n{{/unless}}{{#unless char}}y{{/unless}}", "y"),
    Case("else if", "{{#if empty}}a{{else if no}}b{{else if user}}c{{else}}d{{/if}}", "c"),
    Case("else as a caret", "{{#if empty}}a{{^}}b{{/if}}", "b"),
    Case("zero", "{{#if 0}}a{{else}}b{{/if}}{{#if 0 includeZero=true}}c{{/if}}", "bc"),
    Case("each of a list", "{{#each list}}{{@index}}{{this}}{{@first}}{{@last}};{{/each}}", "0atruefalse;1bfalsetrue;"),
    Case("each of a mapping", "{{#each card as |v k|}}{{k}}={{v}},{{/each}}", "name=M,age=3,"),
    Case("each of nothing", "{{#each empty}}x{{else}}none{{/each}}{{#each char}}x{{else}}none{{/each}}", "nonenone"),
    Case("with", "{{#with card}}{{name}}{{../char}}{{/with}}{{#with empty}}x{{else}}none{{/with}}", "MMiranone"),
    Case("section of a value", "{{#char}}{{this}}{{user}}{{/char}}{{#no}}x{{else}}n{{/no}}", "Mira<user>n"),
    Case("section of a list", "{{#list}}{{this}}{{/list}}", "ab"),
    Case("section of an unknown name", "{{#foo}}[{{this}}]{{/foo}}{{^foo}}x{{/foo}}", "[<foo>]"),
    Case("inner call", "{{#if (eq 1 2)}}y{{/if}}{{#if (lookup card 'name')}}z{{/if}}", "yz"),
    Case("literals", "{{'char'}}{{[char]}}{{true}}{{12}}", "MiraMira<true><12>"),
    Case("comments", "a{{! x }}b{{!-- }} --}}c", "abc"),
    Case("escaped braces", "\\{{char}} \\\\{{char}}", "{{char}} \\Mira"),
    Case("many escaped braces", "\\{{a}}\\{{b}} {{char}}", "{{a}}{{b}} Mira"),
    Case("raw block", "{{{{raw}}}} {{char}} {{{{/raw}}}}", " {{char}} "),
    Case("single braces are text", "{char} }} {", "{char} }} {"),
    Case("tilde", "a  {{~char~}}  \n b", "aMirab"),
    Case("standalone lines", "A\n  {{#if user}}\n  B\n  {{else}}\n  C\n  {{/if}}\nD\n{{! c }}\nE\n", "A\n  B\nD\nE\n"),
    Case("not standalone", "A {{! c }}\nB {{#if user}}\nC{{/if}}", "A \nB \nC"),
    Case("carriage returns", "A\r\n{{#if char}}\r\nB\r\n{{/if}}\r\nC", "A\r\nB\r\nC"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_renders(case: Case) -> None:
    """Templates come out as handlebars.js 4.7 with SillyTavern's rule for unknown names renders them."""
    assert render_handlebars(case.template, case.values, lambda name: f"<{name}>") == case.text


@pytest.mark.parametrize(
    ("template", "line", "column"),
    [
        ("{{#if char}}x", 1, 1),
        ("a\n{{#if char}}x{{/unless}}", 2, 14),
        ("{{}}", 1, 3),
        ("a {{ b", 1, 6),
        ("{{random::a,b}}", 1, 3),
        ("{{time_UTC+3}}", 1, 3),
        ("x {{/if}}", 1, 3),
        ("{{else}}", 1, 1),
        ("{{#if a}}{{else}}{{else}}{{/if}}", 1, 18),
        ("{{foo a=1 b}}", 1, 11),
        ("{{list.1}}", 1, 8),
        ("{{foo (bar}}", 1, 11),
        ("{{{char}}", 1, 8),
        ("{{{{raw}}}} x", 1, 1),
        ("{{!-- x", 1, 1),
        ("{{a/../b}}", 1, 5),
        ("{{#each x as |}}{{/each}}", 1, 15),
    ],
)
def test_unreadable_templates_say_where(template: str, line: int, column: int) -> None:
    """What cannot be read is a syntax error at a line and column."""
    with pytest.raises(MacroSyntaxError) as caught:
        render_handlebars(template, VALUES)
    where = caught.value.where
    assert where is not None
    assert (where.line, where.column) == (line, column)


@pytest.mark.parametrize(
    "template", ["{{#if}}x{{/if}}", "{{#if char user}}x{{/if}}", "{{#each}}{{/each}}", "{{char user}}", "{{char a=1}}"]
)
def test_wrong_arguments(template: str) -> None:
    """Helpers with other arguments than they take, and values with any, are errors."""
    with pytest.raises(MacroArgumentError):
        render_handlebars(template, VALUES)


@pytest.mark.parametrize("template", ["{{> other}}", "{{#> layout}}", "{{* decorator}}"])
def test_other_templates_are_unknown(template: str) -> None:
    """Partials and decorators need templates that there are none of; in a part not taken they do not matter."""
    with pytest.raises(UnknownMacroError):
        render_handlebars(template, VALUES)
    assert render_handlebars("{{#if empty}}" + template + "{{/if}}", VALUES) == ""


@pytest.mark.parametrize(
    "template",
    [
        "{{#if char}}" * 100 + "{{/if}}" * 100,
        "x" * (HANDLEBARS_LIMITS.template_chars + 1),
        "{{#each l}}" * 4 + "x" + "{{/each}}" * 4,
        "{{#each l}}{{#each ../l}}{{t}}{{@root.t}}{{/each}}{{/each}}",
        "{{foo " + "(a " * 100 + ")" * 100 + "}}",
    ],
    ids=["nesting", "length", "steps", "output", "parentheses"],
)
def test_limits(template: str) -> None:
    """Deep, long and busy templates end in a limit error that names the limit."""
    inner: list[Any] = [["x"] * 60] * 60
    values = {"l": [[inner] * 60] * 60 if "x{{/each}}" in template else ["y"] * 100, "t": "t" * 1000, "char": "c"}
    template = template.replace("{{#each l}}{{#each l}}{{#each l}}{{#each l}}", "{{#each l}}" + "{{#each this}}" * 3)
    with pytest.raises(MacroLimitError, match="HANDLEBARS_LIMITS"):
        render_handlebars(template, values)


_PIECES = st.sampled_from([
    "{{", "}}", "{{{", "}}}", "{{#if a}}", "{{/if}}", "{{else}}", "{{else if b}}", "{{#each l}}", "{{/each}}", "{{^}}",
    "{{~", "~}}", "{{!", "--", "\\", "(", ")", "a", " ", "\n", "../", "this", "@index", "=", "'", '"', "[", "]", "|", "as |",
    "{{{{r}}}}", "{{{{/r}}}}", "{{#with m}}", "{{/with}}", "{{>", "1", ".",
])  # fmt: skip


@given(st.lists(_PIECES, max_size=40).map("".join) | st.text(max_size=80))
def test_any_template_renders_or_raises_a_typed_error(template: str) -> None:
    """No text is a crash: it renders, or it is one of our errors."""
    values = {"a": "A", "l": [1, 2, [3]], "m": {"a": None}}
    try:
        rendered = render_handlebars(template, values, lambda name: f"({name})")
    except InnkeeperError as error:
        rendered = error.render()
    assert isinstance(rendered, str)


@given(st.text(alphabet=st.characters(exclude_characters="{\\"), max_size=80))
def test_text_without_braces_is_kept(text: str) -> None:
    """Text without an opening brace or backslash comes out as it went in."""
    assert render_handlebars(text, {}) == text


@given(st.text(max_size=60))
def test_values_are_never_templates(value: str) -> None:
    """What a value holds is printed, not read."""
    assert render_handlebars("[{{x}}]", {"x": value}) == f"[{value}]"


def test_numbers_of_too_many_digits() -> None:
    """Written in a template or given as a value they are typed errors."""
    with pytest.raises(MacroSyntaxError, match="too many digits"):
        render_handlebars("{{lookup this " + "9" * 5_000 + "}}", {})
    with pytest.raises(MacroArgumentError, match="cannot be printed"):
        render_handlebars("{{a}}", {"a": 10**5_000})


def test_turns_of_a_loop_count_where_nothing_is_in_it() -> None:
    """Loops in loops end by the limit of steps, whatever is inside."""
    with pytest.raises(MacroLimitError, match="steps"):
        render_handlebars("{{#each a}}{{#each @root.a}}{{/each}}{{/each}}", {"a": [1] * 1_000})
