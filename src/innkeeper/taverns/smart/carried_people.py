"""Character and persona in the words of this tavern: name and description, and what macros call them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.content.character import Character
from innkeeper.content.persona import Persona
from innkeeper.prompt.frozen import thaw
from innkeeper.prompt.state import State
from innkeeper.taverns.participant import character_of, user_of
from innkeeper.taverns.smart.carried_book import carried_book

__all__ = ["carried_character", "carried_persona", "greetings_of", "is_smart_character", "people_variables"]

_OWN: Final = frozenset({"message", "world_book", "regex_rules"})
_FORGEABLE: Final = ("type", "id")


def is_smart_character(value: Any) -> bool:
    """Whether a character file is written in this tavern's words."""
    return isinstance(value, Mapping) and bool(_OWN & value.keys()) and "spec" not in value and "data" not in value


def carried_character(value: Any, state: State) -> tuple[dict[str, Any] | None, Character | None]:
    """The character as this tavern's file would have it, and as a card where it is one.

    Raises what `character_of` raises.
    """
    raw = value.raw if isinstance(value, Character) else value
    if is_smart_character(raw):
        return _own(raw), None
    card = character_of(value)
    if card is None:
        return None, None
    carried: dict[str, Any] = {"name": card.display_name, "description": card.description}
    if card.book is not None:
        carried["world_book"] = carried_book(card.book, state)
    return carried, card


def carried_persona(value: Any) -> dict[str, Any] | None:
    """The persona as this tavern's file would have it. Raises what `user_of` raises."""
    if isinstance(value, Mapping) and "persona_name" in value:
        return _own(value)
    user = user_of(value)
    if user is None:
        return None
    if isinstance(user, Persona) and "persona_name" in (user.raw or {}):
        return _own(user.raw)
    text = user.persona_text if isinstance(user, Character) else user.description
    return {"name": user.name, "description": text}


def _own(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A copy without the keys by which a file could say that its text came from elsewhere."""
    return {key: value for key, value in thaw(dict(raw)).items() if key not in _FORGEABLE}


def greetings_of(character: Mapping[str, Any] | None, card: Character | None) -> tuple[str, ...]:
    """The messages a chat may begin with."""
    if card is not None:
        return tuple(card.greetings())
    listed = (character or {}).get("message")
    return tuple(text for text in listed if isinstance(text, str)) if isinstance(listed, (list, tuple)) else ()


def people_variables(
    character: Mapping[str, Any] | None, card: Character | None, persona: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The variables by which macros name the people of a chat."""
    found = {
        "user_name": _text(persona, "persona_name") or _text(persona, "name") or _NOBODY,
        "persona_description": _text(persona, "description"),
    }
    if character is not None:
        found |= {
            "character_name": _text(character, "name"),
            "character_description": _text(character, "description"),
            "character_personality": card.personality if card is not None else _text(character, "personality"),
            "scenario_description": card.scenario if card is not None else _text(character, "scenario"),
        }
    return found


_NOBODY: Final = "User"
"""What a user without a name is called."""


def _text(facts: Mapping[str, Any] | None, key: str) -> str:
    value = (facts or {}).get(key)
    return value if isinstance(value, str) else ""
