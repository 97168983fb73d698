"""Example dialogues in a prompt: under separators, as turns, with those of lore around them."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.prompt import Plan
from tests.taverns.silly.builds import book, build, card


def _shown(plan: Plan) -> list[str]:
    return [block.content for block in plan.enabled_blocks if block.slot == "dialogueExamples"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", []),
        ("<START>", []),
        ("\r\n<START>\r\n{{char}}: a\r\nb\r\n", ["EX", "a\nb"]),
        ("{{char}}: a <start>{{user}}: b", ["EX", "a", "EX", "b"]),
    ],
    ids=["none", "only a start", "carriage returns", "two, in any case"],
)
def test_blocks(text: str, shown: list[str]) -> None:
    """Each start begins a block; blanks around and carriage returns are no text."""
    plan = build(character=card(mes_example=text), message="hi", preset={"new_example_chat_prompt": "EX"})
    assert _shown(plan) == shown


def test_lore_stands_around_the_cards_own() -> None:
    """Entries at the top come before the card's examples, those at the bottom behind."""
    entries: list[dict[str, Any]] = [
        {"uid": n, "key": [], "constant": True, "position": n, "content": f"{{{{char}}}}: {n}"} for n in (5, 6)
    ]
    plan = build(
        character=card(mes_example="{{char}}: own"),
        lorebooks=[book(*entries)],
        message="hi",
        preset={"new_example_chat_prompt": ""},
    )
    assert _shown(plan) == ["5", "own", "6"]


def test_in_a_prompt() -> None:
    """A separator before each block, turns as named system messages; stripped when the setting says so."""
    own = card(mes_example="<START>\n{{user}}: a\n{{char}}: b")
    plan = build(character=own, message="hi", preset={"new_example_chat_prompt": "EX"})
    found = [(b.role, b.name, b.content) for b in plan.enabled_blocks if b.slot == "dialogueExamples"]
    assert found == [
        ("system", None, "EX"),
        ("system", "example_user", "a"),
        ("system", "example_assistant", "b"),
    ]
    bare = build(character=own, message="hi", settings={"power_user": {"strip_examples": True}})
    assert not [b for b in bare.blocks if b.slot == "dialogueExamples"]
