"""Lines of tool calls: sent whole, continued as text, or left out with a note."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.content.chat_message import read_message
from innkeeper.prompt import NoteKind, Plan
from tests.taverns.silly.builds import build

CALL = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
BESIDE = [
    {"role": "user", "content": "What is out there?"},
    {"role": "assistant", "content": "Let me look, {{user}}.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "a", "content": "fog"},
]
SILLY = {
    "name": "System",
    "is_system": True,
    "mes": "Looked.",
    "extra": {"tool_invocations": [{"id": "a", "name": "look", "parameters": "{}", "result": "fog"}]},
}


def _sent(plan: Plan) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in plan.to_messages("openai")]


def _notes(plan: Plan) -> list[Any]:
    return [note.data["lines"] for note in plan.notes if note.kind is NoteKind.IGNORED and "call tools" in note.message]


def test_what_is_said_beside_a_call_is_sent_with_it() -> None:
    """Messages of an API may speak and call at once."""
    plan = build(history=BESIDE, preset={"function_calling": True})
    (spoken,) = [message for message in plan.to_messages("openai") if message.get("tool_calls")]
    assert spoken["content"] == "Let me look, Sam."
    assert ("tool", "fog") in _sent(plan)
    assert not _notes(plan)


TOOL = {"name": "look", "parameters": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(("preset", "carried"), [(None, True), ({}, True), ({"function_calling": False}, False)])
def test_tools_of_the_request_switch_calls_on(preset: Any, carried: bool) -> None:
    """Where the preset does not say, tools that are given mean that their calls and results are sent."""
    plan = build(history=BESIDE, preset=preset, tools=[TOOL])
    assert (("tool", "fog") in _sent(plan)) is carried
    assert bool(_notes(plan)) is not carried


@pytest.mark.parametrize("dialect", ["openai", "text"])
def test_calls_that_are_not_sent_are_told(dialect: str) -> None:
    """The words stay; a note says which lines lost their calls."""
    plan = build(history=BESIDE, preset={"function_calling": dialect == "text"}, dialect=dialect)
    sent = "\n".join(block.content for block in plan.enabled_blocks)
    assert "Let me look" in sent
    assert "fog" not in sent
    assert _notes(plan) == [(1,)]


@pytest.mark.parametrize("prefill", [False, True])
def test_a_continued_call_is_continued_as_text(prefill: bool) -> None:
    """SillyTavern goes on with what it shows for the call, and sends neither call nor result."""
    history = [BESIDE[0], *read_message(SILLY).to_messages()]
    nudge = {"continue_nudge_prompt": "(After: {{lastChatMessage}})"}
    preset = {"function_calling": True, "continue_prefill": prefill, **nudge}
    sent = _sent(build(history=history, generation="continue", preset=preset))
    assert ("assistant", "Looked.") in sent
    assert (("system", "(After: Looked.)") in sent) is not prefill
    assert not [role for role, _ in sent if role == "tool"]


def test_what_is_shown_for_a_call_is_not_sent() -> None:
    """Only a continued line shows it."""
    plan = build(history=[*read_message(SILLY).to_messages(), BESIDE[0]], preset={"function_calling": True})
    assert "Looked." not in str(_sent(plan))
