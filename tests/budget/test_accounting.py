"""Accounting: a plan counted as it is sent."""

import copy
import json
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from hypothesis import given

from innkeeper.budget import EvictionReason, TrimReport, accounting, explain, trim
from innkeeper.budget.accounting import RenderGuard, costing_of, plan_tokens
from innkeeper.dialects import DIALECTS
from innkeeper.prompt import (
    Attachment,
    Block,
    BuildRequest,
    InsertionPoint,
    MaxTokensExceededError,
    Note,
    NoteKind,
    Origin,
    Piece,
    Plan,
    TokenCounter,
    Tool,
)
from innkeeper.prompt.run.state import ExplainedPlan
from innkeeper.taverns import TAVERNS, vibe
from innkeeper.tokens import NO_FRAMING, OPENAI
from innkeeper.tokens.media import media_rule
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
    plan = Plan(blocks=blocks, model="gpt-4o")
    assert plan_tokens(plan) == accounting(plan).total


@given(BLOCKS)
def test_a_plan_without_a_dialect_is_openais(blocks: Any) -> None:
    """What need not be counted again adds what counting it again adds."""
    plan = Plan(blocks=blocks, model="gpt-4o", dialects=DIALECTS)
    costing = costing_of(plan)
    again = msgspec.structs.replace(costing, shape=copy.copy(costing.shape))
    short, long = (RenderGuard(each)._more(plan, "openai", {}) for each in (costing, again))
    assert short == long


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
    """By their own price, else by the provider's rule; of a kind without one it is said how many are not."""
    plan = Plan(blocks=(block("x", attachments=(Attachment("sticker", url="u"),)),))
    assert accounting(plan, Characters(), NO_FRAMING).uncounted_attachments == 1
    priced = accounting(plan, Characters(), NO_FRAMING, attachment_tokens=85)
    assert (priced.uncounted_attachments, priced.total, priced.media) == (0, 86, 85)
    picture = Plan(blocks=(block("x", attachments=(Attachment("image", url="u"),)),))
    known = accounting(picture, Characters(), NO_FRAMING)
    assert (known.uncounted_attachments, known.media) == (0, media_rule(None, None).most)
    assert f"of these media {known.media:,}" in explain(picture, Characters()).render()


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


RESULT = trim(
    (
        block("You are Sera.", "system", role="system", id="s", slot="main_prompt", origin=Origin("character", "description")),
        block("an old message", id="h0", slot="history", source="history"),
        block("never sent", enabled=False, id="x"),
        block("hi Bob", id="h1", pieces=(Piece("hi ", Origin("chat")), Piece("Bob", Origin("user")))),
    ),
    counter=Characters(),
    max_tokens=30,
    reserve_tokens=5,
)  # fmt: skip
EXPLANATION_PLAN = Plan(
    blocks=RESULT.blocks,
    trim_report=RESULT.report,
    tavern="vibe",
    dialect="text",
    warnings=(Note(NoteKind.WARNING, "odd \x1b[31m"),),
    notes=(Note(NoteKind.EVICTED, "1 of history left out"),),
)


def _explain(plan: Plan = EXPLANATION_PLAN, counter: TokenCounter | None = None) -> ExplainedPlan:
    return explain(plan, counter or Characters())


def test_each_block_has_a_row() -> None:
    """Role, slot, tokens, first words, origin, and what became of it and why."""
    rows = explain(EXPLANATION_PLAN, Characters()).rows
    assert [(row.block_id, row.status, row.reason, row.tokens) for row in rows] == [
        ("s", "sent", None, 13),
        ("h0", "evicted", "budget_exceeded", 14),
        ("x", "disabled", None, 10),
        ("h1", "sent", None, 6),
    ]
    assert (rows[0].slot, rows[0].origin, rows[0].words) == ("main_prompt", "character.description", "You are Sera.")
    assert (rows[1].source, rows[3].origin) == ("history", "user, chat")


