"""Regex scripts of RisuAI: what it made of texts, what scripts write back, and how hostile ones end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from innkeeper.macros.cbs import CbsScope
from innkeeper.macros.engine.errors import MacroLimitError
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.taverns.risu.scripts import MAX_RISU_SCRIPTS, RewrittenText, RisuScript, ScriptRunner, read_scripts
from scripts.parity.case import Case as ParityCase
from scripts.parity.case import load_cases
from scripts.parity.run import CaseVerdict, run_case
from tests.shared import VECTORS

CASES = list(load_cases([VECTORS / "risu" / "regex.json"]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_script_makes_what_it_makes_in_risuai(case: ParityCase) -> None:
    """Text, stored message and emotion are those of RisuAI 166.3.3."""
    outcome = run_case(case)
    assert outcome.verdict is CaseVerdict.AGREED, [difference.render() for difference in outcome.differences]


def script(pattern: str, out: str, flags: str | None = None) -> dict[str, Any]:
    """A stored script."""
    return {"in": pattern, "out": out, "type": "editprocess", "flag": flags or "", "ableFlag": flags is not None}


CHAT = ({"role": "char", "data": "c [1] [2]"}, {"role": "user", "data": "u"}, {"role": "char", "data": "x"})


@dataclass(frozen=True)
class Case:
    """Scripts, a text and what they make of it."""

    scripts: tuple[dict[str, Any], ...]
    text: str
    result: RewrittenText
    scope: dict[str, Any] = field(default_factory=dict)


RULES = {
    "no flags at all": Case((script("a", "b", ""),), "aa", RewrittenText("bb")),
    "attributes alone leave the first match": Case((script("a", "b", "<order 1>"),), "aa", RewrittenText("ba")),
    "several attributes in one": Case((script("{{char}}", "b", "g<cbs, order 2>"),), "Sable", RewrittenText("b")),
    "a bad pattern": Case((script("(", "b"), script("a", "c")), "a", RewrittenText("c")),
    "flags that exclude each other": Case((script("a", "b", "uv"),), "a", RewrittenText("a")),
    "a tag gets a line break": Case((script("a", "<b>"),), "ab", RewrittenText("<b>\nb")),
    "a tag without it": Case((script("a", "<b>", "g<no_end_nl>"),), "ab", RewrittenText("<b>b")),
    "named groups and sides": Case((script("(?<x>b)", "[$<x>$`$']"),), "abc", RewrittenText("a[bac]c")),
    "an unknown action is text": Case((script("a", "@@foo"),), "a", RewrittenText("@@foo")),
    "inject without a message": Case((script("a", "@@inject"),), "a", RewrittenText("@@inject")),
    "inject": Case((script("a", "@@inject"),), "aba", RewrittenText("b", stored="aba"), {"chat_index": 2}),
    "move to the bottom": Case((script("(b)(x)?", "@@move_bottom $1$2$3$$1$0"),), "abcb", RewrittenText("acb\nbundefined$3$$1b")),
    "repeat at the start": Case((script(r"\[.\]", "@@repeat_back start"),), "y", RewrittenText("[1]y"), {"chat_index": 2}),
    "repeat at no place": Case((script(r"\[.\]", "@@repeat_back x"),), "y", RewrittenText("y"), {"chat_index": 2}),
    "repeat what is not there": Case((script("q", "@@repeat_back"),), "y", RewrittenText("y"), {"chat_index": 2}),
    "repeat where there is no message": Case((script("q", "@@repeat_back"),), "y", RewrittenText("y"), {"chat_index": 9}),
    "repeat where the text has it": Case((script("y", "@@repeat_back"),), "y", RewrittenText("@@repeat_back"), {"chat_index": 2}),
    "an emotion that the character lacks": Case((script("a", "@@emo calm"),), "a", RewrittenText("a")),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_a_rule_of_scripts(name: str) -> None:
    """Rules that no recorded case shows."""
    case = RULES[name]
    scope = CbsScope(char="Sable", messages=CHAT, **case.scope)
    assert ScriptRunner(read_scripts(case.scripts)).run(case.text, "editprocess", scope) == case.result


def test_the_greatest_order_comes_first() -> None:
    """Over all sources; those without one keep their places."""
    sources = ([script("1", "", "g<order x>")], [script("2", "", "g<order 3>"), script("", "x")], [script("3", "")])
    assert [item.pattern for item in read_scripts(*sources)] == ["2", "1", "3"]


@dataclass(frozen=True)
class Hostile:
    """A script on a text that it cannot be run on within its limits."""

    pattern: str
    out: str
    text: str


HOSTILE = {
    "steps": Hostile("(a*)*b", "x", "a" * 5_000),
    "output": Hostile("a", "$`" * 1_000, "a" * 100_000),
    "moved": Hostile("a+", "@@move_top " + "$&" * 1_000, "a" * 100_000),
    "groups": Hostile("(a+)", "@@move_top " + "$1" * 1_000, "a" * 100_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_script_leaves_the_text(name: str) -> None:
    """Steps and characters are counted; a note says what was not run."""
    case, notes = HOSTILE[name], list[Note]()
    runner = ScriptRunner([RisuScript.of(script(case.pattern, case.out))], notes.append)
    assert runner.run(case.text, "editprocess", CbsScope()).text == case.text
    assert [note.kind for note in notes] == [NoteKind.LIMIT]


def test_macros_that_scripts_make_are_bounded() -> None:
    """A script's text is expanded again, within the limits of an expansion."""
    runner = ScriptRunner([RisuScript.of(script("a", "{{cbr::100000}}"))])
    with pytest.raises(MacroLimitError):
        runner.run("a" * 100, "editprocess", CbsScope())


def test_too_many_scripts_are_a_note() -> None:
    """Those beyond the limit are left out."""
    notes: list[Note] = []
    runner = ScriptRunner(
        [RisuScript.of(script("b", "c"))] * MAX_RISU_SCRIPTS + [RisuScript.of(script("a", "c"))], notes.append
    )
    assert runner.run("a", "editprocess", CbsScope()).text == "a"
    assert [note.kind for note in notes] == [NoteKind.LIMIT]
