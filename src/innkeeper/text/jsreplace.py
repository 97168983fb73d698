"""The matches of JavaScript's ``String.replace``: those of a regular expression in a text, and the text between them.

The replacing itself is the caller's. Each expression runs on each text within a time of its own, and all of one runner within
one for all. What the `regex` package surely finds alike it finds, since it is quicker; everything else JavaScript itself. The
interpreter and what it has compiled are kept for the thread.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from sys import getsizeof
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from innkeeper.prompt.allowance import charge
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.text import scalar_text
from innkeeper.text.javascript.interpreter import Interpreter, compile_steps, thread_interpreter
from innkeeper.text.jsregex import JsPattern
from innkeeper.text.jsregex_python import python_of
from innkeeper.text.pattern_cost import cost_of, pieces_of
from innkeeper.text.pyregex import MAX_SEARCH_BYTES

if TYPE_CHECKING:
    import regex


MAX_PATTERN: Final = 16_384
"""Characters of a script's regular expression (a note; a longer one is not run)."""

MAX_TEXT: Final = 1_048_576
"""Characters of a text that a script's regular expression is run on (a note; a longer text stays as it is)."""

MAX_MATCHES: Final = 100_000
"""Matches of a script in one text (a note; with more, the text stays unchanged)."""

MAX_SECONDS: Final = 0.25
"""Seconds one script's regular expression may take on one text (a note; the text stays unchanged)."""

MAX_RUNNER_SECONDS: Final = 5.0
"""Seconds all regular expressions of scripts may take in one build (a note; further ones are not run)."""


class JsMatch(msgspec.Struct, frozen=True, gc=False):
    """One match: ``groups`` (0 the whole; ``None`` for one without a match), the ``offset`` in UTF-16 units, named groups."""

    groups: Sequence[str | None]
    offset: int
    named: Mapping[str, str | None] | None = None


Split = tuple[list[str], list[JsMatch]]
"""The texts around the matches, one more than there are matches; and the matches."""

