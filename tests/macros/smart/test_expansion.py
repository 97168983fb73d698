"""Expansion: one pass that gives what starting over after each replacement gives, and values that stay data."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from hypothesis import given

from innkeeper.macros.engine.errors import MAX_OUTPUT, MAX_REPORTS, MacroArgumentError, MacroLimitError
from innkeeper.macros.smart import (
    FIXED,
    SMARTTAVERN,
    MacroCompat,
    MacroOptions,
    SmartEnvironment,
    condition_holds,
    condition_value,
    expand,
    process,
    process_text,
    process_text_batch,
)
from innkeeper.macros.smart import expansion as module
from innkeeper.macros.smart.dispatch import handler_of, longest_name
from innkeeper.macros.smart.pieces import first_word, inner_of
from innkeeper.prompt.errors import FormatError
from innkeeper.prompt.note import Note, NoteKind
from scripts.parity.outside import python_chance
from tests.macros.smart.smart_texts import HOSTILE, TABLES, environment, expanded
from tests.shared import VECTORS

BOTH = pytest.mark.parametrize("compat", [FIXED, SMARTTAVERN], ids=["fixed", "smarttavern"])


@dataclass(frozen=True)
class Case:
    """A text, and what becomes of it: by default, and where values are scanned again."""

    id: str
    text: Any
    fixed: str
    rescanned: str | None = None
    variables: dict[str, Any] = field(default_factory=dict)


CASES = [
    Case("no macro", "a } b", "a } b"),
    Case("nothing", None, ""),
    Case("a number", 5, "5"),
    Case("not closed", "a {{user b", "a {{user b"),
    Case("not opened", "a }} b >> c", "a }} b >> c"),
    Case("angle brackets", "<<upper:a>>", "A"),
    Case("nearest opener", "{{{{upper:a}}", "{{A"),
    Case("unknown stays", "{{foo}} {{upper:{{foo}}}}", "{{foo}} {{FOO}}"),
    Case("inside out", "{{reverse:{{upper:<<getvar:x>>}}}}", "CBA", variables={"x": "abc"}),
    Case("left to right", "{{setvar:x:1}}{{getvar:x}}{{setvar:x:2}}{{getvar:x}}", "12"),
    Case("crossed", "{{upper:a <<lower:B}} >>", "A <<LOWER:B >>", "A b"),
    Case("opener comes back", "<<us{{getvar:x>>}}", "<<user>>", "U", {"x>>": "er>>", "user_name": "U"}),
    Case("values are data", "{{getvar:x}}", "{{upper:a}}", "A", {"x": "{{upper:a}}"}),
    Case("value as a name", "{{{{getvar:x}}:a}}", "{{upper:a}}", "A", {"x": "upper"}),
    Case("value behind a name", "{{user{{getvar:x}}}}", "U", "U", {"x": "", "user_name": "U"}),
    Case("value ends a name", "{{user{{getvar:x}}}}", "{{user:}}", "U", {"x": ":", "user_name": "U"}),
    Case("opener across a border", "{<<noop>>{user}}", "{{user}}", "U", {"user_name": "U"}),
    Case("closer across a border", "{{user}<<noop>>}", "{{user}}", "U", {"user_name": "U"}),
    Case("half and whole", "{<<noop>>{{user}}", "{U", "{{{user}}", {"user_name": "U"}),
    Case("half at the end", "{{noop}}{", "{"),
    Case("half kept over nothing", "{<<noop>><<noop>>", "{"),
    Case("half and another", "{<<noop>><", "{<"),
    Case("separators of a value", "{{setvar:a:{{getvar:x}}}}{{getvar:a}}", "p::q", "q", {"x": "p::q", "a": "q"}),
    Case("itself", "{{getvar:x}}", "{{getvar:x}}", "{{getvar:x}}", {"x": "{{getvar:x}}"}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_expand(case: Case) -> None:
    """The text comes out as listed, in both compats."""
    assert expanded(case.text, case.variables) == case.fixed
    rescanned = case.fixed if case.rescanned is None else case.rescanned
    assert expanded(case.text, case.variables, SMARTTAVERN) == rescanned


def _first_span(text: str, env: SmartEnvironment) -> tuple[int, int, str] | None:
    """The first span that is a macro, as starting at the first character finds it, and its value."""
    openers: dict[str, list[int]] = {"}}": [], ">>": []}
    closes = {"{{": "}}", "<<": ">>"}
    place = 0
    while place < len(text) - 1:
        mark = text[place : place + 2]
        if mark in closes:
            openers[closes[mark]].append(place)
        elif openers.get(mark):
            start = openers[mark].pop()
            inner = text[start + 2 : place]
            handler = handler_of(*first_word([inner], 0, longest_name(env)), env)
            if handler is not None:
                return start, place + 2, handler(env, inner_of([inner]), lambda: None)
        place += 2 if mark in closes or mark in openers else 1
    return None


def restarting(text: str, env: SmartEnvironment, most: int) -> str:
    """The rules as they are told: find the first macro, replace it, start over."""
    for _ in range(most):
        found = _first_span(text, env)
        if found is None:
            break
        text = text[: found[0]] + found[2] + text[found[1] :]
    return text


@given(HOSTILE, TABLES)
def test_one_pass_is_starting_over(text: str, table: dict[str, Any]) -> None:
    """Going on at the replaced span gives the same text and variables as starting over."""
    ours, theirs = environment(table, SMARTTAVERN), environment(table, SMARTTAVERN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_REPLACEMENTS", 40)
        assert expand(text, ours) == restarting(text, theirs, 40)
    assert ours.table == theirs.table


@given(HOSTILE, TABLES)
def test_values_are_never_scanned(text: str, table: dict[str, str]) -> None:
    """What values say decides nothing: with signs in their place the text comes out the same, signs replaced by values."""
    text = text.replace("upper:", "foo")
    values = {name: f"¤{value}¤" for name, value in table.items()}
    signs = {name: f"¤{number}¤" for number, name in enumerate(values)}
    result = expanded(text, signs)
    for name, sign in signs.items():
        result = result.replace(sign, values[name])
    assert expanded(text, values) == result


@BOTH
@given(HOSTILE)
def test_any_text_comes_out(compat: MacroCompat, text: str) -> None:
    """No text raises, unless a path cannot be written; what has no mark stays."""
    try:
        result = expanded(text, {"a": "{{noop}}", "user_name": "U"}, compat)
    except (MacroLimitError, MacroArgumentError):
        return
    assert result == text or "}}" in text or ">>" in text or compat is SMARTTAVERN


BOMBS = {
    "two openers each": "{{" * 20_000,
    "unknown nest": "{{a" * 20_000 + "}}" * 20_000,
    "blank nest": "{{ " * 20_000 + " }}" * 20_000,
    "known nest": "{{upper:x" * 20_000 + "}}" * 20_000,
    "crossed nest": "<<a{{noop" * 10_000 + ">>}}" * 10_000,
    "closers": "}}" * 100_000,
    "halves": "{<<noop>>" * 5_000 + "{user}}",
    "long prefix": "x" * 200_000 + "{{noop}}y" * 500,
}


@BOTH
@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS.keys())
def test_bombs_end(compat: MacroCompat, text: str) -> None:
    """Deep nests and floods of marks end, without a stack of Python's, in a text no longer than a limit allows."""
    assert len(expanded(text, {}, compat)) < len(text) + MAX_OUTPUT


