"""The filters that Innkeeper adds or replaces, with the golden values of the reference."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.liquid.filters import FILTERS, TEXT_FILTERS, strip_html
from innkeeper.macros.liquid.templates import render
from innkeeper.prompt import Clock, Context

CLOCK = Clock.at("2026-01-15T12:34:56.500Z")


@dataclass(frozen=True)
class Case:
    template: str
    text: str
    assigns: dict[str, Any] = field(default_factory=dict)
    context: dict[str, Any] = field(default_factory=dict)


CASES = [
    Case("{{ 'hello' | hash7 }}", "0121466"),
    Case("{{ 'Seraphina' | hash7 }}", "2781124"),
    Case("{{ '' | hash7 }}", "0000038"),
    Case("{{ '0' | hash7 }}", "5246501"),
    Case("{{ '你好' | hash }}", "1760184"),
    Case("{% for i in (0..9) %}{{ 'a,b,c' | pick: i, 'seed' }} {% endfor %}", "b b a b b a c b c c "),
    Case("{{ '2d6' | rollp: 5, 'seed' }}", "7"),
    Case("{% for i in (0..9) %}{{ '1d20' | rollp: i, 'seed' }} {% endfor %}", "10 7 2 11 8 2 18 12 19 20 "),
    Case("{{ 'a:b:c' | pick: 0, 'seed' }}", "b"),
    Case("{{ 'a\\,b' | pick }}", "a,b"),
    Case("{{ '[\"x\"]' | pick }}{{ '[{\"k\":1}]' | pick }}{{ '[broken' | pick }}", 'x{"k":1}[broken'),
    Case("{{ l | pick: 0, 'seed' }}", "b", {"l": ["a", "b", "c"]}),
    Case("[{{ '' | pick }}]", "[]"),
    Case("{{ 'a,b,c' | pick }}", "b", context={"rng_word": "seed"}),
    Case("{{ 'a,b,c' | pick }}", "a", context={"rng_word": "seed", "message_index": 2}),
    Case("{{ 'a,b,c' | pick: 2 }}", "a", {"char": "seed"}),
    Case("{{ 'dx' | rollp }} {{ '0d6' | rollp }} {{ '1d0' | rollp }} {{ 'x' | rollp }}", "NaN NaN NaN NaN"),
    Case("{{ '1d1' | rollp }} {{ 'd1' | rollp }} {{ '1' | rollp }} {{ '1.2d1' | rollp }}", "1 1 1 2"),
    Case("{{ 1700000000000 | unixtime }}", "1700000000"),
    Case("{{ 1700000000 | isodate }} {{ '1700000000000' | isotime }}", "2023-11-14 22:13:20"),
    Case("{{ 1700000000000 | datetimeformat: 'YYYY-MM-DD HH:mm:ss' }}", "2023-11-14 22:13:20"),
    Case("{{ nil | isodate }} {{ '' | isotime }} {{ 'junk' | unixtime }}", "2026-1-15 12:34:56 1768480497"),
    Case("{{ 0 | isodate }}", "2023-11-14", context={"now_ms": 1_700_000_000_000}),
    Case("{{ nobody | isodate }}", "2026-1-15"),
    Case("[{{ 0 | datetimeformat }}][{{ 0 | datetimeformat: '' }}]", "[][]"),
    Case("{{ 'now' | date: '%Y-%m-%d %H:%M' }}", "2026-01-15 12:34"),
    Case(
        "{{ 'March 3, 2020' | date: '%a %-d %b' }} {{ 86400 | date: '%F' }} {{ '86400' | date: '%F' }}",
        "Tue 3 Mar 1970-01-02 1970-01-02",
    ),
    Case("{{ '10:00 EST' | date: '%F %R' }}", "2026-01-15 10:00"),
    Case("{{ 'no date' | date: '%Y' }} {{ 5 | date }}", "no date 5"),
    Case("{{ l | join: '+' }}", "a+true+1+", {"l": ["a", True, 1, None]}),
    Case("{{ l | uniq | size }}", "4", {"l": [1, "1", 1, True, {"a": 1}, {"a": 1}]}),
    Case("{{ l | uniq: 'a' | size }}", "1", {"l": [{"a": 1, "b": 1}, {"a": 1, "b": 2}]}),
    Case("{{ true | append: nil }}{{ 1.5 | prepend: l }}", "truex1.5", {"l": ["x"]}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.template)
def test_gives(case: Case) -> None:
    """A filter gives its golden value."""
    registers = {"context": Context(case.context)}
    assert render(case.template, case.assigns, registers=registers, clock=CLOCK).text == case.text


def test_names() -> None:
    """The filters of TavernKit are there by their names, ``hash`` for ``hash7`` as well."""
    own = {"hash7", "hash", "pick", "rollp", "unixtime", "isodate", "isotime", "datetimeformat"}
    assert own <= FILTERS.keys()
    assert not own & TEXT_FILTERS


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a<b>c</b>", "ac"),
        ("x<script type='a'>alert('<b>')</script>y", "xy"),
        ("x<style>p{}</style>y<!-- <i> -->z", "xyz"),
        ("<script>never closed", "never closed"),
        ("a < b", "a < b"),
        ("İ<b>İ</b>", "İİ"),
        ("<!-- never closed", "<!-- never closed"),
    ],
)
def test_strip_html(text: str, plain: str) -> None:
    """Tags, comments, scripts and styles go; what is not closed is text."""
    assert strip_html(text) == plain


@given(st.text(alphabet="<>!-/sciptylea \n", max_size=200))
def test_strip_html_leaves_no_tag(text: str) -> None:
    """What is left is part of the text, and has no tag in it."""
    plain = strip_html(text)
    assert len(plain) <= len(text)
    assert "<" not in plain or ">" not in plain[plain.index("<") :]
