"""Filling a text prompt: texts at depths first, lines from the newest on, then examples."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.taverns.silly.text.chat import TextAssembly, TextHistory, TextLine, Utterance
from innkeeper.taverns.silly.text.fill import TextFill, TextParts, fill
from innkeeper.taverns.silly.text.story import Example, TextCompiled


def line(text: str, *, user: bool = False, source: str = "history") -> TextLine:
    """A line as it is written."""
    role = "user" if user else "assistant"
    return TextLine(Utterance(role=role, name="", text=text, is_user=user, source=source), text)


def parts(
    *lines: TextLine,
    budget: int,
    story: str = "",
    examples: tuple[str, ...] = (),
    alignment: str = "",
    continued: str = "",
    pinned: bool = False,
) -> TextParts:
    """Parts of a prompt; a token is a character."""
    return TextParts(
        TextCompiled(story=story, examples=tuple(Example(place, text) for place, text in enumerate(examples))),
        TextHistory(
            lines=lines,
            continued=line(continued) if continued else None,
            alignment=line(alignment, user=True) if alignment else None,
        ),
        TextAssembly(),
        pinned,
        budget,
        0,
        len,
    )


ABC = (line("aaa"), line("bbb"), line("ccc"))


@dataclass(frozen=True)
class Case:
    """Parts of a prompt, the lines and how many examples are in, and whether the alignment message is."""

    name: str
    parts: TextParts
    lines: tuple[int, ...]
    examples: int = 0
    aligned: bool = False


CASES = (
    Case("all", parts(*ABC, budget=99), (0, 1, 2)),
    Case("the newest first", parts(*ABC, budget=7), (0, 1)),
    Case("a full window has no room", parts(*ABC, budget=9), (0, 1)),
    Case("nothing", parts(*ABC, budget=3), ()),
    Case("the story leaves less", parts(*ABC, budget=10, story="ssss"), (0,)),
    Case("examples with the rest", parts(*ABC, budget=15, examples=("xx", "yy", "zz")), (0, 1, 2), 2),
    Case("pinned examples first", parts(*ABC, budget=11, examples=("xx", "yy"), pinned=True), (0, 1), 2),
    Case(
        "texts at depths first",
        parts(line("aaa"), line("bbb"), line("iii", source="injection"), budget=7),
        (0, 2),
    ),
    Case("an alignment message", parts(*ABC, budget=99, alignment="u"), (0, 1, 2), aligned=True),
    Case("the user is first already", parts(line("aaa"), line("bbb", user=True), budget=99, alignment="u"), (0, 1)),
    Case(
        "after what was left out",
        parts(line("aaa"), line("bbb", user=True), budget=6, alignment="u"),
        (0,),
        aligned=True,
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_in(case: Case) -> None:
    """Lines are taken up to the first without room, and examples with what is left."""
    assert fill(case.parts) == TextFill(lines=case.lines, examples=case.examples, aligned=case.aligned)


def test_what_goes_first() -> None:
    """Examples go from the last on, then the alignment message, then the oldest line; pinned examples stay."""
    free, pinned = parts(*ABC, budget=9), parts(*ABC, budget=9, pinned=True)
    filled: TextFill | None = TextFill(lines=(0, 1), examples=1, aligned=True)
    seen = []
    while filled is not None:
        seen.append((filled.examples, filled.aligned, filled.lines))
        filled = filled.less(free)
    assert seen == [(1, True, (0, 1)), (0, True, (0, 1)), (0, False, (0, 1)), (0, False, (0,)), (0, False, ())]
    kept = TextFill(lines=(0,), examples=1, aligned=False).less(pinned)
    assert kept == TextFill(lines=(), examples=1, aligned=False)


@given(
    st.lists(st.tuples(st.text("ab", min_size=1, max_size=5), st.booleans()), min_size=1, max_size=6),
    st.lists(st.text("x", min_size=1, max_size=4), max_size=3),
    st.text("c", max_size=4),
    st.integers(6, 40),
)
def test_a_continued_prompt_fits(
    drawn: list[tuple[str, bool]], examples: list[str], continued: str, budget: int
) -> None:
    """What is in is a run of the newest lines, and together with the line to go on with it stays within the budget."""
    lines = tuple(line(text, user=user) for text, user in drawn)
    given_parts = parts(*lines, budget=budget, examples=tuple(examples), continued=continued)
    filled = fill(given_parts)
    assert filled.lines == tuple(range(len(filled.lines)))
    assert filled.examples <= len(examples)
    assert given_parts.whole(filled) < budget


def test_carriage_returns_are_not_counted() -> None:
    """They are not sent."""
    assert parts(budget=1).tokens("a\r\nb\r") == 3
