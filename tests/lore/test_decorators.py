"""Decorators: which lines at the head of an entry act, and what is left."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.lore.decorators import ACTIVATE, SUPPRESS, split_decorators


@dataclass(frozen=True)
class Case:
    """A content, the decorators that act, and the text that is left."""

    content: str
    decorators: tuple[str, ...]
    text: str


CASES = (
    Case("plain", (), "plain"),
    Case("@@activate\ntext", (ACTIVATE,), "text"),
    Case("@@activate\n@@dont_activate\ntext", (ACTIVATE, SUPPRESS), "text"),
    Case("@@unknown\ntext", (), "text"),
    Case("@@activated\ntext", (), "text"),
    Case("@@unknown\n@@@activate\ntext", (ACTIVATE,), "text"),
    Case("@@@activate\ntext", (), "text"),
    Case("@@activate\n@@@dont_activate\ntext", (ACTIVATE,), "text"),
    Case("@@activate", (ACTIVATE,), "@@activate"),
    Case(" @@activate\ntext", (), " @@activate\ntext"),
    Case("@@activate\n\n@@dont_activate\ntext", (ACTIVATE,), "\n@@dont_activate\ntext"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case.content))
def test_decorators(case: Case) -> None:
    """Lines of ``@@`` at the head are cut; an exact known one acts, and ``@@@`` only stands in for an unknown one."""
    assert split_decorators(case.content) == (frozenset(case.decorators), case.text)


@given(st.lists(st.sampled_from(["@@activate", "@@dont_activate", "@@x", "@@@activate", "a", ""]), max_size=6))
def test_what_is_left_is_the_end_of_the_content(lines: list[str]) -> None:
    """Cutting decorators leaves an unchanged end of the content, and text without them stays whole."""
    content = "\n".join(lines)
    decorators, text = split_decorators(content)
    assert content.endswith(text)
    assert decorators <= {ACTIVATE, SUPPRESS}
    assert content.startswith("@@") or text == content


@pytest.mark.parametrize("content", ["@@activate", "@@activate\n@@dont_activate", "@@unknown\n@@@activate"])
def test_decorators_alone(content: str) -> None:
    """An entry that is nothing but decorators keeps them as its text, and they act."""
    decorators, text = split_decorators(content)
    assert ACTIVATE in decorators
    assert text == content
