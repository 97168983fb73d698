"""Texts that are made to take long, or are of no shape at all: a build ends, with what it could read."""

from typing import Any

import pytest

from innkeeper.prompt.allowance import AllowanceError
from innkeeper.taverns import risu

PLACES = {"promptTemplate": [{"type": "plain", "text": "{{position::a}}"}, {"type": "chat"}]}


def card(content: str) -> dict[str, Any]:
    """A card with one entry that always fires."""
    entry = {"keys": [], "constant": True, "content": content, "enabled": True}
    return {"name": "Ann", "description": "d", "first_mes": "x", "character_book": {"entries": [entry]}}


CASES: dict[str, dict[str, Any]] = {
    "open tags": {"message": "{{" * 20_000},
    "comments that do not end": {"message": "{{//" * 50_000, "character": card("c")},
    "comments that end in another line": {"message": "{{//\n" * 50_000 + "}}", "character": card("c")},
    "thoughts that do not end": {"message": "</Thoughts>" + "<Thoughts>" * 30_000},
    "inlays that do not end": {
        "history": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "{{inlay::" * 400}]
    },
    "a depth of many digits": {"character": card("@@depth " + "9" * 5_000 + "\nc")},
    "a chance of many digits": {"character": card("@@probability " + "9" * 400 + "\n@@scan_depth 1e99\nc")},
    "starts of messages": {"preset": {"promptTemplate": [{"type": "chatML", "text": "<|im_start|>" * 20_000}]}},
    "colons": {"character": {"name": "Ann", "mes_example": "{{user}}:" * 20_000 + "\n" * 20_000}},
    "members that are none": {"settings": {"risu": {"members": [1, {"name": 5}], "speaker": 99}}},
    "nothing of its shape": {
        "preset": {"promptTemplate": ["x", 5, {"type": 7}, {"type": "cache", "depth": 10**30}], "formatingOrder": 5},
        "settings": {
            "risu": {
                "members": 5,
                "database": 5,
                "chat": {"message": [5, {"role": 5, "data": None}]},
                "character": {
                    "globalLore": [1, {"key": 5, "content": None, "insertorder": "x"}],
                    "depth_prompt": {"depth": -(10**30), "prompt": "p"},
                    "customscript": [1],
                    "triggerscript": [2, {"effect": [3]}],
                },
            }
        },
    },
}  # fmt: skip


@pytest.mark.parametrize("inputs", CASES.values(), ids=CASES)
def test_a_build_ends(inputs: dict[str, Any]) -> None:
    """Within its allowance, with blocks whose pieces are their texts."""
    plan = risu.build(**{"character": "Ann", **inputs})
    assert plan.blocks
    assert all("".join(piece.text for piece in block.pieces) == block.content for block in plan.blocks)


def test_places_in_places_are_bounded() -> None:
    """An entry that names its own place many times over takes more than a build may."""
    with pytest.raises(AllowanceError):
        risu.build(character=card("@@position pt_a\n" + "{{position::a}}" * 50), preset=PLACES)


def test_a_chat_that_cards_repeat_is_bounded() -> None:
    """Each card of the chat costs its messages."""
    cards = [{"type": "chat", "rangeStart": -1000}] * 2_000
    with pytest.raises(AllowanceError):
        risu.build(message="x", history=[{"role": "user", "content": "y"}] * 200, preset={"promptTemplate": cards})


def test_what_people_say_is_not_expanded_twice() -> None:
    """A variable that holds a macro is text, in a message and in a card."""
    plan = risu.build(
        character={"name": "Ann", "description": "{{getvar::x}}", "first_mes": "x"},
        message="{{getvar::x}}",
        variables={"local": {"x": "{{user}}"}},
    )
    assert [block.content for block in plan.blocks if block.slot in ("description", "chat")][::2] == ["{{user}}"] * 2
