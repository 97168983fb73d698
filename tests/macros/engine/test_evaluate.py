"""The evaluator: packs as data, reports, limits, traces."""

from __future__ import annotations

import pytest

from innkeeper.macros.engine.environment import MacroEnvironment
from innkeeper.macros.engine.errors import MAX_EXPANSIONS, MAX_NESTING, MAX_OUTPUT, MAX_REPORTS, MacroError
from innkeeper.macros.engine.evaluate import Evaluation, Trace
from innkeeper.macros.engine.macro import Call, Macro, Pack, dedent
from innkeeper.macros.engine.syntax import Grammar
from innkeeper.prompt.note import NoteKind
from tests.macros.macro_texts import reported


def _fail(call: Call) -> str:
    raise MacroError("it does not work", macro=call.tag.name)


TABLE = {
    "up": Macro("up", lambda call: call.arguments[0].upper(), 1, 1),
    "join": Macro("join", lambda call: "+".join(call.arguments), rest=True),
    "times": Macro("times", lambda call: call.repeated("x", call.whole_number(0, 1)), most=1, integers=frozenset({0})),
    "fail": Macro("fail", _fail, most=1),
    "first": Macro("first", lambda call: call.evaluation.span(call.spans[0]), 2, 2, lazy=True),
}


def _takes_block(name: str, arguments: int) -> bool:
    return name not in TABLE or (not TABLE[name].rest and arguments < TABLE[name].most)


PACK = Pack(
    title="test",
    grammar=Grammar(title="test", flags="!#/", takes_block=_takes_block),
    table=TABLE,
    before=lambda text: text,
    after=lambda text: text,
    variable=lambda _evaluation, _tag: "",
)


def run(text: str, env: MacroEnvironment, trace: Trace | None = None) -> str:
    """A text in the language of this file."""
    return Evaluation(text, text, PACK, env, trace=trace).run()


CASES = [
    ("arguments are evaluated first", "{{up::a{{up::b}}}}", "AB"),
    ("arguments are stripped as they are written", "{{join:: a :: {{times}} ::c}}", "a+x+c"),
    ("unknown macros stay, what is in them does not", "{{no::{{up::a}} }}", "{{no::A }}"),
    ("wrong number of arguments", "{{up}} {{up::a::b}}", "{{up}} {{up::a::b}}"),
    ("not a whole number", "{{times::1.5}}", "{{times::1.5}}"),
    ("a macro that fails", "a{{fail::{{up::b}}}}c", "a{{fail::B}}c"),
    ("block as the last argument", "{{up}} a {{/up}}", "A"),
    ("block kept as it is", "{{#up}} a {{/up}}", " A "),
    ("block of an unknown macro", "{{no}} {{up::a}} {{/no}}", "{{no}}A}}"),
    ("closing tag without an opener", "{{/up}}", "{{/up}}"),
    ("lazy arguments", "{{first::{{up::a}}::{{fail}}}}", "A"),
    ("too few lazy arguments", "{{first::{{up::a}}}}", "{{first::{{up::a}}}}"),
]


@pytest.mark.parametrize(("text", "result"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_evaluation(text: str, result: str) -> None:
    """Tags become what they stand for, or stay as they are written."""
    env, _ = reported()
    assert run(text, env) == result


def test_reports() -> None:
    """What stays as written is reported with its place and the macro's name."""
    env, notes = reported()
    run("one\ntwo {{no}} {{times::x}} {{fail}}", env)
    assert [note.data["macro"] for note in notes] == ["no", "times", "fail"]
    assert {note.kind for note in notes} == {NoteKind.MACRO}
    assert notes[0].where is not None
    assert (notes[0].where.line, notes[0].where.column) == (2, 5)


def test_reports_are_bounded() -> None:
    """Past the limit one report says that there are more."""
    env, notes = reported()
    run("{{no}}" * (MAX_REPORTS + 50), env)
    assert len(notes) == MAX_REPORTS + 1
    assert notes[-1].kind is NoteKind.LIMIT


def test_expansions_are_bounded() -> None:
    """Past the limit macros stay as text, and one report says so; the count is that of the build, not of one text."""
    env, notes = reported()
    text = run("{{times}}" * (MAX_EXPANSIONS + 2), env)
    assert text == "x" * MAX_EXPANSIONS + "{{times}}" * 2
    assert run("{{times}}", env) == "{{times}}"
    assert [note.kind for note in notes] == [NoteKind.LIMIT]


def test_output_is_bounded() -> None:
    """Once macros have produced too much, the rest stay as text."""
    env, notes = reported()
    text = run(f"{{{{times::{MAX_OUTPUT}}}}}{{{{times}}}}{{{{times}}}}", env)
    assert text == "x" * MAX_OUTPUT + "x" + "{{times}}"
    assert run(f"{{{{times::{MAX_OUTPUT + 1}}}}}", reported()[0]).startswith("{{")
    assert [note.data["limit"] for note in notes] == ["MAX_OUTPUT"]


@pytest.mark.parametrize("depth", [MAX_NESTING + 1, 10_000])
@pytest.mark.parametrize("form", ["{{up::%s}}", "{{up}}%s{{/up}}"], ids=["arguments", "blocks"])
def test_nesting_is_bounded(form: str, depth: int) -> None:
    """Deep nesting is a report and text, never a lost stack; the levels above are evaluated."""
    env, notes = reported()
    before, after = form.split("%s")
    text = run(before * depth + "a" + after * depth, env)
    assert "A" in text
    assert notes
    assert {note.kind for note in notes} == {NoteKind.LIMIT}


def test_trace() -> None:
    """A trace hears of each macro: its name, its span and its result, inner ones first."""
    heard: list[tuple[str, tuple[int, int], str]] = []
    run("a {{up::{{up::b}}}}", reported()[0], trace=lambda name, span, result: heard.append((name, span, result)))
    assert heard == [("up", (8, 17), "B"), ("up", (2, 19), "B")]


@pytest.mark.parametrize(
    ("text", "result"),
    [("\n  a\n    b\n", "a\n  b"), ("a\n  b", "a\n  b"), ("   a\n b\n\tc", "a\nb\nc"), (" \n \n", ""), ("", "")],
    ids=repr,
)
def test_dedent(text: str, result: str) -> None:
    """Every line loses as much indentation as the first one has, if it has it."""
    assert dedent(text) == result
