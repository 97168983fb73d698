"""Text: as the engine accepts it, and as facts are shown.

Lone surrogates (halves of UTF-16 pairs, which JSON can spell) become U+FFFD one for one, so offsets stay right; a `MendingWatch`
counts them. Everything else, NUL included, stays as it is. Text without any costs nothing more; where there are some, the
data are searched once more for their places.

What is shown is safe on a terminal, has its secrets blotted out, and makes JSON-ready data of any object. All of that is total:
it raises nothing, since it runs while an error is on its way.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import msgspec

_LONE: Final = re.compile("[\ud800-\udfff]")


class Mended(msgspec.Struct, frozen=True):
    """The repairs in one field of a request: the number of lone surrogates, and the position of the first."""

    field: str
    count: int
    first: str


class MendingWatch:
    """Counts the halves mended while it watches."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


_WATCH: Final[ContextVar[MendingWatch | None]] = ContextVar("innkeeper_mending", default=None)


@contextmanager
def watching() -> Iterator[MendingWatch]:
    """A watch over everything mended inside the block, in this thread; an outer watch does not see it."""
    watch = MendingWatch()
    token = _WATCH.set(watch)
    try:
        yield watch
    finally:
        _WATCH.reset(token)


def scalar_text(text: str) -> str:
    """``text`` with each lone surrogate as U+FFFD; the same object when there is none."""
    if text.isascii() or not _LONE.search(text):
        return text
    mended, count = _LONE.subn("\ufffd", text)
    watch = _WATCH.get()
    if watch is not None:
        watch.count += count
    return mended


def mended_in(field: str, value: Any, watch: MendingWatch) -> Mended:
    """Return what ``watch`` saw while ``value`` was read for ``field``, with the position in it. Resets the watch."""
    count, watch.count = watch.count, 0
    return Mended(field, count, next((path for path, _ in lone_in(value, field)), field))


def lone_in(value: Any, path: str) -> Iterator[tuple[str, int]]:
    """The places in plain data (keys too) with lone surrogates, in order, each with how many."""
    if isinstance(value, str):
        count = 0 if value.isascii() else len(_LONE.findall(value))
        if count:
            yield path, count
    elif isinstance(value, Mapping):
        for key, item in value.items():
            name = str(key)
            below = f"{path}." + _LONE.sub("\ufffd", name)
            yield from lone_in(name, below)
            yield from lone_in(item, below)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from lone_in(item, f"{path}[{index}]")


_DEPTH: Final = 8
_ITEMS: Final = 100
_TEXT: Final = 2_000

_CONTROL: Final = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"}
_INVISIBLE: Final = dict.fromkeys((*range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd")
_SAFE: Final = _CONTROL | _INVISIBLE

_DIGITS_WITHIN: Final = r"[\"']?(?=[^\s\"',;]{0,200}\d)([^\s\"',;)}\]]{8,})"
_SECRETS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:bearer|basic)\s+([\w.~+/=-]{16,})",
        r"://[^\s/:@]{0,200}:([^\s/@]{1,200})@",
        r"[?&](?:api[_-]?key|key|(?:access[_-]?)?token|secret|password|sig(?:nature)?)=([^\s&#\"']+)",
        r"\b(?:api[_-]?key|authorization|password|secret|access[_-]?token)[\"']?\s{0,3}[:=]\s{0,3}" + _DIGITS_WITHIN,
        r"\b((?:sk|pk|rk|xai|gsk|hf|ghp|glpat)[-_][\w-]{16,}|AIza[\w-]{30,})",
    )
)
_SECRET_NAME: Final = re.compile(
    r"(?:^|[_-])(?:(?:api|access|private|secret)[_-]?key|token|secret|password|passwd|authorization|cookie|credentials?)$",
    re.IGNORECASE,
)


def printable(text: str) -> str:
    """``text`` with control characters as their pictures and direction overrides as U+FFFD, one for one."""
    text = scalar_text(text)
    return text if text.isascii() and text.isprintable() else text.translate(_SAFE)


