"""TrimReport: figures that follow from each other."""

import json

from innkeeper.budget import EvictionReason, EvictionRecord, TrimReport

RECORD = EvictionRecord(
    block_id="h1", slot="history", token_count=5, reason=EvictionReason.BUDGET_EXCEEDED, budget_group="history"
)


def _report(final: int, sent: int | None = None) -> TrimReport:
    return TrimReport(
        strategy="group_order",
        budget_tokens=10,
        max_tokens=12,
        reserve_tokens=2,
        initial_tokens=final + 5,
        final_tokens=final,
        sent_tokens=sent,
        evictions=(RECORD,),
    )


def test_what_was_and_what_is() -> None:
    """It was over the budget, it fits now; as sent it may still not."""
    assert (_report(9).was_over_budget, _report(9).fits) == (True, True)
    assert (_report(5).was_over_budget, _report(5).fits) == (False, True)
    assert not _report(11).fits
    assert not _report(9, sent=11).fits
    assert (_report(9).tokens_saved, _report(9).eviction_count) == (5, 1)


def test_the_facts_are_json_with_the_derived_figures() -> None:
    """For reports and HTTP, absent fields of records left out."""
    facts = json.loads(json.dumps(_report(9).to_dict()))
    assert facts["evictions"] == [
        {"block_id": "h1", "slot": "history", "token_count": 5, "reason": "budget_exceeded", "budget_group": "history"}
    ]
    derived = {key: facts[key] for key in ("eviction_count", "tokens_saved", "was_over_budget", "fits")}
    assert derived == {"eviction_count": 1, "tokens_saved": 5, "was_over_budget": True, "fits": True}
