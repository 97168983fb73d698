"""Scanning of lorebooks: what recursion, levels, groups and hostile keys cost."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.lore import LoreSettings
from tests.limits.growth import Family, fresh, held, spending
from tests.lore.books import entry, run

DEEP = LoreSettings(depth=5, recursive=True)


def _scan(count: int, message: str = "key", settings: LoreSettings = DEEP, **fields: Any) -> None:
    """A book of so many entries, each field a value or what makes it of the entry's number."""
    seen = fresh()
    made = [
        entry(
            number,
            **{name: value(number) if callable(value) else value for name, value in fields.items()},
            comment=seen,
        )
        for number in range(count)
    ]
    run(made, message, settings=settings, budget=10**9, count_part=len)


def _keys(prefix: str) -> Any:
    return lambda number: [f"{prefix}{number}x"]


def _far(count: int) -> None:
    run([entry(1, "none")], *["text"] * count, settings=LoreSettings(depth=1, min_activations=9))


FAMILIES = (
    Family(
        "a chain",
        lambda n: _scan(
            n, "k0x", key=_keys("k"), content=lambda i: "word " * 100 + f"k{i + 1}x", ignoreBudget=True
        ),
        100,
        "lore",
    ),
    Family("levels", lambda n: _scan(n, key=["key"], delayUntilRecursion=lambda i: i + 1), 120, "lore"),
    Family("constant levels", lambda n: _scan(n, constant=True, delayUntilRecursion=lambda i: i + 1), 200, "lore"),
    Family("one group", lambda n: _scan(n, key=["key"], group="g"), 200, "lore"),
    Family("scored group", lambda n: _scan(n, key=["key"], group="g", useGroupScoring=True), 150, "lore"),
    Family("groups", lambda n: _scan(n, key=["key"], group=lambda i: f"g{i // 2},h{i // 3}"), 150, "lore"),
    Family("orders that are missing", lambda n: _scan(n, key=["key"], order=lambda i: "x" if i % 2 else i), 200, "lore"),
    Family("keys that never agree", lambda n: _scan(n, key=["key"], keysecondary=["none"], selective=True), 200, "lore"),
    Family("keys with macros", lambda n: _scan(n, "the key " * 100, key=_keys("{{user}}")), 200, "lore"),
    Family("words in a text", lambda n: _scan(9, "keys " * n, key=["{{x}}key"], matchWholeWords=True), 3_000, "lore"),
    Family("more messages", _far, 100, "lore"),
)  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_twice_the_book_costs_twice_as_much(family: Family) -> None:
    """Time and memory grow as entries do: a pass looks at what it has found, not at all there is."""
    assert held(family)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_scans_are_charged(family: Family) -> None:
    """Entries, keys and texts are charged."""
    assert spending(family)[family.engine] > 100
