"""Python's regular expressions in an engine that can be stopped.

Cards and presets bring patterns. Python's own engine cannot be interrupted, so a pattern that backtracks for ever would hold
the process. What `re` accepts is accepted here, with its meaning; the matching is done by ``regex``, which stops at a deadline.
Its steps cannot be counted, so a search that reaches the deadline ends the whole build: none goes on without a match because
the machine was slow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from sys import getsizeof
from time import thread_time
from typing import Any, Final

from innkeeper.prompt.allowance import charge, current_allowance, end_build, seconds_left
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.errors import FormatError, LimitError
from innkeeper.text.pattern_cost import PatternCost, cost_of, pieces_of

MAX_PATTERN_CHARS: Final = 10_000
"""Characters of a regular expression (`PatternLimitError`)."""

MAX_PATTERN_REPEATS: Final = 20_000
"""Atoms of a regular expression with its repetitions written out, as the engine does it (`PatternLimitError`).

``(a{20}){30}`` is 651, and ``((a+)+)+`` eight.
"""

MAX_PATTERN_DEPTH: Final = 100
"""Groups of a regular expression inside one another (`PatternLimitError`)."""

MAX_PATTERN_WORK: Final = 1_500_000
"""Steps (`innkeeper.prompt.allowance`) that compiling one regular expression may take (`PatternLimitError`)."""

MAX_SEARCH_BYTES: Final = 96 * 1024 * 1024
"""Bytes that a search may hold to come back to the rounds of a repeated group (`PatternLimitError`), by estimate."""

MAX_PATTERN_SECONDS: Final = 1.0
"""Processor seconds that the searches of one rule or one call may take together (`AllowanceError`: they end the build).

Usual patterns are far below it on any usual machine.
"""

MAX_PATTERN_OUTPUT: Final = 4 * 1024 * 1024
"""Characters that replacements may write (`PatternLimitError`), unless the caller says otherwise."""

_CHARACTERS_A_STEP: Final = 16
_STEPS_A_MATCH: Final = 10

_ENGINE: Final = "patterns"
_LEAST_SECONDS: Final = 1e-6
_HINT: Final = "write the pattern without repetitions inside repetitions"


class PatternSyntaxError(FormatError):
    """Not a regular expression of Python's, or one that cannot be run; or a replacement that names a group it does not have."""


class PatternLimitError(LimitError):
    """A pattern that is too long, or whose search took longer or wrote more than a limit of this module."""


