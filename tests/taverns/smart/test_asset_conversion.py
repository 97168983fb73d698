"""Assets of other applications in the smart tavern: what is carried over, and what is told to be lost."""

from __future__ import annotations

from typing import Any, Final

import pytest

from innkeeper.content.lorebook import Lorebook
from innkeeper.content.persona import Persona
from innkeeper.prompt import NoteKind, Plan
from innkeeper.taverns import smart
from innkeeper.taverns.smart.asset_conversion import is_smart_book, is_smart_preset

CARD: Final[dict[str, Any]] = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {
        "name": "Mira",
        "description": "A baker.",
        "personality": "Calm, says {{user}}.",
        "scenario": "A shop.",
        "first_mes": "Hello.",
        "character_book": {
            "entries": [
                {
                    "id": 0,
                    "keys": ["bread"],
                    "content": "Fresh.",
                    "enabled": True,
                    "insertion_order": 5,
                    "position": "before_char",
                }
            ]
        },
    },
}
WORLD: Final = {
    "entries": {
        "0": {"uid": 0, "key": ["oven"], "content": "Hot.", "position": 4, "depth": 1, "role": 1, "order": 3},
        "1": {"uid": 1, "constant": True, "content": "Always.", "position": 1},
        "2": {
            "uid": 2,
            "key": ["a,b", "/x/", "oven"],
            "keysecondary": ["s"],
            "selective": True,
            "content": "Odd.",
            "position": 7,
        },
    }
}
PRESET: Final = {
    "temperature": 0.7,
    "openai_max_context": 2000,
    "openai_max_tokens": 100,
    "prompts": [
        {"identifier": "main", "content": "Be {{char}}.", "role": "system"},
        {"identifier": "worldInfoBefore", "marker": True},
        {"identifier": "charDescription", "marker": True},
        {"identifier": "charPersonality", "marker": True},
        {"identifier": "scenario", "marker": True},
        {"identifier": "worldInfoAfter", "marker": True},
        {"identifier": "dialogueExamples", "marker": True},
        {"identifier": "chatHistory", "marker": True},
        {"identifier": "off", "content": "Off."},
        {"identifier": "deep", "content": "Deep.", "injection_position": 1, "injection_depth": 2, "role": "user"},
    ],
    "prompt_order": [
        {
            "character_id": 100001,
            "order": [
                {"identifier": name, "enabled": name != "off"}
                for name in (
                    "main",
                    "worldInfoBefore",
                    "charDescription",
                    "charPersonality",
                    "scenario",
                    "worldInfoAfter",
                    "dialogueExamples",
                    "nobody",
                    "chatHistory",
                    "off",
                    "deep",
                )
            ],
        }
    ],
}


def build(**inputs: Any) -> Plan:
    """A plan at a fixed moment."""
    return smart.build(now="2026-01-15T12:34:56Z", **inputs)


def test_a_whole_sillytavern_setting() -> None:
    """Card, world info and preset give a prompt in the preset's order; losses are noted."""
    history = [{"role": "user", "content": "bread?"}, {"role": "assistant", "content": "from the oven"}]
    plan = build(character=CARD, lorebooks=[WORLD], preset=PRESET, user="Tomas", history=history, message="Yes.")
    assert [(message.role, message.content) for message in plan.messages] == [
        ("system", "Be Mira."),
        ("system", "Fresh."),
        ("system", "A baker."),
        ("system", "Calm, says Tomas."),
        ("system", "A shop."),
        ("system", "Always."),
        ("system", "Odd."),
        ("user", "bread?"),
        ("user", "Deep."),
        ("assistant", "from the oven"),
        ("user", "Hot."),
        ("user", "Yes."),
    ]
    assert plan.options == {"temperature": 0.7, "max_tokens": 100}
    told = " ".join(str(note) for note in plan.notes)
    for part in ("patterns", "as they are written", "secondary keys", "dialogueExamples", "stand after the character"):
        assert part in told
    assert any(note.kind is NoteKind.FALLBACK for note in plan.notes)


