"""Scanning as RisuAI does it: the recorded cases, and what holds for all books."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.taverns.risu.lore.activation import LoreOutcome, LoreQuery, scan, window_of
from innkeeper.taverns.risu.lore.compiled import compile_lore
from innkeeper.taverns.risu.lore.entry import stored_entries
from tests.taverns.risu.cases import Case, Draws, cases, char4

FORMER = cases("lorebook.json")
LATER = cases("lorebook_later.json")
SAME = sorted({case.name for case in FORMER} - {case.name for case in LATER})


def run(case: Case, former: bool, variables: dict[str, Any]) -> LoreOutcome:
    """Scan the book of a case."""
    own = case.char.get("loreSettings") or {}
    lore = compile_lore(
        stored_entries(case.input["lorebook"]),
        full_words=own.get("fullWordMatching", False),
        keep_slash=former,
    )
    counts = case.input.get("token_counts", {})
    return scan(
        lore,
        LoreQuery(
            messages=[(message["role"], message["data"]) for message in case.chat["message"]],
            budget=own.get("tokenBudget", case.db["loreBookToken"]),
            depth=own.get("scanDepth", case.db["loreBookDepth"]),
            recursive=own.get("recursiveScanning", True),
            greeting=case.chat["fmIndex"] + 1,
            variables=variables,
            random=Draws(case.input.get("random_draws", [])),
            count=lambda text: counts.get(text, char4(text)),
            report=lambda _what, _why: None,
            first_text_only=former,
            leak=former,
        ),
    )


def check(case: Case, former: bool) -> None:
    """Assert what was recorded."""
    variables = dict(case.variables)
    result = run(case, former, variables)
    active = [
        {
            "depth": item.depth,
            "pos": item.position,
            "prompt": item.text,
            "role": item.role,
            "order": item.order,
            "tokens": item.tokens,
            "priority": item.priority,
            "source": item.source,
            "inject": None,
        }
        for item in result.active
    ]
    assert active == case.expected["actives"]
    matches = [{"source": match.source, "activated": match.key} for match in result.matches]
    assert matches == case.expected["match_log"]
    assert variables == case.expected.get("vars", {})
    fired = {verdict.title for verdict in result.verdicts if verdict.fired}
    assert {item.source for item in result.active} <= fired
    assert all(str(verdict) for verdict in result.verdicts)


@pytest.mark.parametrize("case", FORMER, ids=str)
def test_former_version(case: Case) -> None:
    """RisuAI 166.3.3."""
    check(case, True)


@pytest.mark.parametrize("case", LATER + [case for case in FORMER if case.name in SAME], ids=str)
def test_later_version(case: Case) -> None:
    """What changed since, and what did not."""
    check(case, False)


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
        random=Draws([]),
        count=char4,
        report=lambda _what, _why: None,
    )
    result = scan(compile_lore(stored_entries(entries)), query)
    assert len(result.verdicts) == len(entries)
    assert sum(item.tokens for item in result.active) <= budget
    assert [item.order for item in result.active] == sorted(item.order for item in result.active)
