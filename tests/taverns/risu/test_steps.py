"""The life of a message: what is typed, what is sent, what is kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from innkeeper.budget import accounting
from innkeeper.prompt import Plan
from innkeeper.prompt.errors import UnsupportedError
from innkeeper.taverns import risu

CARD = {"name": "Ann", "description": "d", "first_mes": "Ahoy"}
ROUND = [
    {"role": "assistant", "content": "Ahoy"},
    {"role": "user", "content": "One"},
    {"role": "assistant", "content": "Two"},
]


def card(**own: Any) -> dict[str, Any]:
    """A card with parts of RisuAI's."""
    return {"spec": "chara_card_v3", "spec_version": "3.0", "data": {**CARD, "extensions": {"risuai": own}}}


def script(pattern: str, out: str, kind: str) -> dict[str, Any]:
    """A regex script."""
    return {"comment": "", "in": pattern, "out": out, "type": kind, "flag": "", "ableFlag": False}


def trigger(kind: str, *effects: dict[str, Any]) -> dict[str, Any]:
    """A trigger without conditions."""
    return {"comment": "t", "type": kind, "conditions": [], "effect": list(effects)}


def chat(plan: Plan) -> list[str]:
    """The chat of a plan, without the marker of its start."""
    return [block.content for block in plan.blocks if block.slot in ("chat", "greeting")][1:]


def test_what_is_typed_goes_through_its_scripts_and_is_kept() -> None:
    """Scripts for what is sent change the prompt alone."""
    own = card(customScripts=[script("boat", "ship", "editinput"), script("ship", "SHIP", "editprocess")])
    plan = risu.build(character=own, message="A boat")
    assert chat(plan) == ["Ahoy", "A SHIP"]
    assert plan.stored == {"messages": {}, "message": "A ship"}


def test_macros_of_a_message_run_once() -> None:
    """The text without them is kept, and so are the variables."""
    plan = risu.build(
        character=CARD,
        history=[*ROUND[:2], {"role": "assistant", "content": "{{setvar::x::1}}Hm"}],
        message="{{getvar::x}}",
    )
    assert chat(plan) == ["Ahoy", "One", "Hm", "1"]
    assert plan.stored == {"messages": {"2": "Hm"}, "message": "1"}
    assert plan.variables["local"] == {"x": "1"}


def test_triggers_of_what_is_typed() -> None:
    """They run on the chat before the new message."""
    own = card(
        triggerscript=[trigger("input", {"type": "setvar", "operator": "=", "var": "n", "value": "{{lastmessage}}"})]
    )
    plan = risu.build(character=own, history=ROUND, message="Three {{getvar::n}}")
    assert chat(plan)[-1] == "Three Two"


def test_a_trigger_may_rewrite_the_request() -> None:
    """What it leaves alone says where it is from; what is no list of messages changes nothing."""
    effects = [
        {
            "type": "v2SetRequestState",
            "index": "0",
            "indexType": "value",
            "value": "New",
            "valueType": "value",
            "indent": 0,
        }
    ]
    plan = risu.build(
        character=card(triggerscript=[trigger("request", *effects)]), message="Hi", preset={"mainPrompt": "Old"}
    )
    before = risu.build(character=card(), message="Hi", preset={"mainPrompt": "Old"})
    assert plan.blocks[0].content == "New"
    assert [block.content for block in plan.blocks[1:]] == [block.content for block in before.blocks[1:]]
    assert plan.blocks[0].pieces[0].origin.field == "triggerscript"
    assert json.loads(json.dumps(plan.to_messages("openai")))[0]["content"] == "New"


@pytest.mark.parametrize("generation", ["regenerate", "swipe"])
def test_a_reply_that_is_made_anew_is_left_out(generation: str) -> None:
    """The user's message is the last."""
    assert chat(risu.build(character=CARD, history=ROUND, generation=generation)) == ["Ahoy", "One"]


def test_the_users_words_may_be_asked_for() -> None:
    """An instruction stands at the end."""
    plan = risu.build(character=CARD, history=ROUND, user="Ben", generation="impersonate")
    assert plan.blocks[-1].content == "[Write the next message as Ben]"


def test_old_models_have_their_windows() -> None:
    """Whatever the settings say."""
    plan = risu.build(
        character=CARD, message="x " * 3000, model="gpt4", history=[{"role": "user", "content": "y " * 9000}]
    )
    assert len(chat(plan)) == 3
    short = risu.build(
        character=CARD,
        message="x",
        model="gpt4",
        context_window=100_000,
        history=[{"role": "user", "content": "y " * 9000}],
    )
    assert [block.content for block in short.blocks if block.slot == "chat"][-1] == "x"
    assert not any("y" in block.content for block in short.enabled_blocks)


