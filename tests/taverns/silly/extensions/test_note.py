"""The author's note of a chat that has none of its own, and the notes of characters."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.taverns.silly.extensions.note import character_note, note_fields
from tests.taverns.silly.builds import build, contents, turns

DEFAULTS = {"default": "Stay brief.", "defaultDepth": 0, "defaultRole": 1, "allowWIScan": True}


def test_what_the_chat_says_wins() -> None:
    """A field of the chat, else the default of the settings, else SillyTavern's; an empty text of the chat is one."""
    assert note_fields(DEFAULTS, {"note_prompt": "", "note_depth": 3}) == {
        "text": "",
        "interval": 1,
        "position": 1,
        "depth": 3,
        "role": 1,
        "allow_wi_scan": True,
    }


@pytest.mark.parametrize(
    ("metadata", "note", "sent"),
    [
        ({}, None, "Stay brief."),
        ({"note_prompt": "Mine."}, None, "Mine."),
        ({"note_prompt": "Mine."}, {"text": "Given.", "depth": 0}, "Given."),
    ],
)
def test_in_builds(metadata: dict[str, Any], note: Any, sent: str) -> None:
    """A request's note wins over the chat's, and that over the default."""
    settings = {"note": DEFAULTS, "chat_metadata": metadata}
    plan = build(history=turns("One.", "Two."), message="Hi.", authors_note=note, settings=settings)
    assert contents(plan)[-1] == sent


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ({"name": "Mira", "prompt": "Own.", "useChara": True, "position": 2}, "Stay brief.\nOwn."),
        ({"name": "Mira", "prompt": "Own.", "useChara": False}, "Stay brief."),
        ({"name": "Bo", "prompt": "Own.", "useChara": True}, "Stay brief."),
    ],
)
def test_notes_of_characters(record: dict[str, Any], text: str) -> None:
    """The note of the character whose card has the name of the record, where it is on."""
    settings = {"note": {**DEFAULTS, "chara": [record]}}
    plan = build(history=turns("One.", "Two."), message="Hi.", settings=settings)
    assert contents(plan)[-1] == text


@pytest.mark.parametrize("settings", [{}, {"chara": None}, {"chara": [1, {"name": 2}]}])
def test_odd_records(settings: dict[str, Any]) -> None:
    """What is not a list of records has no note."""
    assert character_note(settings, "Mira") is None
