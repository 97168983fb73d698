"""The reasons behind a plan, as people read them."""

import io
from collections.abc import Callable
from typing import Any

import pytest

from innkeeper.cli.explain import dropped_lines, explain_block, explain_entries, explain_entry, explain_plan
from innkeeper.cli.fitting import count_plan
from innkeeper.cli.render import console
from innkeeper.lore import Reason, Verdict
from innkeeper.prompt import Block, Note, NoteKind, Origin, Piece, Plan, UnknownNameError


class Lore:
    """Decisions about three entries, two of one title."""

    verdicts = (
        Verdict("Skerrow", 6, "Alderman", Reason.NO_MATCH, {"depth": 4}),
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
    explain(console(out), PLAN, *args)
    return out.getvalue()


def test_plan() -> None:
    """The plan's explanation has its messages, its sums, what was left out, warnings and notes."""
    text = shown(explain_plan, count_plan(PLAN))
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
    assert lines[1] == "out Alderman [Skerrow]: no key matched in 4 messages"


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
    assert "Alderman" in (caught.value.hint or "")


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
