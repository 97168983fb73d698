"""The golden cases of SillyTavern 1.19 that this project holds: every one agrees, or says why it cannot be run here."""

from __future__ import annotations

from itertools import groupby

import pytest

from scripts.parity import Case, CaseVerdict, load_cases, run_case
from tests.shared import VECTORS

AREAS = (
    "chat_completion", "text_completion", "world_info", "carry_over", "macros", "regex", "order", "extensions", "media",
)  # fmt: skip
UNSHIPPED = "needs a tokenizer vocabulary that may not be shipped"


TOGETHER = 20
"""Cases of one test: what surrounds a test takes as long as a case does."""


def _groups() -> list[tuple[Case, ...]]:
    """The cases of each area, so many together, in the order of their names."""
    folders = [VECTORS / "silly" / area for area in AREAS if (VECTORS / "silly" / area).exists()]
    cases = sorted((case for case in load_cases(folders) if case.tavern == "silly"), key=lambda case: case.area)
    areas = [tuple(group) for _, group in groupby(cases, key=lambda case: case.area)]
    return [area[start : start + TOGETHER] for area in areas for start in range(0, len(area), TOGETHER)]


@pytest.mark.parametrize("cases", _groups(), ids=lambda cases: f"{cases[0].area}-{cases[0].name}")
def test_agree(cases: tuple[Case, ...]) -> None:
    """Same inputs, same prompt, as far as each case counts."""
    outcomes = {case.name: run_case(case) for case in cases}
    failed = [
        "\n".join((name, outcome.error or "", *(difference.render() for difference in outcome.differences[:6])))
        for name, outcome in outcomes.items()
        if outcome.verdict not in {CaseVerdict.AGREED, CaseVerdict.UNAVAILABLE}
    ]
    assert not failed, "\n\n".join(failed)
    unshipped = [one.error for one in outcomes.values() if one.verdict is CaseVerdict.UNAVAILABLE]
    if unshipped:
        agreed = f"{len(cases) - len(unshipped)} of {len(cases)} cases agree, {len(unshipped)} cannot be run here"
        pytest.skip(f"{agreed}: {UNSHIPPED}: {unshipped[0]}")
