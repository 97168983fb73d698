"""JavaScript regular expressions with their own meaning, under a time limit each and one for all of one runner."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MAX_PATTERN", "JsPattern", "RegexRunner"]

MAX_PATTERN: Final = 2048
"""Characters of a regular expression; a longer one never matches and is reported."""

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
        """What stands between the slashes."""
        ...

    @property
    def flags(self) -> str:
        """The letters after them."""
        ...


_PROGRAM: Final = """
const compiled = new Map();
let text = '';
function use(t) { text = t; }
function compile(pattern, flags) {
    const id = flags + '/' + pattern;
    let re = compiled.get(id);
    if (re === undefined) {
        try { re = new RegExp(pattern, flags); } catch (e) { re = null; }
        compiled.set(id, re);
    }
    return re;
}
function valid(pattern, flags) { return compile(pattern, flags) !== null; }
function matches(pattern, flags) {
    const re = compile(pattern, flags);
    if (re === null) return false;
    re.lastIndex = 0;
    return re.test(text);
}
"""


class RegexRunner:
    """Runs the regular expressions of one scan or one check. ``report`` is told, once each, what could not be run and why."""

    def __init__(self, report: Callable[[str, str], None]) -> None:
        self._report = report
        self._context: Any = None
        self._text: str | None = None
        self._left = _MAX_RUNNER_SECONDS
        self._valid: dict[tuple[str, str], bool] = {}
        self._given_up: set[tuple[str, str]] = set()

    def valid(self, key: JsPattern) -> bool:
        """Whether JavaScript accepts the pattern. An invalid one is matched as plain text by the caller."""
        if len(key.pattern) > MAX_PATTERN:
            return True
        name = (key.pattern, key.flags)
        if name not in self._valid:
            self._valid[name] = bool(self._call("valid", *name))
        return self._valid[name]

    def matches(self, key: JsPattern, text: str) -> bool:
        """Whether the pattern is found in the text. ``False`` for a pattern that ran out of time, which is reported."""
        name = (key.pattern, key.flags)
        if name in self._given_up:
            return False
        if len(key.pattern) > MAX_PATTERN:
            return self._give_up(name, f"longer than {MAX_PATTERN} characters")
        if self._left <= 0:
            return self._give_up(name, f"the scan's {_MAX_RUNNER_SECONDS} s for regular expressions are used up")
        if text is not self._text:
            self._call("use", text[:_MAX_TEXT])
            self._text = text
        started = time.perf_counter()
        try:
            found = bool(self._call("matches", *name))
        except TimeoutError:
            self._left -= time.perf_counter() - started
            return self._give_up(name, f"took more than {_MAX_SECONDS} s")
        self._left -= time.perf_counter() - started
        return found

    def _give_up(self, name: tuple[str, str], why: str) -> bool:
        self._given_up.add(name)
        self._report(f"/{name[0][:60]}/{name[1]}", why)
        return False

    def _call(self, function: str, *arguments: str) -> Any:
        import quickjs

        if self._context is None:
            self._context = quickjs.Context()
            self._context.set_memory_limit(64 * 1024 * 1024)
            self._context.eval(_PROGRAM)
            self._text = None
        self._context.set_time_limit(_MAX_SECONDS)
        try:
            return self._context.get(function)(*arguments)
        except quickjs.JSException as error:
            self._context = None
            raise TimeoutError(str(error)) from error
