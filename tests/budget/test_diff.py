"""PlanDiff: what became of each block, and what it costs."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.budget import plan_diff
from innkeeper.budget.diff import MAX_DIFF_BLOCKS, MAX_DIFF_WORDS, paired
from innkeeper.lore import Reason, Verdict
from innkeeper.prompt import Block, LimitError, Origin, Plan, UsageError
from innkeeper.taverns import vibe
from tests.budget.doubles import BLOCKS, Characters, block


def _plan(*texts: str) -> Plan:
    return Plan(
        blocks=tuple(block(text, slot=text[:1], origin=Origin(text[:1]), group="custom") for text in texts),
        dialect="text",
    )


@dataclass(frozen=True)
class Case:
    id: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    changes: list[tuple[str, int | None, int | None]]
    words: tuple[tuple[str, str], ...] = ()


CASES = [
    Case("the-same", ("a", "b"), ("a", "b"), []),
    Case("added", ("a", "c"), ("a", "b", "c"), [("added", None, 1)]),
    Case("removed", ("a", "b", "c"), ("a", "c"), [("removed", 1, None)]),
    Case("changed", ("a", "b old text"), ("a", "b new text"), [("changed", 1, 1)], (("old ", "new "),)),
    Case("moved", ("a", "b", "c"), ("b", "c", "a"), [("moved", 0, 2)]),
    Case("moved-and-changed", ("a one", "b", "c"), ("b", "c", "a two"), [("changed", 0, 2)], (("one", "two"),)),
    Case("another-of-two-alike", ("x", "a", "a"), ("a", "x", "a"), [("moved", 1, 0)]),
    Case("from-nothing", (), ("a",), [("added", None, 0)]),
    Case("to-nothing", ("a",), (), [("removed", 0, None)]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_became_of_each_block(case: Case) -> None:
    """Each message that differs is added, removed, moved or changed, once, with the words that were replaced."""
    found = plan_diff(_plan(*case.before), _plan(*case.after), Characters())
    assert [(change.kind.value, change.before, change.after) for change in found.blocks] == case.changes
    assert tuple((word.before, word.after) for change in found.blocks for word in change.words) == case.words
    assert found.same is not bool(case.changes)
    assert found.after.tokens - found.before.tokens == sum(change.tokens for change in found.blocks)


@given(BLOCKS, BLOCKS, BLOCKS)
def test_the_changes_make_the_second_of_the_first(
    first: tuple[Block, ...], second: tuple[Block, ...], common: tuple[Block, ...]
) -> None:
    """Taking the changes off the one and putting them on gives the other: no message is lost, none is counted twice."""
    plans = [Plan(blocks=tuple(side), dialect="openai") for side in ([*first, *common], [*common, *second])]
    found = plan_diff(plans[0], plans[1], Characters())
    sent = [plan.sent_blocks() for plan in plans]
    old = {change.before for change in found.blocks} - {None}
    new = {change.after for change in found.blocks} - {None}
    assert len(old) == sum(change.before is not None for change in found.blocks)
    messages = [[each.message() for each in side] for side in sent]
    rest = [[each for n, each in enumerate(messages[k]) if n not in gone] for k, gone in enumerate((old, new))]
    assert rest[0] == rest[1]
    assert found.after.tokens - found.before.tokens == sum(change.tokens for change in found.blocks)
    assert found.same is (messages[0] == messages[1])


@given(st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12))
def test_pairs_cover_both_sides_in_order(before: list[str], after: list[str]) -> None:
    """Each index of both sides is in one pair, in order; those that are called the same are."""
    pairs = list(paired(before, after, lambda i, j: (i + j) % 2 == 0))
    assert [pair.before for pair in pairs if pair.before is not None] == list(range(len(before)))
    assert [pair.after for pair in pairs if pair.after is not None] == list(range(len(after)))
    assert all(before[pair.before or 0] == after[pair.after or 0] for pair in pairs if pair.same)


def test_verdicts_that_flip() -> None:
    """An entry that fires in one prompt only is listed with both sentences; others are not."""

    class Lore:
        def __init__(self, *fired: str) -> None:
            self.verdicts = [
                Verdict("B", name, name, Reason.CONSTANT if name in fired else Reason.NO_KEYS) for name in "xyz"
            ]

    found = plan_diff(_plan("a").with_(lore=Lore("x", "y")), _plan("a").with_(lore=Lore("x", "z")), Characters())
    assert [(flip.uid, flip.fired) for flip in found.verdicts] == [("y", False), ("z", True)]
    assert found.verdicts[0].before == str(Verdict("B", "y", "y", Reason.CONSTANT))
    assert found.same


def test_options_and_cost() -> None:
    """What goes with the messages is compared, too; money is by the catalogue, where it has a price."""
    a, b = _plan("a").with_(model="gpt-4o"), _plan("a").with_(model="nobody-knows", options={"temperature": 1})
    found = plan_diff(a, b, Characters())
    assert [(each.name, each.before, each.after) for each in found.options] == [
        ("model", "gpt-4o", "nobody-knows"),
        ("temperature", None, 1),
    ]
    assert found.before.cost == pytest.approx(found.before.tokens * 2.5e-6)
    assert found.after.cost is None


def test_why_a_block_is_gone() -> None:
    """A message that trimming took away has its reason."""
    history = [{"role": "user", "content": f"{n} " * 40} for n in range(8)]
    whole = vibe.build(history=history, message="Hi")
    short = vibe.build(history=history, message="Hi", context_window=300)
    found = plan_diff(whole, short)
    assert whole.diff(short).to_dict() == found.to_dict()
    assert {change.reason for change in found.blocks if change.kind == "removed"} == {"budget_exceeded"}


def test_work_is_bounded() -> None:
    """A long common part costs nothing of the limit; more messages that differ are an error; long texts are one change."""
    long = [str(n) for n in range(MAX_DIFF_BLOCKS + 1)]
    assert sum(not pair.same for pair in paired(long, [*long, "x"], lambda *_: False)) == 1
    with pytest.raises(LimitError, match="MAX_DIFF_BLOCKS"):
        list(paired(long, [f"x{n}" for n in long], lambda *_: False))
    texts = ["b " + " ".join(f"{mark}{n}" for n in range(MAX_DIFF_WORDS + 1)) for mark in "xy"]
    (change,) = plan_diff(_plan(texts[0]), _plan(texts[1]), Characters()).blocks
    assert len(change.words) == 1


def test_a_plan_made_by_hand_says_how() -> None:
    """Only a tavern's plan knows how to compare itself."""
    with pytest.raises(UsageError, match="not built by a tavern") as error:
        _plan("a").diff(_plan("b"))
    assert "plan_diff" in str(error.value.hint)


def test_every_form_says_the_same() -> None:
    """Text, page and data have each change; a text of a card is no markup."""
    found = plan_diff(_plan("a old"), _plan("a <script>"), Characters())
    assert "[-old-]{+<script>+}" in str(found)
    assert "<script>" not in found.to_html()
    assert "<ins>&lt;script&gt;</ins>" in found.to_html()
    assert found.to_dict()["blocks"][0]["words"][0]["after"] == "<script>"
