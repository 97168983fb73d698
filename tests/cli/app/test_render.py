"""How plans look: tables of any plan, bars that are never too long, texts that stay text."""

import io
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.budget import Accounting, AccountLine, accounting
from innkeeper.cli.app.render import (
    MOST_ROWS,
    bar,
    dropped_lines,
    explain_block,
    explain_entries,
    explain_entry,
    explain_plan,
    first_words,
    note_lines,
    plan_table,
    plan_title,
    recorded,
    source_of,
    window_line,
)
from innkeeper.cli.app.screen import Grid, GridColumn, Screen
from innkeeper.lore import Reason, Verdict
from innkeeper.prompt import Block, Note, NoteKind, Origin, Piece, Plan, UnknownNameError, Where


def figures(
    *counts: int, window: int | None = 1000, error: float | None = 0.0, tokenizer: str = "o200k_base"
) -> Accounting:
    """The sums of blocks with these tokens; 100 are reserved."""
    lines = tuple(AccountLine(str(n), "user", None, "history", count, count, 0) for n, count in enumerate(counts))
    used = sum(counts)
    return Accounting(
        lines=lines,
        content=used,
        metadata=0,
        overhead=0,
        reply=0,
        tools=0,
        total=used,
        window=window,
        reserve=100,
        free=None if window is None else window - used - 100,
        model=None,
        tokenizer=tokenizer,
        framing="none",
        exact=error == 0,
        error_percent=error,
    )


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


def test_window_line() -> None:
    """The line has all figures, says how good the count is, and when the window is unknown."""
    assert window_line(figures(30, 19), ascii_only=True) == (
        "[##====..................................] used 49 + reserved 100 + free 851 = 1,000 tokens, counted by o200k_base"
    )
    assert window_line(figures(1, error=12.5)).endswith("counted by o200k_base (± 12.5 %)")
    assert window_line(figures(1, error=None)).endswith("(not known to be exact)")
    assert window_line(figures(1, window=None)) == "1 tokens, counted by o200k_base; no window given"