def escaped(text: str) -> str:
    r"""``text`` with whatever does not print (control characters, overrides, lone surrogates) as escapes: ``\x1b``."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in "\n\t" or unicodedata.category(c) == "Zs" else ascii(c)[1:-1] for c in text
    )


def redact(text: str) -> str:
    """Replace what looks like a secret by asterisks of the same length: bearer tokens, keys of known shapes, URL passwords."""
    for pattern in _SECRETS:
        text = pattern.sub(_blot, text)
    return text


def _blot(match: re.Match[str]) -> str:
    start, end = (offset - match.start() for offset in match.span(1))
    return match[0][:start] + "*" * (end - start) + match[0][end:]


def caret(excerpt: str, column: int) -> str:
    """Blanks as wide as the first ``column`` - 1 characters of ``excerpt`` are on a terminal, and a caret."""
    return "".join(map(_blank, excerpt[: max(column - 1, 0)])) + "^"


def _blank(character: str) -> str:
    if character == "\t":
        return character
    if unicodedata.combining(character):
        return ""
    return "  " if unicodedata.east_asian_width(character) in "WF" else " "


def shorten(text: str, length: int) -> str:
    """``text``, or its first ``length`` - 1 characters and an ellipsis."""
    return text if len(text) <= length else text[: length - 1] + "…"


def plain(value: Any, depth: int = 0) -> Any:
    """Any object as data that every JSON writer takes: short, finite, with secrets blotted out. Never raises."""
    if value is None or isinstance(value, (bool, int, float)):
        return _number(value)
    if isinstance(value, str):
        return shorten(redact(scalar_text(str(value))), _TEXT)
    if depth >= _DEPTH:
        return "…"
    if isinstance(value, msgspec.Struct):
        value = {name: getattr(value, name, None) for name in value.__struct_fields__}
    if isinstance(value, Mapping):
        return {
            shorten(scalar_text(key if type(key) is str else _text_of(key)), _ITEMS): _value(key, item, depth + 1)
            for key, item in list(value.items())[:_ITEMS]
        }
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=_text_of)
    if isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value[:_ITEMS]]
    return shorten(redact(scalar_text(_text_of(value))), _TEXT)


def _number(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
        return f"{float(value):e}" if abs(value) < 2**1000 else "a huge number"
    return value


def _value(key: Any, item: Any, depth: int) -> Any:
    secret = isinstance(key, str) and isinstance(item, (str, bytes)) and _SECRET_NAME.search(key)
    return "***" if secret else plain(item, depth)


def _text_of(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - foreign code, while an error is on its way
        return f"<{type(value).__name__}>"


def text_of(content: Any) -> str:
    """The text of a message's content: itself, or its text parts joined; nothing for anything else."""
    if isinstance(content, str):
        return content
    parts = [part for part in (content if isinstance(content, list) else ()) if isinstance(part, Mapping)]
    return "".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def whole_text(text: str) -> str:
    """``text`` with surrogate halves joined to the characters they were cut from; halves left over become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def whole_texts(value: Any) -> Any:
    """JSON data with `whole_text` for each text in it, keys too."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {whole_text(key): whole_texts(item) for key, item in value.items()}
    return [whole_texts(item) for item in value] if isinstance(value, list) else value


_KINDS: Final[tuple[tuple[type, str], ...]] = (
    (type(None), "null"),
    (bool, "true or false"),
    (str, "text"),
    (int, "a whole number"),
    (float, "a decimal number"),
    (Mapping, "an object"),
    (list, "a list"),
    (tuple, "a list"),
)


def type_words(kind: type) -> str:
    """Return what values of a type are, as errors say it: in words of JSON, or by the class where JSON knows none such."""
    return next((words for known, words in _KINDS if issubclass(kind, known)), kind.__name__)


def kind_of(value: Any) -> str:
    """Return what a value is, as errors say it."""
    return type_words(type(value))


def count_of(number: int, what: str) -> str:
    """Return a number with the word for what is counted: ``1 file``, ``2,000 files``, ``3 passes``, ``4 entries``."""
    if number == 1:
        return f"1 {what}"
    stem, end = (what[:-1], "ies") if what.endswith("ry") else (what, "es" if what.endswith("s") else "s")
    return f"{number:,} {stem}{end}"
