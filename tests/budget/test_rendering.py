"""Rendering: what is sent as one text fits by that text, or the typed error says by how much not."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from innkeeper.prompt import MaxTokensExceededError, Plan
from innkeeper.taverns import vibe
from tests.budget.doubles import Characters

HISTORY = [{"role": "assistant" if index % 2 else "user", "content": f"word number {index}"} for index in range(40)]
BUDGET = 880


@dataclass(frozen=True)
class Case:
    id: str
    request: dict[str, Any] = field(default_factory=dict)
    rendering: dict[str, Any] = field(default_factory=dict)


def _build(**fields: Any) -> Plan:
    counted = {"context_window": BUDGET + 20, "reserved_tokens": 20, "token_counter": Characters()}
    return vibe.build(history=HISTORY, message="hi", **counted, **fields)


@pytest.mark.parametrize(
    "case",
    [
        Case("separators"),
        Case("a long separator", {"options": {"separator": "\n-----\n"}}),
        Case("marks", {"options": {"instruct": "chatml"}}),
        Case(
            "a template",
            {"options": {"chat_template": "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"}},
        ),
        Case(
            "named steps", {"options": {"instruct": "llama-3"}, "step_options": {"trimming": {"strategy": "priority"}}}
        ),
    ],
    ids=lambda case: case.id,
)
def test_a_text_is_fitted_with_all_that_it_is_sent_with(case: Case) -> None:
    """Marks and separators count; accounting, which looks at the plan alone, gives the same figure."""
    plan = _build(dialect="text", **case.request)
    size = len(plan.to_request().body["prompt"])
    assert plan.explain(Characters()).to_dict()["budget"]["total"] == size <= BUDGET
    assert plan.messages[-1].content == "hi"
    assert len(plan.messages) > 2


@pytest.mark.parametrize(
    "case",
    [
        Case("another dialect", {}, {"instruct": "llama-3"}),
        Case("later options", {"dialect": "text"}, {"instruct": "llama-3"}),
        Case("later separator", {"dialect": "text"}, {"separator": "-" * 40}),
    ],
    ids=lambda case: case.id,
)
def test_a_text_that_the_build_has_not_counted_is_refused_where_it_is_too_large(case: Case) -> None:
    """With the figures of the text itself, and what to give to the build; messages of a provider are not asked for."""
    plan = _build(**case.request)
    assert plan.to_request("openai", temperature=1).body["messages"]
    for render in (plan.to_request, plan.to_messages, plan.fingerprint):
        with pytest.raises(MaxTokensExceededError) as caught:
            render("text", **case.rendering)
        assert caught.value.estimated_tokens > caught.value.limit_tokens == BUDGET
        assert next(iter(case.rendering)) in str(caught.value.hint)


def test_a_text_that_fits_is_rendered_with_whatever_options() -> None:
    """The guard only refuses; it changes nothing."""
    plan = vibe.build(message="hi", context_window=500, token_counter=Characters())
    free = vibe.build(message="hi", token_counter=Characters())
    assert plan.to_request("text", instruct="chatml") == free.to_request("text", instruct="chatml")


def test_a_text_that_cannot_be_rendered_fails_when_it_is_asked_for() -> None:
    """Not in the build: there its messages are what is counted."""
    plan = _build(dialect="text", options={"instruct": "unheard of"})
    with pytest.raises(Exception, match="unheard of"):
        plan.to_request()
