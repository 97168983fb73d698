"""Units: what stays or goes together, and the latest user message."""

from typing import Any

import pytest
from hypothesis import given

from innkeeper.budget.unit import Unit, latest_user, pass_of, units_of
from innkeeper.prompt import BudgetGroup
from tests.budget.doubles import BLOCKS, GROUPS, block


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
