"""Phrases: what a model wrote, in segments with roles, and freed of what is no prompt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.prepare.segments import Role
from innkeeper.operations.tasks.phrases import missing_words, normalised, segments_of


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a red fox", "a red fox"),
        ("Prompt: a red fox", "a red fox"),
        ("**Enhanced Prompt:** “a red fox”", "a red fox"),
        ("```text\na red fox,\nin snow\n```", "a red fox, in snow"),
        ("'a red fox'", "'a red fox'"[1:-1]),
        ('"one" and "two"', '"one" and "two"'),
        ("the prompt arrived: a fox", "the prompt arrived: a fox"),
        ("", ""),
        ('"', '"'),
    ],
)
def test_normalised(text: str, clean: str) -> None:
    """Labels, fences and quotation marks around a prompt go; its words stay."""
    assert normalised(text) == clean


@given(st.text(max_size=60))
def test_normalising_takes_no_word(text: str) -> None:
    """What is left is a part of what was there, apart from blanks; and doing it to a plain text changes nothing."""
    assert normalised(text) in " ".join(text.split())
    assert normalised(f"a {text}".strip()).startswith("a")


def test_roles() -> None:
    """The first phrase and what the user asked for are kept; the rest has the roles of the trade."""
    text = (
        "a red fox in snow, leaping over a log, wearing a scarf, old birch forest, soft morning light, "
        "oil painting, highly detailed, 35mm lens, beside the frozen river"
    )
    roles = [segment.role for segment in segments_of(text, "a fox at the frozen river")]
    assert roles == [
        Role.IDENTITY,
        Role.ACTION,
        Role.CLOTHING,
        Role.SETTING,
        Role.MOOD,
        Role.STYLE,
        Role.QUALITY,
        Role.TECHNICAL,
        Role.IDENTITY,
    ]


def test_groups_stay_whole() -> None:
    """A weighted group is never divided at its comma."""
    assert [one.text for one in segments_of("a fox, (soft, golden:1.2) light; night. End", "")] == [
        "a fox",
        "(soft, golden:1.2) light",
        "night",
        "End",
    ]


@pytest.mark.parametrize(
    ("request_text", "text", "missing"),
    [
        ("a fox in the snow", "The animal is a fox.", ("snow",)),
        ("foxes running through Snow", "a fox runs, foxes, running through snowfall", ()),
        ("Zwölf Laternen am Hafen", "zwölf laterne, harbour", ("hafen",)),
        ("", "anything", ()),
    ],
)
def test_missing_words(request_text: str, text: str, missing: tuple[str, ...]) -> None:
    """Words of the user's that a model left out, whatever their ending."""
    assert missing_words(request_text, text) == missing
