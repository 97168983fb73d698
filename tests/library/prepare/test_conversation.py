"""Conversations as requests: the route chooses the use case, one table reads the values, nothing is guessed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.builtins import packaged_versions
from innkeeper.library.errors import NotFoundError
from innkeeper.library.log.conversations import CharacterStore
from innkeeper.library.prepare.conversation import (
    NAMES,
    ROUTES,
    ContextRoute,
    pronouns_of,
    template_values,
    use_case_for,
)
from innkeeper.library.templates.template import Variable
from innkeeper.prompt.errors import UnknownNameError
from tests.library.drafts import draft
from tests.library.opening import opened, published

TRAITS = "Kind, patient\nSpeaking Style: slow\n- Goals: open a shop\nQuirks: hums\nRelationships: a sister\nFavourite food: soup"


@pytest.mark.parametrize(
    ("row", "name", "value"),
    [
        ({"name": " Mira "}, "character_name", "Mira"),
        ({"persona": "calm", "traits": "x"}, "character_personality", "calm"),
        ({"traits": TRAITS}, "character_personality", "Kind, patient\nFavourite food: soup"),
        ({"personality_traits": {"a": "warm", "b": 3, "c": [1]}}, "character_personality", "warm, 3"),
        ({"backstory": "b", "description": "Background: c"}, "character_background", "b"),
        ({"description": "d\nBackground: born at sea\n\nMore"}, "character_background", "born at sea"),
        ({"description": "d"}, "character_background", None),
        ({"traits": TRAITS, "voice_tone": "low"}, "character_speaking_style", "slow"),
        ({"voice_tone": "low"}, "character_speaking_style", "low"),
        ({"traits": TRAITS}, "character_goals", "open a shop"),
        ({"traits": TRAITS}, "character_quirks", "hums"),
        ({"traits": TRAITS}, "character_relationships", "a sister"),
        ({"traits": "Goals: "}, "character_goals", None),
        ({"appearance_tags": ["grey coat", " ", "lantern"]}, "character_visual_description", "grey coat, lantern"),
        ({"description": "tall"}, "character_visual_description", "tall"),
        ({"name": "x"}, "mood", "neutral"),
        ({"name": "x", "mood": "glad"}, "mood", "glad"),
        ({"voice_examples": ['"Well."', "", "Aye."]}, "voice_examples", '1. "Well."\n2. "Aye."'),
        ({"voice_examples": "Well.\nAye."}, "voice_examples", '1. "Well."\n2. "Aye."'),
        ({"gender": "Female"}, "character_pronoun_them", "her"),
    ],
)
def test_character(row: dict[str, Any], name: str, value: str | None) -> None:
    """Each variable of a character comes from the columns that the table says."""
    assert template_values(row).get(name) == value


def test_persona_and_scene() -> None:
    """What is said of the human and the scene comes from their rows; further values come last."""
    values = template_values(
        {"name": "Mira"},
        {"name": "Tomas", "gender": "male", "appearance_tags": ["tall"], "persona": "a sailor"},
        {"scene_prompt": "a quay", "setting": "harbour", "actions": ["waves"], "positioning": "left"},
        userPrompt="draw",
        mood="glad",
        setting=None,
    )
    assert (values["user_name"], values["user_pronoun_their"], values["user_appearance"]) == ("Tomas", "his", "tall")
    assert (values["scene_context"], values["setting"], values["actions"]) == ("a quay", "harbour", "waves")
    assert (values["userPrompt"], values["mood"]) == ("draw", "glad")


def test_without_rows() -> None:
    """Without a persona the human is User and they; nothing else is made up."""
    assert template_values() == {
        "user_name": "User",
        "user_pronoun_they": "they",
        "user_pronoun_them": "them",
        "user_pronoun_their": "their",
    }


@pytest.mark.parametrize("gender", ["non-binary", "unspecified", "other", "", None, 3])
def test_everyone_else_is_they(gender: object) -> None:
    """Only the two genders that have other pronouns get them."""
    assert pronouns_of(gender) == ("they", "them", "their")


def test_names_are_those_of_the_templates() -> None:
    """Every variable of the built-in templates is a name of the table, but for the operator's policy."""
    used = {variable.name for version in packaged_versions() for variable in version.variables}
    assert used - set(NAMES) == {"content_policy"}


@given(st.text(alphabet="aB:-* \n\tGoalsBackground", max_size=200))
def test_any_traits(text: str) -> None:
    """Whatever the texts, every value is a text that is not blank."""
    values = template_values({"traits": text, "description": text, "voice_examples": text})
    assert all(isinstance(value, str) and value.strip() for value in values.values())


def test_long_blanks_are_read_in_one_go() -> None:
    """Megabytes of blanks, which would stop a careless pattern, are read like any other text."""
    blank = " " * 1_000_000 + "x\n" + "\n \t" * 100_000 + "Background:" + " " * 1_000_000
    assert template_values({"traits": blank, "description": blank})["character_personality"]


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


def test_the_next_turn_of_a_conversation(url: str) -> None:
    """Type and character choose the template, rows give the values, the stored copy of what is said now is sent once."""
    with opened(url) as library:
        names = ("character_name", "user_name", "setting")
        text = "You are {{character_name}}, with {{user_name}} at {{setting}}."
        key = {"use_case": "character_roleplay", "job_type": None, "target_model": None}
        published(library, draft("r", text, **key, variables=tuple(Variable(name=name) for name in names)))
        mira = CharacterStore(library.db).add({"name": "Mira"})
        store = library.conversations
        fields = {"conversation_type": "roleplay", "character_id": mira.id, "current_location": "the quay"}
        here = store.create({**fields, "user_id": "u"}).id
        store.append(here, "assistant", "Well?")
        store.append(here, "user", "Aye.", client_msg_id="7")
        request = library.conversation_request(here, "Aye.", client_msg_id="7", persona={"name": "Tomas"})
        prepared = library.prepare(request)
    assert (request.use_case, request.user_id, request.conversation_id) == ("character_roleplay", "u", here)
    sent = [(message.role, message.content) for message in prepared.messages]
    assert sent == [("system", "You are Mira, with Tomas at the quay."), ("assistant", "Well?"), ("user", "Aye.")]


def test_what_the_caller_says_goes_before(url: str) -> None:
    """Fields and values of the caller replace those that are read; a conversation that is not there is an error."""
    with opened(url) as library:
        here = library.conversations.create({}).id
        request = library.conversation_request(here, "Hi", use_case="admin", values={"user_name": "Ann"}, user_id="x")
        with pytest.raises(NotFoundError):
            library.conversation_request("nowhere", "Hi")
    assert (request.use_case, request.values["user_name"], request.user_id) == ("admin", "Ann", "x")
    assert request.values["userPrompt"] == "Hi"
