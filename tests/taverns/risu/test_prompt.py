"""Prompts of RisuAI's own objects: rules that its recorded cases leave out, a table for each kind."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.prompt import Plan
from innkeeper.taverns import risu

CHAT = [{"role": "user", "data": "One", "chatId": "a"}, {"role": "char", "data": "Two", "chatId": "b"}]
WHOLE = {"type": "chat", "rangeStart": 0, "rangeEnd": "end"}


def lore(content: str, **fields: Any) -> dict[str, Any]:
    """An entry that is always active."""
    return {"key": "", "content": content, "alwaysActive": True, "insertorder": 100, "mode": "normal", **fields}


def built(
    char: dict[str, Any], db: dict[str, Any], chat: dict[str, Any] | None = None, profile: str | None = None
) -> Plan:
    """The plan of objects over small ones; the greeting is ``Ahoy``."""
    objects: Any = {
        "character": {"name": "Ann", "firstMessage": "Ahoy", **char},
        "database": {"aiModel": "openrouter", "mainPrompt": "", "globalNote": "", "username": "Ben", **db},
        "chat": {"message": CHAT, **(chat or {})},
    }
    return risu.build(settings={"risu": objects}, profile=profile, step_options={"request_flags": {"flags": []}})


def texts(plan: Plan) -> list[str]:
    """The texts of a plan, without the marker of the chat's start."""
    return [block.content for block in plan.blocks if block.content != "[Start a new chat]"]


CARDS: dict[str, tuple[dict[str, Any], list[dict[str, Any]], list[str]]] = {
    "entries before the description, the last one first": (
        {
            "desc": "D",
            "globalLore": [lore(f"@@position before_desc\n{each}", insertorder=each) for each in (1, 2)],
        },
        [{"type": "description"}],
        ["2\n\n1\n\nD"],
    ),
    "a depth behind the beginning counts from the end": (
        {"globalLore": [lore("@@reverse_depth 5\nX")]},
        [WHOLE],
        ["Ahoy", "One", "X", "Two"],
    ),
    "a depth behind the end": ({"globalLore": [lore("@@depth 50\nX")]}, [WHOLE], ["Ahoy", "One", "Two", "X"]),
    "examples: lines are stripped, and what follows a start is left out": (
        {"exampleMessage": "lost\n<START>\nlost\n  {{user}}: a\n more\n{{char}}: b: c"},
        [WHOLE],
        ["a\nmore", "b", "Ahoy", "One", "Two"],
    ),
    "an injection into a note of the character's own, and into the preset's in it": (
        {"replaceGlobalNote": "[{{original}}]", "globalLore": [lore("@@inject_at globalNote\nX")]},
        [{"type": "plain", "type2": "globalNote", "text": "N", "role": "user"}],
        ["[N X] X"],
    ),
    "an injection with commas in its arguments": (
        {"globalLore": [lore("BASE old one", comment="a b"), lore("@@inject_lore a, b\n@@inject_replace old, one\nX")]},
        [{"type": "lorebook"}],
        ["BASE X"],
    ),
    "no cards are a template": ({}, [], []),
    "a cache card that never ends": (
        {},
        [WHOLE, {"type": "cache", "depth": -1, "role": "user"}],
        ["Ahoy", "One", "Two"],
    ),
    "what pictures need is not expanded": (
        {"inlayViewScreen": True, "viewScreen": "imggen", "newGenData": {"instructions": "Draw {{char}} {{slot}}"}},
        [],
        ["Draw {{char}} {{slot}}"],
    ),
}


@pytest.mark.parametrize("name", CARDS)
def test_cards(name: str) -> None:
    """What each template makes of a character."""
    char, template, expected = CARDS[name]
    assert texts(built(char, {"promptTemplate": template})) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@@user\n{{user}}\n@@assistant\nHm", [("user", "Ben"), ("assistant", "Hm")]),
        ("{{#if 1}}@@user\nA{{/if}}", [("user", "A")]),
        ("@@user\nA{{#if 0}}@@system\nB{{/if}}", [("user", "A")]),
        ("plain\n@@@user\nA", [("system", "plain"), ("user", "A")]),
        ("@@nobody\nA", []),
        ("@@user\n{{char}}", [("user", "@@system\nAnn")]),
    ],
)
def test_roles_in_a_prompt(text: str, expected: list[tuple[str, str]]) -> None:
    """Blocks may reach over a role; a name that looks like one is none."""
    plan = built({"name": "@@system\nAnn"}, {"mainPrompt": text, "formatingOrder": ["main"]})
    assert [(block.role, block.content) for block in plan.blocks] == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"role": "user", "data": "a{{inlay::x}}b"}, ["Ahoy", "ab"]),
        ({"role": "user", "data": "a {{asset_prompt::icon}}"}, ["Ahoy", "a"]),
        ({"role": "char", "data": "{{AssetPrompt::x}}b"}, ["Ahoy", "b"]),
        ({"role": "user", "data": " "}, ["Ahoy"]),
    ],
)
def test_messages(message: dict[str, Any], expected: list[str]) -> None:
    """Pictures are not sent, nor is what is blank."""
    assert texts(built({}, {"promptTemplate": [WHOLE]}, {"message": [message]})) == expected


