"""Grammars: what begins a tag, and how its arguments begin."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given

from innkeeper.macros.engine.scanner import Grammar, Head, Shorthand, marks_of
from innkeeper.macros.silly.modern import GRAMMAR
from tests.macros.macro_texts import HOSTILE


@dataclass(frozen=True)
class Case:
    """The text behind an opener, and the head found in it."""

    id: str
    text: str
    head: Head | None


CASES = [
    Case("bare name", "char}}", Head("char", "", 4, None, bare=True)),
    Case("blank space", " char }}", Head("char", "", 6, None, bare=True)),
    Case("split arguments", "setvar::a::b}}", Head("setvar", "", 8, "::")),
    Case("one argument", "roll:1d6}}", Head("roll", "", 5, None)),
    Case("argument after a space", "roll 1d6}}", Head("roll", "", 5, None)),
    Case("flags", "!# char}}", Head("char", "!#", 7, None, bare=True)),
    Case("closing", "/if}}", Head("if", "/", 3, None, bare=True, closing=True)),
    Case("comment", "// x}}", Head("//", "", 3, None)),
    Case("end of a comment", "///}}", Head("//", "/", 3, None, bare=True, closing=True)),
    Case("what follows a name is dropped", "char;x}}", Head("char", "", 6, None, bare=True)),
    Case("a bar begins the argument", "char|x}}", Head("char", "", 4, None)),
    Case("no name", "1char}}", None),
    Case("empty", "}}", None),
    Case("variable", ".hp}}", Head("", "", 5, None, bare=True, shorthand=Shorthand(".", "hp", ""), whole=5)),
    Case("operator with a value", ".hp += 1}}", Head("", "", 6, None, shorthand=Shorthand(".", "hp", "+="))),
    Case(
        "hyphens in a variable",
        "$a-b--}}",
        Head("", "", 8, None, bare=True, shorthand=Shorthand("$", "a-b", "--"), whole=8),
    ),
    Case("junk in a variable", ".hp * 2}}", None),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_head(case: Case) -> None:
    """The head is what the original takes it for."""
    assert GRAMMAR.head(case.text, 0) == case.head


def test_of_many_braces_the_last_two_open() -> None:
    """Outside of tags ``{{{char}}}`` is a tag in braces."""
    assert GRAMMAR.next_open("{{{char}}}", 0) == 1


def test_a_grammar_is_data() -> None:
    """Other delimiters and separators make another language."""
    grammar = Grammar(title="angles", open="<<", close=">>", separator="|", single=",")
    assert grammar.next_open("a {{b}} <<c>>", 0) == 8
    assert grammar.head("c|d>>", 0) == Head("c", "", 2, "|")
    assert grammar.next_mark("d|e>>", 0, split=True) == (1, "|")


@given(HOSTILE)
def test_heads_lie_in_the_text(text: str) -> None:
    """Whatever the text, a head ends within it and says what it is."""
    head = GRAMMAR.head(text, 0)
    if head is not None:
        assert 0 < head.start <= len(text)
        assert bool(head.name) is (head.shorthand is None)


def test_marks_of_several_grammars() -> None:
    """The next opener or closer of any of them, in order."""
    marks = marks_of(Grammar(title="curly"), Grammar(title="angle", open="<<", close=">>"))
    assert marks.findall("a {{b << }} }>> {{{") == ["{{", "<<", "}}", ">>", "{{"]
