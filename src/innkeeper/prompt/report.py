"""Report: how results are shown: rows of cells as plain text, Markdown and HTML, and shares as bars of text and as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Final

import msgspec

from innkeeper.prompt.text import printable

_STYLE: Final = """body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; color-scheme: light dark }
table { border-collapse: collapse; margin: 0 0 2rem } caption { text-align: left; font-weight: 600; padding: .3rem 0 }
th, td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #8884 }
td.number { text-align: right } del { background: #f004 } ins { background: #0a04; text-decoration: none }"""


class WordRun(msgspec.Struct, frozen=True):
    """Text in a cell that is ``old``, which is gone, ``new``, or neither."""

    text: str
    change: str = ""

    def __str__(self) -> str:
        """The text, marked as Git marks words."""
        return {"old": f"[-{self.text}-]", "new": f"{{+{self.text}+}}"}.get(self.change, self.text)


Cell = str | int | None | tuple[WordRun, ...]
"""What stands in a table: a text, a number, nothing, or runs of changed words."""


class TextTable(msgspec.Struct, frozen=True):
    """A table: a title, the names of its columns, and rows of cells. Numbers stand on the right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def to_text(self) -> str:
        """The table for a terminal of any kind: columns padded with spaces."""
        cells = [[*map(cell_text, row)] for row in (self.columns, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
        return "\n".join((self.title, *lines))

    def to_markdown(self) -> str:
        """The table as GitHub reads it."""
        lines = [_markdown(self.columns), _markdown(["---"] * len(self.columns)), *map(_markdown, self.rows)]
        return "\n".join((f"### {_escaped(self.title)}", "", *lines))

    def to_html(self) -> str:
        """The table as an element of a page."""
        head = "".join([f"<th>{escape(name)}</th>" for name in self.columns])
        rows = "".join([f"<tr>{''.join(map(_html, row))}</tr>\n" for row in self.rows])
        return f"<table><caption>{escape(printable(self.title))}</caption>\n<tr>{head}</tr>\n{rows}</table>"

    _repr_html_ = to_html


class ShowsTables:
    """What is shown as tables by notebooks, too."""

    __slots__ = ()

    def tables(self) -> tuple[TextTable, ...]:
        """The tables."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return "\n".join([table.to_html() for table in self.tables() if table.rows])


def cell_text(cell: Cell) -> str:
    """Return a cell as one line of text; control characters are shown."""
    if isinstance(cell, int):
        return f"{cell:,}"
    text = "".join(map(str, cell)) if isinstance(cell, tuple) else cell or ""
    return printable(" ".join(text.split()))


def html_page(title: str, tables: Iterable[TextTable], before: str = "") -> str:
    """Return tables, after the HTML ``before`` them, as one page that loads nothing."""
    head = f'<!doctype html>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n'
    body = "\n".join([table.to_html() for table in tables if table.rows])
    return f"{head}<h1>{escape(title)}</h1>\n{before}{body}\n"


def _html(cell: Cell) -> str:
    if isinstance(cell, int):
        return f'<td class="number">{cell:,}</td>'
    if not isinstance(cell, tuple):
        return f"<td>{escape(cell_text(cell))}</td>"
    tags = {"old": "del", "new": "ins"}
    runs = [(tags.get(run.change, "span"), escape(printable(run.text))) for run in cell]
    return f"<td>{''.join([f'<{tag}>{text}</{tag}>' for tag, text in runs])}</td>"


def _markdown(cells: Sequence[Cell]) -> str:
    return f"| {' | '.join([_escaped(cell_text(cell)) for cell in cells])} |"


def _escaped(text: str) -> str:
    """A text of cards and chats as Markdown that shows it and does nothing."""
    for sign in "\\`*_[]<>|~@#":
        text = text.replace(sign, f"&#{ord(sign)};" if sign in "<>|@#" else f"\\{sign}")
    return text


# ---------------------------------------------------------------------------------------------------------------- plots

_BARS: Final = "▁▂▃▄▅▆▇█"
_MOST_BARS: Final = 40
_WIDTH, _HEIGHT, _EDGE = 720, 260, 40
_COLORS: Final = ("#c2410c", "#0369a1", "#15803d", "#7e22ce", "#a16207", "#be185d", "#0f766e", "#64748b")


def sparkline(shares: Sequence[float]) -> str:
    """Return shares as bars of text, at most 40: each bar is the mean of the shares that it stands for."""
    count = min(len(shares), _MOST_BARS)
    bounds = [len(shares) * number // count for number in range(count + 1)] if count else []
    means = [sum(shares[a:b]) / (b - a) for a, b in pairwise(bounds)]
    return "".join(_BARS[min(int(max(mean, 0.0) * len(_BARS)), len(_BARS) - 1)] for mean in means)


def svg_plot(title: str, lines: Mapping[str, Sequence[float]]) -> str:
    """Return lines of shares as an SVG picture, with their names beside their colours."""
    drawn = "\n".join(
        f'<polyline fill="none" stroke="{_COLORS[index % len(_COLORS)]}" stroke-width="1.5" points="{_points(shares)}"/>\n'
        f'<text x="{_EDGE + 110 * index}" y="{_HEIGHT - 8}" fill="{_COLORS[index % len(_COLORS)]}">{escape(name)}</text>'
        for index, (name, shares) in enumerate(lines.items())
    )
    marks = "\n".join(
        f'<line x1="{_EDGE}" x2="{_WIDTH - 10}" y1="{_y(share)}" y2="{_y(share)}" stroke="#8884"/>\n'
        f'<text x="4" y="{_y(share) + 4}" fill="#888">{share:.0%}</text>'
        for share in (0.0, 0.25, 0.5, 0.75, 1.0)
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12">'
    shown = f'<title>{escape(title)}</title>\n<text x="{_EDGE}" y="16" fill="#888">{escape(title)}</text>'
    return f"{head}\n{shown}\n{marks}\n{drawn}\n</svg>\n"


def svg_stack(title: str, parts: Mapping[str, Sequence[int]]) -> str:
    """Return numbers that add up, over time, as areas one upon the other: an SVG picture, with names beside their colours."""
    count = max(map(len, parts.values()), default=0)
    most = max((sum(numbers) for numbers in zip(*parts.values(), strict=True)), default=0) or 1
    low, drawn = [0] * count, list[str]()
    for index, (name, numbers) in enumerate(parts.items()):
        high = [below + number for below, number in zip(low, numbers, strict=True)]
        color, x = _COLORS[index % len(_COLORS)], _EDGE + 110 * (index % 6)
        edges = [_points([number / most for number in line]).split() for line in (high, low)]
        drawn += [
            f'<polygon fill="{color}" points="{" ".join((*edges[0], *reversed(edges[1])))}"/>',
            f'<text x="{x}" y="{_HEIGHT - 20 + 14 * (index // 6)}" fill="{color}">{escape(printable(name))}</text>',
        ]
        low = high
    marks = [
        f'<line x1="{_EDGE}" x2="{_WIDTH - 10}" y1="{_y(share)}" y2="{_y(share)}" stroke="#8884"/>\n'
        f'<text x="4" y="{_y(share) + 4}" fill="#888">{share * most:,.0f}</text>'
        for share in (0.0, 0.5, 1.0)
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12">'
    shown = f'<title>{escape(title)}</title>\n<text x="{_EDGE}" y="16" fill="#888">{escape(title)}</text>'
    return "\n".join((head, shown, *marks, *drawn, "</svg>\n"))


def svg_bar(title: str, parts: Mapping[str, int]) -> str:
    """Return numbers as the parts of one bar, an SVG picture, with their names and numbers below it."""
    whole, room, x = max(sum(parts.values()), 1), _WIDTH - 2 * _EDGE, float(_EDGE)
    drawn = []
    for index, (name, number) in enumerate(parts.items()):
        color, width = _COLORS[index % len(_COLORS)], room * number / whole
        below = f'x="{_EDGE + 160 * (index % 4)}" y="{80 + 18 * (index // 4)}"'
        drawn += [
            f'<rect x="{x:.1f}" y="28" width="{width:.1f}" height="28" fill="{color}"/>',
            f'<text {below} fill="{color}">{escape(printable(name))} {number:,}</text>',
        ]
        x += width
    height = 90 + 18 * (len(parts) // 4)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12">'
    shown = f'<title>{escape(title)}</title>\n<text x="{_EDGE}" y="16" fill="#888">{escape(title)}</text>'
    return "\n".join((head, shown, *drawn, "</svg>\n"))


def _y(share: float) -> float:
    return round(_HEIGHT - _EDGE - share * (_HEIGHT - 2 * _EDGE), 1)


def _points(shares: Sequence[float]) -> str:
    step = (_WIDTH - _EDGE - 10) / max(len(shares) - 1, 1)
    return " ".join(f"{_EDGE + step * index:.1f},{_y(share)}" for index, share in enumerate(shares))
