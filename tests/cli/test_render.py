"""How plans look: tables of any plan, bars that are never too long, texts that stay text."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.cli.render import (
    Figures,
    bar,
    console,
    first_words,
    note_lines,
    plan_table,
    plan_title,
    source_of,
    window_line,
)
from innkeeper.prompt import Block, Note, NoteKind, Origin, Piece, Plan, Where

FIGURES = Figures(blocks=(30, 10), framing=9, reserved=100, window=1000, tokenizer="o200k_base", exact=True)


@given(
    st.lists(st.integers(0, 10**6), max_size=3),
    st.integers(0, 10**6),
    st.integers(0, 60),
    st.booleans(),
    st.sampled_from([None, " "]),
)
def test_bars(parts: list[int], whole: int, cells: int, ascii_only: bool, rest: str | None) -> None:
    """A bar has exactly as many cells as it should, whatever it shows; ASCII ones are ASCII."""
    drawn = bar(parts, whole, cells, ascii_only=ascii_only, rest=rest)
    assert len(drawn) == cells
    assert drawn.isascii() or not ascii_only


def test_small_parts_are_seen() -> None:
    """A part that is not zero has a cell; zero has none."""
    assert bar([1, 0, 1], 10**6, 10, ascii_only=True) == "#" + "." + "." * 8
    assert bar([0], 100, 4, ascii_only=True) == "...."


def test_sums() -> None:
    """Used is blocks and framing; what is free is the rest of the window."""
    assert (FIGURES.used, FIGURES.free) == (49, 851)
    assert FIGURES.to_dict() | {"used": 49, "free": 851} == FIGURES.to_dict()


def test_window_line() -> None:
    """The line has all figures, and says when the count is an estimate or the window unknown."""
    assert window_line(FIGURES, ascii_only=True) == (
        "[##====..................................] used 49 + reserved 100 + free 851 = 1,000 tokens, counted by o200k_base"
    )
    assert "(estimate)" in window_line(Figures((1,), 0, 0, 10, "x", exact=False))
    assert "no window given" in window_line(Figures((1,), 0, 0, None, "x", exact=True))


@pytest.mark.parametrize(
    ("block", "source"),
    [
        (Block(role="system", content="x"), "-"),
        (Block(role="system", content="x", slot="main"), "main"),
        (
            Block(role="system", content="x", slot="main", origin=Origin("character", "system_prompt")),
            "main: character.system_prompt",
        ),
        (Block(role="user", content="x", slot="history", origin=Origin("history", "3")), "history.3"),
        (
            Block(role="user", content="xy", pieces=(Piece("x", Origin("a")), Piece("y", Origin("b")))),
            "2 sources",
        ),
        (Block(role="user", content="x", metadata={"source": "note"}), "note"),  # type: ignore[arg-type]
    ],
)
def test_sources(block: Block, source: str) -> None:
    """Where a block comes from is said in a few words."""
    assert source_of(block) == source


@given(st.text(), st.text(), st.text(max_size=5), st.text(max_size=5))
def test_any_text(content: str, name: str, role: str, slot: str) -> None:
    """Any text can be shown, on lines of the table's own, and no control character comes through."""
    block = Block(role=role, content=content, name=name, slot=slot)
    out = io.StringIO()
    shown = console(out)
    shown.print(plan_table([block], Figures((3,), 0, 0, None, "t", exact=True)))
    assert len(out.getvalue().splitlines()) == 3
    assert not any(ord(c) < 32 and c != "\n" for c in out.getvalue())
    assert "\n" not in first_words(block)


def test_table_is_plain_without_a_terminal() -> None:
    """In a pipe there are no colours, and a line is 100 columns."""
    out = io.StringIO()
    console(out).print(plan_table([Block(role="user", content="[red]a[/red] " * 30)], FIGURES_ONE))
    lines = out.getvalue().splitlines()
    assert "\x1b" not in out.getvalue()
    assert "[red]a[/red]" in out.getvalue()
    assert max(map(len, lines)) <= 100


FIGURES_ONE = Figures((3,), 0, 0, None, "t", exact=True)


def test_notes() -> None:
    """Notes say their kind, their place and their mend."""
    note = Note(NoteKind.WARNING, "odd", where=Where("a.json", line=3), hint="mend it")
    assert note_lines([note]) == ["warning: a.json:3: odd (mend it)"]


def test_title() -> None:
    """The title has what is known."""
    plan = Plan(blocks=(Block(role="user", content="x"),), tavern="silly", model="m\x07")
    assert plan_title(plan) == "silly · m␇ · 1 message"
