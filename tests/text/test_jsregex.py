"""JavaScript's regular expressions: their meaning, and what stops them."""

from dataclasses import dataclass

import pytest

from innkeeper.text import jsregex
from innkeeper.text.jsregex import MAX_PATTERN, RegexRunner


@dataclass(frozen=True)
class Js:
    pattern: str
    flags: str = ""


@dataclass(frozen=True)
class Case:
    key: Js
    text: str
    matches: bool


CASES = {
    "plain": Case(Js("forge"), "the forge", True),
    "case": Case(Js("forge"), "the Forge", False),
    "ignore case": Case(Js("forge", "i"), "the Forge", True),
    "javascript's set of nothing": Case(Js("a[]"), "a", False),
    "lookbehind": Case(Js("(?<=the )forge"), "the forge", True),
    "sticky begins at the start": Case(Js("forge", "y"), "the forge", False),
    "global has no memory": Case(Js("a", "g"), "a", True),
    "unicode escape": Case(Js(r"\u{1F525}", "u"), "\U0001f525", True),
}


@pytest.mark.parametrize("name", CASES)
def test_it_matches_as_javascript_does(name: str) -> None:
    """A pattern means what it means in JavaScript, each time it is asked."""
    case = CASES[name]
    runner = RegexRunner(lambda *_: None)
    assert runner.valid(case.key)
    assert [runner.matches(case.key, case.text) for _ in range(3)] == [case.matches] * 3


def test_what_javascript_refuses_is_not_valid() -> None:
    """A pattern that cannot be compiled says so and never matches."""
    runner = RegexRunner(lambda *_: None)
    assert not runner.valid(Js("("))
    assert not runner.matches(Js("("), "(")


def test_a_slow_pattern_is_given_up_and_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs out of its own steps, the next pattern still runs, and it is not tried again."""
    monkeypatch.setattr(jsregex, "MAX_KEY_STEPS", 100_000)
    told: list[tuple[str, str]] = []
    runner = RegexRunner(lambda *what: told.append(what))
    slow = Js("(a+)+$")
    assert not runner.matches(slow, "a" * 40 + "!")
    assert not runner.matches(slow, "a")
    assert [name for name, _ in told] == ["/(a+)+$/"]
    assert runner.matches(Js("a"), "a")


def test_a_long_pattern_never_matches_and_is_reported() -> None:
    """Beyond the limit nothing is compiled."""
    told: list[tuple[str, str]] = []
    runner = RegexRunner(lambda *what: told.append(what))
    assert not runner.matches(Js("a" * (MAX_PATTERN + 1)), "a" * 9999)
    assert len(told) == 1
