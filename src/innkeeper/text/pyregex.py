"""Python's regular expressions in an engine that can be stopped.

Cards and presets bring patterns. Python's own engine cannot be interrupted, so a pattern that backtracks for ever would hold
the process. What `re` accepts is accepted here, with its meaning; the matching is done by ``regex``, which stops at a deadline.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

from innkeeper.prompt.errors import FormatError, LimitError

__all__ = [
    "MAX_PATTERN_CHARS",
    "MAX_PATTERN_OUTPUT",
    "MAX_PATTERN_REPEATS",
    "MAX_PATTERN_SECONDS",
    "Deadline",
    "PatternLimitError",
    "PatternSyntaxError",
    "PyPattern",
    "compile_pattern",
    "written_out",
]

MAX_PATTERN_CHARS: Final = 10_000
"""Characters of a regular expression."""

MAX_PATTERN_REPEATS: Final = 20_000
"""What a pattern's counted repetitions come to when they are written out: ``(a{20}){30}`` is 600."""

MAX_PATTERN_SECONDS: Final = 1.0
"""Wall time the searches of one rule or one call may take together. Usual patterns are far below it on any usual machine."""

MAX_PATTERN_OUTPUT: Final = 4 * 1024 * 1024
"""Characters that replacements may write, unless the caller says otherwise."""

_CACHED_PATTERNS: Final = 512

_HINT: Final = "write the pattern without repetitions inside repetitions"


class PatternSyntaxError(FormatError):
    """Not a regular expression of Python's, or one that cannot be run; or a replacement that names a group it does not have."""


class PatternLimitError(LimitError):
    """A pattern too long, or one whose search took longer or wrote more than a limit of this module."""


class Deadline:
    """Seconds that searches may take together. Only searching counts against it, not what happens between searches."""

    __slots__ = ("_clock", "allowed", "left")

    def __init__(self, seconds: float = MAX_PATTERN_SECONDS, clock: Callable[[], float] = time.perf_counter) -> None:
        self.allowed = self.left = seconds
        self._clock = clock

    def run(self, search: Callable[..., Any], *args: Any) -> Any:
        """What ``search(*args, timeout=…)`` returns.

        Raises `PatternLimitError` once the seconds are spent, and `PatternSyntaxError` without memory.
        """
        if self.left <= 0:
            raise self._spent()
        started = self._clock()
        try:
            return search(*args, timeout=self.left)
        except TimeoutError:
            self.left = 0.0
            raise self._spent() from None
        except (MemoryError, RecursionError):
            msg = "a regular expression's search needs more memory than there is"
            raise PatternSyntaxError(msg, hint=_HINT) from None
        finally:
            self.left -= self._clock() - started

    def _spent(self) -> PatternLimitError:
        what = "a regular expression's search, in seconds,"
        return PatternLimitError(what, limit="MAX_PATTERN_SECONDS", allowed=self.allowed, hint=_HINT)


class PyPattern:
    """A compiled pattern. Its searches raise `PatternLimitError` when ``deadline`` (by default one of their own) is spent."""

    __slots__ = ("engine", "groups", "names", "text")

    def __init__(self, text: str, engine: Any) -> None:
        self.text = text
        self.engine = engine
        self.groups: int = engine.groups
        self.names: dict[str, int] = dict(engine.groupindex)

    def search(self, text: str, deadline: Deadline | None = None) -> Any:
        """The first match anywhere, or None."""
        return (deadline or Deadline()).run(self.engine.search, text)

    def match(self, text: str, deadline: Deadline | None = None) -> Any:
        """The match at the beginning, or None."""
        return (deadline or Deadline()).run(self.engine.match, text)

    def matches(self, text: str, deadline: Deadline | None = None) -> Iterator[Any]:
        """Every match from left to right, empty ones too, as `re.finditer` has them."""
        seconds = deadline or Deadline()
        # The engine's time limit belongs to one iterator, so a further match cannot run longer than what was left at its start.
        found = self.engine.finditer(text, timeout=max(seconds.left, 1e-6))
        while (match := seconds.run(_next, found)) is not None:
            yield match

    def findall(self, text: str, deadline: Deadline | None = None) -> list[Any]:
        """As `re.findall`: the matches, or their one group, or tuples of their groups."""
        return [_groups(match, self.groups) for match in self.matches(text, deadline)]

    def sub(
        self,
        replacement: str,
        text: str,
        count: int = 0,
        deadline: Deadline | None = None,
        limit: int = MAX_PATTERN_OUTPUT,
    ) -> str:
        """As `re.sub` with a text for a replacement. ``limit`` is the longest result, beyond the length of ``text``.

        Raises:
            PatternSyntaxError: the replacement is malformed or names a group that does not exist.
            PatternLimitError: the search takes too long, or the result is too long.
        """
        return _replaced(self, _template(replacement, self), text, count, deadline or Deadline(), len(text) + limit)


