"""Budget and order of the entries that fired."""

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.taverns.risu.lore.compiled import compile_lore
from innkeeper.taverns.risu.lore.entry import LoreEntry
from innkeeper.taverns.risu.lore.ranking import ActiveLore, in_order, within_budget

NUMBERS = st.integers(-3, 3).map(float) | st.just(math.nan)
ITEMS = st.lists(st.tuples(NUMBERS, NUMBERS, st.integers(0, 5)), max_size=8)


def active(items: list[tuple[float, float, int]]) -> list[ActiveLore]:
    """Entries with priorities, orders and tokens."""
    lore = compile_lore([LoreEntry(comment=str(index)) for index in range(len(items))])
    fixed: dict[str, Any] = {"text": "", "position": "", "depth": 0, "role": "system"}
    return [
        ActiveLore(compiled=entry, priority=priority, order=order, tokens=tokens, **fixed)
        for entry, (priority, order, tokens) in zip(lore.entries, items, strict=True)
    ]


@given(ITEMS, st.integers(0, 20))
def test_the_budget_holds_and_every_entry_is_in_or_over_it(items: list[tuple[float, float, int]], budget: int) -> None:
    """What is over it would not have fitted when its turn came; entries without tokens always fit."""
    fired = active(items)
    chosen, over = within_budget(fired, budget)
    assert sum(item.tokens for item in chosen) <= budget
    assert {item.compiled.index for item in chosen} | over.keys() == {item.compiled.index for item in fired}
    assert all(over[index] + fired[index].tokens > budget for index in over)


@given(ITEMS)
def test_order_ascends_and_of_equal_ones_the_last_comes_first(items: list[tuple[float, float, int]]) -> None:
    """As long as every order is a number."""
    fired = [item for item in active(items) if not math.isnan(item.order)]
    used, targets = in_order(fired)
    assert [(item.order, -item.compiled.index) for item in used] == sorted(
        (item.order, -item.compiled.index) for item in fired
    )
    assert targets == {}
