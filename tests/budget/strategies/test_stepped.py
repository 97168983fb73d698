"""The strategy ``stepped``: the cut moves in steps, and the prefix stays warm."""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.budget import Stepped, prefix_report, trim
from innkeeper.prompt import Block, Plan
from innkeeper.prompt.errors import UsageError
from tests import shared
from tests.budget.doubles import Characters, block


@pytest.mark.parametrize(
    "options",
    [{"step_tokens": 0}, {"step_tokens": -1}, {"step_messages": 0}, {"step_messages": 1.5}, {"history_tokens": -1},
     {"step_tokens": 5, "step_messages": 5}],
)  # fmt: skip
def test_steps_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    """A step is at least one, and of one kind."""
    with pytest.raises(UsageError):
        Stepped(**options)


# ---------------------------------------------------------------------------------------------------------- stepped


def _chat(turns: int, lore: Sequence[str] = (), *, tokens: int = 10) -> list[Block]:
    """A system text, a chat of messages of equal length, and lore near its end."""
    chat = [block(f"{i:0{tokens}}", role=("user", "assistant")[i % 2], id=f"m{i}") for i in range(turns)]
    return [block("s" * 40, "system", id="s"), *chat[:-1], *(block(text, "lore", id=text) for text in lore), *chat[-1:]]


def _cuts(strategy: Any, budget: int, lore: Any = lambda _turn: ()) -> Iterator[int]:
    """How many messages are cut, turn after turn."""
    for turns in range(2, 60):
        result = trim(_chat(turns, lore(turns)), counter=Characters(), strategy=strategy, budget_tokens=budget)
        gone = [b.id for b in result.evicted if b.id.startswith("m")]
        assert gone == [f"m{i}" for i in range(len(gone))]
        yield len(gone)


@pytest.mark.parametrize(("strategy", "step"), [(Stepped(step_tokens=60), 6), (Stepped(step_messages=5), 5)])
def test_the_cut_moves_in_steps(strategy: Stepped, step: int) -> None:
    """It never goes back, is a multiple of the step, and moves once in a step's worth of turns."""
    cuts = list(_cuts(strategy, 240))
    assert cuts == sorted(cuts)
    assert all(cut % step == 0 for cut in cuts)
    moves = sum(a != b for a, b in pairwise(cuts))
    assert moves == cuts[-1] // step
    assert moves >= 5


def test_changing_lore_does_not_move_the_cut() -> None:
    """Room for lore is kept in eighths of the budget: a little more or less of it never makes the cut go back."""
    busy = list(_cuts(Stepped(step_tokens=60), 240, lambda turn: ["l" * (5 + turn * 7 % 25)]))
    assert busy == sorted(busy)
    steady = list(_cuts(Stepped(step_tokens=60), 240, lambda _turn: ["l" * 25]))
    assert [cut for cut in busy if cut] == [cut for cut in steady if cut][-len([cut for cut in busy if cut]) :]


def test_lore_stays_while_the_chat_can_be_cut() -> None:
    """Examples and history are cut first; lore goes only where that is not enough."""
    blocks = [block("e" * 30, "examples"), block("l" * 20, "lore"), *_chat(20)]
    result = trim(blocks, counter=Characters(), strategy="stepped", budget_tokens=160)
    assert {b.group for b in result.evicted} == {"examples", "history"}
    result = trim(blocks, counter=Characters(), strategy="stepped", budget_tokens=55)
    assert "lore" in {b.group for b in result.evicted}
    assert {str(record.reason) for record in result.report.evictions} == {"step_cut"}


def test_the_history_may_have_a_share_of_its_own() -> None:
    """``history_tokens`` is a cap: the chat is cut to it even where the whole would fit."""
    result = trim(
        _chat(20), counter=Characters(), strategy=Stepped(step_tokens=10, history_tokens=50), budget_tokens=9_999
    )
    assert sum(len(b.content) for b in result.kept if b.group == "history") == 50


@given(st.integers(2, 40), st.integers(60, 400), st.integers(1, 500))
def test_a_step_larger_than_the_share_leaves_half_of_it(turns: int, budget: int, step: int) -> None:
    """However large the step, the chat is not cut to nothing: at least half of its share, less a message, stays."""
    strategy = Stepped(step_tokens=step, history_tokens=budget // 2)
    result = trim(_chat(turns), counter=Characters(), strategy=strategy, budget_tokens=budget)
    kept = sum(len(b.content) for b in result.kept if b.group == "history")
    assert kept >= min(turns * 10, budget // 4 - 10)


# ------------------------------------------------------------------------------------------------------- simulation


class Quarter(Characters):
    """Four characters a token, as in the simulation."""

    def count(self, text: str, model: str | None = None) -> int:
        return len(text) // 4 + 1


def _lore(entries: Any, texts: Sequence[str]) -> list[str]:
    window = "\n".join(texts).lower()
    return [entry["content"] for entry in entries if any(key.lower() in window for key in entry["key"])]


def _plan(data: Any, turn: int, strategy: Any) -> Plan:
    """The prompt of one turn: system text, chat, and lore at depth 4, in 8,000 tokens."""
    texts = [message["mes"] for message in data["chat"][:turn]]
    chat = [block(text, role=("assistant", "user")[i % 2]) for i, text in enumerate(texts)]
    lore = [block(text, "lore", role="system") for text in _lore(data["entries"], texts[-5:])]
    blocks = [block("S" * 6000, "system", role="system"), *chat[:-4], *lore, *chat[-4:]]
    return Plan(blocks=trim(blocks, counter=Quarter(), strategy=strategy, max_tokens=8000, reserve_tokens=300).blocks)


def test_stepped_trimming_keeps_most_of_the_prefix() -> None:
    """On the simulation of the shared benchmarks: at least 70 % of each prompt begins as the last did, sliding about 20 %."""
    data = json.loads(shared.need("bench/inputs/heavy.json").read_text(encoding="utf-8"))
    data["entries"] = list(data["worldbooks"][0]["entries"].values())
    means = {}
    for strategy in ("stepped", "group_order"):
        plans = [_plan(data, turn, strategy) for turn in range(200, 320, 2)]
        reports = [prefix_report(a, b, Quarter()) for a, b in pairwise(plans)]
        means[strategy] = sum(report.share for report in reports) / len(reports)
        assert all(
            abs(report.share - _bytes_share(a, b)) < 0.01
            for report, (a, b) in zip(reports, pairwise(plans), strict=True)
        )
    assert means["stepped"] >= 0.7
    assert means["group_order"] <= 0.3


def _bytes_share(before: Plan, after: Plan) -> float:
    """The common beginning of what would be sent, in bytes."""
    old, new = (json.dumps([m.to_dict() for m in plan.messages], sort_keys=True).encode() for plan in (before, after))
    common = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    return common / len(new)
