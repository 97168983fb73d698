"""Characters and users from whatever there is."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from innkeeper.content.character import Character
from innkeeper.content.persona import Persona
from innkeeper.prompt import FormatError, UsageError
from innkeeper.taverns.assets import character_of, user_of

CARD = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Seraphina", "description": "D"}}


@dataclass
class Somebody:
    name: str
    persona_text: str = ""


@pytest.mark.parametrize(
    ("value", "name", "description"),
    [
        (Character(name="Sera", description="D"), "Sera", "D"),
        (CARD, "Seraphina", "D"),
        ({"name": "Sera", "description": "D"}, "Sera", "D"),
        ('{"name": "Sera", "description": "D"}', "Sera", "D"),
        ("Sera", "Sera", ""),
        (Somebody("Sera", "D"), "Sera", "D"),
        (SimpleNamespace(data=SimpleNamespace(name="Sera", description="D")), "Sera", "D"),
        (SimpleNamespace(name="Sera", description="D", nickname=None), "Sera", "D"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_character(value: Any, name: str, description: str) -> None:
    """A card, JSON, an object or a name gives a character."""
    found = character_of(value)
    assert isinstance(found, Character)
    assert (found.name, found.description) == (name, description)


@pytest.mark.parametrize(
    ("value", "name", "text"),
    [
        (Persona(name="Bob", description="tall"), "Bob", "tall"),
        (Character(name="Bob", description="tall", personality="kind"), "Bob", "tall\n\nkind"),
        ({"name": "Bob", "persona": "tall"}, "Bob", "tall"),
        ({"name": "Bob", "persona_text": "tall"}, "Bob", "tall"),
        ('{"name": "Bob", "description": "tall"}', "Bob", "tall"),
        ("Bob", "Bob", ""),
        (Somebody("Bob", "tall"), "Bob", "tall"),
        (SimpleNamespace(name="Bob", description="tall"), "Bob", "tall"),
        (SimpleNamespace(name="Bob", persona=None), "Bob", ""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_user(value: Any, name: str, text: str) -> None:
    """A persona, JSON, an object or a name gives a user; a character can be one."""
    found = user_of(value)
    assert found is not None
    assert (found.name, found.persona_text) == (name, text)


def test_nobody() -> None:
    """Nothing is nobody."""
    assert character_of(None) is None
    assert user_of(None) is None


@pytest.mark.parametrize("value", [SimpleNamespace(name=" "), SimpleNamespace(), 5])
def test_nameless(value: Any) -> None:
    """Who has no name takes no part."""
    for read in (character_of, user_of):
        with pytest.raises(UsageError):
            read(value)


def test_bad_json() -> None:
    """JSON that is no card says so."""
    with pytest.raises(FormatError):
        character_of("{ broken")
