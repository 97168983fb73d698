"""Persona: who the user is in a chat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from innkeeper.content.errors import LIMITS, AssetError, Limits
from innkeeper.content.finding import Level
from innkeeper.content.json.document import Document
from innkeeper.content.json.json_asset import JsonAsset, NumberedEnum
from innkeeper.content.json.record import FindingCollector
from innkeeper.prompt.errors import Where


class PersonaPosition(NumberedEnum):
    """The position of the persona's description."""

    IN_PROMPT = "in_prompt"
    AFTER_CHAR = "after_char"
    """An older form of ``in_prompt``."""
    TOP_AN = "top_an"
    BOTTOM_AN = "bottom_an"
    AT_DEPTH = "at_depth"
    NONE = "none"

    @classmethod
    def numbers(cls) -> Mapping[int, PersonaPosition]:
        """The members by SillyTavern's numbers, 9 for none."""
        return {9 if member is cls.NONE else number: member for number, member in enumerate(cls)}


_ANYBODYS: Final = frozenset({"name", "description", "text", "title"})
"""Fields that not only personas have."""

_FIELDS: Final = _ANYBODYS | {
    "avatar",
    "depth",
    "is_default",
    "lorebook",
    "persona",
    "persona_name",
    "persona_text",
    "position",
    "role",
}

_LISTED: Final = 5


class Persona(JsonAsset, frozen=True, kw_only=True, dict=True):
    """A persona. ``depth`` is in messages and counts, with ``role``, only at a depth. ``lorebook`` is a book's name.

    TavernKit's ``persona_text`` and SmartTavern's ``persona_name``, which stands beside the file's own ``name``, are read too.
    """

    WHAT: ClassVar[str] = "a persona"
    HINT: ClassVar[str | None] = "a persona has `name` and `description`"
    NAMES: ClassVar[Mapping[str, tuple[str, ...]]] = {"description": ("description", "persona", "persona_text", "text")}

    name: str = ""
    description: str = ""
    position: PersonaPosition = PersonaPosition.IN_PROMPT
    depth: int = 2
    role: str = "system"
    lorebook: str = ""
    title: str = ""
    avatar: str = ""
    is_default: bool = False

    @classmethod
    def migrated(cls, raw: dict[str, Any], findings: FindingCollector) -> dict[str, Any]:
        """With SmartTavern's name for the person. A name and a description are what many another file has, too."""
        foreign = raw.keys() - _FIELDS
        if foreign and not raw.keys() & (_FIELDS - _ANYBODYS):
            listed = ", ".join(sorted(map(str, foreign))[:_LISTED])
            findings.add(
                "bare-persona", f"it has fields that no persona has ({listed}): is it a persona?", (), level=Level.INFO
            )
        return {**raw, "name": raw["persona_name"]} if "persona_name" in raw else raw

    @property
    def persona_text(self) -> str:
        """The description."""
        return self.description


def read_personas(document: Document, *, limits: Limits = LIMITS, name: str | None = None) -> tuple[Persona, ...]:
    """The personas of a document: one, a list, or a SillyTavern backup of all.

    Raises:
        AssetError: there is none.
    """
    tree = document.tree
    if isinstance(tree, list):
        return tuple(Persona.read(document, (index,), limits=limits) for index in range(len(tree)))
    if isinstance(tree, dict) and isinstance(tree.get("personas"), dict):
        return tuple(_from_backup(tree, limits))
    if isinstance(tree, dict) and isinstance(tree.get("name"), str):
        return (Persona.read(document, limits=limits),)
    hint = "a persona has `name` and `description`, a backup `personas` and `persona_descriptions`"
    raise AssetError("this JSON is not a persona", where=Where(asset=name), hint=hint)


def _from_backup(tree: Mapping[str, Any], limits: Limits) -> list[Persona]:
    """Names and descriptions stand in two objects with the file names of the pictures as keys."""
    described = tree.get("persona_descriptions")
    personas = []
    for avatar, name in tree["personas"].items():
        own = described.get(avatar) if isinstance(described, dict) else None
        backed_up = {**(own if isinstance(own, dict) else {}), "name": name, "avatar": avatar}
        backed_up["is_default"] = tree.get("default_persona") == avatar
        personas.append(Persona.read(Document(backed_up), limits=limits))
    return personas
