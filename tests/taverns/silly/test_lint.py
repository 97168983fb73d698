"""Linting for this tavern: macros no engine knows, positions without a slot, prompts that never are sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.character import Character
from innkeeper.content.preset import Preset
from innkeeper.macros.silly.modern import TABLE
from innkeeper.taverns.silly.lint import (
    MOST,
    lint_book_macros,
    lint_macros,
    lint_preset,
    lint_slots,
    lint_story,
    macro_findings,
)
from tests.lore.books import book, entry


@dataclass(frozen=True)
class Case:
    """A text, and the rules it breaks."""

    name: str
    text: str
    rules: tuple[str, ...] = ()


TEXTS = (
    Case("no macros", "a { b } c"),
    Case("names", "{{user}} meets {{Char}} and <BOT>"),
    Case("arguments", "{{setvar::a::1}}{{getvar::a}}{{roll 1d6}}{{random::a::b}}{{roll:2d6}}"),
    Case("condition", "{{if .a}}x{{else}}y{{/if}}"),
    Case("shorthand", "{{.a += 1}}{{$b}}"),
    Case("comment", "{{// a {{char}} note }}"),
    Case("legacy name", "{{instructFirstOutput}}"),
    Case("legacy offset", "{{time_UTC-7}}"),
    Case("escaped", r"\{\{nobody\}\}"),
    Case("unknown", "{{chra}}", ("unknown-macro",)),
    Case("unknown inside", "{{reverse::{{chra}}}}", ("unknown-macro",)),
    Case("unknown in a block", "{{if 1}}{{nobody}}{{/if}}", ("unknown-macro",)),
    Case("too many arguments", "{{char::x}}", ("malformed-macro",)),
    Case("too few arguments", "{{setvar::a}}", ("malformed-macro",)),
    Case("not closed", "says {{char and goes", ("malformed-macro",)),
    Case("no name", "{{ 12 }}", ("malformed-macro",)),
    Case("closes nothing", "x{{/if}}", ("malformed-macro",)),
    Case("triple braces", "{{{char}}}"),
)


@pytest.mark.parametrize("case", TEXTS, ids=lambda case: case.name)
def test_macros_of_a_text(case: Case) -> None:
    """What an engine evaluates is fine; what stays as written is found."""
    assert tuple(item.rule for item in macro_findings(case.text, "x")) == case.rules


def test_every_macro_of_the_engine_is_known() -> None:
    """No name in the table is called unknown."""
    for name in TABLE:
        assert "unknown-macro" not in {item.rule for item in macro_findings(f"{{{{{name}}}}}", "x")}


def test_a_finding_says_where_and_how() -> None:
    """The line, the field and the nearest name."""
    (found,) = lint_macros(Character(name="M", description="one\ntwo {{descripton}}"))
    assert (found.path, found.line) == ("data.description", 2)
    assert found.hint == "did you mean {{description}}?"


def test_findings_of_one_text_are_bounded() -> None:
    """A text of nothing but mistakes does not drown the rest."""
    assert len(macro_findings("{{nobody}}" * 500, "x")) == MOST


@given(st.text(alphabet="{}:/#.!ifcharuse \\\n<>", max_size=60))
def test_any_text_can_be_linted(text: str) -> None:
    """No text stops the lint."""
    assert all(item.rule in {"unknown-macro", "malformed-macro"} for item in macro_findings(text, "x"))


def test_every_text_of_a_card() -> None:
    """Each field that is expanded is looked at, greetings and the depth prompt too."""
    card = Character.of(
        {
            "spec": "chara_card_v2",
            "data": {
                "name": "M",
                **dict.fromkeys(("description", "personality", "scenario", "first_mes", "mes_example"), "{{oops}}"),
                "system_prompt": "{{oops}}",
                "post_history_instructions": "{{oops}}",
                "alternate_greetings": ["fine", "{{oops}}"],
                "extensions": {"depth_prompt": {"prompt": "{{oops}}", "depth": 4}},
            },
        }
    )
    paths = {item.path for item in lint_macros(card)}
    assert len(paths) == 9
    assert {"data.alternate_greetings[1]", "data.extensions.depth_prompt.prompt"} <= paths


def test_macros_of_a_book() -> None:
    """Contents and plain keys of entries that are on; regular expressions have braces of their own."""
    entries = (
        entry(1, "{{nobody}}", content="{{nothing}}"),
        entry(2, "/a{{2}/", content="fine"),
        entry(3, "x", content="{{nothing}}", disable=True),
    )
    assert {item.path for item in lint_book_macros(book(*entries))} == {"entries[1].content", "entries[1].key[0]"}


def preset(**fields: Any) -> Preset:
    """A preset from its JSON."""
    return Preset.of(fields)


ORDER = [{"character_id": 100001, "order": [{"identifier": "main", "enabled": True}]}]


def test_a_position_without_a_slot() -> None:
    """Entries whose prompt the preset leaves out are named; with the default order every position has one."""
    entries = book(entry(1, "ferry", position=0), entry(2, "ferry", position=4, depth=1))
    assert list(lint_slots(entries, preset())) == []
    found = list(lint_slots(entries, preset(prompts=[{"identifier": "main"}], prompt_order=ORDER)))
    assert [item.path for item in found] == ["entries[1].position", "entries[2].position"]
    assert {item.rule for item in found} == {"no-slot"}


def test_prompts_that_never_are_sent() -> None:
    """Unlisted, empty and unknown prompts, and a chat that is off."""
    prompts = [{"identifier": "main", "content": ""}, {"identifier": "extra", "content": "x"}]
    order = [{"character_id": 100001, "order": [{"identifier": name, "enabled": True} for name in ("main", "ghost")]}]
    rules = {item.rule for item in lint_preset(preset(prompts=prompts, prompt_order=order))}
    assert rules == {"unlisted-prompt", "empty-prompt", "unknown-prompt", "no-history"}


def test_macros_of_a_preset() -> None:
    """Its prompts and its fixed texts; the continue nudge may quote the last message."""
    prompts = [{"identifier": "main", "content": "{{oops}}"}]
    found = lint_preset(
        preset(prompts=prompts, scenario_format="{{sceanrio}}", continue_nudge_prompt="{{lastChatMessage}} goes on")
    )
    assert {item.path for item in found if item.rule == "unknown-macro"} == {"prompts[0].content", "scenario_format"}


def test_a_story_string_may_use_helpers() -> None:
    """Handlebars' own words are no macros; one that cannot be read would stop the build."""
    fine = "{{#if description}}{{description}}{{else}}{{{persona}}}{{/if}}{{#unless x}}{{#each y}}{{this}}{{/each}}{{/unless}}"
    assert list(lint_story({"text": {"context": {"story_string": fine}}})) == []
    (found,) = lint_story({"text": {"context": {"story_string": "{{#if description}}x"}}})
    assert found.rule == "malformed-macro"
    assert list(lint_story({})) == []
