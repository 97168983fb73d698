"""Pictures that messages name, and passages that the chat is about."""

from typing import Any

import pytest

from innkeeper.prompt import Ports
from innkeeper.taverns import risu
from innkeeper.taverns.risu.inlays import MAX_INLAYS

PNG = b"\x89PNG\r\n\x1a\n"
HISTORY = [
    {"role": "assistant", "content": "Ahoy"},
    {"role": "user", "content": "See {{inlay::a}}and {{inlayed::gone}}"},
    {"role": "assistant", "content": "{{inlay::b}}I do"},
]


def build(media: Any = {"a": PNG, "b": PNG}.get, **inputs: Any) -> Any:
    """A plan of a chat with pictures."""
    return risu.TAVERN.build({"character": "Ann", "message": "So?", "history": HISTORY, **inputs}, Ports(media=media))


def test_the_users_pictures_are_sent_beside_the_text() -> None:
    """Their tags, and those of the character's, are cut."""
    plan = build(model="gpt4o")
    own = [block for block in plan.blocks if block.attachments]
    assert [block.content for block in own] == ["See and"]
    assert [(item.media_type, item.name) for item in own[0].attachments] == [("image/png", "a")]
    assert [note.message for note in plan.notes if note.data.get("input") == "inlay"] == [
        "the picture 'gone' cannot be had, and is left out"
    ]
    assert plan.messages[-2].content == "I do"


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"media": None}, "the picture 'a' cannot be had, and is left out"),
        ({"model": "deepseek-chat"}, "'deepseek-chat' takes no pictures"),
        (
            {"history": [{"role": "user", "content": "{{inlay::a}}" * (MAX_INLAYS + 1)}]},
            f"a prompt has {MAX_INLAYS} of them at most",
        ),
    ],
)
def test_pictures_that_are_left_out_are_noted(inputs: dict[str, Any], said: str) -> None:
    """With the reason."""
    plan = build(**inputs)
    assert any(said in note.message for note in plan.notes)
    assert sum(len(block.attachments) for block in plan.blocks) <= MAX_INLAYS


def test_passages_stand_behind_the_description() -> None:
    """Three at most, the nearest first."""
    texts = [
        "Rain is cold.",
        "The reef is red, a red reef.",
        "Fog.",
        "Every reef has a bell.",
        "A reef.",
        "Reef, I said.",
    ]
    card = {"name": "Ann", "description": "d", "extensions": {"risuai": {"additionalText": "\n\n".join(texts)}}}
    own = {"spec": "chara_card_v2", "spec_version": "2.0", "data": card}
    preset = {"promptTemplate": [{"type": "description"}]}
    plan = risu.build(character=own, message="Reef?", preset=preset)
    first, *passages = plan.messages[0].content.split("\n\n")
    assert first == "d"
    assert len(passages) == 3
    assert all("eef" in passage for passage in passages)
    assert any("BM25" in note.message for note in plan.notes)