@pytest.mark.parametrize(
    "value",
    ["{{getvar:x}}", "{{getvar:x}}" + "y" * 2_000, "y" * 2_000 + "{{getvar:x}}", "{{getvar:x}}{{getvar:x}}"],
    ids=["itself", "before text", "behind text", "twice"],
)
def test_a_value_that_names_itself_ends(value: str) -> None:
    """Scanning values again ends at a limit, with a note that says which."""
    env = environment({"x": value}, SMARTTAVERN)
    assert len(expand("{{getvar:x}}", env)) < MAX_OUTPUT + 10_000
    (note,) = env.notes
    assert note.kind is NoteKind.LIMIT
    assert note.data["limit"] in {"MAX_REPLACEMENTS", "MAX_OUTPUT"}


def test_doubling_ends() -> None:
    """A variable that doubles itself stops at what one text may produce; the rest stays text."""
    env = environment()
    text = expand("{{setvar:x:aaaaaaaa}}" + "{{setvar:x:{{getvar:x}}{{getvar:x}}}}" * 40, env)
    assert text.endswith("{{getvar:x}}}}")
    assert env.notes[0].data["limit"] == "MAX_OUTPUT"


def test_a_run_has_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of one run share what they may produce."""
    monkeypatch.setattr(module, "MAX_RUN_OUTPUT", 10)
    env = environment({"x": "y" * 8})
    assert [expand("{{getvar:x}}", env) for _ in range(3)] == ["y" * 8, "y" * 8, "{{getvar:x}}"]
    assert env.notes[0].data["limit"] == "MAX_RUN_OUTPUT"


def test_macros_of_a_text_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those after the last stay text, with one note."""
    monkeypatch.setattr(module, "MAX_MACROS", 2)
    env = environment()
    assert expand("{{upper:a}}{{upper:b}}{{upper:c}}{{upper:d}}", env) == "AB{{upper:c}}{{upper:d}}"
    assert [note.data["limit"] for note in env.notes] == ["MAX_MACROS"]


