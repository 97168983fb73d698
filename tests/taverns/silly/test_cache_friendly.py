"""Cache-friendly prompts: what moves seldom, what stays, what the next turn gets, and that nothing is lost by it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper.budget import prefix_report
from innkeeper.prompt import ConfigError, Message, PipelineError, Plan
from innkeeper.taverns import silly
from innkeeper.taverns.silly.cache_friendly import CacheFriendly, read_cut, read_frozen

BOOK: Final[dict[str, Any]] = {
    "name": "Skerrow",
    "entries": {
        "0": {"uid": 0, "key": ["reef"], "content": "The reef is {{random::near::far}}.", "position": 4, "depth": 4},
        "1": {"uid": 1, "key": ["gull"], "content": "Gulls are loud.", "position": 4, "depth": 2, "role": 1},
        "2": {"uid": 2, "constant": True, "content": "It rains.", "position": 4, "depth": 1},
    },
}


def turns(count: int, friendly: Any, window: int = 2_000, **more: Any) -> Iterator[Plan]:
    """The plans of a chat, turn after turn, each with the state that the one before has left."""
    history: list[Message] = []
    state = None
    for turn in range(count):
        about = "The reef?" if turn % 6 == 0 else "A gull." if turn % 9 == 1 else "Well."
        history.append(Message("user", f"{turn}: {about} " + "word " * 30))
        plan = silly.build(
            character={"name": "Wenna", "description": "She keeps the inn.", "first_mes": "Hello"},
            lorebooks=[BOOK],
            history=tuple(history),
            lore_state=state,
            settings={"cache_friendly": friendly},
            model="gpt-4o",
            context_window=window,
            reserved_tokens=50,
            now="2026-01-15T12:00:00+00:00",
            seed=turn,
            **{"authors_note": {"text": "Be brief.", "depth": 3}, **more},
        )
        state = plan.carry
        yield plan
        history.append(Message("assistant", f"answer {turn} " + "word " * 30))


def share(plans: list[Plan]) -> float:
    """The part of the tokens that a prefix cache can serve, over all turns."""
    reports = [prefix_report(before, after) for before, after in pairwise(plans)]
    return sum(report.token_share for report in reports) / len(reports)


def texts(plan: Plan) -> list[str]:
    """The texts that are sent."""
    return [block.content for block in plan.enabled_blocks]


def test_friendlier_is_more_of_the_prefix() -> None:
    """Each setting leaves more to the cache than the one before it."""
    off, on, frozen = (list(turns(36, setting)) for setting in (None, True, {"freeze": True}))
    assert share(off) < 0.5 < share(on) < share(frozen)
    between = [prefix_report(a, b).token_share for a, b in pairwise(frozen)][10:]
    assert sorted(between)[len(between) // 3] > 0.85


def test_texts_at_a_depth_are_held() -> None:
    """The author's note stands still for a step; lore, which comes and goes, stays at its depth."""
    plans = list(turns(12, {"step_messages": 8}, window=8_000))
    places = [texts(plan)[::-1].index("Be brief.") for plan in plans]
    starts = [len(texts(plan)) - place for plan, place in zip(plans, places, strict=True)]
    assert len(set(starts[6:10])) <= 2
    assert all(texts(plan)[-2] == "It rains." for plan in plans[2:])
    note = next(note for note in plans[-1].notes if note.data.get("input") == "settings.cache_friendly")
    assert "move every 8 messages" in note.message


def test_a_frozen_entry_stays_word_for_word() -> None:
    """It is where it was first inserted, with what chance gave it then, though no key matches; a note says which."""
    plans = list(turns(6, {"freeze": True}, window=8_000))
    first = next(text for text in texts(plans[0]) if text.startswith("The reef is"))
    kept = [[text for text in texts(plan) if text.startswith("The reef is")] for plan in plans]
    assert kept == [[first]] * 6
    assert all(" ".join(texts(plan)).index(first) < " ".join(texts(plan)).index("0: The reef?") for plan in plans)
    note = next(note for note in plans[-1].notes if note.data.get("input") == "settings.cache_friendly")
    assert "Skerrow.0" in note.data["unmatched"]
    roles = {block.content: block.role for block in plans[-1].enabled_blocks}
    assert (roles[first], roles["Gulls are loud."]) == ("system", "user")


def test_frozen_entries_are_released() -> None:
    """By their age, when their message is gone, when their book is gone, and when the chat is cut behind them."""
    last = list(turns(5, {"freeze": True, "expires": 3}, window=8_000))[-1]
    assert not any(text.startswith("The reef is") for text in texts(last))
    carry = next(turns(1, {"freeze": True})).carry
    shorter = silly.build(history=[], lore_state=carry, lorebooks=[BOOK], settings={"cache_friendly": {"freeze": True}})
    assert not any(text.startswith("The reef is") for text in texts(shorter))
    other = silly.build(history=[Message("user", "a")], lore_state=carry, settings={"cache_friendly": {"freeze": True}})
    assert not any(text.startswith("The reef is") for text in texts(other))
    cut = list(turns(36, {"freeze": True}))[-1]
    assert min(entry["behind"] for entry in cut.carry["frozen"]) >= cut.carry["cut"]["first"] - 1 > 0


@settings(max_examples=5)
@given(
    friendly=st.sampled_from([True, {"freeze": True}, {"step_messages": 3, "freeze": True}]),
    window=st.integers(300, 3_000),
)
def test_nothing_is_lost(friendly: Any, window: int) -> None:
    """Every message is sent or recorded as left out, and the prompt fits."""
    for number, plan in enumerate(turns(8, friendly, window)):
        lines = {block.id for block in plan.blocks if block.id.startswith("history-")}
        assert len(lines) == 2 * number + 1
        assert plan.trim_report is not None
        assert plan.trim_report.final_tokens <= window - 50


@pytest.mark.parametrize("bad", ["yes", 3, {"step_messages": 0}, {"step_messages": "x"}, {"stp": 2}, {"expires": -1}])
def test_bad_settings(bad: Any) -> None:
    """A typed error that names the setting."""
    with pytest.raises(PipelineError, match="cache_friendly") as caught:
        silly.build(settings={"cache_friendly": bad})
    assert isinstance(caught.value.__cause__, ConfigError)


def test_what_a_carry_holds_is_not_trusted() -> None:
    """A state that is not ours freezes and cuts nothing."""
    assert read_frozen("x") == read_frozen([{"key": 1}]) == ()
    assert read_cut("x") is read_cut({"first": "a"}) is None
    state: Any = {
        "timed": None,
        "scans": {},
        "frozen": [{"key": "no.1", "text": "evil", "role": "system", "behind": 0}],
    }
    plan = silly.build(history=[Message("user", "a")], lore_state=state, settings={"cache_friendly": {"freeze": True}})
    assert "evil" not in str(plan.to_messages())


def test_off_and_elsewhere() -> None:
    """``false`` is off; text completion says that the setting has no effect there."""
    assert CacheFriendly.of(False) is CacheFriendly.of(None) is None
    plan = silly.build(history=[Message("user", "a")], dialect="text", settings={"cache_friendly": True})
    assert any("no effect on text completion" in note.message for note in plan.notes)
    assert "cut" not in silly.build(history=[Message("user", "a")]).carry
