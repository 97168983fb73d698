"""The screen: tables that fit, whatever is in them, and colours where somebody sees them."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.cli.app.screen import NARROW, Grid, GridColumn, Screen, StyledText, cells_of, wrapped

TEXTS = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=60)
COLUMNS = st.builds(GridColumn, TEXTS, st.booleans(), st.booleans(), st.none() | st.integers(4, 30), st.booleans())


def drawn(grid: Grid, width: int = 100, *, is_terminal: bool = False) -> list[str]:
    """The lines of a table."""
    out = io.StringIO()
    Screen(out, width=width, is_terminal=is_terminal).grid(grid)
    return out.getvalue().split("\n")[:-1]


@given(st.lists(COLUMNS, min_size=1, max_size=6), st.data(), st.integers(NARROW, 160), st.booleans())
def test_any_table_fits(columns: list[GridColumn], data: st.DataObject, width: int, headed: bool) -> None:
    """No line of a table is wider than the screen, whatever its columns and texts are."""
    grid = Grid(*columns, headed=headed)
    for _ in range(3):
        grid.add(*(data.draw(TEXTS) for _ in columns))
    assert max(map(cells_of, drawn(grid, width)), default=0) <= width


@given(TEXTS, st.integers(2, 40))
def test_wrapping_keeps_the_words(text: str, width: int) -> None:
    """Lines fit and have every character but blanks, in order; long words go on below."""
    lines = wrapped(text, width)
    assert all(cells_of(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_columns() -> None:
    """Numbers stand on the right; a column that does not wrap is cut, another goes on below; one takes what is left."""
    grid = Grid(
        GridColumn("n", right=True), GridColumn("cut", wraps=False, most=6), GridColumn("text", rest=True), title="T"
    )
    grid.add("7", "lighthouse", "the bell reef lies half a mile out, " * 3)
    grid.add("12", "礁礁礁礁", "x")
    title, head, line, *rows = drawn(grid, 80)
    assert (title, head.split(), line) == ("T", ["n", "cut", "text"], "─" * 80)
    assert rows[0].startswith(" 7   light…   the bell reef")
    assert rows[1].startswith(" " * 14 + "bell") or rows[1].startswith(" " * 14)
    assert rows[-1] == "12   礁礁…    x"


def test_a_table_without_a_head() -> None:
    """Columns without names have no head; a row without cells is an empty line."""
    grid = Grid(GridColumn(""), GridColumn(""), headed=False)
    grid.add("name", "harbour")
    grid.add()
    assert drawn(grid) == ["name  harbour", ""]


def test_narrow() -> None:
    """On a narrow screen each row is a paragraph of names and values, without those that are empty."""
    grid = Grid(GridColumn("key"), GridColumn("why"), GridColumn("more"))
    grid.add("reef", "a long reason that goes on", "")
    assert drawn(grid, 20) == ["key reef · why a", "long reason that", "goes on"]


@pytest.mark.parametrize(
    ("variables", "is_coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    ids=["terminal", "NO_COLOR", "dumb"],
)
def test_colours(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], is_coloured: bool) -> None:
    """Colours are for terminals that have them, and for people who want them."""
    for name in ("NO_COLOR", "TERM", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    grid = Grid(GridColumn("role"))
    grid.add(StyledText("user", "green"))
    assert any("\x1b[32muser" in line for line in drawn(grid, is_terminal=True)) is is_coloured
    assert not any("\x1b" in line for line in drawn(grid))


@pytest.mark.parametrize(("term", "written"), [("xterm", "reading ...\r\x1b[K"), ("dumb", "")])
def test_what_is_taken_away(term: str, written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notice is for terminals alone that can take it away."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", term)
    out = io.StringIO()
    for is_terminal in (False, True):
        screen = Screen(out, is_terminal=is_terminal)
        screen.notice("reading ...")
        screen.clear()
    assert out.getvalue() == written


def test_another_encoding() -> None:
    """A file that cannot have lines of boxes gets hyphens."""
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Screen(file).grid(Grid(GridColumn("a")))
    file.seek(0)
    assert file.read() == "a\n-\n"
