"""What JavaScript's ``String.replace`` finds: the matches of a regular expression in a text, and the text between them.

The replacing itself is the caller's. Each expression runs on each text within a time of its own, and all of one runner within
one for all. What the `regex` package surely finds alike it finds, since it is quicker; everything else JavaScript itself. The
interpreter and what it has compiled are kept for the thread.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.prompt.memo import Memo
from innkeeper.prompt.text import scalar_text
from innkeeper.text.jsregex import JsPattern
from innkeeper.text.jsregex_python import python_of

if TYPE_CHECKING:
    import regex

__all__ = ["MAX_MATCHES", "MAX_PATTERN", "MAX_TEXT", "JsMatch", "ReplaceRunner", "Split", "joined"]

MAX_PATTERN: Final = 16_384
"""Characters of a regular expression; a longer one is not run."""

MAX_TEXT: Final = 1_048_576
"""Characters of a text that a regular expression is run on; a longer text stays as it is."""

MAX_MATCHES: Final = 100_000
"""Matches in one text; where there are more, the text stays as it is."""

MAX_SECONDS: Final = 0.25
"""Seconds one regular expression may take on one text."""

MAX_RUNNER_SECONDS: Final = 5.0
"""Seconds all regular expressions of one runner may take together."""

_MEMORY: Final = 256 * 1024 * 1024
_MOST_COMPILED: Final = 2_000
"""Expressions that one interpreter holds; with more it is begun anew."""


class JsMatch(msgspec.Struct, frozen=True, gc=False):
    """One match: ``groups`` (0 the whole; ``None`` for one that took no part), the ``offset`` in UTF-16 units, named groups."""

    groups: Sequence[str | None]
    offset: int
    named: Mapping[str, str | None] | None = None


Split = tuple[list[str], list[JsMatch]]
"""The texts around the matches, one more than there are matches; and the matches."""

_PROGRAM: Final = """
const compiled = new Map();
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
function split(pattern, flags, text, most) {
    const re = compile(pattern, flags), texts = [], matches = [];
    if (re === null) return '';
    let end = 0;
    re.lastIndex = 0;
    text.replace(re, (...found) => {
        const last = found[found.length - 1], named = typeof last === 'object' ? found.pop() : null;
        const offset = found[found.length - 2];
        if (matches.length >= most) throw new RangeError('matches');
        texts.push(text.slice(end, offset));
        matches.push([found.slice(0, -2), offset, named]);
        end = offset + found[0].length;
        return '';
    });
    if (!matches.length) return '';
    texts.push(text.slice(end));
    return JSON.stringify([texts, matches]);
}
"""

_THREAD: Final = threading.local()
"""An interpreter belongs to the thread that made it."""


class ReplaceRunner:
    """Finds the matches of regular expressions. ``report`` is told, once for each, what was not run and why."""

    def __init__(self, report: Callable[[str, str], None]) -> None:
        self._report = report
        self._left = MAX_RUNNER_SECONDS
        self._given_up: set[tuple[str, str]] = set()
        self._text, self._has_astral = "", False
        self.trips = 0
        """How often something was not run."""

    def replaced(self, pattern: JsPattern, text: str, made: str, most: int) -> str | None:
        """The text with ``made`` for each match, in at most ``most`` characters; ``None`` where it is for `split` to tell."""
        name = (pattern.pattern, pattern.flags)
        if len(text) > MAX_TEXT or len(text) * (len(made) + 1) > most:
            return None
        if name in self._given_up or len(name[0]) > MAX_PATTERN or self._left <= 0:
            return None
        quick, seconds = _quick(name)
        if quick is None or not self._is_basic(text):
            return None
        started, times = time.perf_counter(), 0 if "g" in name[1] else 1
        try:
            new, count = quick.subn(made.replace("\\", "\\\\"), text, count=times, timeout=seconds)
        except TimeoutError:
            return None
        finally:
            self._left -= time.perf_counter() - started
        return joined([new]) if count <= MAX_MATCHES else None

    def split(self, pattern: JsPattern, text: str) -> Split | None:
        """The text around the matches and the matches; ``None`` where there is none, or where it was not run."""
        name = (pattern.pattern, pattern.flags)
        if name in self._given_up:
            self.trips += 1
            return None
        if len(pattern.pattern) > MAX_PATTERN:
            self._give_up(name, f"it is longer than {MAX_PATTERN:,} characters")
            return None
        if len(text) > MAX_TEXT or self._left <= 0:
            spent = f"the {MAX_RUNNER_SECONDS:g} s for regular expressions are used up"
            self._give_up(name, spent if self._left <= 0 else f"a text is longer than {MAX_TEXT:,} characters")
            return None
        return self._split(name, text)

    def _split(self, name: tuple[str, str], text: str) -> Split | None:
        quick, seconds = _quick(name)
        started = time.perf_counter()
        if quick is not None and self._is_basic(text):
            try:
                return _found(quick, text, seconds, once="g" not in name[1])
            except TimeoutError:  # of the wall's clock: JavaScript has as much of the processor's
                pass
            finally:
                self._left -= time.perf_counter() - started
        try:
            answer = _call("split", *name, scalar_text(text), MAX_MATCHES)
        except TimeoutError as error:
            many = "RangeError: matches" in str(error)
            why = (
                f"more than {MAX_MATCHES:,} matches" if many else f"took more than {MAX_SECONDS:g} s or too much memory"
            )
            self._give_up(name, why)
            return None
        finally:
            self._left -= time.perf_counter() - started
        if not answer:
            return None
        texts, matches = json.loads(answer)
        return texts, [JsMatch(groups, offset, named) for groups, offset, named in matches]

    def _is_basic(self, text: str) -> bool:
        """Whether no character of the text is two in JavaScript. Asked of one text by many expressions."""
        if text is not self._text:
            self._text = text
            self._has_astral = not text.isascii() and _ASTRAL.search(text) is not None
        return not self._has_astral

    def _give_up(self, name: tuple[str, str], why: str) -> None:
        self._given_up.add(name)
        self.trips += 1
        self._report(f"/{name[0][:60]}/{name[1]}", why)


_ASTRAL: Final = re.compile("[\U00010000-\U0010ffff\ud800-\udfff]")
_STEADY: Final = re.compile(r"[^*+?{(|]*")
"""Expressions that neither repeat nor choose: a look at a clock would take most of their time."""

_QUICK: Final[Memo[tuple[str, str], tuple[regex.Pattern[str] | None, float | None]]] = Memo(items=4_096)


def _quick(name: tuple[str, str]) -> tuple[regex.Pattern[str] | None, float | None]:
    """The expression as one of Python's, where there is one and JavaScript accepts it, and how many seconds it may take."""
    known = _QUICK.get(name)
    if known is None:
        quick = python_of(*name) if _call("valid", *name) else None
        seconds = None if _STEADY.fullmatch(name[0]) else MAX_SECONDS
        known = _QUICK.put(name, (quick, seconds), 16 * len(name[0]))
    return known


