"""Expansion of CBS: what RisuAI answered, what is written by whom, and how hostile texts end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.cbs import LATER, RISU_166, CbsScope, expand
from innkeeper.macros.engine.errors import MacroLimitError
from scripts.parity.case import Case as ParityCase
from scripts.parity.case import load_cases
from scripts.parity.run import CaseVerdict, run_case
from tests.shared import VECTORS

CASES = list(load_cases([VECTORS / "risu" / "cbs.json", VECTORS / "risu" / "cbs_later.json"]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name} {case.raw.get('note', '')[:5]}".strip())
def test_a_text_gives_what_risuai_gives(case: ParityCase) -> None:
    """Text and variables are those of RisuAI 166.3.3, or of its later versions."""
    outcome = run_case(case)
    assert outcome.verdict is CaseVerdict.AGREED, [difference.render() for difference in outcome.differences]


@dataclass(frozen=True)
class Case:
    """A text, what it gives, and the scope it is read in."""

    text: str
    result: str
    scope: dict[str, Any] = field(default_factory=dict)


RULES = (
    Case("{{#each [1] x}}{{slot::x}}{{/each}}{{char}}", "1Sable"),
    Case('{{#each ["{","{"] x}}{{slot::x}}{{/each}}char}}', "Sable"),
    Case('{{#each ["{"] x}}{{slot::x}}{{/each}}{char}}', "Sable"),
    Case('{{#each ["a{"] x}}{{slot::x}}{{/each}}b', "a{b"),
    Case('{{lower:{{#each ["A}"] x}}{{slot::x}}{{/each}}}B', "aB"),
    Case("{#user}}", "Mira"),
    Case("{#nothing#}", "{#nothing#}"),
    Case("{#if\nbody#}", ""),
    Case("{#if 1 more\nbody#}", "body"),
    Case("{#if -1\nbody#}", ""),
    Case("{{#pure}}{#if 1\nbody#}{{/pure}}", "{#if 1\nbody#}"),
    Case("a#}b", "a#}b"),
    Case("{{#if 1}}a{{char", "<a{{char"),
    Case("{{settempvar::a::1}}{{#func f}}{{tempvar::a}}{{/func}}[{{call::f}}]{{tempvar::a}}", "[]1"),
    Case("{{#func f x}}{{arg::0}} {{arg::1}}{{/func}}{{call::f::$&}}", "f {{arg::1}}"),
    Case("{{return::a}}{{char}}", "a"),
    Case("{{lower::{{return}}}}tail", "null"),
    Case('{{arrayelement::[{"text":"hi"}]::0}}', "hi"),
    Case("{{getvar::code}}", "{{char}}", {"variables": {"code": "{{char}}"}}),
    Case("{{setvar::a::1}}[{{getvar::a}}]", "[null]", {"drop_variables": True}),
    Case("hello world {{bkspc}} user", "hello user", {"compat": LATER}),
    Case("Hello world. Next {{erase}} done", "Hello world. done", {"compat": LATER}),
    Case("{{char}} one\n{{bkspc}}|{{bkspc}}", "", {"compat": LATER}),
    Case("a one{{lower:}}  {{bkspc}}|", "a|", {"compat": LATER}),
    Case("a b{{bkspc}}{{bkspc}}{{bkspc}}c", "c", {"compat": LATER}),
    Case("no end {{erase}}a", "a", {"compat": LATER}),
    Case("{{erase}}", "{{erase}}", {"compat": RISU_166}),
    Case("{{#escape::keep}} ({{/escape}}", " \ue9ba", {"compat": LATER}),
    Case("{{#escape::keep}} ({{/escape}}", "{{#escape::keep}} ({{/escape}}", {"compat": RISU_166}),
    Case("{{char}} {{user}}", "botname username", {"generic_names": True}),
    Case("{{u::d83d}}{{u::de00}}", "\N{GRINNING FACE}"),
    Case("{{u::d83d}}", "\ufffd"),
    Case("{{decrypt::{{encrypt::\u5800}}}}", "\u5800"),
)


@pytest.mark.parametrize("case", RULES, ids=lambda case: case.text)
def test_a_rule_of_the_language(case: Case) -> None:
    """Rules that no recorded case shows."""
    scope = CbsScope(char="Sable", user="Mira", **case.scope)
    assert expand(case.text, scope).text == case.result


def test_variables_are_results() -> None:
    """The scope's variables stay as they are; what was written is in the result, removals included."""
    scope = CbsScope(variables={"a": "1"}, defaults={"a": "0"}, run_variables=True)
    result = expand("{{addvar::a::2}}{{getvar::a}} {{setvar::a}}{{getvar::a}} {{setvar::b::}}", scope)
    assert (result.text, result.variables) == ("3 0 ", {"a": None, "b": ""})
    assert scope.variables == {"a": "1"}


HOSTILE = {
    "openers": "{{" * 1_048_576,
    "tags in tags": "{{lower::" * 1000 + "x" + "}}" * 1000,
    "tags": "{{br}}" * 200_000,
    "lists": '{{#each ["1","2","3","4","5","6","7","8"] x}}' * 9 + "x" + "{{/each}}" * 9,
    "endless range": "{{range::[0,1,0]}}",
    "long range": "{{range::[1000000000]}}",
    "index": "{{arrayassert::[]::999999999::x}}",
    "dice": "{{dice::999999999d6}}",
    "throws": "{{dice::60000d6}}" * 2,
    "rolls": "{{roll::1e300d6}}",
    "breaks": "{{cbr::999999999}}",
    "copies": "{{replace::aaaaaaaaaaaaaaaaaaaa::a::{{replace::aaaaaaaaaaaaaaaaaaaa::a::$&$&$&$&}}}}" * 3000,
    "joined": "{{settempvar::x::aaaaaaaaaa}}" + "{{settempvar::x::{{tempvar::x}}{{tempvar::x}}}}" * 30,
    "long text": "a" * 5_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_ends_in_a_typed_error(name: str) -> None:
    """Work is counted, so that no text takes long."""
    with pytest.raises(MacroLimitError):
        expand(HOSTILE[name], CbsScope(description="{{description}}{{description}}"))


def test_fields_inside_fields_end() -> None:
    """A field that expands itself twice would be expanded a million times."""
    with pytest.raises(MacroLimitError):
        expand("{{description}}", CbsScope(description="{{description}}{{description}}"))


LONG = {
    "braces": "{" + "}" * 1_000_000,
    "closers": "{{/if}}" * 50_000,
    "unclosed": "{{#if 1}}" * 500 + "a" * 1_000_000,
    "lists": '{{#each ["a"] x}}{{slot::x}}{{/each}}' * 20_000,
    "pure": "{{#pure}}" + "{{a}}" * 90_000,
    "erased": "a. " * 500_000 + "{{bkspc}}{{erase}}" * 40_000,
    "blank": " " * 1_000_000 + "{{bkspc}}x{{erase}} " * 40_000 + "y",
    "parentheses": "{{calc::" + "(1)" * 300_000 + "}}",
}


@pytest.mark.parametrize("name", LONG)
def test_a_long_text_is_read_once(name: str) -> None:
    """Text that is only long gives a text: no step of the scanner copies what is behind it."""
    assert expand(LONG[name], CbsScope()).text


@given(text=st.text('{}#:/ifeachwn1xslot[]"<>\n?', max_size=60))
def test_every_text_gives_a_text(text: str) -> None:
    """Junk is text, in every version."""
    for compat in (LATER, RISU_166):
        assert isinstance(expand(text, CbsScope(compat=compat)).text, str)
