"""Strategies: the order of moves, and the cut that moves in steps."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.budget import STRATEGIES, BaseStrategy, GroupOrder, Priority, Stepped, TrimmingConfig, trim
from innkeeper.budget.strategies.strategy import in_order, moves_of
from innkeeper.budget.unit import Unit
from innkeeper.prompt import FrozenDict, UnknownNameError
from innkeeper.prompt.errors import UsageError
from tests.budget.doubles import UNITS, Characters, block


@given(UNITS, st.sampled_from([GroupOrder(), Priority()]), st.integers(0, 60))
def test_no_unit_more_than_needed_goes(units: list[Unit], strategy: Any, budget: int) -> None:
    """Without the last one it would not fit yet; when it does not fit, all that may go has gone."""
    total = sum(unit.tokens for unit in units)
    gone = strategy.choose(units, total, budget)
    left = total - sum(unit.tokens for unit in gone)
    if gone:
        assert left + gone[-1].tokens > budget
    if left > budget:
        assert {unit.members for unit in gone} == {unit.members for unit in units if not unit.protected}


def test_heads_go_with_the_last_of_what_they_head() -> None:
    """One move holds both; over something that stays, the head is a move of its own, after the others."""
    head, body, other = (Unit((i,), 1, "examples", 100, head=i == 0) for i in range(3))
    assert moves_of([head, body, other]) == [[body], [other, head]]
    stays = Unit((3,), 1, "examples", 100, protected=True)
    assert moves_of([head, body, stays]) == [[body], [head]]
    assert moves_of([head]) == [[head]]
    assert moves_of([]) == []


def test_strategies_are_found_by_name() -> None:
    """A name, or a strategy with options of its own."""
    assert {name: type(STRATEGIES.make(name)) for name in STRATEGIES} == dict(STRATEGIES)
    mine = Stepped(step_tokens=5)
    assert STRATEGIES.make(mine) is mine
    assert (
        STRATEGIES.make({"name": "stepped", "step_tokens": 5}) == mine == STRATEGIES.make("stepped", {"step_tokens": 5})
    )
    with pytest.raises(UnknownNameError, match="unknown trimming strategy 'grup_order'") as caught:
        STRATEGIES.make("grup_order")
    assert "group_order" in (caught.value.hint or "")


@pytest.mark.parametrize("options", [{"steps": 5}, {"step_tokens": "five"}])
def test_options_that_a_strategy_does_not_have_are_refused(options: dict[str, Any]) -> None:
    """By name, before anything is counted."""
    with pytest.raises(UsageError, match="strategy 'stepped'"):
        STRATEGIES.make("stepped", options)


class NewestFirst(BaseStrategy, frozen=True):
    """A strategy of somebody else."""

    name = "newest_first"
    reason = "too_new"

    def choose(self, units: Sequence[Unit], total: int, budget: int) -> list[Unit]:
        free = [unit for unit in reversed(units) if not unit.protected and not unit.blocks[0].metadata.get("keep")]
        return in_order([[unit] for unit in free], total - budget)


def test_a_strategy_of_ones_own_works_as_the_built_in_ones() -> None:
    """It is found by name in a registry that has it, sees its blocks, protects the latest user message, names its reason."""
    strategies = STRATEGIES.with_(NewestFirst)
    blocks = [block("aa"), block("bb", role="assistant"), block("cc", metadata=FrozenDict(keep=True)), block("dd")]
    result = trim(blocks, counter=Characters(), strategy=strategies.make("newest_first"), budget_tokens=6)
    assert [b.content for b in result.kept] == ["aa", "cc", "dd"]
    assert [(record.reason, record.priority) for record in result.report.evictions] == [("too_new", None)]
    assert result.report.strategy == "newest_first"
    with pytest.raises(NotImplementedError):
        BaseStrategy().choose([], 1, 0)


def test_a_trimming_step_may_know_more_strategies() -> None:
    """A configuration with other ``strategies`` takes their names from JSON; the one that everybody has does not."""

    class MyTrimming(TrimmingConfig, frozen=True, kw_only=True):
        strategies = STRATEGIES.with_(NewestFirst)

    assert isinstance(MyTrimming(strategy="newest_first").chosen(), NewestFirst)
    assert isinstance(TrimmingConfig(strategy=NewestFirst()).chosen(), NewestFirst)
    with pytest.raises(UnknownNameError):
        TrimmingConfig(strategy="newest_first")
