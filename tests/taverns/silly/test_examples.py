"""Example dialogues: blocks, turns, and who speaks them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.taverns.silly.examples import example_blocks, example_turns
from tests.taverns.silly.builds import build, card


@dataclass(frozen=True)
class Case:
    """A text and its blocks."""

    name: str
    text: str
    blocks: list[str]


BLOCKS = (
    Case("empty", "", []),
    Case("only a start", "<START>", []),
    Case("without a start", "Mira: hi", ["Mira: hi"]),
    Case("two, in any case", "<START>\na\n<start>\nb", ["a", "b"]),
    Case("text on the line of the start", "<START> a", ["a"]),
    Case("carriage returns", "<START>\r\na\r\nb", ["a\nb"]),
)


@pytest.mark.parametrize("case", BLOCKS, ids=lambda case: case.name)
def test_blocks(case: Case) -> None:
    """Each start begins a block."""
    assert example_blocks(case.text) == case.blocks


def said(block: str, *members: str) -> list[tuple[str, str]]:
    """Who says what."""
    return [(turn.speaker, turn.text) for turn in example_turns(block, "Sam", "Mira", members)]


def test_turns() -> None:
    """A line that begins with a name begins a turn; others go on with it; only the first name is cut."""
    assert said("Sam: a\nb\nMira: Mira: c") == [("user", "a\nb"), ("char", "Mira: c")]
    assert said("  Mira: indented") == []
    assert said("nobody speaks") == []


def test_text_before_the_first_name_joins_it() -> None:
    """Narration at the beginning is the first speaker's."""
    assert said("It rains.\nMira: hi") == [("char", "It rains.\n hi")]


def test_other_members_speak_as_the_character() -> None:
    """In a group."""
    assert said("Bram: a\nSam: b", "Bram") == [("char", "a"), ("user", "b")]


@given(st.text(alphabet="SamMira:<START>\n ", max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    """No text stops the reading; a speaker is one of two."""
    for block in example_blocks(text):
        assert {turn.speaker for turn in example_turns(block, "Sam", "Mira")} <= {"user", "char"}


def test_in_a_prompt() -> None:
    """A separator before each block, turns as named system messages; stripped when the setting says so."""
    own = card(mes_example="<START>\n{{user}}: a\n{{char}}: b")
    plan = build(character=own, message="hi", preset={"new_example_chat_prompt": "EX"})
    found = [(b.role, b.name, b.content) for b in plan.enabled_blocks if b.slot == "dialogueExamples"]
    assert found == [
        ("system", None, "EX"),
        ("system", "example_user", "a"),
        ("system", "example_assistant", "b"),
    ]
    bare = build(character=own, message="hi", settings={"power_user": {"strip_examples": True}})
    assert not [b for b in bare.blocks if b.slot == "dialogueExamples"]
