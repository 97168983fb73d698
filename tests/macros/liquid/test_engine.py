"""The scanner gives the tokens that python-liquid's own gives, in linear time."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from liquid import Environment
from liquid.exceptions import LiquidError, LiquidSyntaxError
from msgspec.structs import replace

from innkeeper.macros.engine.errors import MacroLimitError
from innkeeper.macros.liquid import engine as liquid_engine
from innkeeper.macros.liquid.engine import Scanner, filter_names, parse, run
from innkeeper.macros.liquid.session import LIQUID_LIMITS, LiquidSession
from innkeeper.macros.liquid.templates import render
from innkeeper.prompt.bounded_cache import BoundedCache

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
    if source.endswith("\n") and "-" in source:  # theirs trims a last line end that stands behind other text
        source = source.rstrip("\n")
        theirs = _theirs(source)
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


def test_templates_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A template is parsed once; those not asked for go when there are too many."""
    monkeypatch.setattr(liquid_engine, "_PARSED", BoundedCache(items=2))
    first = parse("{{ one }}")
    parse("{{ two }}")
    assert parse("{{ one }}") is first
    parse("{{ three }}")
    assert len(liquid_engine._PARSED) == 2
    assert parse("{{ one }}") is first
    assert parse("{{ one }}", strict=True) is not first


def test_large_templates_push_others_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """All kept templates together are no larger than the limit on their bytes."""
    monkeypatch.setattr(liquid_engine, "_PARSED", BoundedCache(size=1000))
    for text in ("{{ one }}", "{{ two }}", "{{ three }}", "x" * 1000):
        parse(text)
        assert liquid_engine._PARSED.size <= 1000
    assert len(liquid_engine._PARSED) > 0


@pytest.mark.parametrize(
    ("template", "limit"),
    [
        ("{% if 1 %}{% if 1 %}{% if 1 %}{% endif %}{% endif %}{% endif %}", "nesting"),
        ("{% for i in (1..9) %}{% endfor %}", "loop_iterations"),
        ("{{ a }}{{ a }}{{ a }}{{ a }}", "tags"),
        ("x" * 200, "template_bytes"),
    ],
)
def test_other_limits(template: str, limit: str) -> None:
    """A session's own limits hold for parsing as well."""
    limits = replace(LIQUID_LIMITS, nesting=2, loop_iterations=8, tags=3 if limit == "tags" else 50, template_bytes=100)
    with pytest.raises(MacroLimitError) as caught:
        run(template, LiquidSession(limits=limits))
    assert caught.value.limit == limit


def test_all_standard_filters_are_there() -> None:
    """Liquid's standard filters, and ours."""
    assert {"append", "date", "default", "divided_by", "join", "map", "where", "pick", "hash7"} <= filter_names()


def test_the_machine_is_not_asked() -> None:
    """No name, filter or tag reads the machine's time or zone: two zones give the same text."""
    template = (
        "{{ 'now' | date: '%c %Z' }}{{ 'today' | date: '%F' }}{{ 0 | date: '%c' }}{{ '10:00' | date: '%c' }}"
        "{{ now }}{{ nil | isotime }}{{ '2020-01-01T00:00' | date: '%s' }}{{ '10:00 CET' | date: '%c' }}"
    )
    code = (
        "import sys; from innkeeper.macros.liquid.templates import render; from innkeeper.prompt import Clock; "
        "print(render(sys.argv[1], clock=Clock.at('2026-01-15T12:00:00Z'), on_error='raise').text)"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code, template], check=True, capture_output=True, text=True, env={"TZ": zone}
        ).stdout
        for zone in ("UTC", "Asia/Tokyo", "America/New_York")
    }
    assert len(texts) == 1


def test_a_filter_that_does_not_take_a_value() -> None:
    """The error tells of the filter, and not of how python-liquid makes its errors."""
    error = render("{{ 'a' | concat: 'b' }}").error
    assert error is not None
    assert error.message == "concat: it does not take such values"
