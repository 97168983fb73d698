"""The golden cases of SillyTavern 1.19 that this project holds: every one agrees, or says why it cannot be run here."""

from __future__ import annotations

import pytest

from innkeeper.parity import Case, CaseVerdict, load_cases, run_case
from tests.shared import VECTORS

AREAS = (
    "chat_completion", "text_completion", "world_info", "carry_over", "macros", "regex", "order", "extensions", "media",
)  # fmt: skip
UNSHIPPED = "needs a tokenizer vocabulary that may not be shipped"


def _cases() -> list[Case]:
    folders = [VECTORS / "silly" / area for area in AREAS if (VECTORS / "silly" / area).exists()]
    return [case for case in load_cases(folders) if case.tavern == "silly"]


@pytest.mark.parametrize("case", _cases(), ids=lambda case: f"{case.area}-{case.name}")
def test_agrees(case: Case) -> None:
    """Same inputs, same prompt, as far as the case counts."""
    outcome = run_case(case)
    if outcome.verdict is CaseVerdict.UNAVAILABLE:
        pytest.skip(f"{UNSHIPPED}: {outcome.error}")
    shown = "\n".join(difference.render() for difference in outcome.differences[:6])
    assert outcome.verdict is CaseVerdict.AGREED, f"{outcome.error or ''}\n{shown}"