def _next(found: Iterator[Any], *, timeout: float) -> Any:
    return next(found, None)


def _groups(match: Any, groups: int) -> Any:
    if groups == 0:
        return match.group()
    return match.group(1) or "" if groups == 1 else tuple(part or "" for part in match.groups())


def _replaced(
    pattern: PyPattern, template: tuple[str | int, ...], text: str, count: int, deadline: Deadline, limit: int
) -> str:
    written = 0

    def filled(match: Any) -> str:
        nonlocal written
        piece = "".join([part if isinstance(part, str) else match.group(part) or "" for part in template])
        written += len(piece)
        if written > limit:
            raise PatternLimitError("what a regular expression writes", limit="MAX_PATTERN_OUTPUT", allowed=limit)
        return piece

    replaced: str = deadline.run(pattern.engine.sub, filled, text, count)
    return replaced


# --- reading -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=_CACHED_PATTERNS)
def compile_pattern(text: str, flags: int = 0) -> PyPattern:
    """The pattern of a text, remembered.

    Raises:
        PatternSyntaxError: Python's `re` would not take it.
        PatternLimitError: it is longer than ``MAX_PATTERN_CHARS``, or repeats more than ``MAX_PATTERN_REPEATS``.
    """
    if len(text) > MAX_PATTERN_CHARS:
        raise PatternLimitError(
            "a regular expression", limit="MAX_PATTERN_CHARS", allowed=MAX_PATTERN_CHARS, found=len(text)
        )
    import regex

    safe = _plain_python(text)
    try:
        re.compile(safe, flags)
        own = flags & ~re.ASCII | (regex.ASCII if flags & re.ASCII else 0)  # the only flag of another number
        return PyPattern(text, regex.compile(safe, own | regex.V0, cache_pattern=False))
    except (re.error, regex.error, ValueError, OverflowError, RecursionError) as error:
        raise _malformed(text, error) from None


def _malformed(text: str, error: Exception) -> PatternSyntaxError:
    return PatternSyntaxError(
        f"not a regular expression: {error}", hint="write it as Python's re does", pattern=text[:80]
    )


_PIECES: Final = r"""(?P<comment>\(\?\#[^)]*\)?%s)|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*)|(?P<open>\()|(?P<close>\))
    |(?P<repeat>\{(?!\})(?P<least>\d*)(?:,\d*)?\})|(?P<brace>\{)|(?P<atom>\\N\{[^}]*\}|\\.|.)"""
_PIECE: Final = re.compile(_PIECES % "", re.DOTALL | re.VERBOSE)
_VERBOSE_PIECE: Final = re.compile(_PIECES % r"|\#[^\n]*|\s+", re.DOTALL | re.VERBOSE)
_VERBOSE: Final = re.compile(r"\(\?[a-zA-Z]*x[a-zA-Z]*\)")
_VERBOSE_GROUP: Final = re.compile(r"\(\?[a-zA-Z]*(?:x|-[a-zA-Z]*x)[a-zA-Z-]*:")


