"""Personas: one, several, or a backup of all."""

import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given

from innkeeper.content import AssetError, Persona, PersonaPosition, load_persona, load_personas
from innkeeper.prompt.errors import FormatError, LimitError
from tests.content.builders import attempt, objects, values

BACKUP = {
    "personas": {"a.png": "Ann", "b.png": "Bob"},
    "persona_descriptions": {
        "a.png": {"description": "Tall.", "position": 4, "depth": 3, "role": 1, "lorebook": "Town"},
        "c.png": {"description": "Nobody."},
    },
    "default_persona": "b.png",
}


def test_a_persona() -> None:
    """Fields with their defaults; a number stands for a position."""
    persona = Persona.of({"name": "Ann", "description": "Tall."})
    assert (persona.name, persona.persona_text, persona.position, persona.depth, persona.role) == (
        "Ann",
        "Tall.",
        PersonaPosition.IN_PROMPT,
        2,
        "system",
    )
    assert [Persona.of({"name": "x", "position": n}).position for n in (0, 1, 2, 3, 4, 9)] == list(PersonaPosition)
    assert Persona.of({"name": "x", "position": "top_an"}).position is PersonaPosition.TOP_AN


@pytest.mark.parametrize(
    ("more", "bare"),
    [({}, False), ({"version": "1"}, True), ({"version": "1", "position": 0}, False)],
    ids=["nothing more", "something else", "a persona's own beside it"],
)
def test_a_name_and_a_description_are_anybodys(more: dict[str, Any], bare: bool) -> None:
    """With fields that no persona has, and none that only personas have, it is asked whether it is one."""
    persona = Persona.of({"name": "Ann", "description": "Tall.", **more})
    assert ("bare-persona" in {finding.rule for finding in persona.findings}) is bare


def test_a_backup_of_all() -> None:
    """Names and descriptions are joined by picture."""
    ann, bob = load_personas(json.dumps(BACKUP).encode())
    assert (ann.name, ann.description, ann.position, ann.depth, ann.role) == ("Ann", "Tall.", "at_depth", 3, "user")
    assert (ann.lorebook, ann.avatar, ann.is_default) == ("Town", "a.png", False)
    assert (bob.name, bob.description, bob.is_default) == ("Bob", "", True)


def test_one_of_several() -> None:
    """By name or picture, else the default one, else the first."""
    data = json.dumps(BACKUP).encode()
    assert load_persona(data).name == "Bob"
    assert load_persona(data, "Ann").name == load_persona(data, "a.png").name == "Ann"
    assert load_persona(b'[{"name": "One"}, {"name": "Two"}]').name == "One"
    with pytest.raises(AssetError, match="no persona 'Eve'") as caught:
        load_persona(data, "Eve")
    assert caught.value.hint == "there are: Ann, Bob"


@pytest.mark.parametrize("text", ["{}", "5", '{"description": "x"}', "[5]"])
def test_what_is_no_persona(text: str) -> None:
    """JSON without a name is a typed error."""
    with pytest.raises(AssetError):
        load_personas(text.encode())


@given(other=objects, position=values, described=values)
def test_any_values(other: Any, position: Any, described: Any) -> None:
    """Whatever stands in the fields, the answer is personas or an error of ours."""
    for tree in ({**other, "name": "x", "position": position}, BACKUP | {"persona_descriptions": {"a.png": described}}):
        found = attempt(partial(load_personas, json.dumps(tree).encode()))
        assert isinstance(found, (tuple, FormatError, LimitError))
