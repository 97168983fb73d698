"""Verbatim zones: parts of a text that must come through a transformation as they are.

`mask` replaces each zone by a placeholder, `unmask` puts them back. Zones are found in one pass from left to right, the
outermost first, so that code inside a link or a tag inside code belongs to the zone around it; nothing is interpreted on
the way back, backslashes included. The zones are those that TavernKit's masker and its language policy name.

>>> masked = mask("see `<b>` and <b>this</b>", CODE_ZONES)
>>> unmask(masked.text.replace("<b>", "*").replace("</b>", "*"), masked.spans)
'see `<b>` and *this*'
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple


class Zone(StrEnum):
    """A kind of verbatim text."""

    FENCE = "fence"
    """A fenced code block; one that is never closed runs to the end."""
    CODE = "code"
    """Inline code between runs of as many backticks."""
    LIQUID = "liquid"
    """``{{ … }}`` and ``{% … %}``."""
    TAG = "tag"
    """An HTML or XML tag, or a comment."""
    URL = "url"
    """A web address, without the punctuation that ends a sentence."""
    LINK = "link"
    """A Markdown link or image, text and address."""
    ESCAPE = "escape"
    r"""``\<``: a tag that is meant as text. What it becomes is `Escape`."""


ALL_ZONES: Final = frozenset(Zone) - {Zone.ESCAPE}
"""Everything a translation must leave alone."""

CODE_ZONES: Final = frozenset({Zone.FENCE, Zone.CODE, Zone.LIQUID})
"""Zones that are no markup of the message's own: tags in them are text."""


class Escape(StrEnum):
    r"""The replacement of ``\<``."""

    HTML_ENTITY = "html_entity"
    """``&lt;``"""
    LITERAL = "literal"
    """``<``"""
    KEEP_BACKSLASH = "keep_backslash"
    r"""``\<``"""

    @property
    def text(self) -> str:
        """The replacement."""
        return {"html_entity": "&lt;", "literal": "<", "keep_backslash": "\\<"}[self.value]


class Masked(NamedTuple):
    """A text with placeholders, and the texts they replace."""

    text: str
    spans: tuple[tuple[str, str], ...]
    """(placeholder, original), in order of the text."""


_OPENERS: Final = re.compile(r"`+|~{3,}|\{\{|\{%|\\<|<|!?\[|(?:https?|ftp)://", re.IGNORECASE)
_TAG: Final = re.compile(r"</?[A-Za-z][^\s<>\"'/]*+(?:\"[^\"<]*+\"|'[^'<]*+'|[^\"'<>])*+>")
_LINK: Final = re.compile(r"!?\[[^\[\]\n]*+\]\([^()\s]*+(?:[ \t]++\"[^\"\n]*+\")?[ \t]*+\)")
_URL: Final = re.compile(r"[^\s<>()\[\]{}\"'`]++", re.IGNORECASE)
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*$", re.MULTILINE)
_STEM: Final = re.compile(r"\0v(\d+):")
_TICKS: Final = re.compile(r"`+")
_SENTENCE_END: Final = ".,;:!?"
_FENCE_SIZE: Final = 3
_INDENT: Final = 3


def mask(text: str, zones: Iterable[Zone] = ALL_ZONES, escape: Escape = Escape.HTML_ENTITY) -> Masked:
    """The text with its zones behind placeholders, which no text contains by accident. Linear in the text's length."""
    zone_set = frozenset(zones)
    finder = _ZoneFinder(text)
    # all placeholders begin with a number that the text does not use
    taken = set(_STEM.findall(text))
    number = next(str(number) for number in range(len(taken) + 1) if str(number) not in taken)
    stem = f"\0v{number}:"
    parts: list[str] = []
    spans: list[tuple[str, str]] = []
    position = 0
    while match := _OPENERS.search(text, position):
        zone, end = finder.zone(match, zone_set)
        if zone is None:
            parts.append(text[position : match.end()])
            position = match.end()
            continue
        original = escape.text if zone is Zone.ESCAPE else text[match.start() : end]
        placeholder = f"{stem}{len(spans)}\0"
        parts += (text[position : match.start()], placeholder)
        spans.append((placeholder, original))
        position = end
    return Masked("".join((*parts, text[position:])), tuple(spans))


