"""Liquid templates: what they render to, what they leave behind, and that none takes the process down."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.character import Character
from innkeeper.content.persona import Persona
from innkeeper.macros.engine.errors import (
    MacroArgumentError,
    MacroError,
    MacroLimitError,
    MacroSyntaxError,
    UnknownMacroError,
)
from innkeeper.macros.liquid.session import LIQUID_LIMITS
from innkeeper.macros.liquid.templates import (
    LiquidResult,
    check,
    liquid_assigns,
    liquid_registers,
    plain,
    render,
    variables_used,
)
from innkeeper.prompt import Clock, Context, InMemoryVariables, InnkeeperError, LimitError, NoteKind, UsageError
from innkeeper.prompt.errors import UnavailableError

CLOCK = Clock.at("2026-01-15T12:34:56Z")


@dataclass(frozen=True)
class Case:
    id: str
    template: str
    text: str
    assigns: dict[str, Any] = field(default_factory=dict)


RENDERED = [
    Case("variable", "Hi {{ char }}!", "Hi Sera!", {"char": "Sera"}),
    Case("missing variable is blank", "[{{ nobody }}]", "[]"),
    Case("missing path is blank", "[{{ a.b.c }}]", "[]", {"a": {}}),
    Case("nil is blank", "[{{ a }}]", "[]", {"a": None}),
    Case("standard filter", "{{ 'a' | upcase | append: 'b' }}", "Ab"),
    Case("standard tags", "{% for i in (1..3) %}{% if i == 2 %}two{% else %}{{ i }}{% endif %}{% endfor %}", "1two3"),
    Case("assign and capture", "{% assign a = 1 %}{% capture b %}x{{ a }}{% endcapture %}{{ b }}", "x1"),
    Case(
        "values print as Liquid prints them",
        "{{ t }} {{ l }} {{ d }}",
        'true 12 {"k":1}',
        {"t": True, "l": [1, 2], "d": {"k": 1}},
    ),
    Case("no now, no today", "[{{ now }}{{ today }}]", "[]"),
    Case("escaped braces", r"\{\{ char \}\}", "{{ char }}"),
    Case("escaped braces after rendering", r"{{ a }} \}", "{x} }", {"a": r"\{x}"}),
    Case("blank lines are emptied", "a\n  \n\t\nb", "a\n\n\nb"),
    Case("blank first and last line", "  \na\n \t", "\na\n"),
    Case("inner spaces stay", "a  b \n c", "a  b \n c"),
    Case("what is printed is no template", "{{ a }}", "{{ char }}", {"a": "{{ char }}", "char": "Sera"}),
    Case("unknown filter passes the value", "{{ 'a' | nothing }}", "a"),
    Case("default of a missing variable", "{{ a | default: 'b' }}", "b"),
    Case(
        "loops know the loop around them",
        "{% for a in (1..2) %}{% for b in (1..1) %}{{ forloop.parentloop.index }}{% endfor %}{% endfor %}",
        "12",
    ),
    Case("variables cannot be shadowed", "{{ var.x }}", "", {"var": {"x": 1}}),
    Case("lone surrogates", "\ud800{{ a }}", "\ufffd\ufffd", {"a": "\udfff"}),
    Case("no markup at all", "plain", "plain"),
    Case("empty", "", ""),
]


@pytest.mark.parametrize("case", RENDERED, ids=lambda case: case.id)
def test_renders(case: Case) -> None:
    """A template renders to its text."""
    assert render(case.template, case.assigns, clock=CLOCK).text == case.text


@dataclass(frozen=True)
class Failure:
    id: str
    template: str
    error: type[InnkeeperError]
    line: int = 1


FAILURES = [
    Failure("unclosed output", "a\n{{ b", MacroSyntaxError, 2),
    Failure("unclosed tag", "{% if a", MacroSyntaxError),
    Failure("unclosed block", "{% if 1 %}", MacroSyntaxError),
    Failure("empty output", "{{ }}", MacroSyntaxError),
    Failure("unknown tag", "\n\n{% wink %}", UnknownMacroError, 3),
    Failure("files are not to be had", "{% include 'a' %}", UnknownMacroError),
    Failure("render is not to be had", "{% render 'a' %}", UnknownMacroError),
    Failure("wrong argument", "{{ 1 | divided_by: 0 }}", MacroArgumentError),
    Failure("argument that no filter has", "{{ 'a' | append: 'b', c: 1 }}", MacroArgumentError),
    Failure("comparison of text and number", "{% if 'a' < 1 %}{% endif %}", MacroArgumentError),
    Failure("break outside of a loop", "{% break %}", MacroSyntaxError),
    Failure("object that is no data", "{{ thing }}", MacroArgumentError),
    Failure("too large", "x" * (LIQUID_LIMITS.template_bytes + 1), MacroLimitError),
]


@pytest.mark.parametrize("case", FAILURES, ids=lambda case: case.id)
def test_fails_whole(case: Failure) -> None:
    """A template that fails is given back as it is, with a warning; with ``on_error="raise"`` its typed error is raised."""
    assigns = {"thing": object()}
    result = render(case.template, assigns)
    assert result.text == case.template
    assert isinstance(result.error, case.error)
    assert [note.kind for note in result.warnings] == [NoteKind.MACRO]
    with pytest.raises(case.error) as caught:
        render(case.template, assigns, on_error="raise")
    if case.error is not MacroLimitError:  # the whole template is too large, at no place in it
        assert caught.value.where is not None
        assert caught.value.where.line == case.line


@pytest.mark.parametrize(
    ("template", "error"),
    [
        ("{{ nobody }}", UnknownMacroError),
        ("{% if nobody %}{% endif %}", UnknownMacroError),
        ("{{ var.nothing }}", UnknownMacroError),
        ("{{ global['nothing'] }}", UnknownMacroError),
        ("{{ 'a' | nothing }}", UnknownMacroError),
        ("{{", MacroSyntaxError),
    ],
)
def test_strict_raises(template: str, error: type[MacroError]) -> None:
    """A strict template raises for what a tolerant one passes over."""
    with pytest.raises(error):
        render(template, variables=InMemoryVariables(), strict=True)


def test_strict_default() -> None:
    """``default`` says what a missing variable is, also strictly; a variable that is nil is not missing."""
    assert render("{{ a.b | default: 1 }}{{ c }}", {"c": None}, strict=True).text == "1"


def test_error_points_at_the_place() -> None:
    """An error shows line, column and the line with a caret."""
    with pytest.raises(UnknownMacroError) as caught:
        render("one\ntwo {{ nobody }}", strict=True)
    where = caught.value.where
    assert where is not None
    assert (where.line, where.column, where.excerpt) == (2, 8, "two {{ nobody }}")
    assert where.pointer().splitlines()[1].index("^") == 7


def test_a_failed_template_writes_nothing() -> None:
    """What a template wrote before it failed is not kept; what it wrote when it rendered is."""
    store = InMemoryVariables({"local": {"mood": "calm"}})
    render("{% setvar mood = 'angry' %}{{ 1 | divided_by: 0 }}", variables=store)
    assert store.get("mood") == "calm"
    with pytest.raises(UnknownMacroError):
        render("{% setvar mood = 'angry' %}{{ nobody }}", variables=store, strict=True)
    assert store.get("mood") == "calm"
    render("{% setvar mood = 'angry' %}", variables=store)
    assert store.get("mood") == "angry"


def test_unknown_filters_are_told() -> None:
    """A filter that was passed over is a warning, not silence."""
    assert [note.message for note in render("{{ 'a' | nothing }}").warnings] == ["unknown filter 'nothing' passed over"]


def test_on_error_is_checked() -> None:
    """Another word for ``on_error`` is the caller's mistake."""
    with pytest.raises(UsageError):
        render("a", on_error="ignore")


