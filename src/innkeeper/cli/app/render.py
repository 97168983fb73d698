"""Plans on a terminal: a table of blocks, a bar of the window, notes, verdicts and reasons.

The whole plan, one message, or one lorebook entry can be explained. Texts of cards and chats are escaped for the terminal:
control characters become visible symbols, markup stays plain text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from innkeeper.cli.app.screen import PLAIN_WIDTH, Grid, GridColumn, Screen, StyledText
from innkeeper.prompt import UnknownNameError
from innkeeper.prompt.block import source_words
from innkeeper.prompt.report import cell_text
from innkeeper.prompt.text import printable, shorten

if TYPE_CHECKING:
    from innkeeper.budget import Accounting
    from innkeeper.prompt import Block, Note, Plan
    from innkeeper.prompt.report import TextTable


MOST_ROWS: Final = 500
"""Rows of a table, and lines of a list, that are shown (no error: the last line counts the others, ``--json`` has all)."""

BAR_CELLS: Final = 40
SHARE_CELLS: Final = 10

_STYLES: Final = {"system": "cyan", "user": "green", "assistant": "magenta", "tool": "yellow"}
_FULL: Final = ("█", "▒", "░")
_ASCII: Final = ("#", "=", ".")


def recorded(show: Callable[[Screen], None], *, for_terminal: bool) -> str:
    """Return what ``show`` prints, as text; with the terminal's width and colours if it goes to one."""
    import io

    out, there = io.StringIO(), Screen()
    is_terminal = for_terminal and there.is_terminal
    show(Screen(out, width=there.width if is_terminal else None, is_terminal=is_terminal))
    return out.getvalue()


def print_tables(screen: Screen, tables: Iterable[TextTable]) -> None:
    """Print tables that have rows, each with up to `MOST_ROWS`."""
    for table in tables:
        if not table.rows:
            continue
        numbers = [any(isinstance(row[index], int) for row in table.rows) for index in range(len(table.columns))]
        shown = Grid(*(GridColumn(name, right=right) for name, right in zip(table.columns, numbers, strict=True)))
        for row in table.rows[:MOST_ROWS]:
            shown.add(*map(cell_text, row))
        screen.grid(shown)
        _lines(screen, [*more_line(table.rows), ""])


def plan_table(
    blocks: Sequence[Block], figures: Accounting, *, ascii_only: bool = False, with_share: bool = True
) -> Grid:
    """Return a table of blocks, up to `MOST_ROWS`: number, role, source, tokens, optional share, first words."""
    table = Grid(
        GridColumn("#", right=True, wraps=False),
        GridColumn("role", wraps=False),
        GridColumn("from", wraps=False, most=30),
        GridColumn("tokens", right=True, wraps=False),
        *([GridColumn("share", wraps=False)] if with_share else []),
        GridColumn("begins", wraps=False, rest=True),
    )
    counts = [line.tokens for line in figures.lines]
    largest = max(counts, default=0) or 1
    for number, (block, tokens) in enumerate(zip(blocks[:MOST_ROWS], counts, strict=False), start=1):
        share = bar([tokens], largest, SHARE_CELLS, ascii_only=ascii_only, rest=" ")
        role = StyledText(_one_line(block.role), _STYLES.get(block.role, ""))
        cells = (str(number), role, source_of(block), str(tokens))
        table.add(*cells, *([share] if with_share else []), first_words(block))
    return table


def more_line(items: Sequence[Any]) -> list[str]:
    """Return the line that counts the rows beyond `MOST_ROWS`, if there are any."""
    return [f"… and {len(items) - MOST_ROWS:,} more; --json has them all"] if len(items) > MOST_ROWS else []


def window_line(figures: Accounting, *, ascii_only: bool = False) -> str:
    """Return the window as a bar and in words."""
    if figures.window is None:
        return window_words(figures)
    drawn = bar([figures.total, figures.reserve], figures.window, BAR_CELLS, ascii_only=ascii_only)
    return f"[{drawn}] {window_words(figures)}"


def window_words(figures: Accounting) -> str:
    """Return the sums of the window in words, and how they were counted."""
    margin = f" (± {figures.error_percent:g} %)" if figures.error_percent else " (not known to be exact)"
    sure = figures.exact or figures.error_percent == 0
    how = f"counted by {figures.tokenizer or 'an unknown tokenizer'}{'' if sure else margin}"
    if figures.window is None:
        return f"{figures.total:,} tokens, {how}; no window given"
    words = f"used {figures.total:,} + reserved {figures.reserve:,} + free {figures.free:,} = {figures.window:,} tokens"
    return f"{words}, {how}"


def bar(parts: Iterable[int], whole: int, cells: int, *, ascii_only: bool = False, rest: str | None = None) -> str:
    """Draw ``parts`` of ``whole`` as a bar of ``cells`` characters. Every part above 0 is visible; the bar is never longer."""
    marks = _ASCII if ascii_only else _FULL
    drawn = ""
    for part, mark in zip(parts, marks, strict=False):
        room = cells - len(drawn)
        drawn += mark * min(room, max(1, round(part / max(whole, 1) * cells)) if part > 0 else 0)
    return drawn + (marks[-1] if rest is None else rest) * (cells - len(drawn))


def source_of(block: Block) -> str:
    """Return a block's source in a few words: where its text comes from, else its position in the prompt."""
    return _one_line(source_words(block) or block.slot or block.source or "-")


def first_words(block: Block, length: int = 200) -> str:
    """Return the first words of a block's text, on one line."""
    name = f"{block.name}: " if block.name else ""
    return shorten(_one_line(name + block.content[: 4 * length]), length)


