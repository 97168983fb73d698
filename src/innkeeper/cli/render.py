"""Plans as people see them in a terminal: a table of blocks, a bar of the window, notes, verdicts.

Texts of cards and chats never reach the terminal as they are: control characters are shown as pictures, markup is plain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.prompt.display import printable, shorten

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from innkeeper.prompt import Block, Note, Plan

__all__ = ["Figures", "bar", "console", "first_words", "note_lines", "plan_table", "source_of", "window_line"]

PLAIN_WIDTH: Final = 100
"""Columns where the output is no terminal."""

BAR_CELLS: Final = 40
SHARE_CELLS: Final = 10

_STYLES: Final = {"system": "cyan", "user": "green", "assistant": "magenta", "tool": "yellow"}
_FULL: Final = ("█", "▒", "░")
_ASCII: Final = ("#", "=", ".")


class Figures(msgspec.Struct, frozen=True):
    """The sums of a plan, in tokens.

    ``blocks`` has one figure for each sent block; ``framing`` is what messages cost beside their text; ``window`` may be
    unknown. ``tokenizer`` says whose count it is, ``exact`` whether it is the model's own.
    """

    blocks: tuple[int, ...]
    framing: int
    reserved: int
    window: int | None
    tokenizer: str
    exact: bool

    @property
    def used(self) -> int:
        """All that is sent."""
        return sum(self.blocks) + self.framing

    @property
    def free(self) -> int | None:
        """What is left of the window beside the prompt and the reserve."""
        return None if self.window is None else self.window - self.used - self.reserved

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready figures."""
        facts: dict[str, Any] = msgspec.to_builtins(self)
        return {**facts, "used": self.used, "free": self.free}


def console(file: IO[str] | None = None, *, err: bool = False) -> Console:
    """A console on stdout, stderr or ``file``; one of a fixed width where that is no terminal."""
    from rich.console import Console

    made = Console(file=file, stderr=err, highlight=False)
    return made if made.is_terminal else Console(file=file, stderr=err, highlight=False, width=PLAIN_WIDTH)


def plan_table(blocks: Sequence[Block], figures: Figures, *, ascii_only: bool = False) -> Table:
    """One row a block: number, role, where it comes from, tokens, its share, how it begins."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.ASCII2 if ascii_only else box.SIMPLE_HEAD, show_edge=False, pad_edge=False, expand=True)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("role", no_wrap=True)
    table.add_column("from", no_wrap=True, max_width=30)
    table.add_column("tokens", justify="right", no_wrap=True)
    table.add_column("share", no_wrap=True)
    table.add_column("begins", no_wrap=True, overflow="ellipsis", ratio=1)
    largest = max(figures.blocks, default=0) or 1
    for number, (block, tokens) in enumerate(zip(blocks, figures.blocks, strict=True), start=1):
        share = bar([tokens], largest, SHARE_CELLS, ascii_only=ascii_only, rest=" ")
        cells = (
            str(number),
            _role(block.role),
            _text(source_of(block)),
            str(tokens),
            _text(share),
            _text(first_words(block)),
        )
        table.add_row(*cells)
    return table


def window_line(figures: Figures, *, ascii_only: bool = False) -> str:
    """The window as a bar and in words."""
    how = f"counted by {figures.tokenizer}" + ("" if figures.exact else " (estimate)")
    if figures.window is None:
        return f"{figures.used:,} tokens, {how}; no window given"
    shown = bar([figures.used, figures.reserved], figures.window, BAR_CELLS, ascii_only=ascii_only)
    words = f"used {figures.used:,} + reserved {figures.reserved:,} + free {figures.free:,} = {figures.window:,} tokens"
    return f"[{shown}] {words}, {how}"


def bar(parts: Iterable[int], whole: int, cells: int, *, ascii_only: bool = False, rest: str | None = None) -> str:
    """``parts`` of ``whole`` as a bar of ``cells`` characters. Any part that is not 0 is seen; no bar is too long."""
    marks = _ASCII if ascii_only else _FULL
    drawn = ""
    for part, mark in zip(parts, marks, strict=False):
        room = cells - len(drawn)
        drawn += mark * min(room, max(1, round(part / max(whole, 1) * cells)) if part > 0 else 0)
    return drawn + (marks[-1] if rest is None else rest) * (cells - len(drawn))


def source_of(block: Block) -> str:
    """Where a block comes from, in a few words: its slot or source, and the asset and field of its text."""
    origins = dict.fromkeys(str(piece.origin) for piece in block.ranges() if piece.text.strip())
    known = [origin for origin in origins if origin != "unknown"]
    named = block.slot or block.source or ""
    if len(known) == 1 and known[0] != named:
        return printable(f"{named}: {known[0]}" if named and not known[0].startswith(named) else known[0])
    return printable(named or (f"{len(known)} sources" if known else "-"))


def first_words(block: Block, length: int = 200) -> str:
    """How a block's text begins, on one line."""
    name = f"{block.name}: " if block.name else ""
    return shorten(printable(name + " ".join(block.content[: 4 * length].split())), length)


def note_lines(notes: Iterable[Note]) -> list[str]:
    """Notes and warnings, a line each."""
    return [printable(f"{note.kind.value}: {note}" + (f" ({note.hint})" if note.hint else "")) for note in notes]


def plan_title(plan: Plan) -> str:
    """What was built, in a line."""
    count = len(plan.sent_blocks())
    parts = [plan.tavern, plan.profile, plan.model, "1 message" if count == 1 else f"{count} messages"]
    return printable(" · ".join(part for part in parts if part))


def _role(role: str) -> Text:
    from rich.text import Text

    return Text(printable(role), style=_STYLES.get(role, ""))


def _text(text: str) -> Text:
    from rich.text import Text

    return Text(text)
