"""Cut: chat prompts trimmed by a strategy of the budget instead of SillyTavern's filling."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from innkeeper.prompt import ConfigError, MaxTokensExceededError, NoteKind, Plan, Ports, TraceCollector
from tests.taverns.silly.builds import build, card, contents, order, turns

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


@pytest.mark.parametrize("length", [3, 61])
@pytest.mark.parametrize("dialect", ["openai", "text"])
def test_what_a_trace_tells(length: int, dialect: str) -> None:
    """The stats are those of the document: what the filling decided by, and, of *fit*, the figures of the report."""
    *history, last = turns(*(said(place) for place in range(length)))
    settings = {"text": {"max_context": WINDOW, "amount_gen": 100}}
    fields = {"message": last["content"], "history": history, "context_window": WINDOW, "settings": settings}
    plan = build(Ports(instrumenter=TraceCollector()), dialect=dialect, reserved_tokens=100, **fields)
    assert plan.trace is not None
    names = ("initial_tokens", "final_tokens", "budget_tokens", "eviction_count")
    figures = {name: getattr(plan.trim_report, name) for name in names}
    step, filling = plan.trace.step("fit"), plan.trace.step("trimming")
    assert step is not None
    assert filling is not None
    assert figures.items() <= step.stats.items()
    assert filling.stats["final_tokens"] == plan.trim_report.filled_tokens
    assert filling.stats["eviction_count"] == figures["eviction_count"]
    assert bool(figures["eviction_count"]) is (length > 3)


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


@pytest.mark.parametrize("dialect", ["openai", "text"])
@pytest.mark.parametrize("strict", [False, True])
def test_the_users_message_is_kept_or_refused(dialect: str, strict: bool) -> None:
    """What the user says now is never left out without a word: an error, or with ``on_overflow`` a warning and a record."""
    fields: dict[str, Any] = {
        "message": "word " * 1000,
        "context_window": 300,
        "reserved_tokens": 100,
        "dialect": dialect,
        "history": turns("Hello", "Hi"),
    }
    with pytest.raises(MaxTokensExceededError) as caught:
        build(strict=strict, **fields)
    assert "user's message" in str(caught.value.hint)
    plan = build(step_options={"trimming": {"on_overflow": "warn"}}, **fields)
    assert any("user's message" in note.message for note in plan.warnings)
    assert plan.trim_report is not None
    assert plan.trim_report.evictions
    assert plan.trim_report.final_tokens + 100 <= 300


def test_a_message_that_replies_push_out() -> None:
    """Where replies fill the context, the user's message is refused as well; told to warn, that is a note, and a record."""
    history = [{"role": "user", "content": "Talk!"}, *({"role": "assistant", "content": "word " * 50},) * 9]
    fields: dict[str, Any] = {"history": history, "context_window": 400, "reserved_tokens": 100}
    with pytest.raises(MaxTokensExceededError):
        build(**fields)
    plan = build(step_options={"trimming": {"on_overflow": "warn"}}, **fields)
    assert any("latest message" in note.message for note in plan.notes)
    assert "history-0" in {record.block_id for record in plan.trim_report.evictions}


def test_what_stops_the_filling_is_recorded() -> None:
    """Where fixed parts do not fit and are left out with a warning, all that follows is in the trim report."""
    plan = plan_of(3, description="word " * 900, on_overflow="warn")
    assert plan.trim_report is not None
    evicted = {record.source for record in plan.trim_report.evictions}
    assert {"charDescription", "history", "new_chat_prompt"} <= evicted


def test_text_prompts_are_filled() -> None:
    """A text prompt says that it does not use the strategy."""
    plan = build(message="Hi", dialect="text", step_options={"trimming": {"strategy": "stepped"}})
    assert [note.kind for note in plan.notes if "stepped" in note.message] == [NoteKind.IGNORED]


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_an_empty_prompt_parts_squashed_messages(role: str) -> None:
    """It is not sent, but what stands before it and what stands behind it do not become one; unless it is the system's."""
    fields = {"system_prompt": False, "injection_position": 0}
    prompts = [
        {"identifier": name, "content": text, "role": speaker, **fields}
        for name, text, speaker in (("a", "AAA", "system"), ("b", "", role), ("c", "CCC", "system"))
    ]
    preset = {"squash_system_messages": True, "prompts": prompts, "prompt_order": order("a", "b", "c")}
    sent = contents(build(preset=preset, message="hi"))
    assert ("AAA\nCCC" in sent[0]) is (role == "system")
    assert len(sent) == (1 if role == "system" else 2)


def test_an_empty_line_counts_for_depths() -> None:
    """It is not sent, but a text at depth 1 stands before it."""
    history = [{"role": "user", "content": "one"}, {"role": "assistant", "content": ""}]
    injection = {"id": "x", "content": "X", "position": "chat", "depth": 1}
    assert contents(build(history=history, injections=[injection]))[-2:] == ["one", "X"]
