"""What a regular expression costs, judged from its text."""

from __future__ import annotations

import sys

import pytest
import regex

from innkeeper.text.pattern_cost import cost_of, pieces_of


@pytest.mark.parametrize(
    ("pattern", "written"),
    [
        ("", 0),
        ("abc", 3),
        ("a+b", 3),
        ("a*b?", 2),
        ("(a{20}){30}", 651),
        ("((a+)+)+", 8),
        ("((a*)*)*", 1),
        ("(?:ab){2,5}", 6),
        ("(?:ab){,5}", 2),
        ("(?:ab){2,}?", 6),
        ("(?:ab){3}+", 8),
        ("a{}", 3),
        ("[+*{3}]", 1),
        (r"\+\{2\}", 4),
        ("(?#(a+)+)b", 1),
        ("(?x)a + # {9}", 2),
        ("(?P<n>a)(?P=n)(?(1)b|c)", 6),
    ],
)
def test_counts_what_is_written_out(pattern: str, written: int) -> None:
    """Atoms count once for each copy that the engine makes."""
    assert cost_of(pieces_of(pattern)).written == written


@pytest.mark.parametrize("repeat", ["+", "{2}", "{1,9}", "{3}", "+?", "{2,}+"])
@pytest.mark.parametrize("levels", [2, 4, 6])
def test_the_engine_makes_no_more(repeat: str, levels: int) -> None:
    """A compiled pattern is no larger than its cost says."""
    pattern = "(?:" * levels + "a.b" + f"{repeat})" * levels
    assert sys.getsizeof(regex.compile(pattern)) < 4000 + 300 * cost_of(pieces_of(pattern)).written


@pytest.mark.parametrize(
    ("pattern", "depth"),
    [("a", 0), ("((a)b)", 2), ("(?=(?:a))", 2), (r"\(\(", 0), ("[((]", 0), ("(?(1)a|b)", 1), (")))", 0)],
)
def test_counts_the_depth(pattern: str, depth: int) -> None:
    """Groups inside one another are counted, whatever their kind."""
    assert cost_of(pieces_of(pattern)).depth == depth


def test_only_repeated_groups_are_held() -> None:
    """A search comes back to rounds of repeated groups, the more of them to groups that are remembered."""
    held = [cost_of(pieces_of(pattern)).held for pattern in ("(a)b", "(ab)?", "a*", "(?:a.)*", "(a.)*", "(()(a.))*")]
    assert held[:3] == [0, 0, 0]
    assert 0 < held[3] < held[4] < held[5]
