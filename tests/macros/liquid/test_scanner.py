"""The scanner gives the tokens that python-liquid's own gives, in linear time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from liquid import Environment
from liquid.exceptions import LiquidError, LiquidSyntaxError

from innkeeper.macros.engine.errors import MacroLimitError
from innkeeper.macros.liquid.scanner import Scanner
from innkeeper.macros.liquid.session import LIQUID_LIMITS

SAME = [
    "plain",
    "",
    "a {{ b }} c",
    "a {{- b -}} c",
    "  {%- if x -%}  y  {%- endif -%}  z",
    "{{b}}{{c}}",
    "{{{a}}}",
    "{{ 'a | b' }}",
    "{% comment %} x {{ y }} {% if z %}{% endcomment %} w",
    "{% comment %}{% comment %}x{% endcomment %}y{% endcomment %}",
    "{% raw %}{{ x }}{% endraw %}",
    "a {% raw %} {% if %} {% endraw %} b",
    "{% doc %} about {% enddoc %}",
    "{% # a note %}b",
    "{%if x%}1{%else%}2{%endif%}",
    "é {{ ü }} \n {% assign x = 1 %}",
]


def _ours(source: str) -> list[tuple[str, str, int]]:
    return [(token.kind, token.value, token.start_index) for token in Scanner(source, LIQUID_LIMITS).tokens()]


def _theirs(source: str) -> list[tuple[str, str, int]]:
    return [(token.kind, token.value, token.start_index) for token in Environment().tokenizer()(source)]


def _essence(tokens: list[tuple[str, str, int]]) -> list[tuple[str, str]]:
    """Kinds and texts, neighbouring contents as one. What is told of a comment's inside differs and does not matter."""
    kept: list[tuple[str, str]] = []
    for kind, value, _ in tokens:
        if kind == "content" and kept and kept[-1][0] == "content":
            kept[-1] = (kind, kept[-1][1] + value)
        elif kind != "comment":
            kept.append((kind, value))
    return kept


@pytest.mark.parametrize("source", SAME)
def test_same_tokens(source: str) -> None:
    """Kind and text of each token are those of python-liquid."""
    assert _essence(_ours(source)) == _essence(_theirs(source))


@given(
    st.lists(st.sampled_from(["{{", "}}", "{%", "%}", " if x ", " a ", "-", "'", "\n", "  ", "text", "|"]), max_size=12)
)
def test_same_tokens_or_both_refuse(parts: list[str]) -> None:
    """Where python-liquid reads a template whole, so do we, token for token."""
    source = "".join(parts)
    try:
        theirs = _theirs(source)
    except LiquidError:
        return
    if any(kind == "content" and ("{{" in value or "{%" in value or value.endswith("{")) for kind, value, _ in theirs):
        return  # an opener without its closer: theirs goes on looking, ours says so
    try:
        ours = _ours(source)
    except LiquidSyntaxError:
        assert "{%" in source or "{{" in source
        return
    assert _essence(ours) == _essence(theirs)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a {{ b", "expected '}}'"),
        ("a {% b", "expected '%}'"),
        ("{% %}", "a tag needs a name"),
        ("{% raw %}x", "raw block is never closed"),
        ("{% doc %}x", "doc block is never closed"),
        ("{% comment %}x", "comment is never closed"),
        ("{% liquid\n assign a = 1\n ??? %}", "must start with a tag's name"),
    ],
)
def test_says_what_is_missing(source: str, message: str) -> None:
    """What is not closed or not named is an error that says so."""
    with pytest.raises(LiquidSyntaxError, match=message):
        _ours(source)


def test_liquid_lines_are_tags() -> None:
    """Each line of a ``liquid`` tag is a tag, also when it starts with ``liquid`` itself."""
    lines = _essence(_ours("{% liquid\n assign a = 1\n\n liquid echo a \n %}"))
    tags = _essence(_ours("{% assign a = 1 %}{% echo a %}"))
    assert lines == tags


def test_raw_keeps_the_dash_of_its_end() -> None:
    """A dash after ``endraw`` strips the text behind it."""
    assert _ours("{% raw %} x {% endraw -%}   y")[-1][1] == "y"


@pytest.mark.parametrize(("source", "limit"), [("{{ a }}" * 10_001, "tags"), ("{{ a" + "[0" * 101 + " }}", "brackets")])
def test_counts(source: str, limit: str) -> None:
    """Too many tags, or brackets in one expression, are refused; brackets in texts do not count."""
    with pytest.raises(MacroLimitError) as caught:
        _ours(source)
    assert caught.value.limit == limit
    assert len(_ours("{{ '" + "(" * 200 + "' }}")) == 2
