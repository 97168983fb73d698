"""JavaScript for regular expressions, bounded in steps and memory."""

from __future__ import annotations

import pytest

from innkeeper.prompt.allowance import AllowanceError, BuildLimits, allowed
from innkeeper.text.javascript import interpreter
from innkeeper.text.javascript.interpreter import Interpreter, compile_steps

PROGRAM = "function test(pattern, flags) { return compile(pattern, flags).test(text); }"
LETTERS = r"\p{L}"


def test_it_calls_functions() -> None:
    """A function of the program gets its arguments and uses what is compiled."""
    made = Interpreter(PROGRAM, "test")
    assert made.valid("a.c", "s")
    assert not made.valid("(", "")
    assert made.search("test", "a\nc", "a.c", "s", most=10_000)


def test_it_is_begun_anew_when_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expressions that fill the memory only together are all valid: what they compile to is forgotten in between."""
    monkeypatch.setattr(interpreter, "_CACHE_BYTES", 1024 * 1024)
    made = Interpreter(PROGRAM, "test")
    assert all(made.valid(LETTERS * 30 + str(number), "iu") for number in range(20))
    assert made.dropped > 0


def test_memory_that_runs_out_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that needs too much memory alone is refused, not taken for malformed; the next one is compiled."""
    monkeypatch.setattr(interpreter, "MAX_INTERPRETER_BYTES", 1024 * 1024)
    made = Interpreter(PROGRAM, "test")
    with pytest.raises(TimeoutError):
        made.valid(LETTERS * 1000, "iu")
    assert made.valid("a", "")


def test_a_call_ends_with_the_build() -> None:
    """A search takes no longer than the build has left."""
    made = Interpreter(PROGRAM, "test")
    with pytest.raises(AllowanceError), allowed(BuildLimits(seconds=0.02)):
        made.search("test", "a" * 40 + "!", "(a+)+$", "", most=10**9)


@pytest.mark.parametrize(
    ("pattern", "flags", "more"), [("a", "", "aa"), (LETTERS, "u", LETTERS * 2), (LETTERS, "", "a" * 9)]
)
def test_steps_grow(pattern: str, flags: str, more: str) -> None:
    """Longer expressions take more steps to compile, sets of Unicode by far the most."""
    assert compile_steps(pattern, flags) < compile_steps(more, flags)
    assert compile_steps(LETTERS, "u") > 10 * compile_steps(LETTERS, "")
