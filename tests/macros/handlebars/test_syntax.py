"""Handlebars' syntax: the tree of a template, and where an error points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.engine.errors import MacroLimitError, MacroSyntaxError
from innkeeper.macros.handlebars.syntax import HANDLEBARS_LIMITS, parse
from innkeeper.macros.handlebars.tree import (
    BlockProgram,
    BlockStatement,
    Content,
    Fragment,
    Literal,
    MustacheStatement,
    Path,
    SubExpression,
)


def called(template: str) -> SubExpression:
    """The call of a template that is one expression."""
    (node,) = parse(template).body
    assert isinstance(node, MustacheStatement)
    assert node.call is not None
    return node.call


@dataclass(frozen=True)
class Case:
    """An expression and its path."""

    template: str
    path: Path


CASES = (
    Case("{{a}}", Path(("a",))),
    Case("{{{a}}}", Path(("a",))),
    Case("{{&a}}", Path(("a",))),
    Case("{{a.b/c}}", Path(("a", "b", "c"))),
    Case("{{../../a}}", Path(("a",), up=2)),
    Case("{{@root.a}}", Path(("root", "a"), data=True)),
    Case("{{this.a}}", Path(("a",), scoped=True)),
    Case("{{./a}}", Path(("a",), scoped=True)),
    Case("{{a.[b c]}}", Path(("a", "b c"))),
    Case("{{'a b'}}", Path(("a b",))),
    Case("{{12}}", Path(("12",))),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.template)
def test_paths(case: Case) -> None:
    """Names, levels, brackets and literals in the place of a name are paths."""
    assert called(case.template).path == case.path


def test_arguments() -> None:
    """Arguments come in order, those with names behind them; a call in parentheses is an argument."""
    call = called("""{{f a "x\\"y" 1.5 true (g b) k=null n=2}}""")
    assert call.path == Path(("f",))
    assert call.params[:4] == (Path(("a",)), Literal('x"y', 'x\\"y'), Literal(1.5, "1.5"), Literal(True, "true"))
    assert isinstance(call.params[4], SubExpression)
    assert call.named == (("k", Literal(None, "null")), ("n", Literal(2, "2")))
    assert not call.plain


def test_blocks() -> None:
    """A block has its two parts; an inverted one has them the other way round, and a chain is a block in a block."""
    (block,) = parse("{{#each a as |v k|}}x{{else}}y{{/each}}").body
    assert isinstance(block, BlockStatement)
    assert block.call.names == ("v", "k")
    assert block.program is not None
    assert block.inverse is not None
    (inverted,) = parse("{{^a}}x{{/a}}").body
    assert isinstance(inverted, BlockStatement)
    assert (inverted.program, inverted.inverse is not None) == (None, True)
    (chained,) = parse("{{#if a}}x{{else if b}}y{{/if}}").body
    assert isinstance(chained, BlockStatement)
    assert chained.inverse is not None
    assert chained.inverse.chained


def test_a_partial_is_a_fragment() -> None:
    """What would need another template is kept by its name and place."""
    assert parse("a{{> card.x }}").body[1] == Fragment("card.x", 1)


@dataclass(frozen=True)
class Wrong:
    """A template, and the line and column of its error."""

    template: str
    line: int
    column: int


WRONG = (
    Wrong("a\n {{#if x}}", 2, 2),
    Wrong("{{/if}}", 1, 1),
    Wrong("{{else}}", 1, 1),
    Wrong("{{#a}}x{{/b}}", 1, 8),
    Wrong("{{!-- x", 1, 1),
    Wrong("{{a b=1 c}}", 1, 9),
    Wrong("x {{a", 1, 5),
    Wrong("{{(a)}}", 1, 1),
    Wrong("{{a.this}}", 1, 5),
    Wrong("{{{{raw}}}} x", 1, 1),
)


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.template)
def test_errors_say_where(case: Wrong) -> None:
    """A template that cannot be read is an error with its line and column."""
    with pytest.raises(MacroSyntaxError) as caught:
        parse(case.template)
    where = caught.value.where
    assert where is not None
    assert (where.line, where.column) == (case.line, case.column)


@pytest.mark.parametrize(
    "template",
    ["x" * (HANDLEBARS_LIMITS.template_chars + 1), "{{#a}}" * 65, "{{a " + "(b " * 65],
    ids=["long", "blocks", "calls"],
)
def test_limits(template: str) -> None:
    """Length and nesting end at limits."""
    with pytest.raises(MacroLimitError):
        parse(template)


_PIECES = st.sampled_from(
    [
        "{{",
        "}}",
        "{{#if a}}",
        "{{else}}",
        "{{/if}}",
        "{{{",
        "}}}",
        "~",
        "!",
        "a",
        ".",
        "(",
        ")",
        "'",
        " ",
        "\n",
        "\\",
        "|",
        "@",
        "=",
    ]
)


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_any_text_is_read_or_refused(template: str) -> None:
    """Whatever the text: a tree, or a typed error with a place."""
    try:
        read = isinstance(parse(template), BlockProgram)
    except MacroSyntaxError as error:
        read = error.where is not None
    assert read


@given(st.text("ab }\n\\", max_size=12))
def test_text_without_tags_is_text(text: str) -> None:
    """A text without opening braces is content, unchanged."""
    nodes: list[Any] = parse(text).body
    assert "".join(node.value for node in nodes if isinstance(node, Content)) == text