def test_blank_messages_count_in_no_range() -> None:
    """Ranges and depths are of what is sent."""
    chat = {"message": [CHAT[0], {"role": "char", "data": ""}, CHAT[1]]}
    plan = built({}, {"promptTemplate": [{"type": "chat", "rangeStart": -2, "rangeEnd": "end"}]}, chat)
    assert texts(plan) == ["One", "Two"]


def test_depths_without_a_template() -> None:
    """The last message stays the last."""
    plan = built({"globalLore": [lore("@@depth 50\nX"), lore("@@reverse_depth 1\nY")]}, {})
    assert texts(plan) == ["Ahoy", "Y", "One", "X", "Two"]


def test_settings_of_a_template_need_one() -> None:
    """Without a template names are not put before the messages."""
    settings = {"promptSettings": {"sendName": True}}
    assert texts(built({}, settings)) == ["Ahoy", "One", "Two"]
    assert texts(built({}, {**settings, "promptTemplate": [WHOLE]}))[0] == "Ann: Ahoy"


def test_an_unknown_role_of_others_is_the_assistants() -> None:
    """As in RisuAI."""
    db = {"promptTemplate": [WHOLE], "promptSettings": {"sendName": True}, "groupOtherBotRole": "bot"}
    assert [block.role for block in built({}, db).blocks][-2:] == ["assistant", "assistant"]


@pytest.mark.parametrize(("profile", "expected"), [("later", ["1234"]), ("166.3.3", ["1{{position::b}}"])])
def test_named_places_are_filled_as_deep_as_a_version_does(profile: str, expected: list[str]) -> None:
    """Later versions leave out what is deeper."""
    chain = [
        lore(f"@@position pt_{at}\n{number}{{{{position::{to}}}}}")
        for number, (at, to) in enumerate([("b", "c"), ("c", "d"), ("d", "e")], 2)
    ]
    entries = [*chain, lore("@@position pt_a\n1{{position::b}}")]
    card = {"type": "plain", "type2": "normal", "text": "{{position::a}}", "role": "user"}
    assert texts(built({"globalLore": entries}, {"promptTemplate": [card]}, profile=profile)) == expected


def test_counting_a_template_draws_numbers() -> None:
    """RisuAI expands the cards twice, so the second number is the one that is sent."""
    card = {"type": "plain", "type2": "normal", "text": "{{randint::1::1000000}}", "role": "user"}
    one, other = built({}, {"promptTemplate": [card]}), built({}, {"promptTemplate": [card, card]})
    assert texts(one)[0] != texts(other)[0]


def test_assets_that_the_model_may_show() -> None:
    """Those that the card does not exclude, where it has them shown."""
    char = {
        "additionalAssets": [["lamp", "1"], ["pier", "2"]],
        "prebuiltAssetCommand": True,
        "prebuiltAssetExclude": ["2"],
    }
    card = {"type": "plain", "type2": "normal", "text": "{{chardisplayasset}}", "role": "user"}
    shown = '["lamp"]', "[To show a picture, write {{img::NAME}} with one of these names: lamp]"
    assert texts(built(char, {"promptTemplate": [card]})) == [*shown]


def test_assets_of_a_card() -> None:
    """Those of V3 by their types, and those of RisuAI's own extension."""
    data = {
        "name": "Ann",
        "assets": [{"type": kind, "uri": "u", "name": kind[:3]} for kind in ("emotion", "x-risu-asset", "icon")],
    }
    own = {
        "name": "Ann",
        "extensions": {"risuai": {"emotions": [["joy", "u"]], "additionalAssets": [["map", "u", "png"]]}},
    }
    for fields, expected in ((data, '["emo"]["x-r"]'), (own, '["joy"]["map"]')):
        card = {"spec": "chara_card_v3", "spec_version": "3.0", "data": fields}
        assert risu.build(character=card, message="{{emotionlist}}{{assetlist}}").messages[-1].content == expected


def test_a_preset_without_prompts_has_the_usual_order() -> None:
    """A file for text completion is no template."""
    plan = risu.build(character="Ann", message="Hi", preset={"input_sequence": "U:", "output_sequence": "A:"})
    assert texts(plan) == ["Hi"]
    assert any("template for text completion" in note.message for note in plan.warnings)


def test_what_macros_know_of_lore_and_model() -> None:
    """Entries as they are stored, and the provider's name."""
    text = "{{element::{{arrayelement::{{lorebook}}::0}}::secondkey}}{{metadata::modelinternalid}}"
    entry = {**lore("X"), "secondkey": "s"}
    plan = built({"globalLore": [entry]}, {"promptTemplate": [{"type": "plain", "text": text}], "aiModel": "gpt4o"})
    assert texts(plan) == ["sgpt-4o"]
