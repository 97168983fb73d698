"""The tree: blanks that tags eat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from innkeeper.macros.handlebars.syntax import parse
from innkeeper.macros.handlebars.tree import (
    BlockProgram,
    BlockStatement,
    Content,
    Literal,
    MustacheStatement,
    Path,
    Strip,
    SubExpression,
    strip_blanks,
)


def contents(program: BlockProgram | None) -> Iterator[str]:
    """What is left of every content, in order."""
    for node in program.body if program else ():
        if isinstance(node, Content):
            yield node.value
        elif isinstance(node, BlockStatement):
            yield from contents(node.program)
            yield from contents(node.inverse)


@dataclass(frozen=True)
class Case:
    """A template, and what is left of its contents."""

    name: str
    template: str
    left: list[str]


CASES = (
    Case("a value keeps blanks", "a \n {{x}} \n b", ["a \n ", " \n b"]),
    Case("tildes eat all blanks", "a \n {{~x~}} \n b", ["a", "b"]),
    Case("one tilde eats on its side", "a {{~x}} b", ["a", " b"]),
    Case("a comment alone on its line takes it", "a\n {{! c }}\nb", ["a\n", "b"]),
    Case("a comment beside text does not", "a {{! c }}\nb", ["a ", "\nb"]),
    Case("block tags alone on their lines", "a\n{{#if x}}\nb\n{{/if}}\nc", ["a\n", "b\n", "c"]),
    Case("a block on one line", "a\n{{#if x}}b{{/if}}\nc", ["a\n", "b", "\nc"]),
    Case("an else alone on its line", "{{#if x}}\na\n{{else}}\nb\n{{/if}}\n", ["a\n", "b\n", ""]),
    Case("a chain", "{{#if x}}\na\n{{else if y}}\nb\n{{/if}}\nc", ["a\n", "b\n", "c"]),
    Case("tildes inside a block", "{{#if x~}} a {{~else~}} b {{~/if}}", ["a", "b"]),
    Case("carriage returns", "a\r\n{{! c }}\r\nb", ["a\r\n", "b"]),
    Case("the first and the last line", "  {{! c }}  ", ["", ""]),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_blanks(case: Case) -> None:
    """``~`` eats all blanks on its side; a block tag or comment alone on its line takes the line with it."""
    assert list(contents(parse(case.template))) == case.left


def test_stripping_is_done_in_place() -> None:
    """The program's own contents are cut, and what they were written as is kept."""
    before, after = Content("a ", "a "), Content(" b", " b")
    strip_blanks(
        BlockProgram([before, MustacheStatement(SubExpression(Path(("x",))), Strip(left=True, right=True)), after])
    )
    assert [(node.original, node.value) for node in (before, after)] == [("a ", "a"), (" b", "b")]


def test_what_is_plain_and_simple() -> None:
    """A bare name may be a helper's; arguments make a call."""
    assert Path(("a",)).simple
    assert not any(
        path.simple
        for path in (Path(("a", "b")), Path(("a",), up=1), Path(("a",), data=True), Path(("a",), scoped=True))
    )
    assert SubExpression(Path(("a",))).plain
    assert not SubExpression(Path(("a",)), params=(Literal(1),)).plain
