"""Syntax trees: spans that nest, pairs that fit, and no text that takes the parser down."""

from __future__ import annotations

import pytest
from hypothesis import given

from innkeeper.macros.engine.errors import CACHED_CHARS, MAX_NESTING
from innkeeper.macros.engine.syntax import Run, Tag, parse
from innkeeper.macros.silly.modern import GRAMMAR
from tests.macros.macro_texts import HOSTILE


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


def names(tags: tuple[Tag, ...]) -> list[str]:
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
