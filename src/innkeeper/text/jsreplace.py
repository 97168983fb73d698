"""The matches of JavaScript's ``String.replace``: those of a regular expression in a text, and the text between them.

The replacing itself is the caller's. Each expression has a number of steps on each text, and all of one runner have one
together. What the `regex` package surely finds alike and without many steps it finds, since it is quicker; everything else
JavaScript itself. The interpreter and what it has compiled are kept for the thread.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from sys import getsizeof
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from innkeeper.prompt.allowance import charge
from innkeeper.prompt.bounded_cache import BoundedCache
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

MAX_SCRIPT_STEPS: Final = 40_000_000
"""Steps that one script's regular expression may take on one text (a note; the text stays unchanged)."""

MAX_SCRIPTS_STEPS: Final = 120_000_000
"""Steps of all long searches of scripts in one build together (a note; further expressions are not run)."""


class JsMatch(msgspec.Struct, frozen=True, gc=False):
    """One match: ``groups`` (0 the whole; ``None`` for one without a match), the ``offset`` in UTF-16 units, named groups."""

    groups: Sequence[str | None]
    offset: int
    named: Mapping[str, str | None] | None = None


Split = tuple[list[str], list[JsMatch]]
"""The texts around the matches, one more than there are matches; and the matches."""

_PROGRAM: Final = """
function split(pattern, flags, most) {
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
        self._left = MAX_SCRIPTS_STEPS
        self._failed: set[tuple[str, str]] = set()
        self._quick: dict[tuple[str, str], _Quick] = {}
        self._accepted: dict[tuple[str, str], bool] = {}
        self._text, self._has_astral = "", False
        self.trips = 0
        """The number of expressions that were not run."""

    def accepts(self, pattern: JsPattern) -> bool:
        """Whether JavaScript accepts a pattern (`valid`), asked once for each."""
        name = (pattern.pattern, pattern.flags)
        if name not in self._accepted:
            self._accepted[name] = valid(pattern)
        return self._accepted[name]

    def replaced(self, pattern: JsPattern, text: str, made: str, most: int) -> str | None:
        """Replace each match by ``made``, up to ``most`` characters; ``None`` where `split` must decide."""
        name = (pattern.pattern, pattern.flags)
        if len(text) > MAX_TEXT or len(text) * (len(made) + 1) > most:
            return None
        if name in self._failed or len(name[0]) > MAX_PATTERN or self._left <= 0:
            return None
        quick = self._read(name)
        engine = None if quick is None else self._engine(quick, text)
        if engine is None:
            return None
        charge("patterns", 1 + len(text) // _CHARACTERS_A_STEP)
        new, count = engine.subn(made.replace("\\", "\\\\"), text, count=0 if "g" in name[1] else 1)
        return joined([new]) if count <= MAX_MATCHES else None

    def split(self, pattern: JsPattern, text: str) -> Split | None:
        """Return the text around the matches and the matches; ``None`` without any, or if it was not run."""
        name = (pattern.pattern, pattern.flags)
        if name in self._failed:
            self.trips += 1
            return None
        if len(pattern.pattern) > MAX_PATTERN:
            self._give_up(name, f"it is longer than {MAX_PATTERN:,} characters")
            return None
        if len(text) > MAX_TEXT or self._left <= 0:
            spent = f"the {MAX_SCRIPTS_STEPS:,} steps for regular expressions are used up"
            self._give_up(name, spent if self._left <= 0 else f"a text is longer than {MAX_TEXT:,} characters")
            return None
        try:
            split = self._split(name, text)
        except _ManyMatchesError:
            self._give_up(name, f"more than {MAX_MATCHES:,} matches")
            return None
        if split is not None:
            charge("patterns", _STEPS_A_MATCH * len(split[1]))
        return split

    def _split(self, name: tuple[str, str], text: str) -> Split | None:
        quick = self._read(name)
        if quick is None:
            self._give_up(name, "it cannot be compiled within the memory for one")
            return None
        charge("patterns", 1 + len(text) // _CHARACTERS_A_STEP)
        if (engine := self._engine(quick, text)) is not None:
            return _matches(engine, text, once="g" not in name[1])
        interpreter = _interpreter()
        try:
            answer = interpreter.search("split", text, *name, MAX_MATCHES, most=MAX_SCRIPT_STEPS, loops=True)
        except TimeoutError as error:
            if "RangeError: matches" in str(error):
                raise _ManyMatchesError from None
            self._give_up(name, f"took more than {MAX_SCRIPT_STEPS:,} steps or too much memory")
            return None
        finally:
            self._left -= interpreter.steps
        if not answer:
            return None
        texts, matches = json.loads(answer)
        return texts, [JsMatch(groups, offset, named) for groups, offset, named in matches]

    def _read(self, name: tuple[str, str]) -> _Quick | None:
        """The expression, read once and charged; ``None`` where JavaScript cannot compile it within its limits."""
        quick = self._quick.get(name)
        if quick is None and name not in self._failed:
            charge("patterns", compile_steps(*name) + _STEPS_A_CHARACTER * len(name[0]))
            try:
                quick = self._quick[name] = _quick_of(name)
            except TimeoutError:
                return None
        return quick

    def _engine(self, quick: _Quick, text: str) -> regex.Pattern[str] | None:
        """Return the Python engine that can search this text instead of JavaScript, if any."""
        if len(text) > quick.longest or quick.held * len(text) > MAX_SEARCH_BYTES or not self._is_basic(text):
            return None
        return quick.engine

    def _is_basic(self, text: str) -> bool:
        """Whether each character is one UTF-16 unit. Cached, since many expressions ask it of one text."""
        if text is not self._text:
            self._text = text
            self._has_astral = not text.isascii() and _ASTRAL.search(text) is not None
        return not self._has_astral

    def _give_up(self, name: tuple[str, str], why: str) -> None:
        self._failed.add(name)
        self.trips += 1
        self._report(f"/{name[0][:60]}/{name[1]}", why)


_ASTRAL: Final = re.compile("[\U00010000-\U0010ffff\ud800-\udfff]")
_ATOM: Final = re.compile(r"\\.|\[(?:\\.|[^\]\\])*(?:\]|\\?\Z)", re.DOTALL)
_REPEATED_GROUP: Final = re.compile(r"\)[*+?{]")
_LAZY: Final = re.compile(r"(?<=[*+?}(])\?")
_FEW_STEPS: Final = 30_000_000
_RUN: Final = re.compile(
    r"(?<!\\)(?:\[\^((?:\\.|[^\]\\])+)\]|(\\w))[*+]\)*(\\[^a-zA-Z0-9]|[^\\.^$*+?()\[\]{}|])", re.DOTALL
)

_STEPS_A_CHARACTER: Final = 60
_STEPS_A_MATCH: Final = 10
_CHARACTERS_A_STEP: Final = 16


class _ManyMatchesError(Exception):
    """More matches than ``MAX_MATCHES``."""


class _Quick(NamedTuple):
    """A Python equivalent of an expression, if there is one; the bytes it takes for a character.

    It cannot count its steps, so it runs on texts of up to ``longest`` characters, on which they are few.
    """

    engine: regex.Pattern[str] | None
    longest: float
    held: int


_QUICK: Final[BoundedCache[tuple[str, str], _Quick]] = BoundedCache(items=4_096, size=32 * 1024 * 1024)


def _quick_of(name: tuple[str, str]) -> _Quick:
    """Return the Python equivalent of an expression, if there is one and JavaScript accepts it. Raises `TimeoutError`."""
    known = _QUICK.get(name)
    if known is None:
        engine = python_of(*name) if _interpreter().valid(*name) else None
        quick = _Quick(engine, _longest(name[0]), 0 if engine is None else cost_of(pieces_of(engine.pattern)).held)
        known = _QUICK.put(name, quick, 4 * len(name[0]) + getsizeof(engine))
    return known


def _longest(pattern: str) -> float:
    """The length of texts on which no expression takes more than ``_FEW_STEPS``; 0 where repeated groups may multiply its ways.

    Each repetition multiplies the steps by the length at most, and each choice by its alternatives. Runs that can end in one
    place only, as in ``<[^>]+>``, multiply them together as one.
    """
    bare = _LAZY.sub("", _ATOM.sub("x", pattern))
    if _REPEATED_GROUP.search(bare):
        return 0
    repetitions, choices = sum(map(bare.count, "*+{")), bare.count("?")
    plain = sum(_ends(match) for match in _RUN.finditer(pattern))
    repetitions -= max(plain - 1, 0)
    branches = bare.count("(") + 1
    ways = math.log2(1 + bare.count("|") / branches) * branches + choices
    return 2 ** ((math.log2(_FEW_STEPS) - ways) / (repetitions + 1))


def _ends(run: re.Match[str]) -> bool:
    """Whether a run of characters is followed by one that is none of them."""
    after = run[3][-1]
    return not (after.isalnum() or after == "_") if run[2] else after in run[1]


def _matches(engine: regex.Pattern[str], text: str, *, once: bool) -> Split | None:
    """Return the texts around its matches, and the matches; ``None`` without any. Raises `_ManyMatchesError`."""
    texts: list[str] = []
    matches: list[JsMatch] = []
    end, named = 0, bool(engine.groupindex)
    for match in engine.finditer(text):
        start = match.start()
        texts.append(text[end:start])
        matches.append(JsMatch([match[0], *match.groups()], start, match.groupdict() if named else None))
        end = match.end()
        if once:
            break
        if len(matches) > MAX_MATCHES:
            raise _ManyMatchesError
    if not matches:
        return None
    texts.append(text[end:])
    return texts, matches


def valid(pattern: JsPattern) -> bool:
    """Whether JavaScript accepts the pattern with these flags; one that is too long, or too costly, counts as not accepted."""
    if len(pattern.pattern) > MAX_PATTERN:
        return False
    charge("patterns", compile_steps(pattern.pattern, pattern.flags))
    try:
        return _interpreter().valid(pattern.pattern, pattern.flags)
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
