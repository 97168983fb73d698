"""Tables: one value, three forms, and no text that does anything."""

import xml.etree.ElementTree as ET

import pytest

from innkeeper.prompt.report import Cell, TextTable, WordRun, html_page, sparkline, svg_plot


@pytest.mark.parametrize(
    ("cell", "text", "html"),
    [
        ("<b>x</b>", "<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
        (1234, "1,234", "1,234"),
        (None, "", "<td></td>"),
        ("a\n\x1b[2Jb", "a ␛[2Jb", "a ␛[2Jb"),
        ((WordRun("old", "old"), WordRun("new", "new")), "[-old-]{+new+}", "<del>old</del><ins>new</ins>"),
    ],
    ids=["markup", "number", "nothing", "control", "runs"],
)
def test_a_cell_in_each_form(cell: Cell, text: str, html: str) -> None:
    """What a cell says is the same in each form; markup and control characters do nothing."""
    table = TextTable("t", ("c",), ((cell,),))
    assert text in table.to_text()
    assert html in html_page("p", [table])


def test_markdown_shows_what_a_card_wrote() -> None:
    """Pipes, links, mentions and code of a card do not reach the summary of a pull request."""
    shown = TextTable("t", ("c",), (("a|b `x` [l](u) <img> @all #1 https://a.b",),)).to_markdown()
    row = shown.splitlines()[-1]
    assert row.count("|") == 2
    assert not {"<", "@", " #1"} & set(row)
    assert r"\[l\](u)" in row


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
