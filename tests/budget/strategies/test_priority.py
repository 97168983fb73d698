"""The strategy ``priority``: the lowest first."""

from hypothesis import given

from innkeeper.budget import Priority
from innkeeper.budget.units import Unit
from tests.budget.doubles import UNITS


@given(UNITS)
def test_priority_goes_from_the_lowest(units: list[Unit]) -> None:
    """Ascending, ties in prompt order, whatever the group."""
    gone = Priority().choose(units, sum(unit.tokens for unit in units) + 1, 0)
    keys = [(unit.priority, unit.members) for unit in gone]
    assert keys == sorted(keys)
