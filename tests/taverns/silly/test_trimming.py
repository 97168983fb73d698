"""Cut: chat prompts trimmed by a strategy of the budget instead of SillyTavern's filling."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from innkeeper.prompt import ConfigError, MaxTokensExceededError, NoteKind, Plan
from tests.taverns.silly.builds import build, card, contents, turns

WINDOW = 700
"""Tokens; a message below has about 25."""


def said(place: int) -> str:
    """A message of its own."""
    return f"{place}: " + "the lamp turns and turns " * 4


def plan_of(length: int, *, description: str = "A clockmaker.", **trimming: Any) -> Plan:
    """The plan of a chat of this length."""
    *history, last = turns(*(said(place) for place in range(length)))
    preset = {"openai_max_context": WINDOW, "openai_max_tokens": 100, "squash_system_messages": False}
    fields = {"message": last["content"], "history": history, "preset": preset, "model": "gpt-4o"}
    return build(character=card(description=description), step_options={"trimming": trimming}, **fields)


def oldest(plan: Plan) -> int:
    """The number of the oldest message that is sent."""
    return min(int(text.split(":")[0]) for text in contents(plan) if text[:1].isdigit())


@pytest.mark.parametrize("strategy", ["fill", "group_order", "priority", "stepped"])
@pytest.mark.parametrize("length", [1, 3, 25, 61])
def test_every_strategy_keeps_the_budget(strategy: str, length: int) -> None:
    """The report names the strategy, counts every message once, and used + reserved stay within the window."""
    plan = plan_of(length, strategy=strategy)
    report = plan.trim_report
    assert report is not None
    assert report.strategy == strategy
    assert report.final_tokens + report.reserve_tokens <= WINDOW
    sent = sum(text[:1].isdigit() for text in contents(plan))
    assert sent + sum(record.budget_group == "history" for record in report.evictions) == length
    assert said(length - 1).strip() in contents(plan)[-1]


@pytest.mark.parametrize(("strategy", "moves"), [("fill", 24), ("stepped", 4)])
def test_stepped_moves_seldom(strategy: str, moves: int) -> None:
    """Over 48 messages the filled prompt begins elsewhere at nearly each turn, the stepped one once in six turns."""
    found = [oldest(plan_of(length, strategy=strategy, step_messages=12)) for length in range(31, 79, 2)]
    assert sum(before != after for before, after in itertools.pairwise(found)) == pytest.approx(moves, abs=1)


def test_reasons() -> None:
    """Each message that is out says why."""
    report = plan_of(61, strategy="stepped", step_messages=10).trim_report
    assert report is not None
    assert {record.reason for record in report.evictions} == {"step_cut"}


def test_nothing_left_to_cut() -> None:
    """Fixed parts beyond the window are an error by every strategy, with ``warn`` too: there is nothing to fall back on."""
    with pytest.raises(MaxTokensExceededError) as caught:
        plan_of(3, description="word " * 900, strategy="stepped", on_overflow="warn")
    assert caught.value.estimated_tokens > WINDOW - 100


@pytest.mark.parametrize("options", [{"strategy": "newest"}, {"on_overflow": "shrug"}])
def test_unknown_names(options: dict[str, str]) -> None:
    """A name that is none is refused before anything is built."""
    with pytest.raises(ConfigError, match=next(iter(options.values()))):
        plan_of(3, **options)


def test_text_prompts_are_filled() -> None:
    """A text prompt says that it does not use the strategy."""
    plan = build(message="Hi", dialect="text", step_options={"trimming": {"strategy": "stepped"}})
    assert [note.kind for note in plan.notes if "stepped" in note.message] == [NoteKind.IGNORED]
