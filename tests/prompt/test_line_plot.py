"""Line plots: bars of text and SVG, for any number of shares."""

import xml.etree.ElementTree as ET

import pytest

from innkeeper.prompt.line_plot import sparkline, svg_plot


@pytest.mark.parametrize(
    ("shares", "bars"),
    [([], ""), ([0.0, 1.0], "▁█"), ([0.5], "▅"), ([-1.0, 2.0], "▁█"), ([1.0] * 400, "█" * 40)],
)
def test_bars(shares: list[float], bars: str) -> None:
    """A bar for each share, at most 40; what is out of bounds is drawn at the bound."""
    assert sparkline(shares) == bars


def test_svg() -> None:
    """A picture that is well-formed whatever the names are, with a line for each."""
    made = svg_plot("a < b", {"x & y": [0.0, 0.5, 1.0], "one": [0.2], "none": []})
    root = ET.fromstring(made)  # noqa: S314 - our own
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    assert [len((line.get("points") or "").split()) for line in lines] == [3, 1, 0]
    assert "x & y" in "".join(root.itertext())
