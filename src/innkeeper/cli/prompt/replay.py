"""``innkeeper replay`` and ``innkeeper parity``: recordings run again and compared with what was recorded.

Replay builds a recorded prompt again and says whether it gives the same bytes. Parity runs golden cases of the original systems
and shows every disagreement.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from innkeeper.cli.app.commands import json_option

if TYPE_CHECKING:
    from innkeeper.parity import Outcome

__all__ = ["parity", "replay"]


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path())
@json_option
def replay(files: tuple[str, ...], *, as_json: bool) -> None:
    """Build recorded prompts again and compare the bytes.

    FILES are what `innkeeper build --replay-out` wrote. Exits with 65 at the first that gives another prompt than it recorded.
    """
    from innkeeper.prompt import ReplayBundle
    from innkeeper.taverns import replay as replay_bundle

    for name in files:
        bundle = ReplayBundle.read(name)
        plan = replay_bundle(bundle)
        facts = {"file": name, "same": True, "fingerprint": bundle.fingerprint, "dialect": bundle.dialect}
        words = f"{name}: same bytes, {len(plan.sent_blocks())} messages, {bundle.fingerprint[:16]}…"
        click.echo(json.dumps(facts) if as_json else words)


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--tavern", help="Only cases of this tavern (silly, smart, risu).")
@click.option("--area", help="Only cases of this area.")
@click.option("--case", "names", multiple=True, help="Only the case with this name; may be given several times.")
@click.option("--limit", default=20, show_default=True, help="How many disagreements to print; 0 for all.")
@json_option
def parity(
    paths: tuple[Path, ...], tavern: str | None, area: str | None, names: tuple[str, ...], limit: int, *, as_json: bool
) -> int:
    """Run case files (or folders of them) and print agreed/total for each area, then each disagreement.

    Exits with 1 when any case disagrees or crashes, with 0 otherwise. Cases that need a vocabulary which may not be shipped
    are listed as unavailable and never count as agreed.
    """
    from innkeeper.parity import load_cases, run_cases

    chosen = [
        case
        for case in load_cases(paths)
        if (not tavern or case.tavern == tavern)
        and (not area or case.area == area)
        and (not names or case.name in names)
    ]
    outcomes = list(run_cases(chosen))
    click.echo(_json(outcomes) if as_json else "\n".join(_lines(outcomes, limit)))
    return int(any(outcome.verdict in ("different", "crashed") for outcome in outcomes))


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
    wrong = [outcome for outcome in outcomes if outcome.verdict != "agreed"]
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