def test_without_a_clock_the_machine_is_asked() -> None:
    """Outside of a build the moment is the machine's."""
    assert int(render("{{ 'now' | date: '%Y' }}").text) >= 2025


@dataclass(frozen=True)
class Bomb:
    id: str
    template: str
    limit: str


def _nested(block: str, times: int) -> str:
    return f"{{% {block} %}}" * times + "x" + f"{{% end{block.split(maxsplit=1)[0]} %}}" * times


BOMBS = [
    Bomb("replace chain", "{{ 'a' " + "| replace: 'a', 'aaaaaaaaaa' " * 8 + "}}", "value_size"),
    Bomb("append doubling", "{% assign a = 'xxxxxxxxxx' %}" + "{% assign a = a | append: a %}" * 30, "value_size"),
    Bomb(
        "capture doubling",
        "{% capture a %}xxxxxxxxxx{% endcapture %}" + "{% capture a %}{{ a }}{{ a }}{% endcapture %}" * 30,
        "output_bytes",
    ),
    Bomb("list doubling", "{% assign a = 'x,x' | split: ',' %}" + "{% assign a = a | concat: a %}" * 30, "steps"),
    Bomb("number squaring", "{% assign a = 3 %}" + "{% assign a = a | times: a %}" * 30, "number_bits"),
    Bomb("huge range reversed", "{{ (1..20000000) | reverse }}", "items"),
    Bomb("huge range joined", "{{ (1..5000000) | join }}", "items"),
    Bomb("huge range in a reversed loop", "{% for i in (1..20000000) reversed %}{% endfor %}", "items"),
    Bomb("search in a huge range", "{% if (1..99999999999) contains 'a' %}{% endif %}", "items"),
    Bomb("nested loops", "{% for i in (1..100) %}{% for j in (1..101) %}x{% endfor %}{% endfor %}", "loop_iterations"),
    Bomb("many loops", "{% for i in (1..10000) %}{% endfor %}" * 1000, "steps"),
    Bomb("loop over many tags", "{% for i in (1..10000) %}" + "{% if 1 %}{% endif %}" * 1000 + "{% endfor %}", "steps"),
    Bomb("tablerow", "{% tablerow i in (1..10000) %}" + "{% if 1 %}{% endif %}" * 100 + "{% endtablerow %}", "steps"),
    Bomb(
        "long text again and again",
        "{% assign s = '" + "x" * 150_000 + "' %}{% for i in (1..5000) %}{{ s | upcase | size }}{% endfor %}",
        "steps",
    ),
    Bomb(
        "many assigns",
        "{% assign a = '" + "x" * 150_000 + "' %}" + "".join(f"{{% assign b{i} = a %}}" for i in range(20)),
        "namespace_size",
    ),
    Bomb("too much output", "{% assign s = '" + "x" * 100_000 + "' %}{{ s }}{{ s }}{{ s }}", "output_bytes"),
    Bomb("too many tags", "{{ a }}" * 10_001, "tags"),
    Bomb("too many dice", "{{ '1000000d6' | rollp }}", "dice"),
    Bomb("too many sides", "{{ '1d9999999999' | rollp }}", "dice_sides"),
    Bomb("deep blocks", _nested("if 1", 65), "nesting"),
    Bomb("deep conditions", "{% if " + " and ".join(["a"] * 5000) + " %}{% endif %}", "nesting"),
    Bomb("brackets", "{{ " + "(" * 150_000 + " }}", "brackets"),
]


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.id)
def test_bombs_meet_a_named_limit(bomb: Bomb) -> None:
    """A template that wants more than a limit allows fails with that limit's name."""
    result = render(bomb.template)
    assert isinstance(result.error, MacroLimitError)
    assert result.error.limit == bomb.limit
    assert result.text == bomb.template


