"""What `innkeeper admin parity` prints: how many cases agree in each area, and each that does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import msgspec

from innkeeper.cli.app.progress import Step, counted
from scripts.parity.case import load_cases
from scripts.parity.run import Outcome, run_cases


def report(
    paths: Iterable[Path],
    tavern: str | None,
    area: str | None,
    names: Collection[str],
    limit: int,
    *,
    as_json: bool,
    step: Step,
) -> tuple[str, bool]:
    """The report of all cases that were chosen, and whether none disagrees or crashes; ``step`` is told of each."""
    chosen = [
        case
        for case in load_cases(paths)
        if (not tavern or case.tavern == tavern)
        and (not area or case.area == area)
        and (not names or case.name in names)
    ]
    outcomes = list(counted(run_cases(chosen), step))
    text = _json(outcomes) if as_json else "\n".join(_lines(outcomes, limit))
    return text, not any(outcome.verdict in ("different", "crashed") for outcome in outcomes)


def _totals(outcomes: list[Outcome]) -> dict[str, Counter[str]]:
    totals: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        totals.setdefault(f"{outcome.case.tavern}/{outcome.case.area}", Counter())[outcome.verdict] += 1
    return totals


def _lines(outcomes: list[Outcome], limit: int) -> list[str]:
    lines = []
    for area, counts in sorted(_totals(outcomes).items()):
        rest = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()) if verdict != "agreed")
        lines.append(f"{area}: {counts['agreed']}/{counts.total()} agreed" + (f" ({rest})" if rest else ""))
    decided = [outcome for outcome in outcomes if outcome.decided]
    lines += [f"not held to the recording: {outcome.case.name}: {outcome.decided}" for outcome in decided]
    if outcomes and all(outcome.verdict in ("agreed", "deliberate") for outcome in outcomes):
        lines.append("all agree" + (", but for those that differ on purpose" if decided else ""))
    wrong = [outcome for outcome in outcomes if outcome.verdict not in ("agreed", "deliberate")]
    for outcome in wrong[: limit or None]:
        lines += ["", f"{outcome.verdict}: {outcome.case.name} ({outcome.case.source})"]
        lines += [f"  {outcome.error}"] if outcome.error else []
        lines += [difference.render() for difference in outcome.differences[:6]]
    if limit and len(wrong) > limit:
        lines += ["", f"(+{len(wrong) - limit} more; --limit 0 prints all)"]
    return lines


def _json(outcomes: list[Outcome]) -> str:
    totals = {area: dict(counts) for area, counts in sorted(_totals(outcomes).items())}
    cases: list[dict[str, Any]] = [
        {
            "name": outcome.case.name,
            "tavern": outcome.case.tavern,
            "area": outcome.case.area,
            "verdict": outcome.verdict,
            "error": outcome.error,
            "decided": outcome.decided,
            "differences": [msgspec.to_builtins(item) for item in outcome.differences],
        }
        for outcome in outcomes
    ]
    return msgspec.json.encode({"totals": totals, "cases": cases}).decode()
