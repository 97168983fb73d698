"""Steps of JavaScript's expressions: the same whatever the interpreter has done before, and what happens uncounted."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from innkeeper.prompt.allowance import AllowanceError, BuildLimits, allowed
from innkeeper.prompt.errors import LimitError
from innkeeper.text.javascript import interpreter
from innkeeper.text.javascript.interpreter import STEPS_AN_INTERRUPT, Interpreter
from innkeeper.text.jsreplace import ReplaceRunner
from tests.text.test_jsreplace import Find

PROGRAM = """
function test(pattern, flags) { return compile(pattern, flags).test(text); }
function rounds(count) { for (let i = 0; i < count; i++); return ''; }
"""
SLOW, TEXT = "(?:x+)+aq", "x" * 18 + " reef"


def _made() -> Interpreter:
    return Interpreter(PROGRAM, "test", "rounds")


def _steps(one: Interpreter) -> int:
    assert not one.search("test", TEXT, SLOW, "", most=10**9)
    return one.steps


@pytest.mark.parametrize("before", [0, 1, 300, 700, 1_000, 5_000])
def test_what_was_before_does_not_count(before: int) -> None:
    """A search takes as many steps in a new interpreter as in one that has made any number of calls."""
    one = _made()
    for number in range(before):
        one.search("test", TEXT, f"reef{number % 7}", "", most=10**9)
    assert _steps(one) == _steps(_made()) > 10 * STEPS_AN_INTERRUPT


def test_a_limit_is_exact() -> None:
    """A search with just the steps it takes ends, with one less it does not, whatever was before."""
    steps = _steps(_made())
    for before in (0, 1_000):
        one = _made()
        for _ in range(before):
            one.search("test", TEXT, "reef", "", most=10**9)
        assert not one.search("test", TEXT, SLOW, "", most=steps)
        with pytest.raises(TimeoutError, match="interrupted"):
            one.search("test", TEXT, SLOW, "", most=steps - STEPS_AN_INTERRUPT)


def test_a_build_is_charged_for_steps() -> None:
    """Long searches take steps of the build, and end where it has none left."""
    with allowed() as allowance:
        _steps(_made())
        assert allowance.spent["patterns"] > 1_000
    with pytest.raises(AllowanceError, match="steps"), allowed(BuildLimits(steps=5_000)):
        _steps(_made())


def test_a_slow_machine_ends_no_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seconds of counted steps are those of a quiet machine."""
    clock = iter(range(0, 10_000, 100))
    with allowed(BuildLimits(seconds=50)) as allowance:
        left = allowance.seconds_left()
        monkeypatch.setattr(interpreter, "thread_time", lambda: float(next(clock)))
        _steps(_made())
        assert allowance.seconds_left() > left


def _uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "_handled", lambda _context, _asked: None)
    monkeypatch.setattr(interpreter, "MAX_UNCOUNTED_SECONDS", 0.02)


def _search() -> object:
    return _made().search("test", "a" * 40 + "!", "(a+)+$", "", most=10**9)


def _split() -> object:
    return ReplaceRunner(lambda *_: None).split(Find("(a+)+$"), "a" * 40 + "!")


@pytest.mark.parametrize("search", [_search, _split])
def test_uncounted_time_ends_the_build(search: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where steps cannot be counted a search that takes too long is no result without a match, but an error."""
    monkeypatch.setattr(interpreter, "_THREAD", threading.local())
    _uncounted(monkeypatch)
    with pytest.raises(AllowanceError), allowed():
        search()
    with pytest.raises(LimitError):
        search()
    assert _made().search("test", "a", "a", "", most=10**9)
