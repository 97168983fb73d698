"""A plan as a page to send to somebody: the prompt coloured by origin, the window as a bar, verdicts, what was left out, notes.

The page is one file that loads nothing and runs nothing. Texts of cards and chats are escaped.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from innkeeper.cli.app.render import dropped_lines, note_lines, plan_title, verdicts_of, window_words
from innkeeper.prompt.payload.source_map import plan_html
from innkeeper.prompt.report import TextTable, html_page, svg_bar

if TYPE_CHECKING:
    from innkeeper.budget import Accounting
    from innkeeper.prompt import Plan

TITLE: Final = "Prompt"


def plan_page(plan: Plan, figures: Accounting) -> str:
    """Return the page of a plan, as HTML."""
    verdicts = sorted(verdicts_of(plan), key=lambda verdict: not verdict.fired)
    entries = [("in" if each.fired else "out", each.title, str(each.book or ""), str(each)) for each in verdicts]
    notes = [*dropped_lines(plan), *note_lines((*plan.warnings, *plan.notes))]
    tables = (
        TextTable("Lorebook entries", ("", "entry", "book", "why"), tuple(entries)),
        TextTable("Left out, and notes", ("",), tuple([(line,) for line in notes])),
    )
    shown = f"<p>{escape(plan_title(plan))}</p>\n{window_svg(figures)}<p>{escape(window_words(figures))}</p>\n"
    return html_page(TITLE, tables, shown + plan_html(plan))


def window_svg(figures: Accounting) -> str:
    """Return what is used of the window as a bar: tokens by group of messages, what frames them, the reserve."""
    parts = {**figures.groups, "reserved": figures.reserve}
    whole = "" if figures.window is None else f" of {figures.window:,}"
    return svg_bar(
        f"{figures.total + figures.reserve:,}{whole} tokens",
        {name: tokens for name, tokens in parts.items() if tokens > 0},
    )