@pytest.mark.parametrize(
    ("text", "error", "place"),
    [
        ("a\n {{setvar:a[100000000]:1}}", MacroLimitError, (2, 2, "a[100000000]")),
        ("{{setvar:l[-1]:1}}", MacroArgumentError, (1, 1, "l[-1]")),
    ],
    ids=["index too high", "index before the list"],
)
def test_a_path_that_cannot_be_written_raises(text: str, error: type[Exception], place: tuple[int, int, str]) -> None:
    """The error says where the macro is and which path it is about; in a value there is only the path."""
    env = environment({"l": [], "v": text}, SMARTTAVERN)
    with pytest.raises(error) as raised:
        expand(text, env)
    where = raised.value.where  # type: ignore[attr-defined]  # an error of ours
    assert (where.line, where.column, where.path) == place
    with pytest.raises(error) as raised:
        expand("{{getvar:v}}", env)
    assert raised.value.where.line is None  # type: ignore[attr-defined]


def test_what_is_no_macro_is_told_once() -> None:
    """Each unknown name leaves one note, with its place; so does a span without a name."""
    env = environment()
    assert expand("{{foo}} {{foo:1}} {{ }}", env) == "{{foo}} {{foo:1}} {{ }}"
    assert [str(note) for note in env.notes] == ["1:1: there is no macro 'foo'", "1:19: no macro begins here"]


def test_a_flood_of_unknown_names_is_told_in_part() -> None:
    """All stay as text, and the notes end."""
    env = environment()
    text = "".join(f"{{{{n{number}}}}}" for number in range(MAX_REPORTS + 50))
    assert expand(text, env) == text
    assert len(env.notes) == MAX_REPORTS + 1
    assert len(env.spent.unknown) == MAX_REPORTS + 1


OPERATIONS: Final[dict[str, Callable[..., Any]]] = {
    "macro.process_text": process_text,
    "macro.process": process,
    "macro.process_text_batch": process_text_batch,
}
OPERATIONS_CASES: Final = [
    case
    for case in json.loads((VECTORS / "smart" / "macro.json").read_text(encoding="utf-8"))
    if case["call"] in OPERATIONS
]
FIXED_OTHERWISE: Final = {
    "nested_quote_break",
    "value_rescanned",
    "value_rescanned_python",
    "overlap_cross",
    "set_path_extends",
    "addvar_path",
    "decvar_path",
    "msgs_nested_alias_in_initial",
}
"""Cases in which a value is scanned again, is code, or shows in ``initial``: by default these come out otherwise."""


def answer(case: dict[str, Any], compat: MacroCompat) -> Any:
    """Our answer to a case."""
    now = datetime.fromisoformat(case.get("clock", "2024-01-01 00:00:00")).replace(tzinfo=UTC)
    chance = python_chance(case["seed"]) if "seed" in case else None
    return OPERATIONS[case["call"]](**case["input"], options=MacroOptions(compat=compat, now=now, random=chance))


@pytest.mark.parametrize("case", OPERATIONS_CASES, ids=lambda case: case["name"])
def test_golden(case: dict[str, Any]) -> None:
    """SmartTavern's answer is ours; where it raises an IndexError, so does a typed one of ours; inputs stay as they were."""
    given = copy.deepcopy(case["input"])
    if "error" in case:
        with pytest.raises(MacroArgumentError):
            answer(case, SMARTTAVERN)
    else:
        assert answer(case, SMARTTAVERN) == case["expected"]
        assert (answer(case, FIXED) == case["expected"]) is (case["name"] not in FIXED_OTHERWISE)
    assert case["input"] == given


def test_the_callers_variables_are_never_changed() -> None:
    """Not even below their top level, and ``initial`` is what they were."""
    variables = {"a": {"b": [1]}}
    done = process_text("{{setvar:a.b[0]:2}}{{setvar:a.c:3}}", variables)
    assert variables == {"a": {"b": [1]}} == done["variables"]["initial"]
    assert done["variables"]["final"] == {"a": {"b": ["2"], "c": "3"}}


def test_batches_are_apart() -> None:
    """A text sees nothing that another one wrote, not even below the top level; they draw from one stream."""
    done = process_text_batch(
        ["{{setvar:a.b:2}}", "{{getvar:a.b}}"], {"a": {"b": 1}}, options=MacroOptions(compat=SMARTTAVERN)
    )
    assert done["texts"] == ["", "1"]
    drawn = process_text_batch(["{{roll:d1000}}"] * 5)["texts"]
    assert drawn == process_text_batch(["{{roll:d1000}}"] * 5)["texts"]
    assert len(set(drawn)) > 1


