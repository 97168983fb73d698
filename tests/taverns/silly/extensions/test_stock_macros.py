"""Macros that SillyTavern's own extensions register, and those of settings: what a page gives for them (measured on 1.19)."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.prompt.note import NoteKind
from innkeeper.taverns import silly
from innkeeper.taverns.silly.extensions.stock_macros import EXPRESSIONS
from tests.taverns.silly.builds import card, request

CHAT = [
    {"role": "assistant", "content": "hi", "metadata": {"extra": {"memory": "older"}}},
    {"role": "user", "content": "hm", "metadata": {"extra": {"memory": " It {{char}} rained.\n"}}},
    {"role": "assistant", "content": "yes", "metadata": {"extra": {"memory": "the last line's is not there yet"}}},
]
PICTURES = {"character_prompts": {"mira": "blue coat"}, "character_negative_prompts": {"mira": "hat"}}
TEMPLATES = {
    "context": {"chat_start": "CST", "example_separator": "EXS"},
    "sysprompt": {"content": "SYSP"},
    "instruct": {"enabled": True, "input_sequence": "<in>"},
}


def expanded(text: str, **fields: Any) -> str:
    """One text with its macros replaced."""
    return silly.substitute(request(**{"history": CHAT, **fields}), [text])[0][0]


@pytest.mark.parametrize("engine", [True, False])
@pytest.mark.parametrize(
    ("text", "settings", "value"),
    [
        ("{{summary}}", {"memory": {}}, " It {{char}} rained.\n"),
        ("{{charPrefix}}|{{charNegativePrefix}}", {"sd": PICTURES, "character_filename": "mira"}, "blue coat|hat"),
        ("{{charPrefix}}|", {"sd": {}}, "|"),
        ("{{defaultExpression}}{{lastExpression}}", {"expressions": {}}, "#none"),
        ("{{defaultExpression}}", {"expressions": {"fallback_expression": "joy"}}, "joy"),
        ("{{availableExpressions}}", {"expressions": {"custom": ["grin"]}}, ", ".join((*EXPRESSIONS, "grin"))),
    ],
)
def test_macros_of_extensions(text: str, settings: dict[str, Any], value: str, engine: bool) -> None:
    """Both engines know them, where their extension is on."""
    own = {**settings, "power_user": {"experimental_macro_engine": engine}}
    assert expanded(text, settings=own) == value


@pytest.mark.parametrize("engine", [True, False])
@pytest.mark.parametrize("name", ["summary", "lastExpression", "charPrefix"])
def test_a_macro_of_an_extension_that_is_off_is_said(name: str, engine: bool) -> None:
    """It is sent as it is written, with a note that names the macro and its extension."""
    settings = {"power_user": {"experimental_macro_engine": engine}}
    note = {"text": f"So far: {{{{{name}}}}}", "interval": 1}
    plan = silly.build(request(message="hi", authors_note=note, settings=settings))
    assert any(f"{{{{{name}}}}}" in block.content for block in plan.blocks)
    warning = next(item for item in plan.warnings if item.kind is NoteKind.MACRO)
    assert warning.data["macro"] == name
    assert warning.data["extension"] in warning.message
    assert warning.hint


def test_macros_of_templates_in_chats() -> None:
    """Context, system prompt and instruct sequences of the settings; the card's own prompt before the settings'."""
    text = "{{systemPrompt}}|{{defaultSystemPrompt}}|{{chatStart}}|{{exampleSeparator}}|{{instructInput}}|{{defaultAuthorsNote}}"
    settings = {"power_user": TEMPLATES, "note": {"default": "Brief, {{char}}."}}
    assert expanded(text, settings=settings) == "SYSP|SYSP|CST|EXS|<in>|Brief, {{char}}."
    own = card(system_prompt="CARD")
    assert expanded(text, settings=settings, character=own) == "CARD|SYSP|CST|EXS|<in>|Brief, {{char}}."
    off = {"power_user": {**TEMPLATES, "instruct": {"input_sequence": "<in>"}}}
    assert expanded("{{instructInput}}", settings=off) == ""


def test_reasoning_is_framed_as_by_default() -> None:
    """What the settings do not say is SillyTavern's: no line breaks inside of the marks."""
    thinking = {"role": "assistant", "content": "tick", "metadata": {"extra": {"reasoning": "deep"}}}
    settings = {"power_user": {"reasoning": {"add_to_prompts": True}}}
    plan = silly.build(request(history=[thinking], message="hi", settings=settings))
    assert any(block.content == "<think>deep</think>\ntick" for block in plan.blocks)
