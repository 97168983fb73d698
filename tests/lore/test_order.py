"""The order in which entries are tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.lore.order import descending, scan_order
from innkeeper.lore.settings import InsertionStrategy
from tests.lore.books import book, entry, scoped_books


@dataclass(frozen=True)
class Order:
    """A strategy, and the entries of character and world in the order they are tried."""

    strategy: InsertionStrategy
    keys: tuple[str, ...]


ORDERS = (
    Order(InsertionStrategy.EVENLY, ("character.1", "global.1", "character.0", "global.0")),
    Order(InsertionStrategy.CHARACTER_FIRST, ("character.1", "character.0", "global.1", "global.0")),
    Order(InsertionStrategy.GLOBAL_FIRST, ("global.1", "global.0", "character.1", "character.0")),
)


@pytest.mark.parametrize("case", ORDERS, ids=lambda case: case.strategy.name)
def test_order(case: Order) -> None:
    """Chat comes first, then persona, then character and world as the strategy says; orders descend in each."""
    keys = [f"{name}.{item.id}" for name, item in scan_order(scoped_books(), case.strategy)]
    assert keys == ["chat.0", "chat.1", "persona.1", "persona.0", *case.keys]


@dataclass(frozen=True)
class Orders:
    """Orders as entries have them (``...`` is none at all), and the places they are sorted to."""

    orders: tuple[Any, ...]
    sorted: list[int]


SORTED = (
    Orders((50, 100, 70), [1, 2, 0]),
    Orders((None, 150, -10), [1, 0, 2]),
    Orders(("70", 150, ""), [1, 0, 2]),
    Orders((..., 100, ..., 50, ..., ..., 100), [0, 1, 2, 6, 3, 4, 5]),
    Orders(("abc", 50, 100, -10, None, "abc", 50), [0, 2, 1, 6, 4, 3, 5]),
)


@pytest.mark.parametrize("case", SORTED, ids=lambda case: str(case.orders))
def test_entries_without_an_order(case: Orders) -> None:
    """They compare equal to all others; null and blank count as 0 (measured on SillyTavern 1.19)."""
    entries = [entry(uid) | {"order": order} for uid, order in enumerate(case.orders)]
    listed = [{key: value for key, value in item.items() if value is not ...} for item in entries]
    found = descending(book(*listed).entries, lambda item: item)
    assert [item.id for item in found] == case.sorted
