"""Post-process: rules, macros, rules."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from innkeeper.prompt.note import Note
from innkeeper.taverns.smart import SmartOptions, postprocess_apply


def rule(find: str, replace: str, placement: str, **fields: Any) -> dict[str, Any]:
    """A rule for both views."""
    views = ["user_view", "assistant_view"]
    return {
        "enabled": True, "find_regex": find, "replace_regex": replace, "placement": placement, "views": views, **fields
    }  # fmt: skip


MESSAGES = [
    {"role": "user", "content": "{{setvar:a:1}}hp", "source": {"type": "history.user"}},
    {"role": "assistant", "content": "{{getvar:a}}", "extra": 1},
]


def test_rules_run_on_both_sides_of_the_macros() -> None:
    """A rule before can write a macro; a rule after sees what macros gave."""
    rules = [rule("hp", "{{getvar:hp}}", "before_macro"), rule("^1$", "one", "after_macro")]
    found = postprocess_apply(MESSAGES, rules, "user_view", {"hp": 7})
    assert [message["content"] for message in found["message"]] == ["7", "one"]
    assert found["message"][1]["extra"] == 1
    assert found["variables"] == {"initial": {"hp": 7}, "final": {"hp": 7, "a": "1"}}


def test_conditions_see_the_variables_that_came_in() -> None:
    """A variable set by a macro does not switch a rule on in the same call."""
    rules = [rule("hp", "X", "after_macro", mode="conditional", condition="{{getvar:a}}")]
    found = postprocess_apply([{"role": "user", "content": "{{setvar:a:true}}hp"}], rules, "user_view")
    assert found["message"][0]["content"] == "hp"


def test_the_arguments_stay() -> None:
    """Neither messages nor variables are changed, nor shared with the answer."""
    messages, variables = copy.deepcopy(MESSAGES), {"deep": {"a": [1]}}
    given = [*messages, {"role": "user", "content": "{{setvar:deep.a[0]:2}}"}]
    before = copy.deepcopy(given)
    found = postprocess_apply(given, [], "user_view", variables)
    found["message"][0]["source"]["type"] = "changed"
    assert given == before
    assert variables == {"deep": {"a": [1]}}


def test_values_are_scanned_again_only_by_the_original() -> None:
    """What a variable holds is text; with the original's profile it may hold macros."""
    messages = [{"role": "user", "content": "{{getvar:x}}"}]
    variables = {"x": "{{upper:a}}"}
    shown = [
        postprocess_apply(messages, [], "user_view", variables, options=SmartOptions.of(profile))["message"][0]
        for profile in ("fixed", "smarttavern")
    ]
    assert [message["content"] for message in shown] == ["{{upper:a}}", "A"]


def test_no_messages() -> None:
    """Nothing in, nothing out."""
    assert postprocess_apply(None, [], "user_view")["message"] == []


@pytest.mark.parametrize(
    ("message", "runs"),
    [
        ({"role": "user", "source": {"type": "history.user"}}, False),
        ({"role": "system", "source": {"type": "History.system"}}, False),
        ({"role": "assistant"}, False),
        ({"role": "user", "source": {"type": 5}}, False),
        ({"role": "system"}, True),
        ({"role": "user", "source": {"type": "preset.in-chat"}}, True),
        ({"role": "user", "source": {"type": "world_book.in-chat"}}, True),
    ],
)
def test_python_runs_in_assets_only(message: dict[str, Any], runs: bool) -> None:
    """What users and models wrote runs no Python; their other macros work. With the original's profile it does."""
    given = [{**message, "content": "{{upper:a}}{{python:3*14}}"}]
    notes: list[Note] = []
    found = postprocess_apply(given, [], "user_view", notes=notes)["message"][0]["content"]
    assert (found == "A42") is runs
    assert bool(notes) is not runs
    original = postprocess_apply(given, [], "user_view", options=SmartOptions.of("smarttavern"))
    assert original["message"][0]["content"] == "A42"


def test_a_message_whose_macros_fail_stays() -> None:
    """It stays as it was, with a note of its place; the others go on."""
    notes: list[Note] = []
    messages = [{"role": "user", "content": "{{setvar:a[-1]:1}}"}, {"role": "user", "content": "{{upper:a}}"}]
    found = postprocess_apply(messages, [], "user_view", {"a": []}, notes=notes)
    assert [message["content"] for message in found["message"]] == ["{{setvar:a[-1]:1}}", "A"]
    assert len(notes) == 1


def test_what_is_no_message_is_left_out() -> None:
    """It is left out with a note of its place; the others stay."""
    notes: list[Note] = []
    found = postprocess_apply([{"role": "user", "content": "a"}, "b"], [], "user_view", notes=notes)
    assert found["message"] == [{"role": "user", "content": "a"}]
    assert "messages[1]" in str(notes[0])
    assert postprocess_apply({"a": 1}, [], "user_view")["message"] == []
