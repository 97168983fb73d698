"""The screen: styled lines and tables on a terminal or in a file, as wide as it is.

Widths are cells of a terminal: characters of East Asia take two, combining ones none. Texts stay texts: nothing in them is read
as markup. Written here, since the library for it that all use weighs 12 MB, most of it for colouring programs.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import IO, Any, Final, NamedTuple

import click

PLAIN_WIDTH: Final = 100
"""Columns if the output is not a terminal."""

NARROW: Final = 70
"""Columns below which a table is written row by row."""

_LEAST: Final = 4
_TOKEN: Final = re.compile(r"\S+|\s+")


class StyledText(NamedTuple):
    """A text with a colour, ``bold`` or ``dim``."""

    text: str
    style: str = ""


class GridColumn(NamedTuple):
    """A column: ``wraps`` where long texts go on below, and are not cut; ``rest`` where it takes all room that is left.

    ``most``: its most cells.
    """

    name: str
    right: bool = False
    wraps: bool = True
    most: int | None = None
    rest: bool = False


class Grid:
    """A table, laid out when it is printed; ``headed`` with a line below its head."""

    def __init__(self, *columns: GridColumn, title: str = "", headed: bool = True) -> None:
        self.columns = columns
        self.title = title
        self.headed = headed
        self.rows: list[tuple[StyledText, ...]] = []

    def add(self, *cells: str | StyledText, style: str = "") -> None:
        """Add a row; cells that have no style of their own have ``style``. No cells: an empty line."""
        self.rows.append(tuple([cell if isinstance(cell, StyledText) else StyledText(cell, style) for cell in cells]))


class Screen:
    """Where lines and tables go: to ``file`` or standard output, with colours if that is a terminal."""

    def __init__(
        self, file: IO[str] | None = None, *, width: int | None = None, is_terminal: bool | None = None
    ) -> None:
        self.file: Any = file or sys.stdout
        self.is_terminal = (
            bool(os.environ.get("FORCE_COLOR")) or self.file.isatty() if is_terminal is None else is_terminal
        )
        self.width = width or (shutil.get_terminal_size().columns if self.is_terminal else PLAIN_WIDTH)
        self.ascii_only = not (getattr(self.file, "encoding", None) or "utf-8").lower().startswith("utf")
        self._has_codes = self.is_terminal and os.environ.get("TERM") != "dumb"
        self._colours = self._has_codes and not os.environ.get("NO_COLOR")

    def line(self, text: str = "", *, style: str = "", end: str = "\n") -> None:
        """Write a line as it is; the terminal breaks it."""
        self.file.write(self._styled(text, style) + end)

    def notice(self, text: str) -> None:
        """Write what is about to be taken away by `clear`, if this is a terminal that is not dumb."""
        if self._has_codes:
            self.line(text, style="dim", end="")
            self.file.flush()

    def clear(self) -> None:
        """Take the line away that is being written, if this is a terminal that is not dumb."""
        if self._has_codes:
            self.file.write("\r\x1b[K")

    def grid(self, grid: Grid) -> None:
        """Write a table; where columns would be lost, each row as a paragraph of names and values."""
        if grid.title:
            self.line(grid.title)
        if self.width >= NARROW:
            self._table(grid)
            return
        for row in grid.rows:
            pairs = zip((column.name for column in grid.columns), row, strict=False)
            text = " · ".join(f"{name} {cell.text}".strip() for name, cell in pairs if cell.text)
            for line in wrapped(text, self.width):
                self.line(line, style=row[-1].style if row else "")

    def _table(self, grid: Grid) -> None:
        gap = " " * (3 if grid.headed else 2)
        widths = _widths(grid, self.width - len(gap) * (len(grid.columns) - 1))
        head = tuple(StyledText(column.name, "bold") for column in grid.columns)
        if any(cell.text for cell in head):
            self._row(grid, head, widths, gap)
        if grid.headed:
            self.line(("-" if self.ascii_only else "─") * (sum(widths) + len(gap) * (len(widths) - 1)))
        for row in grid.rows:
            self._row(grid, row, widths, gap)

    def _row(self, grid: Grid, row: Sequence[StyledText], widths: Sequence[int], gap: str) -> None:
        columns = list(zip(grid.columns, widths, row, strict=False))
        texts = [_fitted(cell.text, width, wraps=column.wraps) for column, width, cell in columns]
        for parts in zip_longest(*texts, fillvalue="") if texts else ((),):
            cells = []
            for part, (column, width, cell) in zip(parts, columns, strict=True):
                blank, text = " " * max(width - cells_of(part), 0), self._styled(part, cell.style)
                cells.append(blank + text if column.right else text + blank)
            self.line(gap.join(cells).rstrip())

    def _styled(self, text: str, style: str) -> str:
        if not (self._colours and style and text):
            return text
        return click.style(text, **({style: True} if style in {"bold", "dim"} else {"fg": style}))


def cells_of(text: str) -> int:
    """Return the cells that a text takes.

    >>> cells_of("reef"), cells_of("礁"), cells_of("e\u0301")
    (4, 2, 1)
    """
    return len(text) if text.isascii() else sum(map(_cells, text))


@lru_cache(maxsize=4_096)
def _cells(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a text: broken at blanks, and within words that are longer than a line.

    >>> wrapped("the bell reef", 8), wrapped("lighthouse", 6)
    (['the bell', 'reef'], ['lighth', 'ouse'])
    """
    lines = []
    for paragraph in text.split("\n"):
        line, used = "", 0
        for token in _TOKEN.findall(paragraph):
            size = cells_of(token)
            if used + size <= width:
                line, used = line + token, used + size
            elif token.isspace():
                lines.append(line.rstrip())
                line, used = "", 0
            else:
                lines += [line.rstrip()] if line.strip() else []
                *full, line = _chunks(token, width)
                lines += full
                used = cells_of(line)
        lines.append(line.rstrip())
    return lines


def _chunks(word: str, width: int) -> Iterator[str]:
    """Yield a word in parts that fit; a part has at least one character."""
    start, used = 0, 0
    for index, character in enumerate(word):
        used += _cells(character)
        if used > width and index > start:
            yield word[start:index]
            start, used = index, _cells(character)
    yield word[start:]


def _fitted(text: str, width: int, *, wraps: bool) -> list[str]:
    if cells_of(text) <= width and "\n" not in text:
        return [text]
    if wraps:
        return wrapped(text, width)
    return [line if cells_of(line) <= width else f"{next(_chunks(line, width - 1))}…" for line in text.split("\n")]


def _widths(grid: Grid, room: int) -> list[int]:
    """Return the cells of each column. Where they do not fit, the widest give way first: of those that wrap, then of all."""
    widths = []
    for index, column in enumerate(grid.columns):
        texts = (column.name, *(row[index].text for row in grid.rows if index < len(row)))
        widest = max(max(map(cells_of, text.split("\n"))) for text in texts)
        widths.append(min(widest, column.most or widest, max(room, _LEAST)))
    for index in [index for index, column in enumerate(grid.columns) if column.rest]:
        widths[index] = max(room - sum(widths) + widths[index], len(grid.columns[index].name), _LEAST)
    for group in ([index for index, column in enumerate(grid.columns) if column.wraps], [*range(len(widths))]):
        while sum(widths) > room and (wide := [index for index in group if widths[index] > _LEAST]):
            widths[max(wide, key=widths.__getitem__)] -= 1
    return widths
