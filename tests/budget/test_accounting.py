"""Accounting: a plan counted as it is sent."""

import json
from typing import Any

import pytest
from hypothesis import given

from innkeeper.budget import accounting, trim
from innkeeper.prompt import Attachment, Block, BuildRequest, InsertionPoint, Plan, Tool
from innkeeper.tokens import NO_FRAMING, OPENAI
from tests.budget.doubles import BLOCKS, Characters, Rough, block

PLAN = Plan(
    blocks=(
        block("SSSS", "system", role="system", id="s", slot="main_prompt"),
        block("off", enabled=False),
        block("hello", id="u", slot="user_message"),
    )
)


def test_each_message_has_a_line() -> None:
    """Text and overhead apart; disabled blocks cost nothing; the sums are of the lines, the reply and tools."""
    found = accounting(PLAN, Characters(), OPENAI)
    assert [(line.block_id, line.slot, line.content, line.overhead, line.tokens) for line in found.lines] == [
        ("s", "main_prompt", 4, 3 + len("system"), 13),
        ("u", "user_message", 5, 3 + len("user"), 12),
    ]
    assert (found.content, found.overhead, found.reply, found.tools, found.total) == (9, 16, 3, 0, 28)
    assert (found.window, found.free, found.fits) == (None, None, True)


@given(BLOCKS)
def test_the_sums_are_the_lines(blocks: Any) -> None:
    """Whatever the plan: total is lines, reply and tools, and each line its parts."""
    found = accounting(Plan(blocks=blocks), Characters(), OPENAI, include_message_metadata_tokens=True)
    assert all(line.tokens == line.content + line.metadata + line.overhead for line in found.lines)
    assert found.total == sum(line.tokens for line in found.lines) + found.reply + found.tools
    assert found.total == found.content + found.metadata + found.overhead + found.reply + found.tools


def test_the_window_is_the_requests_or_what_was_trimmed_for() -> None:
    """Used plus reserved plus free is the window."""
    request = BuildRequest(context_window=50, reserved_tokens=10)
    found = accounting(PLAN.with_(request=request), Characters(), NO_FRAMING)
    assert (found.window, found.reserve, found.total, found.free) == (50, 10, 9, 31)
    report = trim(PLAN.blocks, counter=Characters(), max_tokens=20, reserve_tokens=5).report
    found = accounting(PLAN.with_(request=request, trim_report=report), Characters(), NO_FRAMING)
    assert (found.window, found.reserve, found.free) == (20, 5, 6)
    report = trim(PLAN.blocks, counter=Characters(), budget_tokens=9, reserve_tokens=1).report
    assert accounting(PLAN.with_(trim_report=report), Characters(), NO_FRAMING).window == 10


def test_what_does_not_fit_is_said() -> None:
    """Free is negative then."""
    found = accounting(PLAN.with_(request=BuildRequest(context_window=5)), Characters(), NO_FRAMING)
    assert (found.free, found.fits) == (-4, False)


def test_joined_messages_are_counted_as_one() -> None:
    """In-chat blocks of one place are one message with a line break."""
    notes = tuple(Block(role="system", content=text, insertion_point=InsertionPoint.IN_CHAT) for text in ("ab", "c"))
    found = accounting(Plan(blocks=notes), Characters(), OPENAI)
    assert [line.content for line in found.lines] == [len("ab\nc")]


@pytest.mark.parametrize(
    ("plan", "counter", "exact"),
    [
        (PLAN, Characters(), True),
        (PLAN, Rough(), False),
        (PLAN.with_(tools=(Tool("add"),)), Characters(), False),
        (Plan(blocks=(block("x", attachments=(Attachment("image", url="u"),)),)), Characters(), False),
    ],
    ids=["exact", "estimated", "tools", "media"],
)
def test_figures_say_how_good_they_are(plan: Plan, counter: Any, exact: bool) -> None:
    """Exact only where every figure is the model's own count."""
    assert accounting(plan, counter).exact is exact


def test_media_are_counted_where_their_price_is_known() -> None:
    """Otherwise it is said how many are not."""
    plan = Plan(blocks=(block("x", attachments=(Attachment("image", url="u"),)),))
    assert accounting(plan, Characters(), NO_FRAMING).uncounted_attachments == 1
    priced = accounting(plan, Characters(), NO_FRAMING, attachment_tokens=85)
    assert (priced.uncounted_attachments, priced.total) == (0, 86)


def test_defaults_come_from_the_plan() -> None:
    """The built-in counter, the framing of the plan's dialect, the plan's model."""
    found = accounting(PLAN.with_(dialect="anthropic", model="gpt-4o"))
    assert (found.framing, found.model) == ("anthropic", "gpt-4o")
    assert found.tokenizer


def test_the_facts_are_json() -> None:
    """For tables, HTTP and files."""
    facts = json.loads(json.dumps(accounting(PLAN, Characters()).to_dict()))
    assert facts["fits"] is True
    assert facts["lines"][0]["block_id"] == "s"
