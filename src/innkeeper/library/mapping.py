"""Template values: one table from a character, a persona and a scene to the names that templates use (reference §3.4).

Characters, personas and scenes are rows with the document's columns, as plain mappings. Where its three tables disagreed, this
one decides: a personality is the persona, else what stands in the traits beside labelled lines; a background is the backstory,
else what follows ``Background:`` in the description; goals, quirks and relationships are labelled lines of the traits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from innkeeper.prompt.frozen import EMPTY

__all__ = ["NAMES", "PRONOUNS", "Pronouns", "pronouns_of", "template_values"]

Row = Mapping[str, Any]
Pronouns = tuple[str, str, str]
"""Subject, object, possessive."""

PRONOUNS: Final[Mapping[str, Pronouns]] = {"male": ("he", "him", "his"), "female": ("she", "her", "her")}
"""By gender; everyone else is they, them, their."""

_THEY: Final[Pronouns] = ("they", "them", "their")
_LABELLED: Final = re.compile(r"^[ \t]*(?:[-*][ \t]*)?([A-Za-z][A-Za-z ]{1,30}):[ \t]*(.*)$", re.MULTILINE)
_BACKGROUND: Final = re.compile(r"\bBackground:[ \t]*(.+?)(?:\n\s*\n|\Z)", re.DOTALL | re.IGNORECASE)
_TRAIT_LABELS: Final = frozenset({"speaking style", "goals", "quirks", "relationships"})


def pronouns_of(gender: object) -> Pronouns:
    """The pronouns of a gender; whatever is not ``male`` or ``female`` is they.

    >>> pronouns_of("female")
    ('she', 'her', 'her')
    """
    return PRONOUNS.get(gender.strip().lower(), _THEY) if isinstance(gender, str) else _THEY


def template_values(
    character: Row | None = None, persona: Row | None = None, scene: Row | None = None, **more: Any
) -> dict[str, Any]:
    """A value for every name of `NAMES` that the rows say anything about; ``more`` are further values and come last.

    ``character`` speaks, ``persona`` is the one the human plays, ``scene`` is where they are.
    """
    rows = {"character": character or EMPTY, "persona": persona or EMPTY, "scene": scene or EMPTY}
    found: dict[str, Any] = {}
    for name, (source, read) in _TABLE.items():
        value = read(rows[source]) if rows[source] or name in _ALWAYS else None
        if value is not None:
            found[name] = value
    return {**found, **{name: value for name, value in more.items() if value is not None}}


# ---------------------------------------------------------------------------------------------------------------- reading


def _text(value: Any) -> str | None:
    """A column as text: lists joined by commas, blanks as nothing."""
    if isinstance(value, Mapping):
        value = [item for item in value.values() if isinstance(item, (str, int, float))]
    if isinstance(value, (list, tuple)):
        value = ", ".join(str(item).strip() for item in value if str(item).strip())
    return None if value is None else str(value).strip() or None


def _column(*names: str) -> Callable[[Row], str | None]:
    """The first of some columns that is not blank."""
    return lambda row: next((text for name in names if (text := _text(row.get(name)))), None)


def _or(read: Callable[[Row], str | None], otherwise: str) -> Callable[[Row], str | None]:
    return lambda row: read(row) or otherwise


def _trait(label: str, *columns: str) -> Callable[[Row], str | None]:
    """A labelled line of the traits, else a column."""
    return lambda row: _labelled(row).get(label) or _column(*columns)(row)


def _labelled(row: Row) -> dict[str, str]:
    found = ((label.strip().lower(), text.strip()) for label, text in _LABELLED.findall(_text(row.get("traits")) or ""))
    return {label: text for label, text in found if label in _TRAIT_LABELS and text}


def _personality(row: Row) -> str | None:
    return _column("persona")(row) or _free_traits(row) or _column("personality_traits")(row)


def _free_traits(row: Row) -> str | None:
    """The traits without the lines that have a variable of their own."""
    lines = (_text(row.get("traits")) or "").split("\n")
    return "\n".join(line for line in lines if not _is_labelled(line)).strip() or None


def _is_labelled(line: str) -> bool:
    found = _LABELLED.match(line)
    return found is not None and found[1].strip().lower() in _TRAIT_LABELS


def _background(row: Row) -> str | None:
    found = _BACKGROUND.search(_text(row.get("description")) or "")
    return _column("backstory")(row) or (found[1].strip() if found else None)


def _examples(row: Row) -> str | None:
    """Voice examples, one a line, numbered and quoted."""
    given = row.get("voice_examples")
    lines: Iterable[Any] = given if isinstance(given, (list, tuple)) else (given or "").split("\n")
    kept = [str(line).strip().strip('"') for line in lines if str(line).strip()]
    return "\n".join(f'{number}. "{line}"' for number, line in enumerate(kept, 1)) or None


def _pronoun(place: int) -> Callable[[Row], str | None]:
    return lambda row: pronouns_of(row.get("gender"))[place]


_TABLE: Final[Mapping[str, tuple[str, Callable[[Row], str | None]]]] = {
    "character_name": ("character", _column("name")),
    "character_description": ("character", _column("description")),
    "character_personality": ("character", _personality),
    "character_persona": ("character", _column("persona")),
    "character_background": ("character", _background),
    "character_speaking_style": ("character", _trait("speaking style", "voice_tone")),
    "character_goals": ("character", _trait("goals")),
    "character_quirks": ("character", _trait("quirks")),
    "character_relationships": ("character", _trait("relationships")),
    "character_visual_description": ("character", _column("appearance_tags", "physical_traits", "description")),
    "voice_tone": ("character", _or(_column("voice_tone"), "neutral")),
    "mood": ("character", _or(_column("mood"), "neutral")),
    "voice_examples": ("character", _examples),
    "character_pronoun_they": ("character", _pronoun(0)),
    "character_pronoun_them": ("character", _pronoun(1)),
    "character_pronoun_their": ("character", _pronoun(2)),
    "user_name": ("persona", _or(_column("name"), "User")),
    "user_gender": ("persona", _column("gender")),
    "user_appearance": ("persona", _column("appearance_tags", "physical_traits")),
    "user_persona": ("persona", _column("persona", "description")),
    "user_pronoun_they": ("persona", _pronoun(0)),
    "user_pronoun_them": ("persona", _pronoun(1)),
    "user_pronoun_their": ("persona", _pronoun(2)),
    "scene_context": ("scene", _column("scene_context", "scene_prompt", "scene_description", "description")),
    "setting": ("scene", _column("setting")),
    "actions": ("scene", _column("actions")),
    "positioning": ("scene", _column("positioning")),
    "conversation_context": ("scene", _column("conversation_context")),
}
_ALWAYS: Final = frozenset({"user_name", "user_pronoun_they", "user_pronoun_them", "user_pronoun_their"})
"""What is said of the human even where no persona is given."""

NAMES: Final = (*_TABLE, "userPrompt")
"""Every name that the document's templates use. ``userPrompt`` is the text of the request: hand it in as ``userPrompt=``."""
