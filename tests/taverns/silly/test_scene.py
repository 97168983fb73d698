"""Card texts: expanded, overridden by the chat, joined for a group."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.prompt import FrozenDict, Message
from tests.taverns.silly.builds import build, card, contents, turns

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


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({"message": "c"}, ["a", "b", "c"]),
        ({"generation": "regenerate"}, ["a"]),
        ({"generation": "swipe"}, ["a"]),
        ({"preset": {"send_if_empty": "go on"}}, ["a", "b", "go on"]),
    ],
    ids=["new input", "regenerate", "swipe", "send if empty"],
)
def test_what_is_sent(fields: dict[str, Any], sent: list[str]) -> None:
    """The chat's own lines at the end of the prompt."""
    assert contents(build(history=turns("a", "b"), **fields))[-len(sent) :] == sent


def test_a_swipe_is_still_seen_by_macros() -> None:
    """It is only left out of the prompt; a reply to regenerate is gone."""
    prompts = [{"identifier": "main", "content": "{{lastMessage}}", "system_prompt": True}]
    for generation, last in (("swipe", "b"), ("regenerate", "a")):
        plan = build(history=turns("a", "b"), generation=generation, preset={"prompts": prompts})
        assert contents(plan)[0] == last


def test_hidden_lines() -> None:
    """They are in no prompt and do not count for depths."""
    hidden = Message("user", "secret", metadata=FrozenDict(hidden=True))
    given = {"id": "x", "content": "X", "position": "chat", "depth": 1}
    texts = contents(build(history=[*turns("a"), hidden, Message("assistant", "b")], injections=[given]))
    assert texts[-3:] == ["a", "X", "b"]


def test_continue() -> None:
    """The message goes to the end with a nudge behind it, or alone as a prefill."""
    nudged = contents(build(history=turns("a", "b"), generation="continue", preset={"continue_nudge_prompt": "GO"}))
    assert nudged[-2:] == ["b", "GO"]
    preset = {"continue_prefill": True, "continue_nudge_prompt": "GO"}
    assert contents(build(history=turns("a", "b"), generation="continue", preset=preset))[-1] == "b"


def test_impersonate_and_quiet() -> None:
    """Their prompts stand last."""
    preset = {"impersonation_prompt": "Write as {{user}}."}
    assert contents(build(history=turns("a", "b"), generation="impersonate", preset=preset))[-1] == "Write as Sam."
    quiet = {"generation": {"quiet_prompt": "Sum up."}}
    assert contents(build(history=turns("a", "b"), generation="quiet", settings=quiet))[-1] == "Sum up."
