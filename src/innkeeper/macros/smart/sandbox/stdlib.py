"""The sandbox's part of Python's standard library: ``datetime`` and ``re``.

Moments come from the host, never from the machine, and only short texts are read as one. Patterns are Python's, run by the engine
of `innkeeper.text.pyregex`, which can be stopped where Python's own ``re`` cannot. What Python does not take is refused there,
and the repeats that the engine writes out are counted.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from sys import getsizeof
from typing import TYPE_CHECKING, Any, Final

from innkeeper.macros.smart.sandbox.limits import SandboxLimitError, SandboxLimits, SandboxRuntimeError
from innkeeper.macros.smart.sandbox.values import Frame, Function, Match, boundary, kind_of, text_of
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.text.pyregex import PatternLimitError, PatternSyntaxError, PyPattern, compile_pattern, written_out

if TYPE_CHECKING:
    from collections.abc import Iterator


_READ: Final = frozenset("aAbBdfHIjmMpSUuVwWyYGz%")
_DIRECTIVE: Final = re.compile(r"%([\s\S]?)")
_YEARS: Final = frozenset("yYG")


def now(frame: Frame, /) -> datetime:
    """The moment of the host as its own zone writes it, without a zone."""
    return frame.host.now.replace(tzinfo=None)


def utcnow(frame: Frame, /) -> datetime:
    """The moment of the host as UTC writes it, without a zone."""
    moment = frame.host.now
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


def today(frame: Frame, /) -> date:
    """The day of the host."""
    return frame.host.now.date()


def fromtimestamp(frame: Frame, timestamp: Any, /) -> date:
    """The day of so many seconds after 1970, in the zone of the host."""
    if type(timestamp) not in {int, float, bool}:
        raise SandboxRuntimeError(f"fromtimestamp needs a number of seconds, not a {kind_of(timestamp)}")
    return datetime.fromtimestamp(timestamp, frame.host.now.tzinfo or UTC).date()


def make(kind: Any) -> Any:
    """The function that makes moments of a kind from whole numbers."""

    def made(frame: Frame, /, *parts: Any, **named: Any) -> Any:
        if "tzinfo" in named or len(parts) > 7:  # noqa: PLR2004 - year to microsecond
            raise SandboxRuntimeError("there are no zones in the sandbox", hint="leave tzinfo out")
        for part in (*parts, *named.values()):
            if type(part) is not int:
                raise SandboxRuntimeError(f"{kind.__name__} is made of whole numbers, not of a {kind_of(part)}")
            boundary(frame, part)
        if kind is time and len(parts) > 4:  # noqa: PLR2004 - hour to microsecond
            raise SandboxRuntimeError("there are no zones in the sandbox", hint="leave tzinfo out")
        return kind(*parts, **named)

    return made


def strptime(frame: Frame, text: Any, pattern: Any, /) -> datetime:
    """The moment that a text tells, by a pattern of ``strptime``. A pattern without a year reads the year 1900."""
    for value in (text, pattern):
        if type(value) is not str:
            raise SandboxRuntimeError(f"strptime needs a text and a pattern, not a {kind_of(value)}")
        if len(value) > frame.limits.date_chars:
            raise frame.limits.exceeded("date_chars", "a date or its pattern", len(value))
    letters = _DIRECTIVE.findall(pattern)
    for letter in letters:
        if letter not in _READ:
            raise SandboxRuntimeError(f"strptime does not read %{letter}", hint="use %Y %m %d %H %M %S")
    if not _YEARS.intersection(letters):  # Python warns of days without a year
        text, pattern = "1900 " + text, "%Y " + pattern
    frame.charge(len(text) * len(pattern))
    try:
        return datetime.strptime(text, pattern)  # noqa: DTZ007 - the sandbox has no zones
    except re.error:
        raise SandboxRuntimeError("strptime reads each part of a date once", hint="use each directive once") from None


KINDS: Final = {"datetime": datetime, "date": date, "time": time}
"""The kinds of moments that code can make."""


_PIECE: Final = re.compile(r"\\[\s\S]|\[\^?\]?(?:[^\]\\]|\\[\s\S])*(?:\]|\\?\Z)|[()]")
_FLAGS: Final = 2 | 8 | 16 | 32 | 256
_EACH_GROUP: Final = 8
_READING: Final = 200
"""Work of one character of a pattern: 1,000 of them take up to 20 ms to compile."""
_SHOWN: Final = 50
"""Characters of a match that its text shows, as in Python."""


def _compiled(pattern: str, flags: int, limits: SandboxLimits) -> PyPattern:
    key = (pattern, flags, limits)
    known = _PATTERNS.get(key)
    if known is None:
        new = _new_pattern(pattern, flags, limits)
        known = _PATTERNS.put(key, new, getsizeof(new.engine) + 4 * len(pattern))
    return known


_PATTERNS: Final[BoundedCache[tuple[str, int, SandboxLimits], PyPattern]] = BoundedCache(
    items=256, size=32 * 1024 * 1024
)


def _new_pattern(pattern: str, flags: int, limits: SandboxLimits) -> PyPattern:
    if len(pattern) > limits.pattern_chars:
        raise limits.exceeded("pattern_chars", "a regular expression", len(pattern))
    if flags & ~_FLAGS:
        raise SandboxRuntimeError(
            f"there are no flags {flags}", hint="2 ignores case, 8 is multiline, 16 lets . match newlines"
        )
    _check_depth(pattern, limits)
    try:
        if written_out(pattern) <= limits.pattern_repeats:
            return compile_pattern(pattern, flags)
    except PatternLimitError:
        pass
    except PatternSyntaxError as error:
        raise SandboxRuntimeError(f"the pattern cannot be read: {error.message}", hint=error.hint) from None
    raise limits.exceeded("pattern_repeats", "a regular expression written out")


def _check_depth(pattern: str, limits: SandboxLimits) -> None:
    depth = 0
    for piece in _PIECE.findall(pattern):
        depth += {"(": 1, ")": -1}.get(piece, 0)
        if depth > limits.pattern_depth:
            raise limits.exceeded("pattern_depth", "the nesting of a regular expression")


def _engine(frame: Frame, pattern: Any, text: Any, flags: Any) -> Any:
    for value in (pattern, text):
        if type(value) is not str:
            raise SandboxRuntimeError(
                f"regular expressions are for texts, not for a {kind_of(value)}", hint="use str(...)"
            )
    if type(flags) is not int:
        raise SandboxRuntimeError("flags are a whole number", hint="2 ignores case")
    frame.charge(len(pattern) * _READING + len(text))
    compiled = _compiled(pattern, flags, frame.limits)
    try:
        compiled.admit(text)
    except PatternLimitError as error:
        raise SandboxLimitError("a search", limit=error.limit, allowed=error.allowed, found=error.found) from None
    return compiled.engine


def _matches(frame: Frame, engine: Any, text: str) -> Iterator[Any]:
    """The matches, each within the time that is left."""
    matches = frame.search(engine.finditer, text)
    while (match := frame.search(_next, matches)) is not None:
        frame.charge(8 + len(match.group()))
        yield match


def _next(matches: Iterator[Any], **_: Any) -> Any:
    return next(matches, None)


def _one(frame: Frame, method: Any, text: str) -> Match | None:
    result = frame.search(method, text)
    return None if result is None else _opaque(result)


def _opaque(match: Any) -> Match:
    return Match(
        f"<re.Match object; span=({match.start()}, {match.end()}), match={repr(match.group()[:_SHOWN])[:_SHOWN]}>"
    )


def match(frame: Frame, /, pattern: Any, string: Any, flags: Any = 0) -> Match | None:
    """A match at the start of a text, or nothing."""
    return _one(frame, _engine(frame, pattern, string, flags).match, string)


def search(frame: Frame, /, pattern: Any, string: Any, flags: Any = 0) -> Match | None:
    """The first match in a text, or nothing."""
    return _one(frame, _engine(frame, pattern, string, flags).search, string)


def findall(frame: Frame, /, pattern: Any, string: Any, flags: Any = 0) -> list[Any]:
    """All matches: their texts, their one group, or tuples of their groups."""
    engine = _engine(frame, pattern, string, flags)
    results: list[Any] = []
    for match in _matches(frame, engine, string):
        frame.charge(_EACH_GROUP * engine.groups)
        groups = match.groups("")
        frame.charge(sum(map(len, groups)))
        results.append(groups if engine.groups > 1 else groups[0] if groups else match.group())
        if len(results) > frame.limits.items:
            raise frame.limits.exceeded("items", "the matches")
    return results


def sub(frame: Frame, /, pattern: Any, repl: Any, string: Any, count: Any = 0, flags: Any = 0) -> str:
    r"""The text with its matches replaced: by a template (``\1``, ``\g<name>``) or by what a function gives."""
    engine = _engine(frame, pattern, string, flags)
    if type(count) is not int:
        raise SandboxRuntimeError("count is a whole number")
    pieces = _template(frame, repl, engine)
    parts, end, length = [], 0, 0
    for number, match in enumerate(_matches(frame, engine, string), 1):
        parts += [string[end : match.start()], _replacement(frame, repl, pieces, match)]
        end = match.end()
        length += len(parts[-2]) + len(parts[-1])
        if length > frame.limits.text_chars:
            raise frame.limits.exceeded("text_chars", "a text", length)
        frame.charge(len(parts[-1]))
        if number == count:
            break
    return "".join([*parts, string[end:]]) if count >= 0 else string


def _replacement(frame: Frame, repl: Any, pieces: list[Any], match: Any) -> str:
    if type(repl) is Function:
        value = repl.call(frame, _opaque(match))
        if type(value) is not str:
            raise SandboxRuntimeError(f"what replaces a match must be a text, not a {kind_of(value)}")
        return text_of(frame, value)
    return "".join(piece if type(piece) is str else match.group(piece[0]) or "" for piece in pieces)


_REFERENCE: Final = re.compile(r"\\(?:g<(\w+)>|(0[0-7]{0,2}|[1-3][0-7]{2})|([1-9]\d?)|([\s\S]?))")
_CONTROLS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}


def _template(frame: Frame, repl: Any, engine: Any) -> list[Any]:
    """The pieces of a replacement: texts, and 1-tuples of a group's number or name."""
    if type(repl) is Function:
        return []
    if type(repl) is not str:
        raise SandboxRuntimeError(f"what replaces a match must be a text or a function, not a {kind_of(repl)}")
    if len(repl) > frame.limits.pattern_chars:
        raise frame.limits.exceeded("pattern_chars", "a replacement", len(repl))
    pieces: list[Any] = []
    end = 0
    for match in _REFERENCE.finditer(repl):
        pieces += [repl[end : match.start()], _reference(match, engine)]
        end = match.end()
    return [*pieces, repl[end:]]


def _reference(match: re.Match[str], engine: Any) -> Any:
    name, octal, number, letter = match.groups()
    if octal:
        return chr(int(octal, 8) & 0xFF)
    if letter is not None:
        if letter.isalnum() and letter.isascii() and letter not in _CONTROLS:
            raise SandboxRuntimeError(f"there is no \\{letter} in a replacement", hint="write \\\\ for a backslash")
        return _CONTROLS.get(letter, "\\" + letter)
    label = name if number is None else number
    group = int(label) if label.isdecimal() else label
    known = group <= engine.groups if type(group) is int else group in engine.groupindex
    if not known:
        raise SandboxRuntimeError(f"the pattern has no group {label}")
    return (group,)
