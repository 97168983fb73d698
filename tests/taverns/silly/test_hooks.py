"""Hooks: before hooks replace inputs, after hooks change the plan, and nothing they add escapes the budget."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.prompt import Block, InMemoryHooks, MaxTokensExceededError, Message, PipelineError, Ports
from innkeeper.prompt.run.extensions import HookContext
from tests.taverns.silly.builds import build, contents

WINDOW = {"openai_max_context": 400, "openai_max_tokens": 100}


def ports(hooks: InMemoryHooks) -> Ports:
    """Ports with these hooks."""
    return Ports(hooks=hooks)


def adding(words: int) -> Ports:
    """A hook that adds a block of so many words."""
    hooks = InMemoryHooks()

    @hooks.after_build
    def add(context: HookContext) -> None:
        context.plan = context.plan.append(Block(role="system", content="lamp " * words))

    return ports(hooks)


@pytest.mark.parametrize(
    ("field", "value", "seen"),
    [("user_message", "Good evening", "Good evening"), ("macro_vars", {"mood": "glad"}, "I am glad")],
    ids=["message", "macro variables"],
)
def test_before_hooks_replace_inputs(field: str, value: Any, seen: str) -> None:
    """What they set is what is built."""
    hooks = InMemoryHooks()
    hooks.before_build(lambda context: setattr(context, field, value))
    assert seen in contents(build(ports(hooks), message="I am {{mood}}"))


@pytest.mark.parametrize(
    ("field", "value", "seen"),
    [
        ("character", {"name": "Ilse", "description": "{{char}} sails."}, "Ilse sails."),
        ("character", "Ilse", "I am here, Ilse"),
        ("user", {"name": "Bo", "persona_text": "Bo is tall."}, "Bo is tall."),
        ("user", "Bo", "Bo asks"),
        ("preset", {"new_chat_prompt": "[begin]"}, "[begin]"),
        ("history", [Message("user", "Ahoy")], "Ahoy"),
        ("history", [{"role": "assistant", "content": "Ahoy"}], "Ahoy"),
    ],
    ids=str,
)
def test_before_hooks_may_set_whatever_an_input_may_be(field: str, value: Any, seen: str) -> None:
    """JSON, mappings and names are read as the request's own are."""
    hooks = InMemoryHooks()
    hooks.before_build(lambda context: setattr(context, field, value))
    said = [{"role": "user", "content": "{{user}} asks"}, {"role": "assistant", "content": "I am here, {{char}}"}]
    assert seen in contents(build(ports(hooks), message="hi", history=said))


def test_what_hooks_set_is_checked() -> None:
    """What is wrong in it is a warning, and what is not a message an error."""
    hooks = InMemoryHooks()
    hooks.before_build(lambda context: setattr(context, "user", {"name": "Bo", "depth": "deep"}))
    assert [str(note) for note in build(ports(hooks), message="hi").warnings] == [
        'user: depth: "deep" is not a whole number'
    ]
    hooks.before_build(lambda context: setattr(context, "user_message", 5))
    with pytest.raises(PipelineError, match="user's message"):
        build(ports(hooks), message="hi")


def test_before_hooks_see_messages() -> None:
    """The history is the request's, as messages."""
    seen: list[Any] = []
    hooks = InMemoryHooks()
    hooks.before_build(lambda context: seen.extend(context.history))
    build(ports(hooks), message="hi", history=[{"role": "user", "content": "Ahoy"}])
    assert seen == [Message("user", "Ahoy")]


def test_before_hooks_see_what_was_given() -> None:
    """The card, the user and the type of generation."""
    seen: list[Any] = []
    hooks = InMemoryHooks()
    hooks.before_build(lambda c: seen.append((c.character.name, c.user.name, c.generation_type)))
    build(ports(hooks), message="hi")
    assert seen == [("Mira", "Sam", "normal")]


def test_after_hooks_add_blocks() -> None:
    """They are sent, and the report counts them."""
    plain, more = build(message="hi", preset=WINDOW), build(adding(20), message="hi", preset=WINDOW)
    assert contents(more) == [*contents(plain), "lamp " * 20]
    assert more.trim_report.final_tokens > plain.trim_report.final_tokens + 20


def test_b15_added_blocks_do_not_escape_the_budget() -> None:
    """What does not fit is an error with the figures of the window, naming the step."""
    with pytest.raises(MaxTokensExceededError) as caught:
        build(adding(500), message="hi", preset=WINDOW)
    error = caught.value
    assert (error.step, error.max_tokens, error.reserve_tokens) == ("hooks", 400, 100)
    assert error.estimated_tokens > 500


def test_added_blocks_may_be_warned_about() -> None:
    """By the step's configuration: then they are sent, and the plan says so."""
    options = {"hooks": {"on_overflow": "warn"}}
    plan = build(adding(500), message="hi", preset=WINDOW, step_options=options)
    assert "after_build hook" in plan.warnings[-1].message


def test_hooks_that_take_away_always_pass() -> None:
    """Leaving blocks out of a plan that is full already is no error."""
    hooks = InMemoryHooks()
    hooks.after_build(lambda context: setattr(context, "plan", context.plan.with_blocks(context.plan.blocks[-1:])))
    assert contents(build(ports(hooks), message="hi", preset=WINDOW)) == ["hi"]


def test_a_hook_that_leaves_no_plan() -> None:
    """It fails the build with a sentence."""
    hooks = InMemoryHooks()
    hooks.after_build(lambda context: setattr(context, "plan", "nothing"))
    with pytest.raises(PipelineError, match="in place of the plan"):
        build(ports(hooks), message="hi")
