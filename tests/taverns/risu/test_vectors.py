"""The golden cases of RisuAI that this project holds: every one agrees, or differs on purpose."""

from __future__ import annotations

import pytest

from scripts.parity import Case, CaseVerdict, load_cases, run_case
from tests.shared import VECTORS

FILES = ("lorebook", "lorebook_later", "prompt", "group", "memory", "reformat", "payload", "format")
CASES = [*load_cases(VECTORS / "risu" / f"{name}.json" for name in FILES)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_agrees(case: Case) -> None:
    """Same inputs, same entries, same messages."""
    outcome = run_case(case)
    shown = "\n".join(difference.render() for difference in outcome.differences[:6])
    if outcome.verdict is CaseVerdict.UNAVAILABLE:
        pytest.skip(outcome.error or "")
    assert outcome.verdict in {CaseVerdict.AGREED, CaseVerdict.DELIBERATE}, f"{outcome.error or ''}\n{shown}"


@pytest.mark.parametrize("case", [case for case in CASES if case.area.startswith("prompt")], ids=lambda case: case.name)
def test_each_line_says_where_it_is_from(case: Case) -> None:
    """The pieces of a block are its text, and a build is the same each time."""
    from scripts.parity.risu_prompts import build_of

    if "throws" in case.expected:
        return
    plan = build_of(case, flags=True)
    assert all("".join(piece.text for piece in block.pieces) == block.content for block in plan.blocks)
    assert plan.fingerprint() == build_of(case, flags=True).fingerprint()
