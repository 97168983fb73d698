"""Expansion: one pass that gives what starting over after each replacement gives, and values that stay data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings

from innkeeper.macros.engine.errors import MAX_OUTPUT, MAX_REPORTS, MacroArgumentError, MacroLimitError
from innkeeper.macros.smart import FIXED, SMARTTAVERN, MacroCompat, SmartEnvironment, expand
from innkeeper.macros.smart import expansion as module
from innkeeper.macros.smart.dispatch import handler_of, longest_name
from innkeeper.macros.smart.pieces import first_word, inner_of
from innkeeper.prompt.note import NoteKind
from tests.macros.smart.smart_texts import HOSTILE, TABLES, environment, expanded

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


@settings(max_examples=100)
@given(HOSTILE, TABLES)
def test_one_pass_is_starting_over(text: str, table: dict[str, Any]) -> None:
    """Going on at the replaced span gives the same text and variables as starting over."""
    ours, theirs = environment(table, SMARTTAVERN), environment(table, SMARTTAVERN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_REPLACEMENTS", 40)
        assert expand(text, ours) == restarting(text, theirs, 40)
    assert ours.table == theirs.table


@settings(max_examples=100)
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
@settings(max_examples=60)
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
