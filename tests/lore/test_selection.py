"""Inclusion groups: one entry of a group stays, and each that goes has its reason."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.lore.compiled import CompiledEntry, compile_lore
from innkeeper.lore.order import LoreScope, ScopedBook
from innkeeper.lore.selection import GroupRules, LoreBudget, choose
from innkeeper.lore.settings import LoreSettings
from innkeeper.lore.timed import TimedEffects
from innkeeper.lore.verdict import Reason
from innkeeper.prompt.determinism import Mulberry32
from tests.lore.books import book, entry

Lost = list[tuple[Any, Reason]]


def compiled(*entries: dict[str, Any]) -> list[CompiledEntry]:
    """The entries in scan order."""
    return list(compile_lore([ScopedBook("B", LoreScope.GLOBAL, book(*entries))], LoreSettings()).entries)


def chosen(
    new: list[CompiledEntry],
    fired: list[CompiledEntry] | None = None,
    sticky: tuple[int, ...] = (),
    cooldown: tuple[int, ...] = (),
    scores: dict[int, int] | None = None,
    **rules: Any,
) -> tuple[list[Any], Lost]:
    """The ids that stay, and who was removed why."""
    running = {"sticky": sticky, "cooldown": cooldown}
    state = {kind: {f"B.{uid}": {"hash": 1, "start": 0, "end": 9} for uid in uids} for kind, uids in running.items()}
    lost: Lost = []
    choose(
        new,
        {item.entry.group: item for item in fired or []},
        GroupRules(
            timed=TimedEffects(state, 3, new),
            random=Mulberry32(1),
            score=lambda item: (scores or {}).get(int(item.uid), 0),
            lost=lambda item, reason, _facts: lost.append((item.uid, reason)),
            **rules,
        ),
    )
    return [item.uid for item in new], lost


@dataclass(frozen=True)
class Case:
    """Entries of one build, who stays, and why the others go."""

    name: str
    entries: tuple[dict[str, Any], ...]
    stay: list[int]
    lost: Lost = field(default_factory=list)
    given: dict[str, Any] = field(default_factory=dict)


CASES = (
    Case("no group", (entry(1), entry(2)), [1, 2]),
    Case("alone in its group", (entry(1, group="g"), entry(2)), [1, 2]),
    Case(
        "override wins",
        (entry(1, group="g"), entry(2, group="g", groupOverride=True)),
        [2],
        [(1, Reason.GROUP_LOST)],
    ),
    Case(
        "of overrides the higher order wins",
        (entry(1, group="g", groupOverride=True, order=5), entry(2, group="g", groupOverride=True, order=9)),
        [2],
        [(1, Reason.GROUP_LOST)],
    ),
    Case(
        "no weight is never drawn",
        (entry(1, group="g", groupWeight=0), entry(2, group="g", groupWeight=50)),
        [2],
        [(1, Reason.GROUP_LOST)],
    ),
    Case(
        "sticky stays",
        (entry(1, group="g", sticky=5), entry(2, group="g", groupOverride=True)),
        [1],
        [(2, Reason.GROUP_STICKY)],
        {"sticky": (1,)},
    ),
    Case(
        "cooldown counts though sticky",
        (entry(1, group="g", sticky=5, cooldown=5), entry(2, group="g"), entry(3)),
        [3],
        [(2, Reason.GROUP_STICKY), (1, Reason.COOLDOWN)],
        {"sticky": (1,), "cooldown": (1,)},
    ),
    Case(
        "the best score stays",
        (entry(1, group="g"), entry(2, group="g")),
        [2],
        [(1, Reason.GROUP_SCORE)],
        {"scoring": True, "scores": {1: 1, 2: 2}},
    ),
    Case(
        "an entry may opt out of scoring",
        (entry(1, group="g", useGroupScoring=False, groupOverride=True), entry(2, group="g")),
        [1],
        [(2, Reason.GROUP_LOST)],
        {"scoring": True, "scores": {1: 1, 2: 2}},
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_who_stays(case: Case) -> None:
    """Sticky entries come before cooldowns, these before scores, scores before overrides, overrides before the draw."""
    assert chosen(compiled(*case.entries), **case.given) == (case.stay, case.lost)


def test_a_group_of_an_earlier_pass_is_taken() -> None:
    """A group from which an entry has fired before lets no other in."""
    first, second = compiled(entry(1, group="g"), entry(2, group="g"))
    assert chosen([second], [first]) == ([], [(2, Reason.GROUP_TAKEN)])


@pytest.mark.parametrize("double", [True, False], ids=["as sillytavern", "fixed"])
def test_a_loser_of_two_groups(double: bool) -> None:
    """Removing one entry twice takes the last new entry along in SillyTavern, and nothing without that quirk."""
    new = compiled(
        entry(1, group="g,h"),
        entry(2, group="g", groupOverride=True),
        entry(3, group="h", groupOverride=True),
        entry(4),
    )
    stay, lost = chosen(new, double_removal=double)
    assert stay == ([2, 3] if double else [2, 3, 4])
    assert lost == [(1, Reason.GROUP_LOST), *([(4, Reason.GROUP_QUIRK)] if double else [])]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.integers(1, 200)), max_size=8))
def test_each_group_keeps_one(drawn: list[tuple[str, bool, int]]) -> None:
    """However entries are grouped, each group keeps exactly one, and every entry stays or has one reason."""
    new = compiled(
        *(
            entry(uid, group=name, groupOverride=override, groupWeight=weight)
            for uid, (name, override, weight) in enumerate(drawn)
        )
    )
    stay, lost = chosen(new)
    assert sorted(drawn[uid][0] for uid in stay) == sorted({name for name, _, _ in drawn})
    assert sorted([*stay, *(uid for uid, _ in lost)]) == list(range(len(drawn)))


OVERHEAD = 3

texts = st.lists(st.text("ab \n.é", max_size=6), max_size=8)


def part(text: str) -> int:
    """Words, marks and runs of blanks: as tokenizers do, it joins blanks, but never a letter to what stands before a line."""
    return len(re.findall(r"\w+|\s+(?=\w)|\s+|[^\w\s]", text))


def whole(text: str) -> int:
    """A text counted alone."""
    return OVERHEAD + part(text) if text else 0


def joined(pieces: list[str]) -> str:
    """The pieces as they are counted."""
    return "".join(f"{piece}\n" for piece in pieces)


@given(texts, texts, texts, st.integers(0, 40), st.booleans())
def test_it_counts_the_texts_joined_behind_those_given_to_recursion(
    first: list[str], second: list[str], now: list[str], tokens: int, adds_up: bool
) -> None:
    """After every text the answer is that of counting the recursion's texts and the pass's, each joined, newest first."""
    count = whole if adds_up else part
    budget = LoreBudget(tokens, count, part if adds_up else None, OVERHEAD if adds_up else 0)
    budget.spread(first)
    budget.spread(second)
    budget.begin()
    for number, text in enumerate(now, 1):
        expected = count(joined([*second, *first])) + count(joined(now[:number]))
        assert budget.reached_by(text) == (expected if expected >= tokens else None)


@given(texts)
def test_nothing_is_counted_while_the_bytes_fit(now: list[str]) -> None:
    """A budget that even the bytes of all texts do not fill costs no counting."""

    def never(text: str) -> int:
        raise AssertionError(text)

    budget = LoreBudget(1_000, never, never, OVERHEAD)
    assert [budget.reached_by(text) for text in now] == [None] * len(now)


def test_a_part_that_nothing_can_join_is_counted_once() -> None:
    """Where counts add up, each text is counted by itself, and no part a second time."""
    counted: list[str] = []

    def counting(text: str) -> int:
        counted.append(text)
        return part(text)

    budget = LoreBudget(1, whole, counting, OVERHEAD)
    for name in ("One.", "Two.", "Three."):
        budget.reached_by(name)
    assert counted == ["One.\n", "Two.\n", "Three.\n"]
