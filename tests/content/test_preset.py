"""Chat-completion presets: prompts, orders, behaviour, sampling; today's fields and those of the past."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content import (
    GLOBAL_ORDER,
    AssetError,
    NamesBehavior,
    OrderItem,
    Preset,
    PromptItem,
    PromptPosition,
    TextPreset,
)
from innkeeper.prompt.errors import FormatError, LimitError, UnknownNameError
from tests import shared
from tests.content.builders import attempt, objects, values

PROMPTS = [
    {"identifier": "main", "name": "Main", "role": "system", "content": "Be {{char}}.", "system_prompt": True},
    {"identifier": "chatHistory", "name": "History", "system_prompt": True, "marker": True},
    {
        "identifier": "note",
        "role": 1,
        "content": "N",
        "injection_position": 1,
        "injection_depth": 2,
        "injection_order": 50,
        "injection_trigger": ["swipe"],
        "forbid_overrides": True,
        "enabled": False,
    },
]
ORDER = [{"identifier": "main", "enabled": True}, {"identifier": "note", "enabled": False}]


def test_prompts() -> None:
    """Each prompt's own fields, and defaults for what it does not say."""
    preset = Preset.of({"prompts": PROMPTS})
    main, marker, note = preset.prompts
    assert (main.identifier, main.content, main.system_prompt, main.position) == (
        "main",
        "Be {{char}}.",
        True,
        "relative",
    )
    assert (marker.marker, marker.content, marker.depth, marker.order) == (True, "", 4, 100)
    assert note == PromptItem(
        identifier="note",
        content="N",
        role="user",
        position=PromptPosition.IN_CHAT,
        depth=2,
        order=50,
        triggers=("swipe",),
        forbid_overrides=True,
        enabled=False,
        raw=PROMPTS[2],
    )
    assert preset.prompt("note") is note
    assert preset.prompt("nowhere") is None
    assert preset.findings == ()


def test_orders() -> None:
    """One order for each character id; a flat list is for all."""
    preset = Preset.of(
        {"prompt_order": [{"character_id": 100000, "order": ORDER[:1]}, {"character_id": "7", "order": ORDER}]}
    )
    assert preset.order_for(100000) == (OrderItem("main"),)
    assert preset.order_for(7) == (OrderItem("main"), OrderItem("note", enabled=False))
    assert preset.order_for() is None
    flat = Preset.of({"prompt_order": ORDER})
    assert flat.order_for() == flat.order_for(GLOBAL_ORDER) == preset.order_for(7)
    assert Preset.of({}).orders == ()


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"names_behavior": -1}, {"names_behavior": NamesBehavior.NONE}),
        ({"names_behavior": 2}, {"names_behavior": NamesBehavior.CONTENT}),
        ({"names_behavior": "completion"}, {"names_behavior": NamesBehavior.COMPLETION}),
        ({"names_in_completion": True}, {"names_behavior": NamesBehavior.COMPLETION}),
        ({"names_in_completion": False}, {"names_behavior": NamesBehavior.DEFAULT}),
        ({"names_behavior": 9}, {"names_behavior": NamesBehavior.DEFAULT}),
        ({"continue_postfix": "\n"}, {"continue_postfix": "\n"}),
        ({"continue_postfix": 0}, {"continue_postfix": ""}),
        ({"continue_postfix": 3}, {"continue_postfix": "\n\n"}),
        ({"temp_openai": 0.5, "top_p_openai": 0.9}, {"temperature": 0.5, "top_p": 0.9}),
        ({"temperature": 0.4, "temp_openai": 0.5}, {"temperature": 0.4}),
        ({"openai_max_context": 8000, "openai_max_tokens": 300}, {"context_window": 8000, "max_tokens": 300}),
        ({"image_inlining": True}, {"media_inlining": True}),
        ({"claude_use_sysprompt": True}, {"use_sysprompt": True}),
        ({"stream_openai": False, "n": 2, "seed": -1}, {"stream": False, "n": 2, "seed": -1}),
        ({"chat_completion_source": "claude", "claude_model": "m", "openai_model": "o"}, {"model": "m"}),
        ({"chat_completion_source": "nobody"}, {"model": None}),
        ({}, {"temperature": None, "context_window": None, "wi_format": "{0}", "continue_postfix": " ", "model": None}),
    ],
    ids=", ".join,
)
def test_fields(raw: dict[str, Any], expected: dict[str, Any]) -> None:
    """Today's names, old names, numbers that stood for words."""
    preset = Preset.of(raw)
    assert {name: getattr(preset, name) for name in expected} == expected


