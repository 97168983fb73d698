"""Timed effects: sticky, cooldown and delay over the builds of a growing chat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.lorebook import Lorebook
from innkeeper.lore.compiled import CompiledEntry, compile_lore
from innkeeper.lore.order import LoreScope, ScopedBook
from innkeeper.lore.settings import LoreSettings
from innkeeper.lore.timed import TimedEffects
from tests.lore.books import book, entry


def compiled(**fields: Any) -> CompiledEntry:
    """One entry ``B.1`` with these fields."""
    return compile_lore([ScopedBook("B", LoreScope.GLOBAL, book(entry(1, "k", **fields)))], LoreSettings()).entries[0]


def begun(item: CompiledEntry, length: int = 4) -> dict[str, Any]:
    """The state after the entry fired in a chat of this length."""
    effects = TimedEffects(None, length, [item])
    effects.begin([item])
    return effects.to_dict()


@dataclass(frozen=True)
class Case:
    """The length of the chat at the next build, and which effects run then."""

    length: int
    sticky: bool = False
    cooldown: bool = False


CASES = (
    Case(4),
    Case(5, sticky=True, cooldown=True),
    Case(6, sticky=True, cooldown=True),
    Case(7, cooldown=True),
    Case(9, cooldown=True),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.length))
def test_effects_over_time(case: Case) -> None:
    """An effect runs until the chat has ``end`` messages and is forgotten when it has not grown; cooldown begins anew."""
    item = compiled(sticky=3, cooldown=5)
    effects = TimedEffects(begun(item), case.length, [item])
    assert (effects.sticky(item) is not None, effects.cooldown(item) is not None) == (case.sticky, case.cooldown)
    assert effects.running == ({"B.1"} if case.sticky or case.cooldown else set())


def test_a_cooldown_after_sticky_is_protected() -> None:
    """The cooldown that an ended sticky effect starts counts from that end, and outlives a chat that does not grow."""
    item = compiled(sticky=3, cooldown=5)
    state = TimedEffects(begun(item), 7, [item]).to_dict()
    assert state["sticky"] == {}
    assert (state["cooldown"]["B.1"]["start"], state["cooldown"]["B.1"]["end"]) == (7, 12)
    assert TimedEffects(state, 7, [item]).cooldown(item) is not None


def test_a_running_effect_is_left_alone() -> None:
    """Firing again does not lengthen an effect."""
    item = compiled(sticky=3)
    effects = TimedEffects(begun(item), 5, [item])
    effects.begin([item])
    running = effects.sticky(item)
    assert running is not None
    assert (running.start, running.end) == (4, 7)


def test_an_effect_belongs_to_the_content_of_its_entry() -> None:
    """Once the entry was rewritten, its old effect waits for its end and then goes."""
    old, new = compiled(sticky=3), compiled(sticky=3, content="rewritten")
    assert TimedEffects(begun(old), 5, [new]).to_dict()["sticky"]
    assert not TimedEffects(begun(old), 7, [new]).to_dict()["sticky"]


def test_hashes_are_those_of_sillytavern() -> None:
    """An effect as SillyTavern stored it belongs to the entry with that hash, under whatever key."""
    item = compiled(sticky=3)
    known = {**begun(item)["sticky"]["B.1"], "start": 4, "end": 7}
    assert TimedEffects({"sticky": {"B.1": known}}, 5, [item]).sticky(item) is not None
    moved = TimedEffects({"sticky": {"Old.7": known}}, 7, [item])
    assert moved.sticky(item) is None
    assert moved.to_dict()["sticky"] == {}


def test_a_hash_of_another_content_waits() -> None:
    """A number that is nobody's is kept until its end, as for an entry that was rewritten."""
    item, state = compiled(sticky=3), {"sticky": {"B.1": {"hash": 123456, "start": 4, "end": 7}}}
    assert TimedEffects(state, 5, [item]).to_dict()["sticky"]["B.1"]["hash"] == 123456
    assert TimedEffects(state, 7, [item]).to_dict()["sticky"] == {}


def test_hashes_that_say_nothing() -> None:
    """A hash that is a text, and one of an entry that SillyTavern would write otherwise, are taken from the entry of the key."""
    item = compiled(sticky=3)
    card = {"id": 1, "keys": ["k"], "content": "c", "insertion_order": 1, "enabled": True, "extensions": {"sticky": 3}}
    carded = compile_lore([ScopedBook("B", LoreScope.GLOBAL, Lorebook.of([card]))], LoreSettings()).entries[0]
    for entry_, hash_ in ((item, "0f3c"), (carded, 123456)):
        state = {"sticky": {"B.1": {"hash": hash_, "start": 4, "end": 7}}}
        effect = TimedEffects(state, 5, [entry_]).sticky(entry_)
        assert effect is not None
        assert effect.hash == begun(entry_)["sticky"]["B.1"]["hash"]


@pytest.mark.parametrize("length", [2, 3], ids=["short", "long enough"])
def test_delay(length: int) -> None:
    """An entry waits while the chat is shorter than its delay, in a dry run as well."""
    item = compiled(delay=3)
    assert TimedEffects(None, length, [item]).delayed(item) is (length < 3)
    assert TimedEffects(None, length, [item], live=False).delayed(item) is (length < 3)


def test_a_dry_run_has_no_effects() -> None:
    """A dry run neither uses the state nor begins an effect, and hands the state on as it came."""
    item = compiled(sticky=3, cooldown=3)
    none: dict[str, Any] = {"sticky": {}, "cooldown": {}}
    for state in (none, begun(item)):
        effects = TimedEffects(state, 5, [item], live=False)
        effects.begin([item])
        assert effects.to_dict() == state
        assert effects.sticky(item) is effects.cooldown(item) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["sticky", "cooldown", "hash", "start", "end", "B.1"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(_JSON, st.integers(0, 9))
def test_any_state_is_read(state: Any, length: int) -> None:
    """Whatever a state holds, what is malformed is left out, and the state that comes out is read to itself."""
    item = compiled(sticky=3, cooldown=2)
    once = TimedEffects(state, length, [item]).to_dict()
    assert TimedEffects(once, length, [item]).to_dict() == once
