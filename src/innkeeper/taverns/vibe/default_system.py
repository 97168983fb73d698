"""The default system text: the card's texts and the user's persona, each mapped to the field it is from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from innkeeper.content.character import Character
from innkeeper.content.persona import Persona
from innkeeper.prompt import Origin, Piece
from innkeeper.prompt.text import join_pieces

__all__ = ["default_system_pieces", "default_system_text"]

_OWN: Final = Origin("innkeeper", "default_system")


def default_system_text(character: Character | None, user: Persona | Character | None) -> str:
    """The text; empty when there is nobody to speak of."""
    return "".join(piece.text for piece in default_system_pieces(character, user))


def default_system_pieces(character: Character | None, user: Persona | Character | None) -> tuple[Piece, ...]:
    """Its non-blank parts with a blank line between them.

    They are the card's ``system_prompt``, ``You are NAME.``, description, personality, ``Scenario:`` and ``User persona:``
    with their texts on the next line (1-vibetavern-pipeline, *Block Semantics*).
    """
    parts = (*_of_character(character), *_of_user(user))
    return join_pieces(parts, "\n\n", _OWN)


def _of_character(character: Character | None) -> Iterator[tuple[Piece, ...]]:
    if character is None:
        return
    yield _part(character, "system_prompt")
    if character.display_name.strip():
        field = "nickname" if character.nickname.strip() else "name"
        name = Piece(character.display_name, Origin("character", field))
        yield (Piece("You are ", _OWN), name, Piece(".", _OWN))
    yield _part(character, "description")
    yield _part(character, "personality")
    yield _part(character, "scenario", heading="Scenario:\n")


def _part(character: Character, field: str, heading: str = "") -> tuple[Piece, ...]:
    text: str = getattr(character, field)
    if not text.strip():
        return ()
    body = Piece(text, Origin("character", field))
    return (Piece(heading, _OWN), body) if heading else (body,)


def _of_user(user: Persona | Character | None) -> Iterator[tuple[Piece, ...]]:
    if user is not None and user.persona_text.strip():
        yield (Piece("User persona:\n", _OWN), Piece(user.persona_text, Origin("user", "persona_text")))