def test_the_budget_is_there() -> None:
    """Used, reserved, free: of the window the plan was trimmed for."""
    explained = explain(EXPLANATION_PLAN, Characters())
    assert (explained.budget.total, explained.budget.window, explained.budget.reserve, explained.budget.free) == (
        19,
        30,
        5,
        6,
    )
    assert isinstance(explained.trim, TrimReport)
    assert explained.trim.evictions[0].reason is EvictionReason.BUDGET_EXCEEDED


def test_the_text_is_a_table_that_is_safe_to_print() -> None:
    """One line a block, then the sums, the warnings and the notes; control characters are spelled."""
    text = _explain().render()
    assert text.splitlines() == [
        "     0      13 system    character.description    You are Sera.",
        "-    1      14 user      history                  an old message [budget_exceeded]",
        "x    2      10 user                               never sent",
        "     3       6 user      user, chat               hi Bob",
        "",
        "used 19 tokens (exact, characters)",
        "window 30, reserved 5, free 6",
        "warning: odd \\x1b[31m",
        "evicted: 1 of history left out",
    ]
    assert "used 19 tokens (estimated ± 20 %, rough)" in _explain(counter=Rough()).render()
    assert (
        "does not fit"
        in _explain(EXPLANATION_PLAN.with_(trim_report=None, request=BuildRequest(context_window=5))).render()
    )


def test_explanation_the_facts_are_json() -> None:
    """For ``--json`` and HTTP."""
    facts = json.loads(json.dumps(_explain().to_dict()))
    assert facts["tavern"] == "vibe"
    assert [row["status"] for row in facts["rows"]] == ["sent", "evicted", "disabled", "sent"]
    assert facts["trim"]["eviction_count"] == 1
    assert facts["warnings"][0]["kind"] == "warning"


@given(BLOCKS)
def test_every_plan_can_be_explained_and_stays(blocks: tuple[Block, ...]) -> None:
    """Looking changes nothing; there is a row for every block and bounded text for each."""
    plan = Plan(blocks=blocks)
    before = plan.to_dict()
    explained = explain(plan, Characters())
    assert plan.to_dict() == before
    assert [row.block_id for row in explained.rows] == [b.id for b in blocks]
    json.dumps(explained.to_dict())
    assert all(len(row.words) <= 60 for row in explained.rows)


def test_a_plan_explains_itself() -> None:
    """`Plan.explain` of what a tavern built is this, with the built-in counter where none is given."""
    plan = TAVERNS["vibe"].build(message="Hi")
    assert plan.explain(Characters()).to_dict() == explain(plan, Characters()).to_dict()
    assert plan.explain().to_dict() == explain(plan).to_dict()


def test_many_origins_are_shortened() -> None:
    """A text of many pieces names the first three sources."""
    pieces = tuple(Piece("x", Origin(f"a{i}")) for i in range(5))
    (row,) = explain(Plan(blocks=(Block(role="user", content="xxxxx", pieces=pieces),)), Characters()).rows
    assert row.origin == "a0, a1, a2 …"


HISTORY = [{"role": "assistant" if index % 2 else "user", "content": f"word number {index}"} for index in range(40)]
BUDGET = 880


@dataclass(frozen=True)
class Case:
    id: str
    request: dict[str, Any] = field(default_factory=dict)
    rendering: dict[str, Any] = field(default_factory=dict)


def _build(**fields: Any) -> Plan:
    counted: dict[str, Any] = {"context_window": BUDGET + 20, "reserved_tokens": 20, "token_counter": Characters()}
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


@pytest.mark.parametrize("tavern", ["vibe", "silly", "smart"])
def test_what_an_interpreter_shows_is_short_and_holds_no_texts(tavern: str) -> None:
    """`repr` of a plan, of its explanation and of its sums: names and counts on one line each, whatever is in the prompt."""
    history = [{"role": "user", "content": "a private line"}] * 300
    plan = TAVERNS[tavern].build(message="another private line", history=history, model="gpt-4o")
    explained = explain(plan)
    for shown in map(repr, (plan, explained, explained.budget)):
        assert len(shown) < 300
        assert "private" not in shown
    assert f"total={explained.budget.total}" in repr(explained)
    assert f"sent={len(plan.enabled_blocks)}" in repr(plan)