@pytest.mark.parametrize(
    "template",
    [
        *("{{" * 99_000, "{{" + " " * 190_000, "{% raw %}" * 20_000, "{% liquid\n echo" + " " * 150_000 + "| %}"),
        *("{{ " + "[" * 90 + " 'x' " * 20_000 + " }}", "{%" * 99_000, "{{ '" + "\\" * 150_000, "{% comment %}" * 9_000),
    ],
    ids=lambda template: template[:12],
)
def test_hostile_text_is_scanned_in_one_pass(template: str) -> None:
    """Text that makes backtracking scanners start over fails like any other: this test ends."""
    assert isinstance(render(template).error, MacroSyntaxError)


def test_limits_allow_what_is_usual() -> None:
    """Sixty blocks inside one another and a loop of a thousand messages are no bomb."""
    assert render(_nested("for a in (1..1)", 60)).text == "x"
    messages = [{"role": "user", "content": "words " * 20}] * 1000
    template = "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% else %}-{% endif %}\n{% endfor %}"
    assert len(render(template, {"messages": messages}).text) > 100_000


def test_check_lists_what_is_wrong() -> None:
    """`check` gives a syntax error, or every unknown filter with its place, or nothing."""
    assert check("{{ a | upcase | pick }}{% setvar b = 1 %}") == ()
    assert [type(error) for error in check("{% if %}")] == [MacroSyntaxError]
    found = check("{{ a | zip }}\n{{ b | zap }}")
    assert [(error.details["macro"], error.where.line if error.where else None) for error in found] == [
        ("zip", 1),
        ("zap", 2),
    ]