class Deadline:
    """Processor seconds that searches may take together. What happens between searches does not count against it.

    Spent, it ends the build at work; ``ends_build=False`` is for callers that take a text they could not search for a match.
    """

    __slots__ = ("_ends_build", "allowed", "left")

    def __init__(self, seconds: float = MAX_PATTERN_SECONDS, *, ends_build: bool = True) -> None:
        self.allowed = self.left = seconds
        self._ends_build = ends_build

    def run(self, search: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Return ``search(*args, timeout=…)``.

        Raises `AllowanceError` once the seconds are spent, `PatternLimitError` outside a build, and `PatternSyntaxError`
        without memory.
        """
        if self.left <= 0:
            raise self._spent()
        seconds = max(seconds_left(self.left), _LEAST_SECONDS)
        started = thread_time()
        try:
            return search(*args, timeout=seconds, **options)
        except TimeoutError:
            if (allowance := current_allowance()) is not None:
                allowance.check_time(_ENGINE)
            self.left = 0.0
            raise self._spent() from None
        except (MemoryError, RecursionError):
            msg = "a regular expression's search needs more memory than there is"
            raise PatternSyntaxError(msg, hint=_HINT) from None
        finally:
            self.left -= thread_time() - started

    def _spent(self) -> PatternLimitError:
        if self._ends_build:
            end_build(_ENGINE)
        what = "a regular expression's search, in seconds,"
        return PatternLimitError(what, limit="MAX_PATTERN_SECONDS", allowed=self.allowed, hint=_HINT)


class PyPattern:
    """A compiled pattern. Its searches raise `PatternLimitError` when ``deadline`` (by default one of their own) is spent.

    ``engine`` is for callers that search by themselves, `admit` first.
    """

    __slots__ = ("cost", "engine", "groups", "names", "text")

    def __init__(self, text: str, engine: Any, cost: PatternCost) -> None:
        self.text = text
        self.engine = engine
        self.cost = cost
        self.groups: int = engine.groups
        self.names: dict[str, int] = dict(engine.groupindex)

    def admit(self, text: str) -> None:
        """Charge a search in ``text``. Raises `PatternLimitError` where it could hold more than ``MAX_SEARCH_BYTES``."""
        held = self.cost.held * len(text)
        if held > MAX_SEARCH_BYTES:
            what = "the rounds of a repeated group that a search remembers, in bytes,"
            raise PatternLimitError(what, limit="MAX_SEARCH_BYTES", allowed=MAX_SEARCH_BYTES, found=held, hint=_HINT)
        charge(_ENGINE, 1 + len(text) // _CHARACTERS_A_STEP)

    def search(self, text: str, deadline: Deadline | None = None) -> Any:
        """The first match anywhere, or None."""
        self.admit(text)
        return (deadline or Deadline()).run(self.engine.search, text)

    def match(self, text: str, deadline: Deadline | None = None) -> Any:
        """The match at the beginning, or None."""
        self.admit(text)
        return (deadline or Deadline()).run(self.engine.match, text)

    def matches(self, text: str, deadline: Deadline | None = None) -> Iterator[Any]:
        """Every match from left to right, empty ones too, as `re.finditer` has them."""
        self.admit(text)
        seconds = deadline or Deadline()
        # The engine's time limit belongs to one iterator, so a further match cannot run longer than what was left at its start.
        matches = self.engine.finditer(text, timeout=max(seconds_left(seconds.left), _LEAST_SECONDS))
        while (match := seconds.run(_next, matches)) is not None:
            charge(_ENGINE, _STEPS_A_MATCH)
            yield match

    def findall(self, text: str, deadline: Deadline | None = None) -> list[Any]:
        """Like `re.findall`: the matches, or their one group, or tuples of their groups."""
        return [_groups(match, self.groups) for match in self.matches(text, deadline)]

    def sub(
        self,
        replacement: str,
        text: str,
        count: int = 0,
        deadline: Deadline | None = None,
        limit: int = MAX_PATTERN_OUTPUT,
    ) -> str:
        """Like `re.sub` with a text as replacement. ``limit`` is the longest result, beyond the length of ``text``.

        Raises:
            PatternSyntaxError: the replacement is malformed or names a group that does not exist.
            PatternLimitError: the search takes too long, or the result is too long.
        """
        self.admit(text)
        return _replaced(self, _template(replacement, self), text, count, deadline or Deadline(), len(text) + limit)


def _next(matches: Iterator[Any], *, timeout: float) -> Any:
    return next(matches, None)


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
        charge(_ENGINE, _STEPS_A_MATCH, len(piece))
        if written > limit:
            raise PatternLimitError("what a regular expression writes", limit="MAX_PATTERN_OUTPUT", allowed=limit)
        return piece

    replaced: str = deadline.run(pattern.engine.sub, filled, text, count)
    return replaced


# --- reading -----------------------------------------------------------------------------------------------------------


_PATTERNS: Final[BoundedCache[tuple[str, int], PyPattern]] = BoundedCache(items=1024, size=32 * 1024 * 1024)


def compile_pattern(text: str, flags: int = 0) -> PyPattern:
    """The pattern of a text, remembered.

    Raises:
        PatternSyntaxError: Python's `re` would not take it.
        PatternLimitError: it is longer than ``MAX_PATTERN_CHARS``, deeper than ``MAX_PATTERN_DEPTH``, written out more than
            ``MAX_PATTERN_REPEATS``, or takes more than ``MAX_PATTERN_WORK`` to compile.
    """
    known = _PATTERNS.get((text, flags))
    if known is not None:
        charge(_ENGINE, known.cost.work)
        return known
    if len(text) > MAX_PATTERN_CHARS:
        raise PatternLimitError(
            "a regular expression", limit="MAX_PATTERN_CHARS", allowed=MAX_PATTERN_CHARS, found=len(text)
        )
    pattern = _compiled(text, flags)
    return _PATTERNS.put((text, flags), pattern, getsizeof(pattern.engine) + 4 * len(text))


def _compiled(text: str, flags: int) -> PyPattern:
    import regex

    pieces = pieces_of(text)
    cost = cost_of(pieces)
    _check_cost(cost)
    charge(_ENGINE, cost.work)
    safe = _plain_python(text, pieces)
    try:
        re.compile(safe, flags)
        own = flags & ~re.ASCII | (regex.ASCII if flags & re.ASCII else 0)  # the only flag of another number
        return PyPattern(text, regex.compile(safe, own | regex.V0, cache_pattern=False), cost)
    except (re.error, regex.error, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise PatternSyntaxError(
            f"not a regular expression: {error}", hint="write it as Python's re does", pattern=text[:80]
        ) from None


_VERBOSE_GROUP: Final = re.compile(r"\(\?[a-zA-Z]*(?:x|-[a-zA-Z]*x)[a-zA-Z-]*:")


def _plain_python(text: str, pieces: list[re.Match[str]]) -> str:
    r"""The pattern with an escape before what ``regex`` reads as more than `re` does: ``a{e}``, ``[[:alpha:]]``, ``[a||b]``.

    Raises `PatternSyntaxError` for groups that are verbose or not for themselves.
    """
    if "{" not in text and "[" not in text:
        return text
    if _VERBOSE_GROUP.search(text):
        raise PatternSyntaxError("a group cannot be verbose by itself", hint="make the whole pattern verbose: (?x)")
    return "".join(_escaped(piece) for piece in pieces)


def written_out(text: str) -> int:
    """The number of atoms of a pattern with its repetitions written out, as the engine does it."""
    return cost_of(pieces_of(text)).written


def _check_cost(cost: PatternCost) -> None:
    for what, name, allowed, amount in (
        ("what a pattern repeats", "MAX_PATTERN_REPEATS", MAX_PATTERN_REPEATS, cost.written),
        ("groups inside groups of a pattern", "MAX_PATTERN_DEPTH", MAX_PATTERN_DEPTH, cost.depth),
        ("the work of compiling a pattern", "MAX_PATTERN_WORK", MAX_PATTERN_WORK, cost.work),
    ):
        if amount > allowed:
            raise PatternLimitError(what, limit=name, allowed=allowed, found=amount, hint=_HINT)


_RANGE: Final = re.compile(r"(\\.|.)(?:-(\\.|.))?", re.DOTALL)


def _escaped(piece: re.Match[str]) -> str:
    text = piece.group()
    if piece.lastgroup == "brace":
        return "\\{"
    if piece.lastgroup != "set":
        return text
    start = 2 if text.startswith("[^") else 1
    body = text[start:].removesuffix("]")
    return text[:start] + _RANGE.sub(_range, body) + text[start + len(body) :]


def _range(match: re.Match[str]) -> str:
    first, last = (part if part is None or part not in "-&|~[" else "\\" + part for part in match.groups())
    return first if last is None else f"{first}-{last}"


# --- replacements ------------------------------------------------------------------------------------------------------

_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}
_TEMPLATE: Final = re.compile(r"\\(?:g<([^>]*)>|(0[0-7]{0,2}|[0-3][0-7]{2})|([1-9][0-9]?)|(.)|($))", re.DOTALL)


_Template = tuple[str | int, ...]
_TEMPLATES: Final[BoundedCache[tuple[str, PyPattern], _Template]] = BoundedCache(items=512, size=16 * 1024 * 1024)
_TEMPLATE_BYTES: Final = 100
"""The bytes charged for a character of a parsed replacement."""


def _template(replacement: str, pattern: PyPattern) -> _Template:
    size = _TEMPLATE_BYTES * len(replacement) + getsizeof(pattern.engine)
    return _TEMPLATES.get_or_make((replacement, pattern), lambda: _read_template(replacement, pattern), size)


def _read_template(replacement: str, pattern: PyPattern) -> _Template:
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