def test_texts_of_the_time_before_prompts() -> None:
    """Single texts become the prompts they became; a list of prompts is left alone."""
    old = {"main_prompt": "M", "nsfw_prompt": "N", "jailbreak_prompt": "J"}
    preset = Preset.of(old)
    assert {item.identifier: item.content for item in preset.prompts} == {"main": "M", "nsfw": "N", "jailbreak": "J"}
    assert {finding.rule for finding in preset.findings} == {"old-field"}
    assert len(Preset.of(old | {"prompts": PROMPTS}).prompts) == 3


def test_prompts_that_cannot_be_used_are_said() -> None:
    """One without an identifier, and one whose identifier is taken."""
    preset = Preset.of({"prompts": [{"content": "x"}, PROMPTS[0], PROMPTS[0], 5]})
    assert [finding.rule for finding in preset.findings] == ["wrong-type", "no-identifier", "duplicate-id"]


@given(
    known=st.dictionaries(
        st.sampled_from([*Preset.__struct_fields__, "prompt_order", "names_in_completion"]), values, max_size=6
    ),
    other=objects,
    prompts=st.lists(objects, max_size=3),
)
def test_any_preset(known: Any, other: Any, prompts: Any) -> None:
    """Any values in any fields give a preset that is written as it was."""
    text = json.dumps(other | {"prompts": prompts} | known)
    preset = attempt(lambda: Preset.of(text))
    assert isinstance(preset, (Preset, FormatError, LimitError))
    if isinstance(preset, Preset):
        assert preset.to_json() == text.encode()


def test_edits() -> None:
    """A field is written under the name it stood under, else under SillyTavern's."""
    preset = Preset.of('{"temp_openai": 1, "x": [1,2]}')
    assert preset.replace(temperature=0.5).to_json() == b'{"temp_openai": 0.5, "x": [1,2]}'
    edited = preset.replace(context_window=4000, names_behavior=NamesBehavior.CONTENT)
    assert edited.to_dict() == {"temp_openai": 1, "x": [1, 2], "openai_max_context": 4000, "names_behavior": "content"}
    assert (edited.context_window, edited.names_behavior) == (4000, "content")
    assert preset.replace(temperature=None).to_dict() == {"x": [1, 2]}
    with pytest.raises(UnknownNameError):
        preset.replace(temprature=1)


@pytest.mark.parametrize("value", ["[]", "5", "null"])
def test_what_is_no_preset(value: str) -> None:
    """JSON that is no object is a typed error."""
    with pytest.raises(AssetError):
        Preset.of(value)


def test_of_remembers_by_class() -> None:
    """Equal content gives the same object, but not for another class."""
    raw = {"temperature": 0.125}
    assert Preset.of(raw) is Preset.of(dict(raw))
    assert Preset.of(Preset.of(raw)) is Preset.of(raw)
    assert isinstance(TextPreset.of(raw), TextPreset)
    assert Preset.of(raw).digest == Preset.of('{"temperature":0.125}').digest


def test_text_presets() -> None:
    """Samplers under their own names, and the usual ones typed."""
    preset = TextPreset.of(
        {"temp": 0.7, "rep_pen": 1.1, "genamt": 200, "max_length": 8000, "do_sample": True, "order": [1]}
    )
    assert (preset.temperature, preset.repetition_penalty, preset.max_tokens, preset.context_window) == (
        0.7,
        1.1,
        200,
        8000,
    )
    assert preset.samplers == {"temp": 0.7, "rep_pen": 1.1, "genamt": 200, "max_length": 8000, "do_sample": True}


@pytest.mark.parametrize(
    "path", shared.files("fixtures/tavern_kit/presets", "tavernkit*.json"), ids=lambda path: path.name
)
def test_presets_made_by_others(path: Path) -> None:
    """TavernKit's presets have their sampling and prompts in two objects."""
    raw = json.loads(path.read_bytes())
    preset = Preset.of(path.read_bytes())
    main = preset.prompt("main")
    assert main is not None
    assert (preset.name, preset.temperature) == (raw["name"], raw["generation_settings"]["temperature"])
    assert main.content == raw["preset_settings"]["main_prompt"]


def test_golden_presets_are_read_without_complaint() -> None:
    """All presets of the SillyTavern cases."""
    cases = json.loads(shared.need("vectors/silly/chat_completion/handwritten.json").read_bytes())
    presets = [case["input"]["preset"] for case in cases if case["input"].get("preset")]
    assert presets
    assert {finding.rule for raw in presets for finding in Preset.of(raw).findings} <= {"duplicate-id"}