_PROGRAM: Final = """
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


class ReplaceRunner:
    """Finds the matches of regular expressions. ``report`` gets each expression that was not run and the reason, once."""

    def __init__(self, report: Callable[[str, str], None]) -> None:
        self._report = report
        self._left = MAX_RUNNER_SECONDS
        self._timed_out: set[tuple[str, str]] = set()
        self._quick: dict[tuple[str, str], _Quick] = {}
        self._text, self._has_astral = "", False
        self.trips = 0
        """The number of expressions that were not run."""

    def replaced(self, pattern: JsPattern, text: str, made: str, most: int) -> str | None:
        """Replace each match by ``made``, up to ``most`` characters; ``None`` where `split` must decide."""
        name = (pattern.pattern, pattern.flags)
        if len(text) > MAX_TEXT or len(text) * (len(made) + 1) > most:
            return None
        if name in self._timed_out or len(name[0]) > MAX_PATTERN or self._left <= 0:
            return None
        quick = self._read(name)
        engine = None if quick is None else self._engine(quick, text)
        if quick is None or engine is None:
            return None
        charge("patterns", 1 + len(text) // _CHARACTERS_A_STEP)
        started, times = time.perf_counter(), 0 if "g" in name[1] else 1
        try:
            new, count = engine.subn(made.replace("\\", "\\\\"), text, count=times, timeout=quick.seconds(text))
        except TimeoutError:
            return None
        finally:
            self._left -= time.perf_counter() - started
        return joined([new]) if count <= MAX_MATCHES else None

    def split(self, pattern: JsPattern, text: str) -> Split | None:
        """Return the text around the matches and the matches; ``None`` without any, or if it was not run."""
        name = (pattern.pattern, pattern.flags)
        if name in self._timed_out:
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
        quick = self._read(name)
        if quick is None:
            self._give_up(name, "it cannot be compiled within the time and memory for one")
            return None
        charge("patterns", 1 + len(text) // _CHARACTERS_A_STEP)
        started = time.perf_counter()
        if (engine := self._engine(quick, text)) is not None:
            try:
                return _matches(engine, text, quick.seconds(text), once="g" not in name[1])
            except TimeoutError:  # of the wall's clock: JavaScript has as much of the processor's
                pass
            finally:
                self._left -= time.perf_counter() - started
        try:
            answer = _interpreter().call("split", *name, scalar_text(text), MAX_MATCHES, seconds=MAX_SECONDS)
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

    def _read(self, name: tuple[str, str]) -> _Quick | None:
        """The expression, read once and charged; ``None`` where JavaScript cannot compile it within its limits."""
        quick = self._quick.get(name)
        if quick is None and name not in self._timed_out:
            charge("patterns", compile_steps(*name) + _STEPS_A_CHARACTER * len(name[0]))
            started = time.perf_counter()
            try:
                quick = self._quick[name] = _quick_of(name)
            except TimeoutError:
                return None
            finally:
                self._left -= time.perf_counter() - started
        return quick

    def _engine(self, quick: _Quick, text: str) -> regex.Pattern[str] | None:
        """Return the Python engine that can search this text instead of JavaScript, if any."""
        return quick.engine if quick.held * len(text) <= MAX_SEARCH_BYTES and self._is_basic(text) else None

    def _is_basic(self, text: str) -> bool:
        """Whether each character is one UTF-16 unit. Cached, since many expressions ask it of one text."""
        if text is not self._text:
            self._text = text
            self._has_astral = not text.isascii() and _ASTRAL.search(text) is not None
        return not self._has_astral

    def _give_up(self, name: tuple[str, str], why: str) -> None:
        self._timed_out.add(name)
        self.trips += 1
        self._report(f"/{name[0][:60]}/{name[1]}", why)


_ASTRAL: Final = re.compile("[\U00010000-\U0010ffff\ud800-\udfff]")
_ATOM: Final = re.compile(r"\\.|\[(?:\\.|[^\]\\])*(?:\]|\\?\Z)", re.DOTALL)
_REPEATED_GROUP: Final = re.compile(r"\)[*+?{]")
_FEW_CHOICES: Final = 3
_SHORT_TEXT: Final = 1_000

_STEPS_A_CHARACTER: Final = 60
_STEPS_A_MATCH: Final = 10
_CHARACTERS_A_STEP: Final = 16


class _Quick(NamedTuple):
    """A Python equivalent of an expression, if there is one; the bytes it takes for a character.

    On texts of up to ``untimed`` characters it runs without a clock, which would take most of its time.
    """

    engine: regex.Pattern[str] | None
    untimed: float
    held: int

    def seconds(self, text: str) -> float | None:
        """The seconds it may take on a text."""
        return None if len(text) <= self.untimed else MAX_SECONDS


_QUICK: Final[BoundedCache[tuple[str, str], _Quick]] = BoundedCache(items=4_096, size=32 * 1024 * 1024)


def _quick_of(name: tuple[str, str]) -> _Quick:
    """Return the Python equivalent of an expression, if there is one and JavaScript accepts it. Raises `TimeoutError`."""
    known = _QUICK.get(name)
    if known is None:
        engine = python_of(*name) if _interpreter().valid(*name, seconds=MAX_SECONDS) else None
        quick = _Quick(engine, _untimed(name[0]), 0 if engine is None else cost_of(pieces_of(engine.pattern)).held)
        known = _QUICK.put(name, quick, 4 * len(name[0]) + getsizeof(engine))
    return known


def _untimed(pattern: str) -> float:
    """The length of texts on which no expression takes long: any without repetitions; a short one with a single repetition.

    That takes at most quadratic time, unless a group is repeated, whose ways of matching may multiply.
    """
    bare = _ATOM.sub("x", pattern)
    repetitions, choices = sum(map(bare.count, "*+{")), bare.count("?")
    if not repetitions + choices:
        return math.inf
    return _SHORT_TEXT if repetitions <= 1 and choices <= _FEW_CHOICES and not _REPEATED_GROUP.search(bare) else 0


def _matches(engine: regex.Pattern[str], text: str, seconds: float | None, *, once: bool) -> Split | None:
    """Return the texts around its matches, and the matches; ``None`` without any. Raises `TimeoutError`, also for too many."""
    texts: list[str] = []
    matches: list[JsMatch] = []
    end, named = 0, bool(engine.groupindex)
    for match in engine.finditer(text, timeout=seconds):
        start = match.start()
        texts.append(text[end:start])
        matches.append(JsMatch([match[0], *match.groups()], start, match.groupdict() if named else None))
        end = match.end()
        if once:
            break
        if len(matches) > MAX_MATCHES:
            raise TimeoutError
    if not matches:
        return None
    charge("patterns", _STEPS_A_MATCH * len(matches))
    texts.append(text[end:])
    return texts, matches


def valid(pattern: JsPattern) -> bool:
    """Whether JavaScript accepts the pattern with these flags; one that is too long, or too costly, counts as not accepted."""
    if len(pattern.pattern) > MAX_PATTERN:
        return False
    charge("patterns", compile_steps(pattern.pattern, pattern.flags))
    try:
        return _interpreter().valid(pattern.pattern, pattern.flags, MAX_SECONDS)
    except TimeoutError:
        return False


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


def _interpreter() -> Interpreter:
    return thread_interpreter(_PROGRAM, "split")
