"""Grammars: what begins a tag, and how its arguments begin."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given

from innkeeper.macros.engine.errors import CACHED_CHARS, MAX_NESTING
from innkeeper.macros.engine.syntax import Grammar, MacroTag, Run, Shorthand, TagHead, marks_of, parse
from innkeeper.macros.silly.modern import GRAMMAR
from tests.macros.macro_texts import HOSTILE


@dataclass(frozen=True)
class Case:
    """The text behind an opener, and the head found in it."""

    id: str
    text: str
    head: TagHead | None


CASES = [
    Case("bare name", "char}}", TagHead("char", "", 4, None, bare=True)),
    Case("blank space", " char }}", TagHead("char", "", 6, None, bare=True)),
    Case("split arguments", "setvar::a::b}}", TagHead("setvar", "", 8, "::")),
    Case("one argument", "roll:1d6}}", TagHead("roll", "", 5, None)),
    Case("argument after a space", "roll 1d6}}", TagHead("roll", "", 5, None)),
    Case("flags", "!# char}}", TagHead("char", "!#", 7, None, bare=True)),
    Case("closing", "/if}}", TagHead("if", "/", 3, None, bare=True, closing=True)),
    Case("comment", "// x}}", TagHead("//", "", 3, None)),
    Case("end of a comment", "///}}", TagHead("//", "/", 3, None, bare=True, closing=True)),
    Case("what follows a name is dropped", "char;x}}", TagHead("char", "", 6, None, bare=True)),
    Case("a bar begins the argument", "char|x}}", TagHead("char", "", 4, None)),
    Case("no name", "1char}}", None),
    Case("empty", "}}", None),
    Case("variable", ".hp}}", TagHead("", "", 5, None, bare=True, shorthand=Shorthand(".", "hp", ""), whole=5)),
    Case("operator with a value", ".hp += 1}}", TagHead("", "", 6, None, shorthand=Shorthand(".", "hp", "+="))),
    Case(
        "hyphens in a variable",
        "$a-b--}}",
        TagHead("", "", 8, None, bare=True, shorthand=Shorthand("$", "a-b", "--"), whole=8),
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
    assert grammar.head("c|d>>", 0) == TagHead("c", "", 2, "|")
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


def check(run: Run, text: str) -> None:
    """Tags are in order, within the run, and closed by what closes them."""
    place = run.start
    for tag in run.tags:
        assert place <= tag.start < tag.end <= run.end
        assert text.startswith("{{", tag.start)
        assert text.endswith("}}", tag.start, tag.end)
        place = tag.end
        for argument in tag.arguments:
            assert tag.start < argument.start <= argument.end < tag.end
            check(argument, text)
    for opener, closer in run.partners.items():
        assert opener < closer
        assert run.tags[closer].closing
        assert run.tags[opener].key == run.tags[closer].key


@given(HOSTILE)
def test_spans_nest(text: str) -> None:
    """Every tag lies in its run and its arguments in it, whatever the text."""
    tree = parse(text, GRAMMAR)
    assert (tree.run.start, tree.run.end) == (0, len(text))
    check(tree.run, text)


def names(tags: tuple[MacroTag, ...]) -> list[str]:
    """What the tags are called."""
    return [tag.key for tag in tags]


def test_arguments_split_on_their_own_level() -> None:
    """A separator inside another tag belongs to that tag."""
    (tag,) = parse("{{a::{{b::1::2}}::c}}", GRAMMAR).run.tags
    assert len(tag.arguments) == 2
    assert names(tag.arguments[0].tags) == ["b"]


def test_an_unclosed_tag_is_text() -> None:
    """What is inside it counts on the level around it, and knows that it came from there."""
    tags = parse("{{a::{{b}} {{c}}", GRAMMAR).run.tags
    assert names(tags) == ["b", "c"]
    assert [tag.loose for tag in tags] == [1, 1]


def test_pairs_of_one_name_nest() -> None:
    """Openers that take a block nest; one that takes none leaves the closing tag to the others."""
    run = parse("{{if 1}}{{if 1}}{{/if}}{{/if}}{{char}}{{/char}}", GRAMMAR).run
    assert run.partners == {0: 3, 1: 2}
    assert run.spare == {"char": [5]}
    assert run.marks == {"if": [(0, 1), (1, 1), (2, -1), (3, -1)]}


@pytest.mark.parametrize("depth", [MAX_NESTING - 1, MAX_NESTING, 10_000])
def test_deep_nesting(depth: int) -> None:
    """Tags up to the limit are built; deeper ones are text, and the tree says where the first one is."""
    text = "{{a::" * depth + "x" + "}}" * depth
    tree = parse(text, GRAMMAR)
    found, run = 0, tree.run
    while run.tags:
        found, run = found + 1, run.tags[0].arguments[0]
    assert found == min(depth, MAX_NESTING)
    assert (tree.too_deep is None) is (depth <= MAX_NESTING)


def test_trees_are_shared() -> None:
    """The same text is parsed once; very long texts are not kept."""
    short, long = "{{char}} once", "x" * CACHED_CHARS + "{{char}}"
    assert parse(short, GRAMMAR) is parse(short, GRAMMAR)
    assert parse(long, GRAMMAR) is not parse(long, GRAMMAR)


@pytest.mark.parametrize(
    "text",
    [
        "{{" * 50_000,
        "{{a::" * 50_000,
        "{{a::" * 50_000 + "}}" * 50_000,
        "}}" * 50_000,
        "{{/a}}" * 30_000,
        "{{!" * 50_000,
        "{{../" + "x" * 50_000,
        "{{.v!" + "x" * 50_000,
        "{{." + "a-" * 50_000,
    ],
    ids=["openers", "unclosed", "nested", "closers", "closing tags", "flags", "stray words", "stray flags", "hyphens"],
)
def test_hostile_texts(text: str) -> None:
    """Long texts of one kind of mark are parsed without running out of stack."""
    check(parse(text, GRAMMAR).run, text)
