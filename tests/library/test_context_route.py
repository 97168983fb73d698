"""Routes: one table says which use case serves a conversation; nothing is guessed."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.library.context_route import ROUTES, ContextRoute, use_case_for
from innkeeper.prompt.errors import UnknownNameError


@pytest.mark.parametrize(
    ("given", "use_case"),
    [
        ({}, "chat"),
        ({"conversation_type": "general"}, "chat"),
        ({"conversation_type": "creative"}, "chat"),
        ({"conversation_type": "story_development"}, "chat"),
        ({"conversation_type": "roleplay"}, "roleplay"),
        ({"conversation_type": "character_roleplay"}, "character_roleplay"),
        ({"conversation_type": "scene_roleplay"}, "character_roleplay"),
        ({"conversation_type": "admin"}, "admin"),
        ({"has_character": True}, "character_roleplay"),
        ({"conversation_type": "roleplay", "has_character": True}, "character_roleplay"),
        ({"conversation_type": "anything", "has_character": True}, "character_roleplay"),
        ({"intent": "scene", "has_character": True}, "scene_generation"),
        ({"intent": "scene_narrative"}, "scene_narrative_generation"),
        ({"intent": "image_prompt"}, "enhancement"),
        ({"intent": "video_prompt", "has_character": True}, "enhancement"),
    ],
)
def test_route(given: dict[str, Any], use_case: str) -> None:
    """The intent counts first, then the character, then the kind of conversation."""
    assert use_case_for(**given) == use_case


def test_unknown_names_are_errors() -> None:
    """An intent or a kind of conversation that no row speaks of is an error with near names."""
    with pytest.raises(UnknownNameError, match="conversation type 'generel'") as caught:
        use_case_for("generel")
    assert caught.value.hint == "did you mean 'general'?"
    with pytest.raises(UnknownNameError, match="intent 'scenes'"):
        use_case_for(intent="scenes")


def test_own_routes() -> None:
    """A table of one's own comes before the shipped one, with any intent if it says so."""
    own = (ContextRoute("chat", conversation_type="lobby", intent="*"), *ROUTES)
    assert use_case_for("lobby", intent="hello", routes=own) == "chat"
    with pytest.raises(UnknownNameError, match="conversation type"):
        use_case_for("other", intent="hello", routes=own)
