"""Card texts: expanded, overridden by the chat, joined for a group."""

from __future__ import annotations

from typing import Any

import pytest

from tests.taverns.silly.builds import build, card, contents

MEMBERS = [
    {"card": {"name": name, "description": "{{char}} is here.", "personality": f"kind {name}"}}
    for name in ("Ada", "Bram", "Cleo")
]


def joined(**group: Any) -> str:
    """All that a group's build sends."""
    return "\n".join(contents(build(group={"members": MEMBERS, "speaker": 0, **group}, message="hi")))


def test_fields_are_expanded() -> None:
    """Names stand in them; other fields are empty in them."""
    own = card(description="{{char}} knows {{user}}{{personality}}.", personality="calm")
    assert "Mira knows Sam." in contents(build(character=own, message="hi"))


@pytest.mark.parametrize(
    "field", ["description", "personality", "scenario", "system_prompt", "post_history_instructions"]
)
def test_fields_are_trimmed_as_by_javascript(field: str) -> None:
    """U+FEFF is white space, U+001C and U+0085 are not."""
    texts = contents(build(character=card(**{field: "\ufeff\x1ctext\x85\u3000"}), message="hi"))
    assert any("\x1ctext\x85" in text for text in texts)
    assert not any("\ufeff" in text or "\u3000" in text for text in texts)


def test_the_chat_overrides_the_card() -> None:
    """Scenario, examples and system prompt of the chat's metadata."""
    metadata = {"scenario": "At sea.", "system_prompt": "Speak low.", "mes_example": "<START>\nMira: aye"}
    own = card(scenario="At home.", system_prompt="Speak up.", mes_example="<START>\nMira: oh")
    texts = contents(build(character=own, message="hi", settings={"chat_metadata": metadata}))
    assert {"At sea.", "Speak low.", "aye"} <= set(texts)
    assert not {"At home.", "Speak up.", "oh"} & set(texts)


def test_each_speaker_has_their_own_card() -> None:
    """Without appending, only the speaker's."""
    assert "Bram is here." not in joined()


def test_cards_are_appended() -> None:
    """In order, each with its own name; muted ones only where the mode takes them too."""
    assert "Ada is here.\nBram is here.\nCleo is here." in joined(generation_mode=1)
    assert "Ada is here.\nCleo is here." in joined(generation_mode=1, disabled=[1])
    assert "Ada is here.\nBram is here.\nCleo is here." in joined(generation_mode=2, disabled=[1])


def test_the_speaker_is_never_left_out() -> None:
    """Not even when muted."""
    assert "Ada is here.\nCleo is here." in joined(generation_mode=1, disabled=[0, 1])


def test_prefix_and_suffix() -> None:
    """Around each part, with the field's name."""
    text = joined(generation_mode=1, join_prefix="[<FIELDNAME>: ", join_suffix="]")
    assert "[Description: Ada is here.]\n[Description: Bram is here.]" in text
    assert "[Personality: kind Bram]" in text


def test_parts_that_come_out_empty_are_left_out() -> None:
    """A part of macros that leave nothing makes no line of its own; blanks and what the prefix says are something."""
    cards = [
        {"card": {"name": name, "description": text}} for name, text in (("A", "a"), ("B", "{{noop}}"), ("C", "c"))
    ]
    group = {"members": cards, "speaker": 0, "generation_mode": 1}
    assert "a\nc" in contents(build(group=group, message="hi"))
    assert "<a>\n<>\n<c>" in contents(build(group={**group, "join_prefix": "<", "join_suffix": ">"}, message="hi"))
    cards[1]["card"]["description"] = "{{space}}"
    assert "a\n \nc" in contents(build(group=group, message="hi"))


def test_newlines_collapse() -> None:
    """In card fields, when the setting says so."""
    power = {"power_user": {"collapse_newlines": True}}
    own = card(description="a\n\n\nb")
    assert "a\nb" in contents(build(character=own, message="hi", settings=power))
    assert "a\n\n\nb" in contents(build(character=own, message="hi"))
