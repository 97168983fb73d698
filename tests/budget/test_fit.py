"""Fit: used plus reserved is within the window, by the messages that are sent, or the typed error says by how much not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.budget import FIT, TRIMMING, EvictionReason, EvictionRecord, TrimReport, accounting, fit
from innkeeper.budget.strategies import BaseStrategy, in_order
from innkeeper.prompt import (
    Block,
    BuildRequest,
    InsertionPoint,
    MaxTokensExceededError,
    NoteKind,
    Pipeline,
    Plan,
    Ports,
    State,
    build,
)
from innkeeper.tokens import NO_FRAMING, OPENAI, Framing
from tests.budget.doubles import BLOCKS, Batch, Characters, Rough, block
from tests.prompt.doubles import step

DEAR = Framing(name="dear", per_message=20, reply=9, fields=("role", "content"))


def _plan(blocks: Any, window: int, reserved: int = 0, **fields: Any) -> Plan:
    request = BuildRequest(context_window=window, reserved_tokens=reserved)
    return Plan(blocks=tuple(blocks), request=request, **fields)


def _in_chat(content: str, depth: int = 1) -> Block:
    return block(content, "lore", role="system", insertion_point=InsertionPoint.IN_CHAT, depth=depth)


@given(
    st.lists(
        BLOCKS | st.lists(st.builds(_in_chat, st.text("x", max_size=9), st.integers(0, 1)), max_size=4), max_size=3
    ),
    st.sampled_from([NO_FRAMING, OPENAI, DEAR]),
    st.integers(1, 400),
    st.integers(0, 50),
)
def test_a_plan_fits_or_is_refused(parts: Any, framing: Framing, window: int, reserved: int) -> None:
    """By the same count that accounting gives; what went is disabled, in its place, with a record each."""
    blocks = [b.with_(id="") for part in parts for b in part]
    plan = _plan(blocks, window, reserved)
    try:
        fitted = fit(plan, Characters(), framing)
    except MaxTokensExceededError as error:
        assert error.estimated_tokens > error.limit_tokens or reserved > window  # noqa: PT017 - either outcome is right
        return
    figures = accounting(fitted, Characters(), framing)
    assert figures.total + reserved <= window
    assert (figures.window, figures.reserve) == (window, reserved)
    gone = [b.id for b, a in zip(plan.blocks, fitted.blocks, strict=True) if b.enabled and not a.enabled]
    records = [] if fitted is plan else [record.block_id for record in fitted.trim_report.evictions]
    assert sorted(gone) == sorted(records)
    assert fit(fitted, Characters(), framing) is fitted


def test_what_fits_is_left_alone() -> None:
    """The very same plan; so is one without a window, and one that a step was told to leave too large."""
    plan = _plan([block("aa"), block("u1")], 50)
    assert fit(plan, Characters(), NO_FRAMING) is plan
    endless = Plan(blocks=(block("a" * 999),))
    assert fit(endless, Characters(), NO_FRAMING) is endless
    large = TrimReport(
        strategy="fill", budget_tokens=5, max_tokens=9, reserve_tokens=4, initial_tokens=7, final_tokens=7
    )
    told = _plan([block("a" * 7)], 9, 4, trim_report=large)
    assert fit(told, Characters(), NO_FRAMING) is told


def test_each_block_is_counted_once_however_many_go() -> None:
    """One batch of the messages as they are, one of the blocks; evicting a thousand asks for nothing more."""
    counter = Batch()
    plan = _plan([block("ten letters"[:10], id=f"m{i}") for i in range(2_000)], 10_000)
    fitted = fit(plan, counter, NO_FRAMING)
    assert len(fitted.enabled_blocks) == 1_000
    assert counter.batches == [2_000, 2_000]
    assert counter.asked == []


def test_joined_messages_are_counted_as_they_are_sent() -> None:
    """Neighbours of one depth are one message with one overhead: three do not fit as blocks, and do as a message."""
    blocks = [_in_chat("aaa"), _in_chat("bbb"), _in_chat("ccc"), block("u")]
    plan = _plan(blocks, 2 * 20 + 9 + len("system") + len("user") + 3 * 3 + 2 + 1)
    assert fit(plan, Characters(), DEAR) is plan


def test_joining_may_ask_for_more_to_go() -> None:
    """A joined text has a line break more than its parts: it is measured, and more goes until it fits."""
    blocks = [block("old"), _in_chat("aaa"), _in_chat("bbb"), block("u")]
    fitted = fit(_plan(blocks, 10), Characters(), NO_FRAMING)
    assert [b.content for b in fitted.enabled_blocks] == ["old", "bbb", "u"]
    assert (fitted.trim_report.sent_tokens, fitted.trim_report.fits) == (7, True)
    with pytest.raises(MaxTokensExceededError) as caught:
        fit(_plan([b.with_(removable=False) for b in blocks], 10), Characters(), NO_FRAMING)
    assert caught.value.estimated_tokens == 11


def test_the_strategy_is_the_one_that_trimmed() -> None:
    """Else ``group_order``; or the one that is asked for."""
    blocks = [block("l" * 5, "lore", priority=1), block("h" * 5, priority=0), block("uu")]
    report = TrimReport(
        strategy="priority", budget_tokens=10, max_tokens=10, reserve_tokens=0, initial_tokens=0, final_tokens=0
    )
    kept = {
        name: [b.content[0] for b in plan.enabled_blocks]
        for name, plan in {
            "default": fit(_plan(blocks, 10), Characters(), NO_FRAMING),
            "report": fit(_plan(blocks, 99, trim_report=report), Characters(), NO_FRAMING),
            "asked": fit(_plan(blocks, 10), Characters(), NO_FRAMING, strategy="priority"),
        }.items()
    }
    assert kept == {"default": ["h", "u"], "report": ["l", "u"], "asked": ["l", "u"]}


def test_a_strategy_of_someone_else_trims_the_messages_that_are_sent_as_well() -> None:
    """The step ``trimming`` leaves its configuration: the strategy itself goes on, with its options, not one of our own."""

    class Last(BaseStrategy, frozen=True):
        name = "last"

        def choose(self, units: Any, total: int, budget: int) -> list[Any]:
            return in_order([[unit] for unit in reversed(units) if not unit.protected], total - budget)

    blocks = [block("old"), _in_chat("aaa"), _in_chat("bbb"), block("new", removable=False)]
    made = step("made", lambda state: setattr(state.result, "plan", Plan(blocks=tuple(blocks))))
    pipeline = Pipeline(made).append(TRIMMING, strategy=Last(), max_tokens=12).append(FIT, max_tokens=11)
    plan = build(BuildRequest(context_window=12, dialect="text"), pipeline, Ports(token_counter=Characters()))
    assert [b.content for b in plan.enabled_blocks] == ["old", "aaa", "new"]


def test_reports_and_notes_are_of_both_trimmings() -> None:
    """Records of an earlier trimming stay, its notes are not repeated, and tokens add up."""
    record = EvictionRecord("gone", "history", 7, EvictionReason.BUDGET_EXCEEDED, "history")
    before = TrimReport(
        strategy="group_order", budget_tokens=8, max_tokens=8, reserve_tokens=0, initial_tokens=15, final_tokens=8,
        evictions=(record,),
    )  # fmt: skip
    fitted = fit(_plan([block("aaaaa"), block("bbbbb"), block("u1")], 8, trim_report=before), Rough(), NO_FRAMING)
    report = fitted.trim_report
    assert [(r.block_id, r.token_count) for r in report.evictions] == [("gone", 7), ("user-0", 5)]
    assert (report.initial_tokens, report.final_tokens, report.tokens_saved) == (19, 7, 12)
    assert [note.kind for note in fitted.notes] == [NoteKind.EVICTED, NoteKind.ESTIMATE]
    assert fitted.notes[0].data["blocks"] == 1


# ------------------------------------------------------------------------------------------------------- as a step


def _build(blocks: Any, options: Any = None, *more: Any, report: Any = None, **fields: Any) -> Plan:
    def assemble(state: State) -> None:
        state.result.plan = Plan(blocks=tuple(blocks))
        state.result.trim_report = report

    pipeline = Pipeline(step("assemble", assemble), *more).append(FIT, **(options or {}))
    return build(BuildRequest.of(fields), pipeline, Ports(token_counter=Characters()))


def test_the_step_fits_the_plan_and_says_so() -> None:
    """With the options of the other budget steps; notes carry its name."""
    blocks = [block("aaaaa"), block("bbbbb"), block("u1")]
    plan = _build(blocks, {"framing": "none"}, context_window=9, reserved_tokens=1)
    assert [b.content for b in plan.enabled_blocks] == ["bbbbb", "u1"]
    assert [(note.kind, note.step) for note in plan.notes] == [("evicted", "fit")]
    assert plan.trim_report.to_dict()["fits"]
    assert _build(blocks, {"framing": "none"}).trim_report is None
    assert len(_build(blocks, {"framing": "none", "max_tokens": 7}, context_window=99).enabled_blocks) == 2
    with pytest.raises(MaxTokensExceededError) as caught:
        _build(blocks, {"framing": DEAR}, context_window=9)
    assert caught.value.step == "fit"


def test_what_trimming_fitted_stays() -> None:
    """After trimming to the same window there is nothing to do; what another step added is fitted."""

    def add(state: State) -> None:
        assert state.result.plan is not None
        state.result.plan = state.result.plan.append(block("late" * 2, "custom", role="system"))

    blocks = [block("aaaaa"), block("bbbbb"), block("u1")]
    trimming = Pipeline().append(TRIMMING, framing="none")["trimming"]
    options = {"step_options": {"trimming": {"framing": "none"}}, "context_window": 12}
    plan = _build(blocks, {"framing": "none"}, trimming, **options)
    assert [b.content for b in plan.enabled_blocks] == ["aaaaa", "bbbbb", "u1"]
    plan = _build(blocks, {"framing": "none"}, trimming, step("add", add), **options)
    assert [b.content for b in plan.enabled_blocks] == ["u1", "latelate"]


def _filled(final: int) -> TrimReport:
    record = EvictionRecord("user-1", "history", 5, EvictionReason.BUDGET_EXCEEDED, "history")
    return TrimReport(
        strategy="fill", budget_tokens=9, max_tokens=10, reserve_tokens=1, initial_tokens=final + 5, final_tokens=final,
        evictions=(record,),
    )  # fmt: skip


def test_a_filling_is_taken_by_its_own_counts() -> None:
    """Unless the step is told how to count: a tavern that fills as SillyTavern does counts as it does."""
    blocks = [block("x" * 20, "examples"), block("u1")]
    assert len(_build(blocks, report=_filled(8)).enabled_blocks) == 2
    for options in ({"framing": "none"}, {"framing": "none", "recount": True}):
        assert len(_build(blocks, options, report=_filled(8)).enabled_blocks) == 1
    assert len(_build(blocks, {"framing": "none", "recount": False}, report=_filled(8)).enabled_blocks) == 2


def test_a_filling_without_the_users_message_is_refused() -> None:
    """It would ask the model for something else; ``keep_user=False`` sends it, as SillyTavern does."""
    blocks = [block("system", "system", role="system"), block("u1u1u", enabled=False)]
    with pytest.raises(MaxTokensExceededError) as caught:
        _build(blocks, report=_filled(6))
    assert (caught.value.estimated_tokens, caught.value.limit_tokens) == (11, 9)
    assert "no room for the user's message" in (caught.value.hint or "")
    assert len(_build(blocks, {"keep_user": False}, report=_filled(6)).enabled_blocks) == 1