def test_variables_used() -> None:
    """`variables_used` names what a template reads from outside, not what it assigns itself."""
    template = "{{ var.mood }}{% assign x = char %}{{ x }}{% for i in context.list %}{{ i.a }}{% endfor %}{% addvar n = user %}"
    assert variables_used(template) == ("char", "context.list", "user", "var.mood")
    with pytest.raises(MacroSyntaxError):
        variables_used("{{")


FRAGMENTS = [
    *(
        "{{",
        "}}",
        "{%",
        "%}",
        "-",
        "'",
        '"',
        "\\{",
        "\n",
        "  ",
        "x",
        "é",
        "\x00",
        "|",
        ":",
        ",",
        "(1..3)",
        "[",
        "]",
        ".",
    ),
    *(
        " var",
        ".mood",
        " if ",
        " endif ",
        " for i in ",
        " endfor ",
        " setvar a = ",
        " assign b = ",
        " raw ",
        " endraw ",
    ),
    *(
        " liquid ",
        " comment ",
        " endcomment ",
        " capture c ",
        " endcapture ",
        " pick",
        " rollp",
        " date",
        " times",
        " 9",
    ),
    *(
        " join",
        " split",
        " replace",
        " default",
        " case ",
        " when ",
        " cycle ",
        " increment z ",
        " tablerow i in ",
        " sort",
    ),
]


@given(st.one_of(st.text(), st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join)), st.booleans())
def test_any_text_renders_or_fails_typed(template: str, strict: bool) -> None:
    """Whatever the template: text comes out, or an `InnkeeperError`; and twice the same."""
    outcomes = [_outcome(template, strict) for _ in range(2)]
    assert outcomes[0] == outcomes[1]


FILTERS = [
    *(
        "upcase",
        "split: ''",
        "join",
        "sort",
        "reverse",
        "uniq",
        "size",
        "pick",
        "rollp",
        "hash7",
        "times: 7",
        "plus: 1.5",
    ),
    *(
        "date: '%F'",
        "isodate",
        "datetimeformat: 'A'",
        "base64_decode",
        "strip_html",
        "truncate: 3",
        "slice: 1, 2",
        "sum",
    ),
    *("map: 'a'", "where: 'a'", "compact", "first", "concat: b", "default: 1", "ceil", "round: 2", "replace: 'a', 'b'"),
    *("url_decode", "escape_once", "abs", "modulo: 3", "divided_by: 2"),
]
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=8,
)


@given(st.lists(st.sampled_from(FILTERS), max_size=5), VALUES)
def test_any_value_through_any_filters(filters: list[str], value: Any) -> None:
    """Whatever the data and filters: text comes out, or an `InnkeeperError`."""
    template = "{{ " + " | ".join(["a", *filters]) + " }}"
    try:
        result = render(template, {"a": value, "b": [1, "x"]}, clock=CLOCK, on_error="raise")
    except InnkeeperError:
        return
    assert isinstance(result.text, str)


def _outcome(template: str, strict: bool) -> tuple[str, Any]:
    store = InMemoryVariables({"local": {"mood": "calm"}})
    try:
        result = render(template, {"x": "y", "i": [1, 2]}, variables=store, strict=strict, clock=CLOCK)
    except InnkeeperError as error:
        return type(error).__name__, store.to_dict()
    assert isinstance(result, LiquidResult)
    return result.text, store.to_dict()


SERA = Character(
    name="Seraphina",
    nickname="Sera",
    description="D",
    personality="P",
    scenario="S",
    system_prompt="SP",
    post_history_instructions="PH",
    mes_example="<START>",
)
CONTEXT = Context({"chatIndex": 3, "model": "m", "role": "user", "app": {"theme": ["dark"]}})

