"""Reading and writing the chat's variables in templates."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from innkeeper.macros.engine.errors import MacroSyntaxError
from innkeeper.macros.liquid.templates import render
from innkeeper.macros.liquid.variables import TAGS
from innkeeper.prompt import InMemoryVariables


@dataclass(frozen=True)
class Case:
    template: str
    local: dict[str, Any] = field(default_factory=dict)
    common: dict[str, Any] = field(default_factory=dict)
    before: dict[str, Any] = field(default_factory=dict)
    text: str = ""


CASES = [
    Case("{% setvar a = 'x' | upcase %}", {"a": "X"}),
    Case("{% setvar a = 1.5 %}", {"a": 1.5}),
    Case("{% setvar a = (1..3) %}", {"a": [1, 2, 3]}),
    Case("{% setvar a = true %}{% setvar b = nil %}{% setvar c = nobody %}", {"a": True, "b": None, "c": None}),
    Case("{% setvar 'two words' = 1 %}{{ var['two words'] }}", {"two words": 1}, text="1"),
    Case("{% setvar a-b = 1 %}{{ var.a-b }}", {"a-b": 1}, text="1"),
    Case("{% setdefaultvar a = 1 %}{% setdefaultvar b = 2 %}", {"a": 0, "b": 2}, before={"a": 0}),
    Case("{% addvar a = 2 %}{% addvar a = '3' %}", {"a": 5}),
    Case("{% addvar a = 2 %}", {"a": 6}, before={"a": "4"}),
    Case("{% addvar a = 'x' %}{% addvar a = 1 %}", {"a": "x1"}),
    Case("{% addvar a = 'x' %}", {"a": "1x"}, before={"a": 1}),
    Case("{% incvar a %}{% incvar a %}{% decvar b %}", {"a": 2, "b": -1}),
    Case("{% incvar a %}{% decvar b %}", {"a": 1, "b": -1}, before={"a": "text", "b": None}),
    Case("{% deletevar a %}{% deletevar b %}", {}, before={"a": 1}),
    Case(
        "{% setglobal a = 1 %}{% setdefaultglobal a = 2 %}{% addglobal a = 3 %}{% incglobal a %}{{ global.a }}",
        common={"a": 5},
        text="5",
    ),
    Case("{% setglobal a = 1 %}{% decglobal b %}{% deleteglobal a %}", common={"b": -1}),
    Case("{{ var.a }}{% setvar a = 2 %}{{ var.a }}", {"a": 2}, before={"a": 1}, text="12"),
    Case(
        "{% for pair in var %}{{ pair[0] }}={{ pair[1] }};{% endfor %}{{ var.size }}",
        {"a": 1, "b": 2},
        before={"a": 1, "b": 2},
        text="a=1;b=2;2",
    ),
    Case("{{ var }}", {"a": [1]}, before={"a": [1]}, text='{"a":[1]}'),
    Case("{{ var.a.b[0] }}", {"a": {"b": [7]}}, before={"a": {"b": [7]}}, text="7"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.template)
def test_reads_and_writes(case: Case) -> None:
    """A template reads and writes the variables of both scopes."""
    store = InMemoryVariables({"local": case.before})
    assert render(case.template, variables=store).text == case.text
    assert store.to_dict() == {"local": case.local, "global": case.common}


def test_without_a_store_writes_do_nothing() -> None:
    """Without variables there is nothing to read and nothing is written."""
    assert render("{% setvar a = 1 %}{% incvar b %}[{{ var.a }}{{ var.size }}]").text == "[0]"


@pytest.mark.parametrize(
    "template", ["{% setvar a %}", "{% setvar = 1 %}", "{% incvar a b %}", "{% setvar a.b = 1 %}", "{% deletevar %}"]
)
def test_malformed_tags(template: str) -> None:
    """A write tag that is not of its form is a syntax error."""
    assert isinstance(render(template).error, MacroSyntaxError)


def test_all_write_tags_are_there() -> None:
    """Six verbs in two scopes."""
    assert {tag.name for tag in TAGS} == {
        verb + scope for verb in ("set", "setdefault", "add", "inc", "dec", "delete") for scope in ("var", "global")
    }


def test_what_no_store_can_keep() -> None:
    """Data nested too deep, and numbers that cannot be written, fail the template and are not stored."""
    deep: Any = 1
    for _ in range(63):
        deep = [deep]
    store = InMemoryVariables()
    for template in ("{% setvar a = d %}", "{% setvar a = '1e308' | times: 10 %}", "{% setvar a = 'nan' | plus: 1 %}"):
        assert render(template, {"d": deep}, variables=store).error is not None
    assert store.names() == ()


def test_values_in_the_store_are_its_own() -> None:
    """A list that a template stores is not shared with the template's data."""
    data = {"l": [1]}
    store = InMemoryVariables()
    render("{% setvar a = l %}", data, variables=store)
    data["l"].append(2)
    assert store.get("a") == [1]
