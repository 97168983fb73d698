"""The present engine of SillyTavern beyond its golden cases (``tests/vectors/silly/macros``)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.engine.environment import CardFields, ChatLine
from innkeeper.macros.engine.errors import MAX_NESTING
from innkeeper.macros.silly import substitute
from innkeeper.macros.silly.modern import TABLE
from innkeeper.prompt.errors import StrictModeError
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.prompt.run.variables import InMemoryVariables, StagedVariables
from tests.macros.macro_texts import HOSTILE, environment, reported


@given(HOSTILE)
def test_any_text_is_evaluated(text: str) -> None:
    """No text raises, and the same text gives the same result."""
    assert substitute(text, environment()) == substitute(text, environment())


@given(st.text().filter(lambda text: not set(text) & set("{<\\\x00")))
def test_plain_text_is_returned_as_it_is(text: str) -> None:
    """Text without an opener is the same object afterwards."""
    assert substitute(text, environment()) is text


@given(HOSTILE)
def test_values_are_not_evaluated_again(value: str) -> None:
    """What a variable holds is printed, whatever it looks like."""
    env, notes = reported()
    env.variables.set("v", f"x{value}")
    shown = substitute("{{getvar::v}}", env)
    assert not notes
    assert shown.startswith("x")
    assert "Mira" not in shown.replace("{{char}}", "")


def test_warnings_raise_in_a_strict_build() -> None:
    """What ``warn`` raises comes through."""

    def refuse(note: Note) -> None:
        raise StrictModeError(note.message)

    with pytest.raises(StrictModeError, match="there is no macro"):
        substitute("{{nonesuch}}", environment(warn=refuse))


def test_card_fields_are_resolved_once_a_text() -> None:
    """A field with a side effect has it once for each text that uses it, and not at all for others."""
    env = environment(card=CardFields(description="{{incvar::n}}"))
    assert substitute("{{description}}{{description}} {{if description}}{{/if}}", env) == "11 "
    assert substitute("{{char}} {{if 0}}{{description}}{{/if}}", env) == "Mira "
    assert env.variables.get("n") == 1


def test_settings_that_ask_for_themselves_end() -> None:
    """Example dialogue whose sequences hold ``{{mesExamples}}`` ends at the nesting limit."""
    env, notes = reported(
        main_api="textgenerationwebui",
        card=CardFields(mes_examples="<START>\n{{user}}: a"),
        instruct={"enabled": True, "macro": True, "input_sequence": "{{mesExamples}}"},
    )
    assert substitute("{{mesExamples}}", env)
    assert any(note.kind is NoteKind.LIMIT for note in notes)


@pytest.mark.parametrize("text", ["{{if 1}}", "{{.v ??= "])
def test_nested_conditions_and_values_end(text: str) -> None:
    """Constructs that are evaluated late count as nesting too."""
    closing = "{{/if}}" if text.startswith("{{if") else "}}"
    env, notes = reported()
    substitute(text * (MAX_NESTING * 3) + "x" + closing * (MAX_NESTING * 3), env)
    assert any(note.kind is NoteKind.LIMIT for note in notes)


def test_staged_variables_reach_the_chat_on_commit() -> None:
    """Macros write to the view they are given."""
    store = InMemoryVariables()
    staged = StagedVariables(store)
    substitute("{{setvar::a::1}}{{$b = 2}}{{addvar::a::1}}", environment(variables=staged))
    assert store.to_dict() == {"local": {}, "global": {}}
    staged.commit()
    assert store.to_dict() == {"local": {"a": 2}, "global": {"b": "2"}}


@pytest.mark.parametrize("pack", ["new", "legacy"])
def test_a_full_store_leaves_macros_as_they_are(pack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no further variable fits, what sets one stays as text and is reported."""
    monkeypatch.setattr("innkeeper.prompt.run.variables.MAX_VARIABLES", 1)
    env, notes = reported(variables=StagedVariables(InMemoryVariables()))
    text = "{{setvar::a::1}}{{setvar::b::1}}{{getvar::a}}" + ("{{.c = 1}}" if pack == "new" else "")
    kept = "{{setvar::b::1}}1" + ("{{.c = 1}}" if pack == "new" else "")
    assert substitute(text, env, pack=pack) == kept
    assert NoteKind.LIMIT in {note.kind for note in notes}


def test_banned_words_are_collected() -> None:
    """A banned word goes to ``ban``, without its quotation marks."""
    words: list[str] = []
    assert not substitute('{{banned "a word"}}{{banned::other}}{{banned::}}', environment(ban=words.append))
    assert words == ["a word", "other"]


def test_chat_macros_ask_for_the_chat_only_then() -> None:
    """Building the chat's view costs nothing while no macro wants it."""

    def chat() -> list[ChatLine]:
        raise AssertionError("nobody asked")

    assert substitute("{{char}} {{time}}", environment(chat=chat)) == "Mira 12:34 PM"


def test_dice_are_bounded() -> None:
    """More dice than a build may throw stay as text."""
    env, notes = reported()
    assert substitute("{{roll:100001d6}}", env) == "{{roll:100001d6}}"
    assert notes[0].data["limit"] == "MAX_DICE"
    assert substitute("{{roll:99999d1}}", env) == "99999"


def test_every_name_has_a_macro() -> None:
    """The table is keyed by lower-case name, other names included; each name is of the macro found there."""
    for name, macro in TABLE.items():
        assert name in {known.lower() for known in (macro.name, *macro.aliases)}
    for macro in TABLE.values():
        assert all(TABLE[known.lower()] is macro for known in (macro.name, *macro.aliases))
    assert TABLE["description"] is TABLE["chardescription"]
