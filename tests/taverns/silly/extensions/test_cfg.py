"""Guidance: whose it is, which texts are joined, where they stand, and what they take from the window."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import pytest

from innkeeper.prompt import NoteKind
from innkeeper.taverns.silly.extensions.cfg import Guidance, guidance_of
from tests.taverns.silly.builds import build, turns

GLOBAL = {"guidance_scale": 1.5, "negative_prompt": "GN", "positive_prompt": "GP"}
CHARACTER = {"name": "Mira", "guidance_scale": 2, "negative_prompt": "CN", "positive_prompt": "CP"}
CHAT = {"cfg_guidance_scale": 3, "cfg_negative_prompt": "KN", "cfg_positive_prompt": "KP"}
ALONE = {"cfg_groupchat_individual_chars": True}


@dataclass(frozen=True)
class Case:
    name: str
    expected: tuple[float, str] | None
    everywhere: dict[str, Any] = field(default_factory=lambda: GLOBAL)
    character: dict[str, Any] | None = None
    chat: dict[str, Any] = field(default_factory=dict)
    in_group: bool = False


CASES = [
    Case("none", None, everywhere={}),
    Case("a scale of 1", None, everywhere={**GLOBAL, "guidance_scale": 1}),
    Case("everywhere", (1.5, "GN")),
    Case("no scale is sent as 1", (1, "GN"), everywhere={"negative_prompt": "GN"}),
    Case("the character's", (2, "CN"), character=CHARACTER),
    Case("another's", (1.5, "GN"), character={**CHARACTER, "name": "Bo"}),
    Case("a record without a scale", (1, "CN"), character={"name": "Mira", "negative_prompt": "CN"}),
    Case("a record with 1", (1.5, "GN"), character={**CHARACTER, "guidance_scale": 1}),
    Case("the chat's", (3, "KN"), character=CHARACTER, chat=CHAT),
    Case("the chat's 0", (2, "CN"), character=CHARACTER, chat={**CHAT, "cfg_guidance_scale": 0}),
    Case("not in groups", (1.5, "GN"), character=CHARACTER, in_group=True),
    Case("in groups that want it", (2, "CN"), character=CHARACTER, chat=CHAT | ALONE, in_group=True),
    Case("joined", (3, "GN\nCN\nKN"), character=CHARACTER, chat={**CHAT, "cfg_prompt_combine": [0, 1, 2]}),
    Case("numbers as text do not count", (3, "KN"), chat={**CHAT, "cfg_prompt_combine": ["2"]}),
    Case("a separator", (3, "GN | KN"), chat={**CHAT, "cfg_prompt_combine": [2], "cfg_prompt_separator": '" | "'}),
    Case("not a separator", (3, "GN\nKN"), chat={**CHAT, "cfg_prompt_combine": [2], "cfg_prompt_separator": " | "}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_whose_guidance(case: Case) -> None:
    """The chat's before the character's before everybody's; texts of the levels that are joined, in one order."""
    settings = {"global": case.everywhere, "chara": [case.character] if case.character else []}
    found = guidance_of(settings, case.chat, "Mira", in_group=case.in_group)
    assert (found and (found.scale, found.joined(found.negative, str))) == case.expected


@pytest.mark.parametrize(
    ("written", "depth"), [(None, 1), ("2", 2), (0, 0), ("", -1), ("x", math.nan), (1.5, 1.5), ([], math.nan)]
)
def test_depths(written: Any, depth: float) -> None:
    """A depth may be a number as text; what is not a number is deeper than any chat."""
    found = guidance_of({"global": GLOBAL}, {"cfg_prompt_insertion_depth": written}, "Mira", in_group=False)
    assert isinstance(found, Guidance)
    assert found.depth == depth or (math.isnan(found.depth) and math.isnan(depth))


def text_build(**fields: Any) -> Any:
    """A text prompt of three lines."""
    text = {"context": {"story_string": "", "chat_start": ""}, "max_context": 4096}
    settings = {"text": text, **fields.pop("settings", {})}
    return build(dialect="text", history=turns("One.", "Two."), message="Three.", settings=settings, **fields)


def test_a_second_prompt() -> None:
    """Text completion sends the prompt with the positive text, and one with the negative text in its place."""
    plan = text_build(settings={"cfg": {"global": GLOBAL}})
    prompt, against = plan.to_messages("text")["prompt"], plan.options["negative_prompt"]
    assert "GP\nSam: Three." in prompt
    assert against == prompt.replace("GP", "GN")
    assert plan.options["guidance_scale"] == 1.5
    (block,) = (block for block in plan.blocks if block.slot == "guidance")
    assert block.origin is not None
    assert plan.to_request("text").body["negative_prompt"] == against


def test_tokens_are_taken_from_the_window() -> None:
    """The larger text takes its tokens from what there is for the chat."""
    long = {"global": {**GLOBAL, "negative_prompt": "word " * 240}}
    text = {"context": {"story_string": "", "chat_start": ""}, "max_context": 600, "amount_gen": 100}
    said = turns(*(f"Message {n} of many words here." for n in range(12)))
    plans = [
        build(dialect="text", history=said, message="Hi.", settings={"text": text, **more})
        for more in ({}, {"cfg": long})
    ]
    assert plans[1].trim_report.eviction_count > plans[0].trim_report.eviction_count


def test_chats_say_so() -> None:
    """Chat completion sends nothing of it, and the plan says that."""
    plan = build(message="Hi.", settings={"cfg": {"global": GLOBAL}})
    assert "GP" not in str(plan.messages)
    assert [note.data["tokens"] > 0 for note in plan.notes if note.data.get("input") == "settings.cfg"] == [True]


def test_a_character_that_has_none() -> None:
    """Where the original stops, since the character's is asked for and there is none, a warning says so."""
    plan = text_build(settings={"cfg": {"global": GLOBAL}, "chat_metadata": {"cfg_prompt_combine": [1]}})
    assert [note.kind for note in plan.warnings if "guidance" in note.message] == [NoteKind.WARNING]
    assert "GN" in plan.options["negative_prompt"]
