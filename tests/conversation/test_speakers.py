"""Who speaks: names of a client's messages are in the prompt, or a note says that they are not."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.conversation import ConversationState, ProfileTurn, TurnInput, profile_turn
from innkeeper.taverns import open_profile

SEVERAL = [
    {"role": "user", "content": "hi", "name": "Ann"},
    {"role": "assistant", "content": "Ho."},
    {"role": "user", "content": "hello", "name": "Bo"},
]


def turn(messages: Any, **fields: Any) -> ProfileTurn:
    """A turn over a profile with these fields."""
    profile = open_profile({"name": "wenna", "character": {"name": "Wenna"}, "greeting": False, **fields})
    return profile_turn(profile, TurnInput.of(messages, now="2026-01-15T12:00:00Z", seed=1, model="gpt-4o"))


def texts(made: ProfileTurn) -> list[str]:
    """The texts of a body."""
    return [message["content"] for message in made.body.body["messages"]]


def test_speakers_beside_the_persona_are_named() -> None:
    """In a channel the prompt says who speaks; the persona's own words stand as in a chat of two."""
    made = turn([*SEVERAL, {"role": "assistant", "content": "So."}, {"role": "user", "content": "bye"}])
    assert [text for text in texts(made) if text.endswith(("hi", "hello", "bye"))] == ["Ann: hi", "Bo: hello", "bye"]
    assert not [note for note in made.notes if "who speaks" in note.message]


def test_the_persona_needs_no_name() -> None:
    """One speaker, who is the persona: nothing is added."""
    made = turn([{"role": "user", "content": "hi", "name": "Ann"}], persona={"name": "Ann"})
    assert texts(made)[-1] == "hi"
    assert not made.notes


@pytest.mark.parametrize("tavern", ["silly", "vibe", "smart"])
def test_speakers_are_in_the_prompt_or_in_a_note(tavern: str) -> None:
    """In every tavern; where the preset wants no names, too."""
    more = {"preset": {"names_behavior": -1}} if tavern == "silly" else {}
    made = turn(SEVERAL, tavern=tavern, **more)
    sent = str(made.body.body)
    named = "Ann" in sent and "Bo" in sent
    assert named or [note.data["names"] for note in made.notes if "who speaks" in note.message] == [("Ann", "Bo")]


def test_a_profile_may_want_no_names() -> None:
    """Then nobody is named, and nothing is noted."""
    made = turn(SEVERAL, names=False)
    assert "Ann" not in str(made.body.body)
    assert not made.notes


def test_turns_are_counted() -> None:
    """The state says how many turns led to it, and an answer that is asked for again is the same turn."""
    profile = open_profile({"name": "wenna", "character": {"name": "Wenna"}})
    state = ConversationState()
    for number in (1, 2):
        state = profile_turn(profile, TurnInput.of(SEVERAL[:1]), state).state
        assert state.turns == number