def test_a_marker_that_is_off() -> None:
    """What has no place here and is off anyway is not told."""
    prompts = [{"identifier": "dialogueExamples", "marker": True, "enabled": False}]
    assert build(preset={"prompts": prompts, "temperature": 1}).notes == ()


def test_a_preset_without_an_order() -> None:
    """Prompts stand as they are listed."""
    preset = {"prompts": [{"identifier": "a", "content": "A", "injection_position": 0}], "new_chat_prompt": "x"}
    assert build(preset=preset).messages[0].content == "A"


@pytest.mark.parametrize(
    ("user", "text"),
    [
        (Persona(name="Rin", description="Tall."), "Rin Tall."),
        ({"name": "Rin", "description": "Tall."}, "Rin Tall."),
        ("Rin", "Rin "),
        (None, "User "),
        (Persona.of({"name": "f", "persona_name": "Rin", "description": "Tall."}), "Rin Tall."),
    ],
    ids=["typed", "json", "a name", "nobody", "its own file"],
)
def test_who_the_user_is(user: Any, text: str) -> None:
    """However the user is given, macros know the name and the description."""
    preset = {
        "prompts": [{"identifier": "a", "enabled": True, "position": "relative", "content": "{{user}} {{persona}}"}]
    }
    assert build(preset=preset, user=user).messages[0].content == text


def test_keys_of_an_own_book_that_nothing_reads_are_noted() -> None:
    """As those of other books are: a text under a foreign name does not vanish."""
    plan = build(lorebooks=[{"entries": [{"keywords": ["x"], "text": "y"}]}])
    assert [note.message for note in plan.notes] == [
        "lorebooks: entries.keywords, entries.text have no effect: nothing reads them"
    ]


@pytest.mark.parametrize(
    ("raw", "own"),
    [
        ({"entries": [{"mode": "always"}]}, True),
        ({"entries": [{"position": "user"}]}, True),
        ({"entries": [{"content": "a"}]}, True),
        ([{"content": "a"}], True),
        ({"entries": [{"keys": ["a"], "position": "before_char"}]}, False),
        ({"entries": {"0": {"key": ["a"]}}}, False),
        (5, False),
    ],
    ids=str,
)
def test_whose_words_a_book_is_in(raw: Any, own: bool) -> None:
    """Modes, roles as positions, or no keys at all make a book of this tavern."""
    assert is_smart_book(raw) is own


@pytest.mark.parametrize(
    ("raw", "own"),
    [
        ({"prompts": [{"position": "relative"}, {"position": "in-chat"}]}, True),
        ({"prompts": [], "regex_rules": []}, True),
        ({"prompts": [{"position": "In-Chat"}]}, True),
        ({"prompts": [{}]}, False),
        ({"prompts": [{"position": 0}]}, False),
        ({"prompts": [{"position": "relative"}], "prompt_order": []}, False),
        ({}, False),
    ],
    ids=str,
)
def test_whose_words_a_preset_is_in(raw: Any, own: bool) -> None:
    """Positions by name and no order beside the prompts make a preset of this tavern."""
    assert is_smart_preset(raw) is own


def test_a_book_as_an_asset() -> None:
    """A book of this tavern that was read as an asset counts by its own words, conditions and all."""
    condition = "{{python:len(getvar('chat_history_text')) == 5}}"
    book = Lorebook.of(
        {"entries": [{"id": 1, "mode": "conditional", "condition": condition, "position": "user", "content": "W"}]}
    )
    assert [message.content for message in build(lorebooks=[book], message="Hello").messages] == ["Hello", "W"]


def test_a_character_as_the_user() -> None:
    """A card can be the user as well."""
    plan = build(
        user=smart_card(),
        preset={"prompts": [{"identifier": "a", "enabled": True, "position": "relative", "content": "{{persona}}"}]},
    )
    assert plan.messages[0].content == "A baker.\n\nCalm."


def smart_card() -> Any:
    """A character as a typed value."""
    from innkeeper.content.character import Character

    return Character(name="Mira", description="A baker.", personality="Calm.")
