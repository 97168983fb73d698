"""trim: what every strategy holds, and the examples of the documents."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.budget import EvictionReason, Stepped, TrimResult, trim
from innkeeper.prompt import Block, MaxTokensExceededError, UnknownNameError
from innkeeper.prompt.errors import UsageError
from innkeeper.tokens import OPENAI, Framing
from tests.budget.doubles import BLOCKS, Batch, Characters, block

STRATEGIES = st.sampled_from(["group_order", "priority", "stepped"]) | st.one_of(
    st.builds(Stepped, step_tokens=st.integers(1, 9), history_tokens=st.none() | st.integers(0, 30)),
    st.builds(Stepped, step_messages=st.integers(1, 4)),
)


def _trim(blocks: Any, **options: Any) -> TrimResult:
    return trim(blocks, counter=Characters(), **options)


def _contents(blocks: tuple[Block, ...]) -> list[str]:
    return [b.content for b in blocks]


def test_a_function_counts() -> None:
    """A counter may be a function of a text, as a build takes it."""
    blocks = [Block(role="user", content="one two", id="a"), Block(role="user", content="three", id="b")]
    assert trim(blocks, counter=lambda text: len(text.split()), max_tokens=9).report.final_tokens == 3


# ------------------------------------------------------------------------------------------------------- properties


@given(BLOCKS, STRATEGIES, st.integers(0, 60), st.integers(0, 20))
def test_used_plus_reserved_fits_whenever_there_is_no_error(
    blocks: Any, strategy: Any, window: int, reserve: int
) -> None:
    """Either the rest fits into window minus reserve, or the error says that what must stay does not."""
    room = {"strategy": strategy, "max_tokens": window, "reserve_tokens": reserve}
    best = _trim(blocks, **room, on_overflow="return")
    if best.report.fits:
        assert _trim(blocks, **room) == best
        used = sum(len(b.content) for b in best.kept)
        assert used + reserve <= window or used == 0
        return
    with pytest.raises(MaxTokensExceededError) as caught:
        _trim(blocks, **room)
    assert caught.value.estimated_tokens == best.report.final_tokens > caught.value.limit_tokens


@given(BLOCKS, STRATEGIES, st.integers(0, 60))
def test_kept_and_evicted_are_the_enabled_blocks_in_their_order(blocks: Any, strategy: Any, budget: int) -> None:
    """Nothing is lost, nothing is reordered, nothing else is changed; blocks that were disabled stay as they are."""
    before = list(blocks)
    result = _trim(blocks, strategy=strategy, budget_tokens=budget, on_overflow="return")
    assert list(blocks) == before
    assert [b.with_(enabled=True) for b in result.blocks if b.id in _ids(result)] == [b for b in blocks if b.enabled]
    assert [b for b in result.blocks if b.id not in _ids(result)] == [b for b in blocks if not b.enabled]
    assert tuple(b for b in result.blocks if b.enabled) == result.kept
    assert tuple(b for b in result.blocks if b.id in {e.id for e in result.evicted}) == result.evicted
    assert not any(b.enabled for b in result.evicted)


def _ids(result: TrimResult) -> set[str]:
    return {b.id for b in (*result.kept, *result.evicted)}


@given(BLOCKS, STRATEGIES, st.integers(0, 60))
def test_protected_blocks_survive(blocks: Any, strategy: Any, budget: int) -> None:
    """System blocks and unremovable ones are never evicted, by any strategy."""
    result = _trim(blocks, strategy=strategy, budget_tokens=budget, on_overflow="return")
    assert all(b.group != "system" and b.removable for b in result.evicted)


@given(BLOCKS, STRATEGIES.filter(lambda s: s != "priority"), st.integers(0, 60))
def test_the_latest_user_message_survives(blocks: Any, strategy: Any, budget: int) -> None:
    """The last user block of the history stays (2-wave4-contracts, *group_order*)."""
    result = _trim(blocks, strategy=strategy, budget_tokens=budget, on_overflow="return")
    users = [b for b in blocks if b.enabled and b.role == "user" and b.group == "history"]
    assert not users or users[-1] in result.kept


@given(BLOCKS, STRATEGIES, st.integers(0, 60))
def test_bundles_and_tool_pairs_stay_whole(blocks: Any, strategy: Any, budget: int) -> None:
    """A bundle is kept or evicted as one; a kept tool result has its call, a kept call all its results (B16)."""
    result = _trim(blocks, strategy=strategy, budget_tokens=budget, on_overflow="return")
    bundles = [{b.bundle for b in part if b.bundle is not None} for part in (result.kept, result.evicted)]
    assert bundles[0].isdisjoint(bundles[1])
    assert _pairs(result.kept) == [
        pair for pair in _pairs([b for b in blocks if b.enabled]) if pair & _kept_ids(result)
    ]


def _kept_ids(result: TrimResult) -> set[str]:
    return {b.id for b in result.kept}


def _pairs(blocks: Any) -> list[set[str]]:
    """Each tool result with the nearest earlier call of its id."""
    calls: dict[str, str] = {}
    pairs = []
    for b in blocks:
        message = b.message()
        calls |= {call["id"]: b.id for call in message.tool_calls}
        if message.tool_call_id in calls:
            pairs.append({calls[message.tool_call_id], b.id})
    return pairs


@given(BLOCKS, STRATEGIES, st.integers(0, 60))
def test_trimming_again_changes_nothing(blocks: Any, strategy: Any, budget: int) -> None:
    """The outcome fits, so that a second trimming evicts nothing."""
    result = _trim(blocks, strategy=strategy, budget_tokens=budget, on_overflow="return")
    if result.report.fits:
        again = _trim(result.blocks, strategy=strategy, budget_tokens=budget)
        assert (again.blocks, again.report.eviction_count) == (result.blocks, 0)


@given(BLOCKS, st.sampled_from(["group_order", "priority"]), st.integers(0, 60), st.integers(0, 20))
def test_more_budget_never_evicts_more(blocks: Any, strategy: str, budget: int, more: int) -> None:
    """What a larger budget evicts, a smaller one evicts too."""
    small = _trim(blocks, strategy=strategy, budget_tokens=budget, on_overflow="return")
    large = _trim(blocks, strategy=strategy, budget_tokens=budget + more, on_overflow="return")
    assert {b.id for b in large.evicted} <= {b.id for b in small.evicted}


@given(BLOCKS, STRATEGIES, st.integers(0, 60))
def test_the_report_adds_up(blocks: Any, strategy: Any, budget: int) -> None:
    """Initial minus evicted is final; there is a record for each evicted block; the groups add up to both."""
    result = _trim(blocks, strategy=strategy, budget_tokens=budget, on_overflow="return")
    report = result.report
    assert report.initial_tokens == sum(len(b.content) for b in blocks if b.enabled)
    assert report.final_tokens == sum(len(b.content) for b in result.kept)
    assert report.tokens_saved == sum(record.token_count for record in report.evictions)
    assert {record.block_id for record in report.evictions} == {b.id for b in result.evicted}
    assert report.eviction_count == len(result.evicted)
    assert sum(group.initial_tokens for group in report.groups) == report.initial_tokens
    assert sum(group.final_tokens for group in report.groups) == report.final_tokens
    assert sum(group.evicted for group in report.groups) == len(result.evicted)
    assert sum(group.kept for group in report.groups) == len(result.kept)


@given(BLOCKS, STRATEGIES.filter(lambda s: getattr(s, "history_tokens", None) is None), st.integers(0, 60))
def test_what_fits_is_left_alone(blocks: Any, strategy: Any, budget: int) -> None:
    """Nothing is evicted from a prompt that fits; only a cap on the history does that."""
    report = _trim(blocks, strategy=strategy, budget_tokens=budget, on_overflow="return").report
    assert report.was_over_budget or not report.evictions


# --------------------------------------------------------------------------------------------------------- examples


@dataclass(frozen=True)
class Case:
    id: str
    blocks: list[Block]
    budget: int
    kept: list[str]
    reasons: list[str]
    options: dict[str, Any] = field(default_factory=dict)


CALL = {"tool_calls": [{"id": "c1"}, {"id": "c2"}]}
CASES = [
    Case("examples-as-whole-dialogues",
         [block("ex1 a", "examples", bundle="ex1"), block("ex1 b", "examples", bundle="ex1"),
          block("ex2 a", "examples", bundle="ex2"), block("ex2 b", "examples", bundle="ex2")],
         10, ["ex2 a", "ex2 b"], ["group_overflow"] * 2),
    Case("history-oldest-first-but-the-latest-user-message",
         [block("u1"), block("a1", role="assistant"), block("u2")], 2, ["u2"], ["budget_exceeded"] * 2),
    Case("examples-then-lore-then-history",
         [block("hh"), block("ll", "lore"), block("ee", "examples"), block("sy", "system"), block("uu")],
         6, ["hh", "sy", "uu"], ["budget_exceeded"] * 2),
    Case("system-is-never-evicted", [block("system", "system"), block("hh"), block("u")], 7, ["system", "u"],
         ["budget_exceeded"]),
    Case("other-groups-count-as-history-in-their-place",
         [block("cc", "custom"), block("h1"), block("mm", "memory"), block("dd", "default"), block("u1")],
         4, ["dd", "u1"], ["budget_exceeded"] * 3),
    Case("the-latest-user-message-is-of-the-history", [block("u1"), block("note", "custom")], 2, ["u1"], ["budget_exceeded"]),
    Case("without-one-a-user-block-of-another-group-is",
         [block("aa", role="assistant"), block("n1", "custom"), block("n2", "default")], 2, ["n2"], ["budget_exceeded"] * 2),
    Case("an-unremovable-member-keeps-its-bundle",
         [block("e1", "examples", bundle="x"), block("e2", "examples", bundle="x", removable=False), block("h1"), block("u1")],
         6, ["e1", "e2", "u1"], ["budget_exceeded"]),
    Case("a-bundle-across-groups-goes-in-the-later-turn",
         [block("e1", "examples", bundle="x"), block("h1", bundle="x"), block("l1", "lore"), block("u1")],
         6, ["e1", "h1", "u1"], ["budget_exceeded"]),
    Case("b16-tool-calls-go-with-all-their-results",
         [block("ask", message_metadata=CALL, role="assistant"),
          block("r1", role="tool", message_metadata={"tool_call_id": "c1"}), block("a", role="assistant"),
          block("r2", role="tool", message_metadata={"tool_call_id": "c2"}), block("u")],
         5, ["a", "u"], ["tool_pair"] * 3),
    Case("an-id-used-again-is-another-pair",
         [block("q1", message_metadata=CALL, role="assistant"), block("r1", role="tool", message_metadata={"tool_call_id": "c1"}),
          block("q2", message_metadata=CALL, role="assistant"), block("r2", role="tool", message_metadata={"tool_call_id": "c1"}),
          block("u1")],
         6, ["q2", "r2", "u1"], ["tool_pair"] * 2),
    Case("a-result-without-a-call-is-on-its-own",
         [block("r1", role="tool", message_metadata={"tool_call_id": "zz"}), block("u1")], 2, ["u1"], ["budget_exceeded"]),
    Case("b16-the-heading-of-examples-stays-while-there-are-any",
         [block("head", "examples", head=True, bundle="head"), block("ex1", "examples", bundle="1"),
          block("ex2", "examples", bundle="2"), block("u")],
         8, ["head", "ex2", "u"], ["group_overflow"]),
    Case("b16-the-heading-goes-with-the-last-of-them",
         [block("head", "examples", head=True), block("ex1", "examples", bundle="1"), block("u")],
         7, ["u"], ["group_overflow", "budget_exceeded"]),
    Case("a-heading-over-protected-examples-goes-last",
         [block("head", "examples", head=True), block("ex1", "examples", removable=False), block("u")],
         7, ["ex1", "u"], ["budget_exceeded"]),
    Case("a-heading-of-nothing-goes-in-its-turn", [block("head", "examples", head=True), block("hh"), block("u")],
         4, ["hh", "u"], ["budget_exceeded"]),
    Case("disabled-blocks-cost-nothing", [block("xxxx", enabled=False), block("u1")], 2, ["u1"], []),
    Case("lowest-priority-first", [block("aa", priority=5), block("bb", priority=1), block("cc", priority=3)],
         2, ["aa"], ["priority_cutoff"] * 2, {"strategy": "priority"}),
    Case("ties-in-prompt-order", [block("aa"), block("bb"), block("cc")], 4, ["bb", "cc"], ["priority_cutoff"],
         {"strategy": "priority"}),
    Case("a-bundle-has-its-lowest-priority",
         [block("aa", priority=9, bundle="x"), block("bb", priority=1, bundle="x"), block("cc", priority=3)],
         2, ["cc"], ["group_overflow"] * 2, {"strategy": "priority"}),
    Case("priority-protects-no-user-message", [block("system", "system", priority=0), block("u1"), block("xx", removable=False)],
         8, ["system", "xx"], ["priority_cutoff"], {"strategy": "priority"}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_goes_and_why(case: Case) -> None:
    """The rules of 2-wave4-contracts and of tavernkit §5.2, §23.1, one by one."""
    result = _trim(case.blocks, budget_tokens=case.budget, **case.options)
    assert _contents(result.kept) == case.kept
    assert [str(record.reason) for record in result.report.evictions] == case.reasons


def test_a_record_says_all_about_its_block() -> None:
    """Id, slot, tokens, group, source, bundle; the priority only where it decided."""
    blocks = [block("aaaa", "memory", id="m", slot="memory", source="summary", bundle="b", priority=7), block("u1")]
    (record,) = _trim(blocks, budget_tokens=2).report.evictions
    assert record.reason is EvictionReason.GROUP_OVERFLOW
    assert (record.block_id, record.slot, record.token_count, record.budget_group) == ("m", "memory", 4, "history")
    assert (record.source, record.bundle, record.priority) == ("summary", "b", None)
    (record,) = _trim(blocks, budget_tokens=2, strategy="priority").report.evictions
    assert record.priority == 7


def test_mandatory_overflow_raises_with_the_parameters_of_the_document() -> None:
    """Window, reserve, estimate after the last attempt, the step *trimming*; the hint names the largest (*Failure mode*)."""
    with pytest.raises(MaxTokensExceededError) as caught:
        _trim([block("x" * 9, "system", slot="main_prompt"), block("hh"), block("u")], max_tokens=10, reserve_tokens=9)
    error = caught.value
    assert (error.estimated_tokens, error.max_tokens, error.reserve_tokens, error.limit_tokens) == (10, 10, 9, 1)
    assert error.step == "trimming"
    assert "main_prompt (9)" in (error.hint or "")
    assert error.to_dict()["details"]["eviction_count"] == 1


def test_with_only_a_budget_the_window_is_budget_plus_reserve() -> None:
    """The error has a window also where none was given."""
    with pytest.raises(MaxTokensExceededError) as caught:
        _trim([block("x" * 9, "system")], budget_tokens=5, reserve_tokens=3)
    assert (caught.value.max_tokens, caught.value.reserve_tokens) == (8, 3)


def test_overflow_can_be_returned() -> None:
    """With ``on_overflow="return"`` the best effort comes back, and says that it does not fit."""
    result = _trim([block("x" * 9, "system"), block("hh"), block("u")], budget_tokens=5, on_overflow="return")
    assert _contents(result.kept) == ["x" * 9, "u"]
    assert not result.report.fits


@dataclass(frozen=True)
class BadCase:
    id: str
    options: dict[str, Any]
    error: type[Exception] | str


BAD = [
    BadCase("no-budget", {}, "no token budget"),
    BadCase("only-a-reserve", {"reserve_tokens": 5}, "no token budget"),
    BadCase("negative-window", {"max_tokens": -1}, "must be a whole number of tokens"),
    BadCase("negative-reserve", {"max_tokens": 5, "reserve_tokens": -1}, "must be a whole number of tokens"),
    BadCase("negative-budget", {"budget_tokens": -1}, "must be a whole number of tokens"),
    BadCase(
        "negative-overhead", {"budget_tokens": 1, "message_overhead_tokens": -1}, "must be a whole number of tokens"
    ),
    BadCase("negative-media", {"budget_tokens": 1, "attachment_tokens": -1}, "must be a whole number of tokens"),
    BadCase("negative-other", {"budget_tokens": 1, "other_tokens": -1}, "must be a whole number of tokens"),
    BadCase("fraction", {"max_tokens": 5.5}, "must be a whole number of tokens"),
    BadCase("boolean", {"max_tokens": True}, "must be a whole number of tokens"),
    BadCase("text", {"budget_tokens": "5"}, "must be a whole number of tokens"),
    BadCase("strategy", {"budget_tokens": 5, "strategy": "newest"}, UnknownNameError),
    BadCase("overflow", {"budget_tokens": 5, "on_overflow": "ignore"}, UnknownNameError),
]


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.id)
def test_a_budget_that_makes_no_sense_is_a_usage_error(case: BadCase) -> None:
    """No budget is not a budget of zero; negative numbers, fractions and unknown names are named."""
    error, match = (UsageError, case.error) if isinstance(case.error, str) else (case.error, None)
    with pytest.raises(error, match=match) as caught:
        _trim([block("u1")], **case.options)
    assert getattr(caught.value, "exit_code", None) == 2


def test_a_budget_of_zero_is_a_budget() -> None:
    """Everything that may go goes."""
    assert _trim([block("aa", "lore")], budget_tokens=0).kept == ()
    assert _trim([block("aa", "lore")], max_tokens=5, reserve_tokens=9).kept == ()


def test_blocks_without_an_id_get_the_one_a_plan_gives_them() -> None:
    """So that a record can be found again in the plan."""
    result = _trim([block("off", enabled=False), block("aa"), block("u1")], budget_tokens=2)
    assert [record.block_id for record in result.report.evictions] == ["user-1"]
    assert [b.id for b in result.blocks] == ["user-0", "user-1", "user-2"]


def test_overheads_count() -> None:
    """Framing, a flat overhead, the start of the reply and what else is in the prompt are all in the sums."""
    blocks = [block("aa"), block("bb"), block("cc")]
    report = _trim(blocks, budget_tokens=99, message_overhead_tokens=4).report
    assert report.initial_tokens == 3 * 6
    report = _trim(
        blocks, budget_tokens=99, framing=Framing(name="f", per_message=1, reply=3, fields=()), other_tokens=10
    ).report
    assert (report.initial_tokens, report.fixed_tokens) == (3 * 3 + 3 + 10, 13)
    assert _trim(blocks, budget_tokens=30, framing=OPENAI).report.initial_tokens == 3 * (2 + 3 + len("user")) + 3


def test_all_texts_are_counted_in_one_batch() -> None:
    """A counter with ``count_many`` is asked once."""
    counter = Batch()
    trim(
        [block("aa", name="n"), block("bb", role="assistant")],
        counter=counter,
        framing=OPENAI,
        budget_tokens=5,
        on_overflow="return",
    )
    assert (counter.batches, counter.asked) == ([2 + len({"user", "assistant", "n"})], [])


def test_the_report_says_who_counted() -> None:
    """Tokenizer and exactness are those the counter describes."""
    report = _trim([block("aa")], budget_tokens=5).report
    assert (report.tokenizer, report.exact) == ("characters", True)