def unmask(text: str, spans: Sequence[tuple[str, str]]) -> str:
    """Replace each placeholder by its text, at every occurrence."""
    if not spans:
        return text
    originals = dict(spans)
    stem = spans[0][0][: spans[0][0].index(":") + 1]
    pattern = re.compile(re.escape(stem) + r"\d+\0")
    return pattern.sub(lambda match: originals.get(match.group(), match.group()), text)


class _ZoneFinder:
    """Finds the end of a zone. Remembers failed searches, so that all searches together stay linear."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._missing: set[str] = set()

    def zone(self, opener: re.Match[str], zones: frozenset[Zone]) -> tuple[Zone | None, int]:
        """The zone that begins here and its end, or ``None`` and any number."""
        for zone, end_of in self._candidates(opener.group()):
            if zone in zones and (end := end_of(opener)) >= 0:
                return zone, end
        return None, -1

    def _candidates(self, opener: str) -> tuple[tuple[Zone, Callable[[re.Match[str]], int]], ...]:
        match opener[0]:
            case "`" | "~":
                return ((Zone.FENCE, self._fence), (Zone.CODE, self._code))
            case "{":
                return ((Zone.LIQUID, self._liquid),)
            case "\\":
                return ((Zone.ESCAPE, lambda match: match.end()),)
            case "<":
                return ((Zone.TAG, self._tag),)
        return ((Zone.LINK, self._link) if opener[-1] == "[" else (Zone.URL, self._url),)

    def _after(self, closer: str, start: int) -> int:
        if closer in self._missing:
            return -1
        index = self._text.find(closer, start)
        if index < 0:
            self._missing.add(closer)
            return -1
        return index + len(closer)

    def _fence(self, opener: re.Match[str]) -> int:
        """A fence starts a line, and ends with a line of at least as many of its character."""
        fence = opener.group()
        if len(fence) < _FENCE_SIZE or not self._starts_line(opener.start()):
            return -1
        line_end = self._text.find("\n", opener.end())
        line_end = len(self._text) if line_end < 0 else line_end
        if fence[0] == "`" and self._text.find("`", opener.end(), line_end) >= 0:
            return -1
        closers = _FENCE.finditer(self._text, min(line_end + 1, len(self._text)))
        return next((closer.end() for closer in closers if closer[1].startswith(fence)), len(self._text))

    def _starts_line(self, index: int) -> bool:
        before = self._text[max(0, index - _INDENT - 1) : index]
        first = len(before) <= _INDENT or "\n" in before
        return first and not before.rpartition("\n")[2].strip(" ")

    def _code(self, opener: re.Match[str]) -> int:
        """Inline code ends with the next run of as many backticks."""
        if opener.group()[0] != "`":
            return -1
        length = len(opener.group())
        starts = self._runs.get(length, [])
        index = bisect_left(starts, opener.end())
        return starts[index] + length if index < len(starts) else -1

    @cached_property
    def _runs(self) -> dict[int, list[int]]:
        runs: dict[int, list[int]] = {}
        for run in _TICKS.finditer(self._text):
            runs.setdefault(len(run.group()), []).append(run.start())
        return runs

    def _liquid(self, opener: re.Match[str]) -> int:
        return self._after("}}" if opener.group() == "{{" else "%}", opener.end())

    def _tag(self, opener: re.Match[str]) -> int:
        if self._text.startswith("<!--", opener.start()):
            return self._after("-->", opener.end() + 3)
        match = _TAG.match(self._text, opener.start())
        return match.end() if match else -1

    def _link(self, opener: re.Match[str]) -> int:
        match = _LINK.match(self._text, opener.start())
        return match.end() if match else -1

    def _url(self, opener: re.Match[str]) -> int:
        match = _URL.match(self._text, opener.end())
        if match is None:
            return -1
        address = match.group().rstrip(_SENTENCE_END)
        return opener.end() + len(address) if address else -1
