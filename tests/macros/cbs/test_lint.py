"""Findings about texts of CBS."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.finding import show_path
from innkeeper.macros.cbs import CbsScope, expand
from innkeeper.macros.cbs.expansion import FUNCTIONS
from innkeeper.macros.cbs.lint import ARGUMENTS, MAX_CBS_FINDINGS, expanded_texts, lint_cbs

CASES: list[tuple[str, list[str]]] = [
    ("{{char}} {{U_s-e r}} {{roll:2d6}} {{? 1+1}} {{getvar::{{char}}}} {{inlay::x}} {{call::f::1}} {{arg::0}}", []),
    ("{{#when::{{getvar::hp}}::>::3}}a{{:else}}b{{/when}} {{#each [1] as x}}{{slot::x}}{{/}}", []),
    ("{{#puredisplay}}{{nobody}}{{/}}", []),
    ("a\n {{carl}}", ["line 2, column 2: there is no macro {{carl}}; did you mean char?"]),
    ("{{equal::a}}", ["line 1, column 1: {{equal::a}} has 1 arguments, not 2"]),
    ("{{crypt}}", ["line 1, column 1: {{crypt}} has 0 arguments, not 1 to 2"]),
    ("{{element::x}}", ["line 1, column 1: {{element::x}} has 1 arguments, not 2 or more"]),
    ("{{// hm}}", ["line 1, column 1: {{// hm}} is sent as it is: RisuAI's comment is {{comment::…}}"]),
    ("{{/if}}", ["line 1, column 1: {{/if}} closes nothing"]),
    ("{{#if 1}}\n{{#iffy 1}}{{/}}", ["line 2, column 1: there is no macro {{#iffy 1}}"]),
    ("x {{#if 1}}y", ["line 1, column 3: {{#if 1}}y is not closed"]),
    ("{{char", ["line 1, column 1: {{char is not closed"]),
    ("{{lower::{{nobody}}}}", ["line 1, column 10: there is no macro {{nobody}}"]),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_findings(text: str, expected: list[str]) -> None:
    """Each says where and what."""
    assert [str(finding) for finding in lint_cbs(text)] == expected


def test_every_function_has_its_number_of_arguments() -> None:
    """All but those that take what they are given; none that is not there."""
    without = {function for name, function in FUNCTIONS.items() if name not in ARGUMENTS}
    counted = {FUNCTIONS[name] for name in ARGUMENTS}
    names = {name for name, function in FUNCTIONS.items() if function in without - counted}
    assert {"random", "pick", "makearray", "makedict", "history", "comment", "blank"} <= names
    assert not {"calc", "setvar", "roll"} & names


@given(st.text(alphabet="{}#/: ab\n", max_size=60))
def test_any_text_can_be_looked_at(text: str) -> None:
    """Nothing fails, and each finding is within its text."""
    for finding in lint_cbs(text):
        assert 1 <= (finding.line or 0) <= text.count("\n") + 1
        assert finding.column


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_too_few_arguments_are_found_where_a_tag_would_stay(name: str) -> None:
    """What CBS leaves as it is for want of arguments is always reported."""
    tag = f"{{{{{name}}}}}"
    if expand(tag, CbsScope(run_variables=True)).text == tag and name != "lastmessage":
        assert [finding.rule for finding in lint_cbs(tag)] == ["malformed-macro"]


def test_a_card() -> None:
    """The texts that RisuAI expands, wherever they stand; names and notes of creators are none."""
    data = {
        "description": "{{x1}}",
        "name": "{{x2}}",
        "character_book": {"entries": [{"content": "{{x3}}", "keys": ["{{x4}}"]}]},
        "extensions": {
            "risuai": {"customScripts": [{"out": "{{x5}}"}], "triggerscript": [{"effect": [{"value": "{{x6}}"}]}]}
        },
    }
    texts = [(show_path(path), re.findall(r"x\d", text)[0]) for path, text in expanded_texts({"data": data})]
    assert texts == [
        ("data.description", "x1"),
        ("data.character_book.entries[0].content", "x3"),
        ("data.extensions.risuai.customScripts[0].out", "x5"),
        ("data.extensions.risuai.triggerscript[0].effect[0].value", "x6"),
    ]


@pytest.mark.parametrize("text", ["{{" * 100_000, "{{#if 1}}\n" * 50_000, "{{x}}" * 50_000, "{{/}}" * 50_000])
def test_a_text_has_so_many_findings_at_most(text: str) -> None:
    """Each is found in steps of the length of the text, so their number is bounded."""
    assert len([*lint_cbs(text)]) == MAX_CBS_FINDINGS
