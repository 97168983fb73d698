"""Linting books: each fault is found at its place, and a sound book has none."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.finding import Level
from innkeeper.lore import LoreSettings, lint_book
from tests.lore.books import book, entry


@dataclass(frozen=True)
class Case:
    """Entries, and the rules they break with the paths."""

    name: str
    entries: tuple[dict[str, Any], ...]
    found: tuple[tuple[str, str], ...]
    settings: LoreSettings | None = None
    budget: int | None = None


RECURSIVE = LoreSettings(recursive=True)
KING = entry(1, constant=True, group="g", groupOverride=True, order=50)

CASES = (
    Case("sound", (entry(1, "ferry"), entry(2, constant=True)), ()),
    Case("no keys", (entry(1),), (("dead-entry", "entries[1].key"),)),
    Case("blank keys", (entry(1, " "),), (("dead-entry", "entries[1].key"), ("matches-all", "entries[1].key[0]"))),
    Case("suppressed", (entry(1, "ferry", content="@@dont_activate\nx"),), (("dead-entry", "entries[1].content"),)),
    Case("probability 0", (entry(1, "ferry", probability=0),), (("dead-entry", "entries[1].probability"),)),
    Case("own depth 0", (entry(1, "ferry", scanDepth=0),), (("dead-entry", "entries[1].scanDepth"),)),
    Case("no text", (entry(1, "ferry", content=" "),), (("empty-entry", "entries[1].content"),)),
    Case("outlet without a name", (entry(1, "ferry", position=7),), (("no-slot", "entries[1].outletName"),)),
    Case("vectors only", (entry(1, vectorized=True),), (("needs-vectors", "entries[1].vectorized"),)),
    Case(
        "waits for what it is excluded from",
        (entry(1, "ferry", delayUntilRecursion=True, excludeRecursion=True),),
        (("dead-entry", "entries[1].delayUntilRecursion"),),
        RECURSIVE,
    ),
    Case(
        "must not find its own key",
        (entry(1, "ferry", keysecondary=["Ferry"], selective=True, selectiveLogic=2),),
        (("dead-entry", "entries[1].keysecondary"),),
    ),
    Case("short key", (entry(1, "at"),), (("short-key", "entries[1].key[0]"),)),
    Case("short as a whole word", (entry(1, "at", matchWholeWords=True),), ()),
    Case("short in a script without blanks", (entry(1, "\u6e21"),), ()),
    Case("a key twice", (entry(1, "ferry", "Ferry"),), (("double-key", "entries[1].key[1]"),)),
    Case("invalid regex", (entry(1, "/(ferry/"),), (("plain-regex", "entries[1].key[0]"),)),
    Case("unknown flag", (entry(1, "/ferry/q"),), (("plain-regex", "entries[1].key[0]"),)),
    Case("anchored", (entry(1, "/^ferry/"),), (("anchored-regex", "entries[1].key[0]"),)),
    Case("runs away", (entry(1, "/(a+)+$/m"),), (("slow-regex", "entries[1].key[0]"),)),
    Case("quick regex", (entry(1, r"/\bferr(y|ies)\b/i"),), ()),
    Case("shadowed group", (KING, entry(2, "ferry", group="g")), (("shadowed-entry", "entries[2].group"),)),
    Case("higher order wins", (KING, entry(2, "ferry", group="g", groupOverride=True, order=60)), ()),
    Case(
        "constants over the budget",
        (entry(1, constant=True, content="x" * 9), entry(2, constant=True, content="y" * 9, order=1)),
        (("constants-over-budget", "entries[2]"),),
        budget=12,
    ),
    Case("disabled entries say nothing", (entry(1, disable=True, probability=0),), ()),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_finds(case: Case) -> None:
    """Exactly these rules at these places."""
    found = lint_book(book(*case.entries), settings=case.settings, budget=case.budget)
    assert sorted((item.rule, item.path) for item in found) == sorted(case.found)


def test_constants_need_a_budget() -> None:
    """Without a budget nothing can be over it."""
    assert lint_book(book(entry(1, constant=True, content="x" * 9999))) == ()


def test_facts_are_no_faults() -> None:
    """What is only worth knowing is told as such."""
    levels = {item.rule: item.level for item in lint_book(book(entry(1, "ferry", "ferry", vectorized=True)))}
    assert levels == {"double-key": Level.INFO}


@given(st.lists(st.text(max_size=12), max_size=3), st.text(max_size=20), st.booleans())
def test_any_entry_can_be_linted(keys: list[str], content: str, constant: bool) -> None:
    """No key and no content stops the lint, and every finding names the entry."""
    found = lint_book(book(entry(1, *keys, content=content, constant=constant)))
    assert all(item.path.startswith("entries") for item in found)


def test_expressions_are_tried_for_a_time() -> None:
    """Of hundreds that run away the first are told, and that the others were not tried."""
    many = book(*(entry(number, f"/(a+)+{number}$/m") for number in range(200)))
    rules = Counter(finding.rule for finding in lint_book(many))
    assert 1 <= rules["slow-regex"] < 200
    assert rules["untimed-regex"] == 1
