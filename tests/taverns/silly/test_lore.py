"""Carry: what one generation leaves for the next, in whatever form it comes back."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.taverns.silly.lore import Carry, read_carry
from tests.lore.books import entry
from tests.taverns.silly.builds import book, build, contents, turns

VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=5), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
)


def test_sticky_entries_stay() -> None:
    """Their effect is carried through JSON to the next build, which the key no longer fires."""
    lore = [book(entry(1, "bell", sticky=5))]
    options: dict[str, Any] = {"lorebooks": lore, "settings": {"wi_settings": {"depth": 1}}}
    first = build(history=turns("the bell"), **options)
    carry = json.loads(json.dumps(first.carry))
    later = turns("the bell", "yes", "and now?")
    assert "E1" in contents(build(history=later, lore_state=carry, **options))
    assert "E1" not in contents(build(history=later, **options))


def test_a_dry_run_leaves_effects_alone() -> None:
    """It neither uses nor starts them."""
    lore = [book(entry(1, "bell", sticky=5))]
    plan = build(history=turns("the bell"), lorebooks=lore, settings={"generation": {"dry_run": True}})
    assert not plan.carry["timed"]["sticky"]


@given(VALUES)
def test_any_state_can_be_read(raw: Any) -> None:
    """What is malformed is nothing."""
    assert isinstance(read_carry(raw), Carry)
    assert all(isinstance(text, str) for text in read_carry(raw).scans.values())


def test_bare_effects() -> None:
    """A state of timed effects alone is read as such."""
    assert read_carry({"sticky": {}}) == Carry({"sticky": {}})
