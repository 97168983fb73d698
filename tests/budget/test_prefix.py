"""PrefixReport: how much a prefix cache can reuse, and what ended it."""

import json
from dataclasses import dataclass

import pytest
from hypothesis import given

from innkeeper.budget import PrefixReport, prefix_report
from innkeeper.prompt import Block, Origin, Piece, Plan
from tests.budget.doubles import BLOCKS, Characters, block


def _plan(*texts: str) -> Plan:
    return Plan(blocks=tuple(block(text, slot=text[:1], origin=Origin(text[:1])) for text in texts), dialect="text")


def _report(before: Plan, after: Plan) -> PrefixReport:
    return prefix_report(before, after, Characters())


@dataclass(frozen=True)
class Case:
    id: str
    before: Plan
    after: Plan
    shared: int
    index: int | None
    change: str | None = None
    origin: str | None = None
    offset: int | None = None


CASES = [
    Case("the-same", _plan("aa", "bb"), _plan("aa", "bb"), 4, None),
    Case("a-turn-more", _plan("aa", "bb"), _plan("aa", "bb", "cc"), 4, None),
    Case("changed", _plan("aa", "bbXb", "cc"), _plan("aa", "bbYb", "cc"), 4, 1, "changed", "b", 2),
    Case("changed-role", _plan("aa", "bb"), _plan("aa").append(block("bb", role="system", origin=Origin("b"))),
         2, 1, "changed", "b", 0),
    Case("added", _plan("aa", "cc"), _plan("aa", "lore", "cc"), 2, 1, "added", "l", 0),
    Case("removed", _plan("aa", "bb", "cc"), _plan("aa", "cc"), 2, 1, "removed", "b", 0),
    Case("removed-at-the-end", _plan("aa", "bb"), _plan("aa"), 2, 1, "removed", "b", 0),
    Case("nothing-in-common", _plan("aa"), _plan("bb"), 0, 0, "changed", "b", 0),
    Case("from-nothing", _plan(), _plan("aa"), 0, None),
    Case("to-nothing", _plan("aa"), _plan(), 0, 0, "removed", "a", 0),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_is_shared_and_what_ended_it(case: Case) -> None:
    """Tokens of the common beginning, the first message that differs, what became of it, and whose text it is."""
    report = _report(case.before, case.after)
    assert (report.shared_tokens, report.index) == (case.shared, case.index)
    assert (report.change, report.offset) == (case.change, case.offset)
    assert (None if report.origin is None else str(report.origin)) == case.origin


def test_the_cause_is_the_piece_that_differs() -> None:
    """In a text of several sources the one that changed is named: the entry, or the macro."""

    def said(time: str) -> Plan:
        pieces = (Piece("It is ", Origin("preset")), Piece(time, Origin("preset", macro="time")))
        return Plan(blocks=(Block(role="system", content=f"It is {time}", pieces=pieces),))

    report = _report(said("noon"), said("dusk"))
    assert (report.offset, str(report.origin)) == (len("It is "), "preset {{time}}")


def test_shares() -> None:
    """Of bytes and of tokens, from 0 to 1; of an empty plan all is shared."""
    assert _report(_plan("aa"), _plan("aa", "bb")).token_share == 0.5
    assert 0 < _report(_plan("aa"), _plan("aa", "bb")).share < 1
    assert _report(_plan("aa"), _plan("aa")).share == 1
    assert (_report(_plan(), _plan()).share, _report(_plan(), _plan()).token_share) == (1, 1)


@given(BLOCKS, BLOCKS)
def test_the_report_holds_for_any_two_plans(before: tuple[Block, ...], after: tuple[Block, ...]) -> None:
    """Shares lie between 0 and 1; the messages before the index are equal; a plan and its continuation share all of it."""
    old, new = Plan(blocks=before), Plan(blocks=after)
    report = _report(old, new)
    assert 0 <= report.share <= 1
    assert report.shared_tokens <= report.total_tokens
    if report.index is not None:
        assert old.messages[: report.index] == new.messages[: report.index]
    grown = Plan(blocks=(*before, *after))
    if grown.messages[: len(old.messages)] == old.messages:
        assert _report(old, grown).index is None


def test_the_facts_are_json() -> None:
    """With both shares."""
    facts = json.loads(json.dumps(_report(_plan("aa"), _plan("ab")).to_dict()))
    assert facts["change"] == "changed"
    assert 0 < facts["share"] < 1
    assert facts["token_share"] == 0.5


def test_the_built_in_counter_is_the_default() -> None:
    """Nothing needs to be handed over."""
    assert prefix_report(_plan("hello there"), _plan("hello there", "general")).shared_tokens > 0
