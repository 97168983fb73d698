"""Line plots of shares from 0 to 1: as a line of text for a terminal, and as SVG that loads nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Final

_BARS: Final = "▁▂▃▄▅▆▇█"
_MOST_BARS: Final = 40
_WIDTH, _HEIGHT, _EDGE = 720, 260, 40
_COLORS: Final = ("#c2410c", "#0369a1", "#15803d", "#7e22ce", "#a16207", "#be185d")


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


def _y(share: float) -> float:
    return round(_HEIGHT - _EDGE - share * (_HEIGHT - 2 * _EDGE), 1)


def _points(shares: Sequence[float]) -> str:
    step = (_WIDTH - _EDGE - 10) / max(len(shares) - 1, 1)
    return " ".join(f"{_EDGE + step * index:.1f},{_y(share)}" for index, share in enumerate(shares))