def _plain_python(text: str) -> str:
    r"""The pattern with an escape before what ``regex`` reads as more than `re` does: ``a{e}``, ``[[:alpha:]]``, ``[a||b]``.

    Raises `PatternLimitError` for repetitions that come to more than ``MAX_PATTERN_REPEATS``: the engine writes them out; and
    `PatternSyntaxError` for groups that are verbose or not for themselves.
    """
    if "{" not in text and "[" not in text:
        return text
    if _VERBOSE_GROUP.search(text):
        raise PatternSyntaxError("a group cannot be verbose by itself", hint="make the whole pattern verbose: (?x)")
    pieces = _pieces(text)
    _check_repeats(_written_out(pieces))
    return "".join(_escaped(piece) for piece in pieces)


def written_out(text: str) -> int:
    """How many atoms a pattern has with its counted repetitions written out. Raises `PatternLimitError` for far too many."""
    return _written_out(_pieces(text))


def _pieces(text: str) -> list[re.Match[str]]:
    return list((_VERBOSE_PIECE if _VERBOSE.match(text) else _PIECE).finditer(text))


def _written_out(pieces: list[re.Match[str]]) -> int:
    """How many atoms the pattern has with its counted repetitions written out, group by group."""
    total = unit = 0
    outside: list[int] = []
    for piece in pieces:
        kind = piece.lastgroup
        if kind == "open":
            outside.append(total)
            total = 0
        elif kind == "close":
            unit, total = total, total + (outside.pop() if outside else 0)
        elif kind == "repeat":
            times = int(piece["least"][:9] or 0)
            total, unit = total + unit * max(times - 1, 0), unit * max(times, 1)
            _check_repeats(total)
        elif kind != "comment":
            total, unit = total + 1, 1
    return total


def _check_repeats(found: int) -> None:
    if found > MAX_PATTERN_REPEATS:
        raise PatternLimitError(
            "what a pattern repeats", limit="MAX_PATTERN_REPEATS", allowed=MAX_PATTERN_REPEATS, found=found
        )


_RANGE: Final = re.compile(r"(\\.|.)(?:-(\\.|.))?", re.DOTALL)


def _escaped(piece: re.Match[str]) -> str:
    text = piece.group()
    if piece.lastgroup == "brace":
        return "\\{"
    if piece.lastgroup != "set":
        return text
    start = 2 if text.startswith("[^") else 1
    return text[:start] + _RANGE.sub(_range, text[start:])


def _range(found: re.Match[str]) -> str:
    first, last = (part if part is None or part not in "-&|~[" else "\\" + part for part in found.groups())
    return first if last is None else f"{first}-{last}"


# --- replacements ------------------------------------------------------------------------------------------------------

_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}
_TEMPLATE: Final = re.compile(r"\\(?:g<([^>]*)>|(0[0-7]{0,2}|[0-3][0-7]{2})|([1-9][0-9]?)|(.)|($))", re.DOTALL)


@lru_cache(maxsize=_CACHED_PATTERNS)
def _template(replacement: str, pattern: PyPattern) -> tuple[str | int, ...]:
    parts: list[str | int] = []
    end = 0
    for token in _TEMPLATE.finditer(replacement):
        parts += [replacement[end : token.start()], _part(token, pattern)]
        end = token.end()
    return (*(part for part in parts if part != ""), replacement[end:])


def _part(token: re.Match[str], pattern: PyPattern) -> str | int:
    name, octal, number, character, _ = token.groups()
    if octal is not None:
        return chr(int(octal, 8))
    if name is not None or number is not None:
        return _group(name if number is None else number, pattern)
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character is None or (character.isascii() and character.isalpha()):
        raise PatternSyntaxError(f"bad escape {token.group()!r} in a replacement")
    return token.group()


def _group(name: str, pattern: PyPattern) -> int:
    number = int(name) if name.isascii() and name.isdigit() else pattern.names.get(name, -1)
    if not 0 <= number <= pattern.groups:
        raise PatternSyntaxError(f"a replacement names the group {name[:40]!r}, which the pattern does not have")
    return number
