"""The former engine of SillyTavern beyond its golden cases (``tests/vectors/silly/macros``)."""

from __future__ import annotations

import pytest
from hypothesis import given

from innkeeper.macros.engine.environment import CardFields
from innkeeper.macros.silly import substitute
from innkeeper.prompt.note import NoteKind
from tests.macros.macro_texts import HOSTILE, environment, reported


def legacy(text: str, **fields: object) -> str:
    """A text through the former engine."""
    return substitute(text, environment(**fields), pack="legacy")


@given(HOSTILE)
def test_any_text_is_evaluated(text: str) -> None:
    """No text raises, and the same text gives the same result."""
    assert legacy(text) == legacy(text)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{getvar::m}}", "Mira"),
        ("{{reverse:{{char}}}}", "ariM"),
        ("{{reverse:{{isotime}}}}", "emitosi{{}}"),
        ("{{setvar::a::{{roll:1d1}}}}{{getvar::a}}", "1"),
    ],
)
def test_the_order_of_passes_is_the_language(text: str, result: str) -> None:
    """What a pass writes is seen by the passes after it, and by no other."""
    env = environment()
    env.variables.set("m", "{{char}}")
    assert substitute(text, env, pack="legacy") == result


def test_a_card_that_stirs_is_resolved_for_every_text() -> None:
    """Fields that write variables do so for each text, even one without macros; empty texts count for nothing."""
    env = environment(card=CardFields(description="{{incvar::n}}"))
    for text in ("plain", "", "{{char}}"):
        substitute(text, env, pack="legacy")
    assert env.variables.get("n") == 2


def test_unknown_macros_are_reported() -> None:
    """What is left in braces is reported by name."""
    env, notes = reported()
    assert substitute("{{char}} {{nonesuch::a}}", env, pack="legacy") == "Mira {{nonesuch::a}}"
    assert [note.data["macro"] for note in notes] == ["nonesuch"]


def test_expansions_are_bounded() -> None:
    """Past the limit macros stay as text."""
    env, notes = reported()
    assert substitute("{{char}}" * 20_000, env, pack="legacy").endswith("Mira{{char}}" + "{{char}}" * 9_999)
    assert NoteKind.LIMIT in {note.kind for note in notes}


def test_trace_hears_every_replacement() -> None:
    """The trace gets name, span in the text of that pass, and result."""
    heard: list[tuple[str, tuple[int, int], str]] = []
    substitute(
        "<BOT> {{user}}",
        environment(),
        pack="legacy",
        trace=lambda name, span, result: heard.append((name, span, result)),
    )
    assert heard == [("BOT", (0, 5), "Mira"), ("user", (5, 13), "Tomas")]
