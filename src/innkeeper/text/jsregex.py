"""JavaScript regular expressions with JavaScript's semantics, under a limit of steps each and one for all of one runner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from innkeeper.prompt.allowance import charge
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.text.javascript.interpreter import Interpreter, compile_steps, thread_interpreter

if TYPE_CHECKING:
    from collections.abc import Callable


MAX_PATTERN: Final = 2048
"""Characters of a regular expression of a key (a note; a longer one never matches)."""

_MAX_TEXT: Final = 1_048_576
"""Characters a regular expression is run on; of a longer text only the beginning is searched."""

MAX_KEY_STEPS: Final = 10_000_000
"""Steps that a key's regular expression may take on one text (a note; it counts as not searched, and does not match)."""

MAX_KEYS_STEPS: Final = 80_000_000
"""Steps of all long searches for regular expressions of keys in one scan together (a note; further ones are not run)."""


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
        self._left = MAX_KEYS_STEPS
        self._valid: dict[tuple[str, str], bool] = {}
        self._failures: dict[tuple[str, str], str] = {}

    @property
    def is_spent(self) -> bool:
        """Whether the steps for all of them are used up: what comes now is not run."""
        return self._left <= 0

    def failure(self, key: JsPattern) -> str:
        """Why a pattern was not searched for to the end; empty where it was."""
        return self._failures.get((key.pattern, key.flags), "")

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
        known = _ACCEPTED.get(name)
        if known is not None:
            return known
        try:
            return _ACCEPTED.put(name, _interpreter().valid(*name), 2 * len(name[0]))
        except TimeoutError:
            return not self._give_up(name, "it cannot be compiled within the memory for one")

    def matches(self, key: JsPattern, text: str) -> bool:
        """Whether the pattern matches in the text. ``False`` for a pattern that took too many steps, which is reported."""
        name = (key.pattern, key.flags)
        if name in self._failures:
            return False
        if len(key.pattern) > MAX_PATTERN:
            return self._give_up(name, f"longer than {MAX_PATTERN} characters")
        if not self.valid(key) or name in self._failures:
            return False
        if self.is_spent:
            return self._give_up(name, f"the {MAX_KEYS_STEPS:,} steps for regular expressions are used up")
        charge("patterns", 1 + min(len(text), _MAX_TEXT) // _CHARACTERS_A_STEP)
        interpreter, searched = _interpreter(), text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT]
        try:
            return bool(interpreter.search("matches", searched, *name, most=MAX_KEY_STEPS))
        except TimeoutError:
            return self._give_up(name, f"took more than {MAX_KEY_STEPS:,} steps or too much memory")
        finally:
            self._left -= interpreter.steps

    def _give_up(self, name: tuple[str, str], why: str) -> bool:
        self._failures[name] = why
        self._report(f"/{name[0][:60]}/{name[1]}", why)
        return False


def _interpreter() -> Interpreter:
    return thread_interpreter(_PROGRAM, "matches")
