"""Regular expressions, of Python and of JavaScript: what hostile ones cost to compile and to search with."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from innkeeper.prompt.errors import LimitError
from innkeeper.text.jsregex import RegexRunner
from innkeeper.text.jsreplace import ReplaceRunner, valid
from innkeeper.text.pyregex import compile_pattern
from tests.limits.growth import Family, fresh, held, spending


class Js(NamedTuple):
    """A JavaScript expression."""

    pattern: str
    flags: str = "g"


def _quiet(_what: str, _why: str) -> None:
    """Who is told of what was not run."""


def _keys(count: int) -> None:
    runner = RegexRunner(_quiet)
    for number in range(count):
        runner.matches(Js(f"a{number}(b|c)", ""), "ab " * 400)


FAMILIES = (
    Family("compiling atoms", lambda n: compile_pattern(fresh() + "(?:a|b)?" * n), 80, "patterns"),
    Family("compiling repeats", lambda n: compile_pattern(fresh() + f"(?:ab){{{n}}}"), 3_000, "patterns"),
    Family("repeats in repeats", lambda n: compile_pattern(fresh() + "(?:" * n + "a" + "+)" * n), 12, "patterns"),
    Family("wide sets", lambda n: compile_pattern(fresh() + "[\\x00-\\U0010ffff]" * n), 3, "patterns"),
    Family("brackets", lambda n: compile_pattern(fresh() + "(" * n + ")" * n), 45, "patterns"),
    Family("matches", lambda n: compile_pattern("a|b").findall("ab" * n), 2_000, "patterns"),
    Family("groups that repeat", lambda n: compile_pattern("(()()()()().)*").match("a" * n), 10_000, "patterns"),
    Family("replacements", lambda n: compile_pattern("a").sub("xyz" * 20, "a" * n), 4_000, "patterns"),
    Family(
        "compiling in JavaScript",
        lambda n: [valid(Js(fresh() + r"\p{L}" * 20, "iu")) for _ in range(n)],
        5,
        "patterns",
    ),
    Family("keys", _keys, 60, "patterns"),
    Family("scripts", lambda n: ReplaceRunner(_quiet).split(Js("(a)|b"), "ab" * n), 1_500, "patterns"),
    Family("scripts of JavaScript", lambda n: ReplaceRunner(_quiet).split(Js("(a)\\1"), "aab" * n), 1_500, "patterns"),
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_twice_the_pattern_costs_twice_as_much(family: Family) -> None:
    """Time and memory grow as patterns and texts do, until a limit ends it."""
    assert held(family)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_patterns_are_charged(family: Family) -> None:
    """Compiling and searching are charged, also where they are refused."""
    assert spending(family)[family.engine] > 500


@pytest.mark.parametrize(
    "pattern",
    [
        "(?:" * 20 + "a" + "+)" * 20,
        "(?:" * 24 + "a" + "+){2}" * 24,
        "(?:(?:(?:a{99}){99}){99}){99}",
        "(" * 3_000 + "a" + "+)" * 3_000,
        "[\\x00-\\U0010ffff]" * 580,
    ],
)
def test_what_would_fill_the_memory_is_refused(pattern: str) -> None:
    """Before the engine reads it."""
    with pytest.raises(LimitError):
        compile_pattern(pattern)
