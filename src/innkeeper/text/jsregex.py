"""JavaScript regular expressions with JavaScript's semantics, under a time limit each and one for all of one runner."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Protocol

from innkeeper.prompt.allowance import charge
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.text import scalar_text
from innkeeper.text.javascript.interpreter import Interpreter, compile_steps, thread_interpreter

if TYPE_CHECKING:
    from collections.abc import Callable


MAX_PATTERN: Final = 2048
"""Characters of a regular expression of a key (a note; a longer one never matches)."""

_MAX_TEXT: Final = 1_048_576
"""Characters a regular expression is run on; of a longer text only the beginning is searched."""

_MAX_SECONDS: Final = 0.05
"""Seconds one regular expression may take on one text."""

_MAX_RUNNER_SECONDS: Final = 0.5
"""Seconds all regular expressions of one runner may take together."""


class JsPattern(Protocol):
    """A regular expression as JavaScript writes it: ``/pattern/flags``."""

    @property
    def pattern(self) -> str:
        """The text between the slashes."""
        ...

    @property
    def flags(self) -> str:
        """The letters after them."""
        ...


_PROGRAM: Final = """
let text = '';
function use(t) { text = t; }
function matches(pattern, flags) {
    const re = compile(pattern, flags);
    if (re === null) return false;
    re.lastIndex = 0;
    return re.test(text);
}
"""

_CHARACTERS_A_STEP: Final = 16

_ACCEPTED: Final[BoundedCache[tuple[str, str], bool]] = BoundedCache(items=4_096, size=8 * 1024 * 1024)
"""Whether JavaScript accepts an expression, which never changes."""


class RegexRunner:
    """Runs the regular expressions of one scan or one check. ``report`` gets each failure and its reason, once."""

    def __init__(self, report: Callable[[str, str], None]) -> None:
        self._report = report
        self._text: str | None = None
        self._mark = object()
        self._left = _MAX_RUNNER_SECONDS
        self._valid: dict[tuple[str, str], bool] = {}
        self._timed_out: set[tuple[str, str]] = set()

    @property
    def is_spent(self) -> bool:
        """Whether the time for all of them is used up: what comes now is not run."""
        return self._left <= 0

    def valid(self, key: JsPattern) -> bool:
        """Whether JavaScript accepts the pattern. An invalid one is matched as plain text by the caller.

        One that cannot be compiled within the limits counts as accepted; it is reported, and never matches.
        """
        if len(key.pattern) > MAX_PATTERN:
            return True
        name = (key.pattern, key.flags)
        if name not in self._valid:
            self._valid[name] = self._accepts(name)
        return self._valid[name]

    def _accepts(self, name: tuple[str, str]) -> bool:
        charge("patterns", compile_steps(*name))
        if self.is_spent:
            return not self._give_up(name, _SPENT)
        known = _ACCEPTED.get(name)
        if known is not None:
            return known
        started = time.perf_counter()
        try:
            accepted = _interpreter().valid(*name, seconds=_MAX_SECONDS)
            return _ACCEPTED.put(name, accepted, 2 * len(name[0]))
        except TimeoutError:
            return not self._give_up(name, "it cannot be compiled within the time and memory for one")
        finally:
            self._left -= time.perf_counter() - started

    def matches(self, key: JsPattern, text: str) -> bool:
        """Whether the pattern matches in the text. ``False`` for a pattern that ran out of time, which is reported."""
        name = (key.pattern, key.flags)
        if name in self._timed_out:
            return False
        if len(key.pattern) > MAX_PATTERN:
            return self._give_up(name, f"longer than {MAX_PATTERN} characters")
        if not self.valid(key) or name in self._timed_out:
            return False
        if self.is_spent:
            return self._give_up(name, _SPENT)
        charge("patterns", 1 + min(len(text), _MAX_TEXT) // _CHARACTERS_A_STEP)
        started = time.perf_counter()
        try:
            return self._run(name, text)
        except TimeoutError:
            return self._give_up(name, f"took more than {_MAX_SECONDS} s or too much memory")
        finally:
            self._left -= time.perf_counter() - started

    def _run(self, name: tuple[str, str], text: str) -> bool:
        """Search; once more in an empty interpreter where it failed, since others may have left it too little memory."""
        try:
            return self._search(name, text)
        except TimeoutError as error:
            if "interrupted" in str(error):
                raise
        _interpreter().drop()
        return self._search(name, text)

    def _search(self, name: tuple[str, str], text: str) -> bool:
        interpreter = _interpreter()
        if self._text is not text or interpreter.holder is not self._mark:
            interpreter.call("use", scalar_text(text[:_MAX_TEXT]), seconds=_MAX_SECONDS)
            self._text, interpreter.holder = text, self._mark
        return bool(interpreter.call("matches", *name, seconds=_MAX_SECONDS))

    def _give_up(self, name: tuple[str, str], why: str) -> bool:
        self._timed_out.add(name)
        self._report(f"/{name[0][:60]}/{name[1]}", why)
        return False


def _interpreter() -> Interpreter:
    return thread_interpreter(_PROGRAM, "use", "matches")


_SPENT: Final = f"the {_MAX_RUNNER_SECONDS} s for regular expressions are used up"
