"""Reading mustache-style templates: what is a tag, what takes its line with it, and where mistakes are."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros import mustache
from innkeeper.macros.engine.errors import MacroLimitError, MacroSyntaxError
from innkeeper.macros.mustache import BlockTag, Node, PartialTag, Section, VariableTag, parse, uses


def _shape(nodes: tuple[Node, ...]) -> list[object]:
    """A tree in plain lists, without places."""
    shapes: list[object] = []
    for node in nodes:
        if isinstance(node, VariableTag):
            shapes.append(("use", node.name))
        elif isinstance(node, PartialTag):
            shapes.append(("part", node.name))
        elif isinstance(node, Section):
            shapes.append(("not" if node.negated else "if", node.name, _shape(node.nodes)))
        elif isinstance(node, BlockTag):
            shapes.append(("block", node.name, _shape(node.nodes)))
        else:
            shapes.append(node)
    return shapes


@dataclass(frozen=True)
class Case:
    id: str
    text: str
    shape: list[object]


CASES = [
    Case("text", "no tags { } }}", ["no tags { } }}"]),
    Case("name", "a{{b}}c", ["a", ("use", "b"), "c"]),
    Case("spaces", "{{ a.b-c }}", [("use", "a.b-c")]),
    Case("triple", "{{{a}}}{{&a}}", [("use", "a"), ("use", "a")]),
    Case("note", "a{{! {{ b }}c", ["a", "c"]),
    Case("section", "{{#a}}x{{/a}}", [("if", "a", ["x"])]),
    Case("inverted", "{{^a}}x{{/ a }}", [("not", "a", ["x"])]),
    Case("nested", "{{#a}}{{^b}}{{c}}{{/b}}{{/a}}", [("if", "a", [("not", "b", [("use", "c")])])]),
    Case("partial", "a\n{{> rules.x }}\nb", ["a\n", ("part", "rules.x"), "\nb"]),
    Case("block", "{{$a}}x{{/a}}", [("block", "a", ["x"])]),
    Case("escaped", r"\{{a}} {{b}}", ["{{", "a}} ", ("use", "b")]),
    Case("alone", "1\n{{#a}}\n2\n{{/a}}\n3", ["1\n", ("if", "a", ["2\n"]), "3"]),
    Case("alone, indented", "1\n  {{#a}} \r\n2\n\t{{/a}}", ["1\n", ("if", "a", ["2\n"])]),
    Case("not alone", "1 {{#a}}\n2{{/a}}\n", ["1 ", ("if", "a", ["\n2"]), "\n"]),
    Case("two on a line", "{{#a}}{{/a}}\nx", [("if", "a", []), "\nx"]),
    Case("names keep their line", "{{a}}\nx", [("use", "a"), "\nx"]),
    Case("other braces", "{ {a} } {% b %}", ["{ {a} } {% b %}"]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_tree(case: Case) -> None:
    """A text has the tree that the table says."""
    assert _shape(parse(case.text)) == case.shape


@dataclass(frozen=True)
class Mistake:
    id: str
    text: str
    line: int
    column: int
    message: str


MISTAKES = [
    Mistake("unclosed tag", "a\nb {{c", 2, 3, "never closed"),
    Mistake("unclosed triple", "{{{a}}", 1, 1, "never closed"),
    Mistake("unclosed section", "a\n{{#b}}\nc", 2, 1, "{{#b}} is never closed"),
    Mistake("closes nothing", "a {{/b}}", 1, 3, "{{/b}} closes nothing"),
    Mistake("closes another", "{{#a}}\n {{/b}}", 2, 2, "{{/a}} is due"),
    Mistake("no name", "{{}}", 1, 1, "'' is not a variable's name"),
    Mistake("no such name", "{{a b}}", 1, 1, "'a b' is not a variable's name"),
    Mistake("long name", "{{" + "a " * 40 + "}}", 1, 1, "…"),
    Mistake("no part name", "{{> }}", 1, 1, "the name of a template"),
    Mistake("delimiters", "{{=<% %>=}}", 1, 1, "delimiters cannot be changed"),
]


@pytest.mark.parametrize("case", MISTAKES, ids=lambda case: case.id)
def test_mistake(case: Mistake) -> None:
    """A mistake is an error that says in which template, line and column."""
    with pytest.raises(MacroSyntaxError) as caught:
        parse(case.text, asset="name")
    where = caught.value.where
    assert where is not None
    assert (where.asset, where.line, where.column) == ("name", case.line, case.column)
    assert case.message in caught.value.message


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("x" * (mustache.MAX_TEMPLATE_CHARS + 1), "MAX_TEMPLATE_CHARS"),
        ("{{a}}" * (mustache.MAX_TAGS + 1), "MAX_TAGS"),
        ("{{#a}}" * (mustache.MAX_SECTION_DEPTH + 1), "MAX_SECTION_DEPTH"),
    ],
    ids=["long", "tags", "deep"],
)
def test_limits(text: str, limit: str) -> None:
    """Too long, too many tags, too deep: an error that names the limit."""
    with pytest.raises(MacroLimitError) as caught:
        parse(text)
    assert caught.value.limit == limit


def test_uses_are_in_the_order_of_the_text() -> None:
    """Every place of a variable is found, sections and blocks included."""
    tree = parse("{{a}}{{#b}}{{c}}{{/b}}{{$d}}{{e}}{{/d}}{{f}}")
    assert [use.name for use in uses(tree)] == ["a", "b", "c", "e", "f"]


@given(st.text(alphabet="ab {}#^/$>!&=\\\n.", max_size=80))
def test_any_text_parses_or_fails_with_a_place(text: str) -> None:
    """Whatever the text, it is a tree or a located error; text without openers stays as it is."""
    found: object = None
    try:
        found = "".join(str(node) for node in parse(text))
    except MacroSyntaxError as error:
        found = error.where and error.where.line
    assert found == text if "{{" not in text else found is not None
