"""Macros of settings and of the build's state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from innkeeper.macros.engine.environment import CardFields, MacroEnvironment
from innkeeper.macros.silly import substitute
from innkeeper.macros.silly.settings import INSTRUCT_MACROS, SEQUENCES, STATE_MACROS, sequence, system_prompt, unquoted

INSTRUCT = {"enabled": True, "input_sequence": "IN", "output_sequence": "OUT", "last_output_sequence": "LAST"}


@dataclass(frozen=True)
class Case:
    """A text with macros, the environment, and what it becomes."""

    text: str
    result: str
    given: dict[str, Any] = field(default_factory=dict)


CASES = (
    Case("{{instructUserPrefix}}{{instructInput}}", "ININ", {"instruct": INSTRUCT}),
    Case("{{instructFirstUserPrefix}}|{{instructLastAssistantPrefix}}", "IN|LAST", {"instruct": INSTRUCT}),
    Case("[{{instructStop}}]", "[]", {"instruct": INSTRUCT}),
    Case("[{{instructInput}}]", "[]", {"instruct": {**INSTRUCT, "enabled": False}}),
    Case("{{systemPrompt}}", "set", {"sysprompt": {"enabled": True, "content": "set"}}),
    Case("[{{systemPrompt}}]", "[]", {"sysprompt": {"enabled": False, "content": "set"}}),
    Case(
        "{{systemPrompt}} {{defaultSystemPrompt}}",
        "card set",
        {"sysprompt": {"enabled": True, "content": "set"}, "card": CardFields(system_prompt="card")},
    ),
    Case("{{chatStart}}{{exampleSeparator}}", "S--", {"context": {"chat_start": "S", "example_separator": "--"}}),
    Case("{{reasoningPrefix}}{{reasoningSuffix}}", "<t>", {"reasoning": {"prefix": "<t>", "suffix": None}}),
    Case("{{authorsNote}}/{{charAuthorsNote}}", "a/b", {"authors_note": "a", "char_authors_note": "b"}),
    Case("{{maxPrompt}} {{maxContext}} {{maxResponse}}", "70 100 30", {"max_context": 100, "max_response": 30}),
    Case("{{isMobile}} {{hasExtension::x}} {{hasExtension::y}}", "false true false", {"extensions": frozenset({"x"})}),
    Case("{{outlet::a}}[{{outlet::b}}]", "text[]", {"outlets": {"a": "text"}}),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.text)
def test_macros(case: Case) -> None:
    """Each macro gives its setting, and nothing where that is empty or its mode is off."""
    assert substitute(case.text, MacroEnvironment(**case.given)) == case.result


def test_banned_words() -> None:
    """A banned word is handed to the build without its quotation marks, and leaves no text."""
    banned: list[str] = []
    assert substitute('a{{banned::"moon"}}b{{banned::""}}', MacroEnvironment(ban=banned.append)) == "ab"
    assert banned == ["moon"]
    assert [unquoted(word) for word in ('"a"', "a", '"a', '""a""')] == ["a", "a", "a", '"a"']


def test_names_are_those_of_one_macro() -> None:
    """No name or alias stands for two macros, and every sequence has one."""
    names = [name.lower() for macro in (*INSTRUCT_MACROS, *STATE_MACROS) for name in (macro.name, *macro.aliases)]
    assert len(names) == len(set(names))
    assert {name.lower() for name in SEQUENCES} <= set(names)


def test_macros_in_settings_stay() -> None:
    """A sequence and a prompt are given as they are written."""
    env = MacroEnvironment(
        char="Mira",
        instruct={"enabled": True, "input_sequence": "{{char}}:"},
        sysprompt={"enabled": True, "content": "{{char}}!"},
    )
    assert sequence(env, "input_sequence") == "{{char}}:"
    assert (system_prompt(env), system_prompt(env, "card")) == ("{{char}}!", "card")