def test_what_is_left_out_is_in_the_plan_and_its_report() -> None:
    """As a block that is not sent, with the window of the preset."""
    preset = {"promptTemplate": [{"type": "chat"}], "maxContext": 300, "maxResponse": 40}
    history = [{"role": "user", "content": f"{at} " + "y " * 30} for at in range(8)]
    plan = risu.build(character="Mara", message="x", model="gpt4o", preset=preset, history=history)
    out = [block for block in plan.blocks if not block.enabled]
    assert [record.block_id for record in plan.trim_report.evictions] == [block.id for block in out]
    assert [block.content[:2] for block in out] == ["[S", *(f"{at} " for at in range(len(out) - 1))]
    assert (plan.trim_report.max_tokens, plan.trim_report.reserve_tokens) == (300, 40)


def test_what_triggers_change_for_later_prompts_is_noted() -> None:
    """The lorebook, for one, is scanned before they run, and is not kept."""
    entry = {"type": "v2CreateLorebook", "key": "k", "name": "n", "content": "c", "insertOrder": "1", "indent": 0}
    own = card(triggerscript=[trigger("start", entry)])
    (warning,) = risu.build(character=own, message="x").warnings
    assert warning.message == "what triggers make of lorebook is not kept"


@pytest.mark.parametrize("name", ["gpt4o", "gpt-4o", "openai:gpt4o", "openai:gpt-4o"])
def test_a_model_has_several_names(name: str) -> None:
    """RisuAI's and the provider's, with the provider or without: flags, tokens and window are the same."""
    plan = risu.build(character="Mara", message="x", model=name, dialect="openai")
    assert plan.to_request().body["model"] == "gpt-4o"
    assert accounting(plan).tokenizer == "o200k_base"
    assert accounting(plan).window == 128_000
    assert not [note for note in plan.notes if "no model" in note.message or "not known" in note.message]


def test_a_router_is_a_model_of_risu() -> None:
    """Which takes messages as they are; the plan's model is the one that was asked for."""
    plan = risu.build(character="Mara", message="x", model="openrouter:z-ai/glm-4.6", preset={"mainPrompt": "P"})
    assert [message.role for message in plan.messages] == ["system", "system", "user"]
    assert plan.model == "openrouter:z-ai/glm-4.6"
    assert not [note for note in plan.notes if "no model" in note.message]


def test_a_tag_of_an_unknown_model_is_a_part_of_its_name() -> None:
    """What is behind its colon alone is no model."""
    plan = risu.build(character="Mara", message="{{model}}", model="llama3:8b")
    assert plan.messages[-1].content == "llama3:8b"
    assert any("no model 'llama3:8b'" in note.message for note in plan.notes)


def test_a_body_for_gemini() -> None:
    """The system apart, and the options under Google's names."""
    preset = {"mainPrompt": "Be {{char}}.", "temperature": 90, "maxResponse": 40}
    body = risu.request_body(
        risu.build(character="Mara", message="x", model="gemini-2.0-flash", preset=preset), "gemini-2.0-flash"
    )
    assert body["systemInstruction"]["parts"][0]["text"].startswith("Be Mara.")
    assert body["contents"] == [{"role": "user", "parts": [{"text": "x"}]}]
    assert body["generationConfig"] == {"maxOutputTokens": 40, "temperature": 0.9}


FAMILIES = json.loads(Path(risu.__file__).with_name("models.json").read_text("utf-8"))
SENT = {"OpenAICompatible", "Mistral", "Anthropic", "AWSBedrockClaude", "GoogleCloud", "VertexAIGemini", "Cohere"}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda each: f"{each['format']}-{next(iter(each['models']))}")
def test_each_parameter_of_a_model_is_in_its_body(family: dict[str, Any]) -> None:
    """Once; a format whose bodies are not known has a typed error."""
    plan, model = risu.build(character="Mara", message="x"), next(iter(family["models"]))
    if family["format"] not in SENT:
        with pytest.raises(UnsupportedError, match=family["format"]):
            risu.request_body(plan, model)
        return
    for name in family["parameters"]:
        body = risu.request_body(plan.with_(options={name: 4321}), model)
        assert json.dumps(body).count("4321") == 1
        thinking = body.get("generationConfig", {}).get("thinkingConfig")
        assert thinking is None or (name, thinking) == ("thinking_tokens", {"thinkingBudget": 4321})