def test_what_is_left_out_leaves_a_note() -> None:
    """Messages that are none and texts that raise are told, with their place."""
    notes: list[Note] = []
    process(["x", {"content": "{{foo}}{{setvar:l[-1]:z}}"}], {"l": []}, notes=notes)
    process_text_batch(["{{setvar:l[-1]:z}}"], {"l": []}, notes=notes)
    assert [str(note.where) for note in notes] == [
        "messages[0]",
        "messages[1].content:1:1",
        "messages[1].content:1:8: l[-1]",
        "texts[0]:1:1: l[-1]",
    ]


def test_a_note_without_a_place_says_its_text() -> None:
    """Where a macro stands is not known in a value; which text it came into is."""
    notes: list[Note] = []
    process([{"content": "{{getvar:x}}"}], {"x": "{{foo}}"}, options=MacroOptions(compat=SMARTTAVERN), notes=notes)
    assert [str(note.where) for note in notes] == ["messages[0].content"]


def test_nothing_is_no_text() -> None:
    """Absent lists are empty; absent content becomes an empty text, other content Python's text of it."""
    assert process(None)["messages"] == []
    assert process_text_batch(None) == {"texts": [], "variables_list": []}
    assert process([{"role": "user"}, {"content": 5}])["messages"] == [
        {"role": "user", "content": ""},
        {"content": "5"},
    ]


@pytest.mark.parametrize(
    ("call", "path"),
    [
        (lambda: OPERATIONS["macro.process_text"]("x", [1]), None),
        (lambda: OPERATIONS["macro.process_text"]("x", None, "error"), None),
        (lambda: process({"role": "user"}), "messages"),
        (lambda: process_text_batch("x"), "texts"),
    ],
    ids=["variables", "policy", "messages", "texts"],
)
def test_wrong_types_raise(call: Any, path: str | None) -> None:
    """A `FormatError` says what is wrong where."""
    with pytest.raises(FormatError) as raised:
        call()
    assert (raised.value.where.path if raised.value.where else None) == path


@pytest.mark.parametrize("text", [["{{upper:a}}"], {"a": "<<upper:a>>"}, 1.5])
def test_what_is_no_text_runs_no_macros(text: Any) -> None:
    """It is written as Python writes it."""
    assert process_text(text)["text"] == str(text)


def test_a_failed_text_of_a_batch_leaves_its_variables() -> None:
    """What it had set before it failed is gone."""
    answer = process_text_batch(["{{setvar:b:1}}{{setvar:l[-1]:z}}"], {"l": []})
    assert answer == {"texts": [""], "variables_list": [{"initial": {"l": []}, "final": {"l": []}}]}


TABLE = {"stat": {"mood": [31]}, "chat_history_text": "Ayla"}


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("true", True),
        (" TRUE\n", True),
        (True, True),
        ("<<keywords:Ayla,Bob>>", True),
        ("{{python:legacy_num(getvar('stat.mood[0]'),0) >= 30}}", True),
        ("{{setvar:stat.x:1}}true", True),
        (None, False),
        ("", False),
        (" ", False),
        (1, False),
        ("yes", False),
        ("true.", False),
        ("<<keywords:Bob>>", False),
        ("{{python:1/0}}", False),
        ("{{setvar:stat.mood[-9]:1}}true", False),
    ],
    ids=repr,
)
def test_condition(condition: Any, holds: bool) -> None:
    """Its text, macros replaced, is compared with ``true``; what it writes is gone after it."""
    env = environment(TABLE)
    assert condition_holds(condition, env) is holds
    assert env.table == TABLE


def test_order_decides_nothing() -> None:
    """A condition does not see what another one wrote, time and again."""
    env = environment({"a": {"b": "0"}})
    conditions = ["{{setvar:a.b:true}}{{getvar:a.b}}", "{{getvar:a.b}}"]
    assert [[condition_holds(each, env) for each in conditions] for _ in range(300)] == [[True, False]] * 300


def test_a_failure_is_told() -> None:
    """It comes to nothing, with a note."""
    env = environment({"l": []})
    assert condition_value("x{{setvar:l[-1]:1}}", env) == ""
    assert env.notes[0].data["kind"] == "macro_argument"


def test_numbers_of_too_many_digits() -> None:
    """As a text they are a typed error, as a condition they do not hold, with a note."""
    with pytest.raises(FormatError, match="cannot be written as text"):
        process_text(10**5_000)
    env = SmartEnvironment.of()
    assert not condition_holds(10**5_000, env)
    assert "cannot be written" in env.notes[0].message
