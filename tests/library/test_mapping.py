"""The table of values: which column becomes which variable."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper.library.builtins import packaged_versions
from innkeeper.library.mapping import NAMES, pronouns_of, template_values

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


@settings(max_examples=50, deadline=None)
@given(st.text(alphabet="aB:-* \n\tGoalsBackground", max_size=200))
def test_any_traits(text: str) -> None:
    """Whatever the texts, every value is a text that is not blank."""
    values = template_values({"traits": text, "description": text, "voice_examples": text})
    assert all(isinstance(value, str) and value.strip() for value in values.values())


def test_long_blanks_are_read_in_one_go() -> None:
    """Megabytes of blanks, which would stop a careless pattern, are read like any other text."""
    blank = " " * 1_000_000 + "x\n" + "\n \t" * 100_000 + "Background:" + " " * 1_000_000
    assert template_values({"traits": blank, "description": blank})["character_personality"]
