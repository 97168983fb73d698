"""Units: what stays or goes together, and the latest user message."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.budget import STRATEGIES, BaseStrategy, GroupOrder, Priority, Stepped, TrimmingConfig, trim
from innkeeper.budget.strategies import in_order, moves_of
from innkeeper.budget.units import Unit, latest_user, pass_of, units_of
from innkeeper.prompt import BudgetGroup, FrozenDict, UnknownNameError
from innkeeper.prompt.errors import UsageError
from tests.budget.doubles import BLOCKS, GROUPS, UNITS, Characters, block


@pytest.mark.parametrize("group", [*BudgetGroup, *GROUPS, "anything"])
def test_each_group_has_a_pass(group: str) -> None:
    """Examples, lore and system have their own; every other group counts as history."""
    assert pass_of(block(group=group)) == (group if group in ("system", "examples", "lore") else "history")


@given(BLOCKS)
def test_units_part_the_blocks(blocks: Any) -> None:
    """Every block is in one unit, in order; a unit has the tokens of its members and the lowest of their priorities."""
    units = units_of(blocks, [len(b.content) for b in blocks])
    assert sorted(index for unit in units for index in unit.members) == list(range(len(blocks)))
    assert [unit.members[0] for unit in units] == sorted(unit.members[0] for unit in units)
    for unit in units:
        assert list(unit.members) == sorted(unit.members)
        assert unit.tokens == sum(len(blocks[index].content) for index in unit.members)
        assert unit.priority == min(blocks[index].priority for index in unit.members)


@given(BLOCKS)
def test_one_protected_member_protects_its_unit(blocks: Any) -> None:
    """System blocks, unremovable ones, and the indices that are named."""
    for unit in units_of(blocks, [1] * len(blocks), {0}):
        parts = [blocks[index] for index in unit.members]
        safe = 0 in unit.members or any(b.group == "system" or not b.removable for b in parts)
        assert unit.protected == safe


def test_chains_of_links_are_one_unit() -> None:
    """A call in a bundle brings its result, and the result its own bundle."""
    call = {"tool_calls": [{"id": "c"}]}
    blocks = [
        block("1", bundle="a"),
        block("2"),
        block("3", bundle="a", role="assistant", message_metadata=call),
        block("4", bundle="b"),
        block("5", bundle="b", role="tool", message_metadata={"tool_call_id": "c"}),
    ]
    assert [unit.members for unit in units_of(blocks, [1] * 5)] == [(0, 2, 3, 4), (1,)]


@pytest.mark.parametrize("bundle", [5, ("a", 1), {"a": [1]}], ids=repr)
def test_a_bundle_may_be_named_by_anything(bundle: Any) -> None:
    """What a chat file or a step put there never breaks trimming."""
    blocks = [block("1", bundle=bundle), block("2", bundle=bundle)]
    assert units_of(blocks, [1, 1]) == [Unit((0, 1), 2, "history", 100, bundled=True, prompt=blocks)]


@pytest.mark.parametrize("calls", [5, "c", [5], [{"id": 5}], [{}], None])
def test_tool_calls_of_another_shape_link_nothing(calls: Any) -> None:
    """Nor do tool calls that are none."""
    blocks = [
        block("1", role="assistant", message_metadata={"tool_calls": calls}),
        block("2", message_metadata={"tool_call_id": 5}),
    ]
    assert len(units_of(blocks, [1, 1])) == 2


def test_the_latest_user_message() -> None:
    """Of the history before any other group; none where no user speaks."""
    blocks = [block("1"), block("2", "custom"), block("3", role="assistant"), block("4", "lore")]
    assert latest_user(blocks) == 0
    assert latest_user(blocks[1:]) == 0
    assert latest_user(blocks[2:]) is None


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