EXPECTED = {
    "char": "Sera",
    "user": "Alice",
    "description": "D",
    "personality": "P",
    "scenario": "S",
    "persona": "tall",
    "system_prompt": "SP",
    "post_history_instructions": "PH",
    "mes_examples": "<START>",
    "chat_index": 3,
    "message_index": None,
    "model": "m",
    "role": "user",
}


@pytest.mark.parametrize(("name", "value"), EXPECTED.items(), ids=EXPECTED)
def test_name(name: str, value: Any) -> None:
    """Each name of the reference stands for its value."""
    assigns = liquid_assigns(SERA, Persona(name="Alice", description="tall"), CONTEXT)
    assert assigns[name] == value


def test_context_is_whole() -> None:
    """``context`` is all of the application's data."""
    assigns = liquid_assigns(None, None, CONTEXT)
    assert render("{{ context.app.theme[0] }}{{ context.chat_index }}", assigns).text == "dark3"


def test_nobody_is_nil() -> None:
    """Without character and user their names are nil, which even a strict template may print."""
    template = "".join(f"{{{{ {name} }}}}" for name in EXPECTED if name not in CONTEXT)
    assert render(template, liquid_assigns(None, None, Context()), strict=True).text == ""


def test_history_is_not_exposed() -> None:
    """Templates see no messages."""
    assert "history" not in liquid_assigns(SERA, None, CONTEXT)


def test_blank_examples_are_nil() -> None:
    """``mes_examples`` is nil when the card has only spaces."""
    assert liquid_assigns(Character(name="a", mes_example=" \n"), None, CONTEXT)["mes_examples"] is None


def test_objects_are_not_data() -> None:
    """What is no data in the context is nil for a template: it walks no objects."""
    context = Context({"estimator": object(), "call": print})
    assert (
        render("[{{ context.estimator }}{{ context.call.__self__ }}]", liquid_assigns(None, None, context)).text == "[]"
    )


def test_depth_is_bounded() -> None:
    """Data nested too deep is refused."""
    data: Any = 1
    for _ in range(100):
        data = [data]
    with pytest.raises(LimitError):
        plain(data)


def test_registers() -> None:
    """Filters read the context."""
    assert liquid_registers(CONTEXT) == {"context": CONTEXT}


@given(
    st.lists(
        st.sampled_from(
            [
                "a ",
                "\n",
                "  \n",
                "\\} ",
                "{{ char }}",
                "{{ char | upcase }}",
                "{{ 'x' }}",
                "{% if 1 %}y{% endif %}",
                "{% raw %}{{ char }}{% endraw %}",
                "{{ nobody }}",
                "{% comment %}n{% endcomment %}",
                "{{ context.model }}",
            ]
        ),
        max_size=12,
    )
)
def test_ranges_are_what_outputs_and_tags_made(parts: list[str]) -> None:
    """Each range holds the text of its output or tag, after escapes and blank lines are gone; literal text is in none."""
    values = {"char": {"①"}, "output": {"x"}, "if": {"y"}, "context.model": {"②"}}
    made = {"{{ char }}": "①", "{{ char | upcase }}": "①", "{{ 'x' }}": "x", "{% if 1 %}y{% endif %}": "y"}
    made["{{ context.model }}"] = "②"
    result = render("".join(parts), {"char": "①", "context": {"model": "②"}})
    assert result.error is None
    texts = [result.text[one.start : one.end] for one in result.ranges]
    assert texts == [made[part] for part in parts if part in made]
    assert all(text in values[one.macro] for text, one in zip(texts, result.ranges, strict=True))
    assert all(one.end <= other.start for one, other in pairwise(result.ranges))


@pytest.mark.parametrize("use", [render, variables_used, check], ids=["render", "variables", "check"])
def test_without_the_extra(use: Callable[[str], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the library is not installed a template with a tag names the extra, and plain text is rendered."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "liquid"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("innkeeper.lazy.find_spec", lambda _: None)
    with pytest.raises(UnavailableError) as caught:
        use("Hello {{ char }}")
    assert "innkeeper[liquid]" in (caught.value.hint or "") or "'.[liquid]'" in (caught.value.hint or "")
    assert render("Hello").text == "Hello"
