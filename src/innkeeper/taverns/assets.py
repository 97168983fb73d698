"""The assets of a request: the character and the user, read from whatever an application has for them.

One reading for every tavern, so that the same value means the same in each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.content.character import Character
from innkeeper.content.persona import Persona
from innkeeper.prompt import UsageError

__all__ = ["character_of", "user_of"]

_CARD_TEXTS: Final = (
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
    "system_prompt",
    "post_history_instructions",
    "nickname",
)


def character_of(value: Any) -> Character | None:
    """The character: a `Character`, a card as JSON, an object with a card's fields (or with them in ``data``), or a name.

    Raises `FormatError` for JSON that is no card, `UsageError` for an object that is nobody.
    """
    if value is None or isinstance(value, Character):
        return value
    if isinstance(value, str) and not _is_json(value):
        return Character(name=value)
    if isinstance(value, (str, bytes, Mapping)):
        return Character.of(value)
    card = getattr(value, "data", value)
    texts: dict[str, Any] = {field: str(getattr(card, field, None) or "") for field in _CARD_TEXTS}
    texts["description"] = texts["description"] or str(getattr(value, "persona_text", None) or "")
    return Character(name=_name(value, card), **texts)


def user_of(value: Any) -> Persona | Character | None:
    """The user: a `Persona`, one as JSON, an object with a name and ``persona_text`` or ``description``, or a name.

    A `Character` can be the user as well. Raises `FormatError` for JSON that is no persona, `UsageError` for an object that
    is nobody.
    """
    if value is None or isinstance(value, (Persona, Character)):
        return value
    if isinstance(value, str) and not _is_json(value):
        return Persona(name=value)
    if isinstance(value, (str, bytes, Mapping)):
        return Persona.of(_with_description(value))
    text = next(
        (found for key in ("persona_text", "description", "persona") if (found := getattr(value, key, None))), ""
    )
    return Persona(name=_name(value, value), description=str(text))


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{")


def _with_description(value: Any) -> Any:
    if isinstance(value, Mapping) and "persona_text" in value and "description" not in value:
        return {**value, "description": value["persona_text"]}
    return value


def _name(value: Any, card: Any) -> str:
    name = getattr(value, "name", None) or getattr(card, "name", None)
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"a participant needs a name; {type(value).__name__} has none")
    return name
