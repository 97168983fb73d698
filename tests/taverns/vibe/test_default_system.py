"""The default system text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.character import Character
from innkeeper.content.persona import Persona
from innkeeper.prompt import Origin
from innkeeper.taverns.vibe.default_system import default_system_pieces, default_system_text

WHOLE = Character(name="Seraphina", nickname="Sera", system_prompt="SP", description="D", personality="P", scenario="S")


@pytest.mark.parametrize(
    ("character", "user", "text"),
    [
        (None, None, ""),
        (WHOLE, None, "SP\n\nYou are Sera.\n\nD\n\nP\n\nScenario:\nS"),
        (Character(name="Seraphina"), None, "You are Seraphina."),
        (Character(name="A", nickname="  ", description=" \n", scenario=" S "), None, "You are A.\n\nScenario:\n S "),
        (None, Persona(name="Bob", description="tall"), "User persona:\ntall"),
        (Character(name="A"), Persona(name="Bob"), "You are A."),
        (
            Character(name="A"),
            Character(name="B", description="d", personality="p"),
            "You are A.\n\nUser persona:\nd\n\np",
        ),
    ],
)
def test_text(character: Character | None, user: Persona | Character | None, text: str) -> None:
    """Non-blank parts in order, a blank line between them."""
    assert default_system_text(character, user) == text


def test_pieces_name_their_fields() -> None:
    """Each text of the card is mapped to its field."""
    found = {piece.text: piece.origin for piece in default_system_pieces(WHOLE, Persona(name="B", description="X"))}
    assert found["Sera"] == Origin("character", "nickname")
    assert found["D"] == Origin("character", "description")
    assert found["S"] == Origin("character", "scenario")
    assert found["X"] == Origin("user", "persona_text")


@given(st.text(), st.text(), st.text(), st.text())
def test_every_piece_is_text_with_an_origin(description: str, personality: str, scenario: str, persona: str) -> None:
    """The pieces make the text, and none is empty."""
    character = Character(name="A", description=description, personality=personality, scenario=scenario)
    user = Persona(name="B", description=persona)
    pieces = default_system_pieces(character, user)
    assert "".join(piece.text for piece in pieces) == default_system_text(character, user)
    assert all(piece.text for piece in pieces)
