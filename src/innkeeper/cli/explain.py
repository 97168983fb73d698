"""Explain: a plan and the reasons behind it, on a terminal: the whole, one message, one lorebook entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from innkeeper.cli.render import first_words, note_lines, plan_table, plan_title, window_line
from innkeeper.prompt import UnknownNameError
from innkeeper.prompt.display import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from innkeeper.budget import Accounting
    from innkeeper.prompt import Plan

__all__ = ["explain_block", "explain_entries", "explain_entry", "explain_plan", "verdicts_of"]

EXCERPT: Final = 60


def explain_plan(console: Console, plan: Plan, figures: Accounting) -> None:
    """The blocks that are sent, the window, what was dropped, and what is to be said about the build."""
    plain = console.options.ascii_only
    console.print(plan_title(plan), style="bold", markup=False)
    console.print(plan_table(plan.sent_blocks(), figures, ascii_only=plain))
    _lines(console, [window_line(figures, ascii_only=plain)])
    _lines(console, dropped_lines(plan), style="yellow")
    _lines(console, note_lines((*plan.warnings, *plan.notes)), style="yellow")


def explain_entries(console: Console, plan: Plan) -> None:
    """Each lorebook entry with the decision about it, those in the prompt first."""
    found = sorted(verdicts_of(plan), key=lambda verdict: not verdict.fired)
    if not found:
        _lines(console, ["no lorebook took part in this prompt"])
    for verdict in found:
        mark = "in " if verdict.fired else "out"
        _lines(console, [printable(f"{mark} {_name(verdict)}: {verdict}")], style="green" if verdict.fired else "")
    _lines(console, dropped_lines(plan), style="yellow")


def explain_entry(console: Console, plan: Plan, name: str) -> None:
    """The decisions about the entries called ``name`` (title, id, or part of a title). Raises `UnknownNameError`."""
    wanted, found = name.casefold(), verdicts_of(plan)
    exact = [v for v in found if wanted in {str(v.uid).casefold(), v.title.casefold()}]
    chosen = exact or [v for v in found if wanted in v.title.casefold()]
    if not chosen:
        raise UnknownNameError("lorebook entry or message", name, sorted({_name(verdict) for verdict in found}))
    for verdict in chosen:
        _lines(console, [printable(f"{'in' if verdict.fired else 'out'}: {_name(verdict)}: {verdict}")])
        _lines(console, [printable(f"  {key}: {value}") for key, value in verdict.facts.items()], style="dim")


def explain_block(console: Console, plan: Plan, number: int) -> None:
    """One sent message (from 1): where each part of its text came from."""
    block = plan.sent_blocks()[number - 1]
    console.print(
        printable(f"message {number}: {block.role}, {block.slot or block.source or block.id}"),
        style="bold",
        markup=False,
    )
    for piece in block.ranges():
        words = " ".join(piece.text.split())
        _lines(console, [printable(f"  {piece.origin}: {words[:EXCERPT]}{'…' if len(words) > EXCERPT else ''}")])


def dropped_lines(plan: Plan) -> list[str]:
    """What is in the plan but not sent, a line each, with the reason where one is recorded."""
    lines = []
    for block in plan.blocks:
        if not block.enabled:
            reason = block.metadata.get("evicted") or block.metadata.get("reason") or "not sent"
            lines.append(printable(f"left out ({reason}): {block.role}: {first_words(block, EXCERPT)}"))
    return lines


def verdicts_of(plan: Plan) -> tuple[Any, ...]:
    """The decision about each lorebook entry; nothing where the tavern has no lore."""
    return tuple(getattr(plan.lore, "verdicts", ()) or ())


def _name(verdict: Any) -> str:
    title = verdict.title or f"entry {verdict.uid}"
    return f"{title} [{verdict.book}]" if verdict.book else title


def _lines(console: Console, lines: Iterable[str], *, style: str = "") -> None:
    for line in lines:
        console.print(line, style=style, markup=False, emoji=False, highlight=False, soft_wrap=True)