def _found(quick: regex.Pattern[str], text: str, seconds: float | None, *, once: bool) -> Split | None:
    """What it finds. Raises `TimeoutError`, also where there are too many matches for here."""
    texts: list[str] = []
    matches: list[JsMatch] = []
    end, named = 0, bool(quick.groupindex)
    for found in quick.finditer(text, timeout=seconds):
        start = found.start()
        texts.append(text[end:start])
        matches.append(JsMatch([found[0], *found.groups()], start, found.groupdict() if named else None))
        end = found.end()
        if once:
            break
        if len(matches) > MAX_MATCHES:
            raise TimeoutError
    if not matches:
        return None
    texts.append(text[end:])
    return texts, matches


def valid(pattern: JsPattern) -> bool:
    """Whether JavaScript accepts the pattern with these flags; one that is too long counts as not accepted."""
    return len(pattern.pattern) <= MAX_PATTERN and bool(_call("valid", pattern.pattern, pattern.flags))


def joined(parts: list[str]) -> str:
    """Parts as one text, in which halves of characters that came together are whole; halves alone become U+FFFD."""
    text = "".join(parts)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _call(function: str, *arguments: Any) -> Any:
    import quickjs

    context = getattr(_THREAD, "context", None)
    if context is None or _THREAD.calls > _MOST_COMPILED:
        context = _THREAD.context = quickjs.Context()
        _THREAD.calls = 0
        _THREAD.known = set()
        context.set_memory_limit(_MEMORY)
        context.eval(_PROGRAM)
        _THREAD.functions = {name: context.get(name) for name in ("valid", "split")}
    key = arguments[:2]
    if key not in _THREAD.known:
        _THREAD.known.add(key)
        _THREAD.calls += 1
    context.set_time_limit(MAX_SECONDS)
    try:
        return _THREAD.functions[function](*arguments)
    except quickjs.JSException as error:
        if "RangeError: matches" not in str(error):
            _THREAD.context = None
        raise TimeoutError(str(error)) from error
