"""Scanning as RisuAI does it: the recorded cases, and what holds for all books."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.taverns.risu.lore.activation import LoreQuery, scan, window_of
from innkeeper.taverns.risu.lore.compiled import compile_lore
from innkeeper.taverns.risu.lore.entry import stored_entries
from scripts.parity import Case, CaseVerdict, load_cases, run_case
from scripts.parity.risu_prompts import lore_of, variables_of
from tests.shared import VECTORS

CASES = [*load_cases([VECTORS / "risu" / "lorebook.json"])]
CHANGED = {case.name for case in load_cases([VECTORS / "risu" / "lorebook_later.json"])}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_fires_has_a_verdict_that_says_so(case: Case) -> None:
    """Each active entry has one, and every verdict is a sentence."""
    result = lore_of(case, variables_of(case))
    fired = {verdict.title for verdict in result.verdicts if verdict.fired}
    assert {item.source for item in result.active} <= fired
    assert all(str(verdict) for verdict in result.verdicts)


@pytest.mark.parametrize("case", [case for case in CASES if case.name not in CHANGED], ids=lambda case: case.name)
def test_later_versions_agree_where_nothing_changed(case: Case) -> None:
    """What was recorded from 166.3.3 holds for them, too."""
    later = msgspec.structs.replace(case, raw={**case.raw, "later": True})
    assert run_case(later).verdict is CaseVerdict.AGREED


class Draws:
    """A source of chance that is never asked."""

    def random(self) -> float:
        """Fail."""
        raise AssertionError


@given(st.integers(0, 30), st.integers(-5, 70))
def test_a_window_is_a_slice_as_javascript_cuts_it(length: int, depth: int) -> None:
    """Its begin may lie before the chat."""
    messages = [("user", str(index)) for index in range(length)]
    window = window_of(messages, depth)
    begin = max(2 * length - depth, 0) if depth > length else length - depth
    assert list(window) == ([] if depth <= 0 else messages[begin:])


WORDS = st.sampled_from(["lamp", "pier", "fog", "keeper", "boat", ""])
ENTRIES = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.lists(WORDS, max_size=2).map(",".join),
            "content": st.tuples(
                st.sampled_from(["", "@@priority 5\n", "@@unrecursive\n", "@@inject_lore b\n", "@@exclude_keys fog\n"]),
                st.lists(WORDS, max_size=3).map(" ".join),
            ).map("".join),
            "comment": st.sampled_from(["a", "b", "c"]),
            "insertorder": st.integers(0, 3),
            "alwaysActive": st.booleans(),
        }
    ),
    max_size=8,
)


@given(ENTRIES, st.lists(WORDS, max_size=4), st.integers(0, 20))
def test_each_entry_has_one_decision_and_the_budget_holds(
    entries: list[dict[str, Any]], chat: list[str], budget: int
) -> None:
    """Whatever the entries say."""
    query = LoreQuery(
        messages=[("user", text) for text in chat],
        budget=budget,
        depth=3,
        variables={},
        random=Draws(),
        count=lambda texts: list(map(len, texts)),
        report=lambda _what, _why: None,
    )
    result = scan(compile_lore(stored_entries(entries)), query)
    assert len(result.verdicts) == len(entries)
    assert sum(item.tokens for item in result.active) <= budget
    assert [item.order for item in result.active] == sorted(item.order for item in result.active)
