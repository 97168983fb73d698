"""Expansion: what is sent says of each range where it came from: the asset, its entry, the macro."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.macros.engine.environment import MacroEnvironment
from innkeeper.prompt import Plan
from innkeeper.prompt.block import Origin, Piece
from innkeeper.taverns.silly.expansion import LINE_BREAK, Expander, in_lines, origin_of, pieces_of, text_of
from tests.lore.books import entry
from tests.taverns.silly.builds import book, build, card, turns

BOOK = book(
    entry(1, "bell", content="The bell of {{user}} is old.", position=0),
    entry(2, "bell", content="{{char}} rows.", position=0),
    entry(3, "bell", content="Deep.", position=4, depth=1),
    entry(4, "bell", content="Around.", position=2),
    entry(5, "bell", content="<START>\n{{user}}: Hm?", position=5),
)


def plan_of(**fields: Any) -> Plan:
    """A build with texts of every kind, most of them with macros."""
    return build(
        character=card(
            description="{{char}} mends clocks.",
            personality="dry",
            scenario="At {{user}}'s.",
            system_prompt="{{original}} Be {{char}}.",
            mes_example="<START>\n{{user}}: A\n{{char}}: B",
        ),
        history=turns("{{user}} first", "yes {{char}}", "plain", "{{random::a}}"),
        message="the bell, {{char}}",
        lorebooks=[BOOK],
        authors_note={"text": "A note to {{user}}.", "position": 0},
        injections=[{"id": "x", "content": " in {{char}} ", "position": "chat", "depth": 0, "role": "system"}],
        **fields,
    )


def origins(plan: Plan) -> dict[str, set[str]]:
    """The texts that are sent, by origin, as the source map has them."""
    found: dict[str, set[str]] = {}
    for each in plan.source_map("openai").ranges:
        if each.pointer.endswith("content"):
            found.setdefault(str(each.origin), set()).add(each.text)
    return found


@pytest.mark.parametrize("squash", [False, True])
def test_the_source_map_names_entries_macros_and_fields(squash: bool) -> None:
    """Several entries in one block have a range each, and what a macro gave names it, wherever it stood."""
    plan = plan_of(preset={"squash_system_messages": squash})
    assert plan.source_map("openai").exact
    found = origins(plan)
    expected = {
        "lorebook(B).content[1]": {"The bell of ", " is old."},
        "lorebook(B).content[1] {{user}}": {"Sam"},
        "lorebook(B).content[2]": {" rows."},
        "lorebook(B).content[2] {{char}}": {"Mira"},
        "lorebook(B).content[3]": {"Deep."},
        "lorebook(B).content[4]": {"Around."},
        "lorebook(B).content[5]": {"Hm?"},
        "character.description": {" mends clocks."},
        "character.description {{char}}": {"Mira"},
        "character.personality": {"dry"},
        "character.scenario {{user}}": {"Sam"},
        "authors_note {{user}}": {"Sam"},
        "history[0] {{user}}": {"Sam"},
        "history[1] {{char}}": {"Mira"},
        "history[2]": {"plain"},
        "history[3] {{random}}": {"a"},
        "message": {"the bell, "},
        "message {{char}}": {"Mira"},
        "injection[x]": {"in "},
        "injection[x] {{char}}": {"Mira"},
    }
    assert {name: found.get(name) for name in expected} == expected


def test_pieces_are_the_content() -> None:
    """The pieces of each block, joined, are its text, by both engines and where formats stand around it."""
    for settings in ({}, {"power_user": {"experimental_macro_engine": False, "collapse_newlines": True}}):
        plan = plan_of(settings=settings, preset={"wi_format": "[{0}|{0}]", "scenario_format": "Now: {{scenario}}"})
        for block in plan.blocks:
            assert "".join(piece.text for piece in block.ranges()) == block.content
        assert "character.scenario" in origins(plan)
        assert "preset.wi_format" in origins(plan)


def test_text_prompts() -> None:
    """In text completion too: fields of the card and entries of lore in the story string, texts at depths, lines."""
    plan = plan_of(dialect="text")
    assert plan.source_map("text").exact
    pieces = [piece for block in plan.enabled_blocks for piece in block.ranges()]
    assert "".join(piece.text for piece in pieces) == plan.to_messages("text")["prompt"]
    found = {str(piece.origin): piece.text for piece in pieces}
    assert found["lorebook(B).content[1]"] == " is old."
    assert found["lorebook(B).content[1] {{user}}"] == "Sam"
    assert found["character.description"] == " mends clocks."
    assert found["preset.story_string"]


ONE, TWO = Origin("lorebook", entry="1"), Origin("lorebook", entry="2")
EXPANDER = Expander(MacroEnvironment(user="Sam"))


def test_macros_over_several_origins() -> None:
    """Text that macros leave alone keeps its origin; a macro has that of the place where it stands."""
    source = in_lines(pieces_of("a {{user}}", ONE), (), pieces_of("{{user}} b", TWO))
    pieces = EXPANDER.pieces(source)
    assert text_of(pieces) == "a Sam\nSam b"
    named = [(piece.text, piece.origin.entry, piece.origin.macro) for piece in pieces]
    assert named == [
        ("a ", "1", None),
        ("Sam", "1", "user"),
        ("\n", None, None),
        ("Sam", "2", "user"),
        (" b", "2", None),
    ]


def test_what_macros_take_away() -> None:
    """Where a macro leaves nothing the text is still whole; plain text is the very same pieces."""
    source = in_lines(pieces_of("a{{setvar::x::1}}b", ONE), pieces_of("c{{noop}}", TWO))
    assert text_of(EXPANDER.pieces(source)) == "ab\nc"
    plain = in_lines(pieces_of("a", ONE), pieces_of("b", TWO))
    assert EXPANDER.pieces(plain) is plain


def test_the_origin_of_a_text() -> None:
    """One origin, macros aside; of several entries their asset; of several assets the first."""
    macro = Origin("lorebook", entry="1", macro="user")
    other = Piece("c", Origin("preset", "wi_format"))
    assert origin_of((Piece("a", macro), Piece("b", ONE))) == ONE
    assert origin_of((Piece("a", ONE), LINE_BREAK, Piece("b", TWO))) == Origin("lorebook")
    assert origin_of((other, Piece("b", TWO))) == other.origin
    assert origin_of(()) is None