@pytest.mark.parametrize(
    ("block", "source"),
    [
        (Block(role="system", content="x"), "-"),
        (Block(role="system", content="x", slot="main"), "main"),
        (
            Block(role="system", content="x", slot="main", origin=Origin("character", "system_prompt")),
            "character.system_prompt",
        ),
        (Block(role="user", content="x", slot="history", origin=Origin("history", "3")), "history.3"),
        (
            Block(role="user", content="xy", pieces=(Piece("x", Origin("a")), Piece("y", Origin("b")))),
            "a, b",
        ),
        (Block(role="user", content="x", metadata={"source": "note"}), "note"),  # type: ignore[arg-type]
        (
            Block(
                role="system",
                content="I am Ann.",
                slot="main",
                pieces=(
                    Piece("I am ", Origin("character", "description")),
                    Piece("Ann", Origin("character", "description", macro="user")),
                    Piece(".", Origin("character", "description")),
                ),
            ),
            "character.description",
        ),
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
    Screen(out).grid(plan_table([block], figures(3)))
    assert len(out.getvalue().splitlines()) == 3
    assert not any(ord(c) < 32 and c != "\n" for c in out.getvalue())
    assert "\n" not in first_words(block)


def test_table_is_plain_without_a_terminal() -> None:
    """In a pipe there are no colours, and a line is 100 columns."""
    out = io.StringIO()
    Screen(out).grid(plan_table([Block(role="user", content="[red]a[/red] " * 30)], figures(3)))
    lines = out.getvalue().splitlines()
    assert "\x1b" not in out.getvalue()
    assert "[red]a[/red]" in out.getvalue()
    assert max(map(len, lines)) <= 100


def test_notes() -> None:
    """Notes say their kind, their place and their mend."""
    note = Note(NoteKind.WARNING, "odd", where=Where("a.json", line=3), hint="mend it")
    assert note_lines([note]) == ["warning: a.json:3: odd (mend it)"]


def test_title() -> None:
    """The title has what is known."""
    plan = Plan(blocks=(Block(role="user", content="x"),), tavern="silly", model="m\x07")
    assert plan_title(plan) == "silly · m␇ · 1 message"


class Lore:
    """Decisions about three entries, two of one title."""

    verdicts = (
        Verdict("Skerrow", 6, "Alderman", Reason.NO_MATCH, {"searched": "4 messages", "keys": "'gull'"}),
        Verdict("Skerrow", 3, "The Bell Reef", Reason.CONSTANT, {"loop": 1}),
        Verdict("Larks", 0, "alderman", Reason.DISABLED),
    )


PLAN = Plan(
    blocks=(
        Block(
            role="system",
            content="Be Wenna.",
            slot="main",
            pieces=(Piece("Be ", Origin("preset")), Piece("Wenna.", Origin("character", "name"))),
        ),
        Block(role="user", content="Old news.", slot="history", enabled=False, metadata={"evicted": "over budget"}),  # type: ignore[arg-type]
        Block(role="user", content="Hello", slot="history"),
    ),
    tavern="silly",
    lore=Lore(),
    warnings=(Note(NoteKind.WARNING, "something is odd"),),
    notes=(Note(NoteKind.QUIRK, "a quirk mattered"),),
)


def shown(explain: Callable[..., Any], *args: Any) -> str:
    """What is written."""
    out = io.StringIO()
    explain(Screen(out), PLAN, *args)
    return out.getvalue()


def test_plan() -> None:
    """The plan's explanation has its messages, its sums, what was left out, warnings and notes."""
    text = shown(explain_plan, accounting(PLAN))
    for part in (
        "silly · 2 messages",
        "Be Wenna.",
        "Hello",
        "left out (over budget): user: Old news.",
        "something is odd",
        "a quirk mattered",
    ):
        assert part in text


def test_entries() -> None:
    """Entries that are in come first; each has its reason."""
    lines = shown(explain_entries).splitlines()
    assert lines[0] == "in  The Bell Reef [Skerrow]: fired: constant (pass 1)"
    assert lines[1] == "out Alderman [Skerrow]: no key matched in 4 messages: 'gull'"


@pytest.mark.parametrize(
    ("name", "found"), [("ALDERMAN", ["Skerrow", "Larks"]), ("bell", ["Skerrow"]), ("3", ["Skerrow"]), ("0", ["Larks"])]
)
def test_entry(name: str, found: list[str]) -> None:
    """An entry is found by its title, part of it, or its number; all that fit are told."""
    text = shown(explain_entry, name)
    assert [book for book in ("Skerrow", "Larks") if f"[{book}]" in text] == found


def test_entry_that_is_not_there() -> None:
    """For an entry that does not exist near names are offered."""
    with pytest.raises(UnknownNameError) as caught:
        shown(explain_entry, "Aldermann")
    assert "alderman" in (caught.value.hint or "").casefold()


def test_block() -> None:
    """Each part of a message's text has its origin."""
    assert shown(explain_block, 1).splitlines() == [
        "message 1: system, main",
        "  preset: Be",
        "  character.name: Wenna.",
    ]


def test_dropped() -> None:
    """What is not sent has its reason, or at least is named."""
    assert dropped_lines(PLAN) == ["left out (over budget): user: Old news."]
    assert dropped_lines(Plan(blocks=(Block(role="user", content="x", enabled=False),))) == [
        "left out (not sent): user: x"
    ]


def test_long_lists_are_cut() -> None:
    """Of thousands of blocks, notes and verdicts the first are shown, and the others counted."""
    many, out = MOST_ROWS + 234, io.StringIO()
    plan = Plan(
        blocks=(Block(role="user", content="x"),) * many,
        notes=tuple(Note(NoteKind.LIMIT, f"too long: {n}") for n in range(many)),
        lore=SimpleNamespace(verdicts=(Lore.verdicts[0],) * many),
    )
    explain_plan(Screen(out), plan, figures(*(1,) * many))
    explain_entries(Screen(out), plan)
    text = out.getvalue()
    assert text.count("… and 234 more; --json has them all") == 3
    assert text.count("too long") == MOST_ROWS
    assert f"\n{MOST_ROWS} " in text
    assert f"\n{MOST_ROWS + 1} " not in text


@pytest.mark.parametrize("width", [40, 80, 160])
def test_recorded_for_a_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is collected before it is printed has the width and colours of the terminal that it goes to."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def show(screen: Screen) -> None:
        table = Grid(GridColumn("a", rest=True))
        table.add("x" * 200, style="red")
        screen.grid(table)

    lines = recorded(show, for_terminal=True).splitlines()
    assert f"\x1b[31m{'x' * width}\x1b[0m" in lines
    assert recorded(show, for_terminal=False).splitlines()[2] == "x" * 100
