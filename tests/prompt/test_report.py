"""Tables: one value, three forms, and no text that does anything."""

import pytest

from innkeeper.prompt.text_table import Cell, TextTable, WordRun, html_page


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
