"""The strategy ``group_order``: examples, lore, history."""

from hypothesis import given

from innkeeper.budget import GroupOrder
from innkeeper.budget.units import Unit
from tests.budget.doubles import UNITS


@given(UNITS)
def test_group_order_goes_pass_by_pass_oldest_first(units: list[Unit]) -> None:
    """Examples, lore, history; within each in prompt order."""
    rank = ["examples", "lore", "history"]
    gone = GroupOrder().choose(units, sum(unit.tokens for unit in units) + 1, 0)
    keys = [(rank.index(unit.turn), unit.members) for unit in gone]
    assert keys == sorted(keys)