def note_lines(notes: Iterable[Note]) -> list[str]:
    """Return notes and warnings, one per line, up to `MOST_ROWS`; equal ones are one line that counts them."""
    lines = Counter(f"{note.kind.value}: {note}" + (f" ({note.hint})" if note.hint else "") for note in notes)
    shown = [f"{line} ({times} times)" if times > 1 else line for line, times in islice(lines.items(), MOST_ROWS)]
    return [*map(printable, shown), *more_line([*lines])]


def plan_title(plan: Plan) -> str:
    """Return a one-line title of the plan."""
    count = len(plan.sent_blocks())
    parts = [plan.tavern, plan.profile, plan.model, "1 message" if count == 1 else f"{count} messages"]
    return printable(" · ".join(part for part in parts if part))


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))


EXCERPT: Final = 60


def explain_plan(screen: Screen, plan: Plan, figures: Accounting) -> None:
    """Print the sent blocks, the window, the dropped parts, and notes about the build."""
    plain = screen.ascii_only
    screen.line(plan_title(plan), style="bold")
    blocks = plan.sent_blocks()
    share = screen.width >= PLAIN_WIDTH  # else how a text begins is worth more
    screen.grid(plan_table(blocks, figures, ascii_only=plain, with_share=share))
    _lines(screen, [*more_line(blocks), window_line(figures, ascii_only=plain)])
    _lines(screen, dropped_lines(plan), style="yellow")
    _lines(screen, note_lines((*plan.warnings, *plan.notes)), style="yellow")


def explain_entries(screen: Screen, plan: Plan) -> None:
    """Print the decision about each lorebook entry, those in the prompt first."""
    verdicts = sorted(verdicts_of(plan), key=lambda verdict: not verdict.fired)
    if not verdicts:
        _lines(screen, ["no lorebook took part in this prompt"])
    for verdict in verdicts[:MOST_ROWS]:
        mark = "in " if verdict.fired else "out"
        _lines(screen, [printable(f"{mark} {_name(verdict)}: {verdict}")], style="green" if verdict.fired else "")
    _lines(screen, more_line(verdicts))
    _lines(screen, dropped_lines(plan), style="yellow")


def explain_entry(screen: Screen, plan: Plan, name: str) -> None:
    """Print the decisions about entries by ``name``: title, id, their book, or part of a title. Raises `UnknownNameError`.

    A book that takes no part has the note that says so.
    """
    name_key, verdicts = name.casefold(), verdicts_of(plan)
    exact = [v for v in verdicts if name_key in {str(v.uid).casefold(), v.title.casefold()}]
    chosen = exact or [v for v in verdicts if name_key == v.book.casefold()]
    unused = {book: note for note in plan.notes for book in note.data.get("books", ())}
    if notes := [note for book, note in unused.items() if name_key == book.casefold() and not chosen]:
        _lines(screen, note_lines(notes))
        return
    chosen = chosen or [v for v in verdicts if name_key in v.title.casefold()]
    if not chosen:
        names = {name for v in verdicts for name in (_name(v), v.title or str(v.uid), v.book)}
        raise UnknownNameError("lorebook entry, book or message", name, {*names, *unused} - {""})
    for verdict in chosen[:MOST_ROWS]:
        _lines(screen, [printable(f"{'in' if verdict.fired else 'out'}: {_name(verdict)}: {verdict}")])
        _lines(screen, [printable(f"  {key}: {value}") for key, value in verdict.facts.items()], style="dim")


def explain_part(screen: Screen, plan: Plan, what: str) -> None:
    """Print the sent message of this number, else the lorebook entry or book of this name. Raises `UnknownNameError`."""
    if what.isdecimal() and 1 <= int(what) <= len(plan.sent_blocks()):
        explain_block(screen, plan, int(what))
    else:
        explain_entry(screen, plan, what)


def explain_block(screen: Screen, plan: Plan, number: int) -> None:
    """Print the sources of one sent message, numbered from 1."""
    block = plan.sent_blocks()[number - 1]
    screen.line(printable(f"message {number}: {block.role}, {block.slot or block.source or block.id}"), style="bold")
    if scripts := block.metadata.get("scripts"):
        _lines(screen, [printable(f"  rewritten by the regex scripts {', '.join(scripts)}")])
    for piece in block.ranges():
        words = " ".join(piece.text.split())
        _lines(screen, [printable(f"  {piece.origin}: {words[:EXCERPT]}{'…' if len(words) > EXCERPT else ''}")])


def dropped_lines(plan: Plan) -> list[str]:
    """Return the parts of the plan that are not sent, one per line, up to `MOST_ROWS`, with recorded reasons."""
    lines, dropped = [], [block for block in plan.blocks if not block.enabled]
    for block in dropped[:MOST_ROWS]:
        reason = block.metadata.get("evicted") or block.metadata.get("reason") or "not sent"
        lines.append(printable(f"left out ({reason}): {block.role}: {first_words(block, EXCERPT)}"))
    return [*lines, *more_line(dropped)]


def verdicts_of(plan: Plan) -> tuple[Any, ...]:
    """Return the decision about each lorebook entry; none if the tavern has no lore."""
    return tuple(getattr(plan.lore, "verdicts", ()) or ())


def _name(verdict: Any) -> str:
    title = verdict.title or f"entry {verdict.uid}"
    return f"{title} [{verdict.book}]" if verdict.book else title


def _lines(screen: Screen, lines: Sequence[str], *, style: str = "") -> None:
    for line in lines:
        screen.line(line, style=style)
