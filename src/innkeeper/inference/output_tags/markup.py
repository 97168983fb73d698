"""Tags in a text, found in one pass, and the ``lang_spans`` sanitizer over them.

The sanitizer writes mixed-language spans as ``<lang code="ja-JP">…</lang>``, well formed and without nesting.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final, Literal

import msgspec

__all__ = ["LangSpans", "Tag", "attributes", "language_code", "sanitize_lang_spans", "scan", "write_attributes"]

_TAG: Final = re.compile(r"<\s*+(?P<close>/?)\s*+(?P<name>[A-Za-z][\w:.-]*+)(?P<rest>[^<>]*+)>")
_ATTRIBUTE: Final = re.compile(r"""([^\s=/"']++)(?:(\s*+=\s*+)("[^"]*+"|'[^']*+'|[^\s"']++))?+""")


class Tag(msgspec.Struct, frozen=True):
    """One tag as it stands in the text."""

    text: str
    name: str
    closing: bool = False
    rest: str = ""

    @property
    def key(self) -> str:
        """The name in lower case: names are compared without regard to case."""
        return self.name.lower()

    @property
    def empty(self) -> bool:
        """Whether it closes itself: ``<br/>``."""
        return not self.closing and self.rest.rstrip().endswith("/")


def scan(text: str, names: Collection[str]) -> Iterator[str | Tag]:
    """The text as runs of plain text and tags called one of ``names`` (lower case). Joined, they are the text."""
    start = 0
    for found in _TAG.finditer(text):
        if found["name"].lower() not in names:
            continue
        if found.start() > start:
            yield text[start : found.start()]
        start = found.end()
        yield Tag(found[0], found["name"], bool(found["close"]), found["rest"])
    if start < len(text):
        yield text[start:]


def attributes(tag: Tag) -> list[tuple[str, str | None]]:
    """The attributes of a tag in order; values as they are written, quotes included, ``None`` for a bare name."""
    rest = tag.rest.rstrip().removesuffix("/") if tag.empty else tag.rest
    return [(found[1], found[3]) for found in _ATTRIBUTE.finditer(rest)]


def write_attributes(pairs: list[tuple[str, str | None]]) -> str:
    """Attributes with one space before each."""
    return "".join(f" {name}" if value is None else f" {name}={value}" for name, value in pairs)


_NAMES: Final = frozenset({"lang"})
_SUBTAG: Final = re.compile(r"[A-Za-z0-9]{1,8}")
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}|[A-Za-z]{5,8}|x")


class LangSpans(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How strict to be.

    ``validate_code`` judges the code; ``on_invalid_code`` says what becomes of a span without a valid one: its tags go, it is
    kept as it is, or it goes whole. ``auto_close`` closes what is open at the end.
    """

    enabled: bool = False
    validate_code: bool = True
    auto_close: bool = True
    on_invalid_code: Literal["strip", "keep", "drop"] = "strip"


def language_code(text: str) -> str | None:
    """A language tag in BCP 47's casing (``ja_jp`` → ``ja-JP``, ``zh-hans`` → ``zh-Hans``), or ``None`` for anything else."""
    first, *others = text.strip().replace("_", "-").split("-")
    if not _LANGUAGE.fullmatch(first) or not all(_SUBTAG.fullmatch(part) for part in others):
        return None
    if first == "x" and not others:
        return None
    return "-".join([first.lower(), *(_cased(part) for part in others)])


def _cased(part: str) -> str:
    if len(part) == len("Hans") and part.isalpha():
        return part.title()
    region = (len(part) == len("JP") and part.isalpha()) or (len(part) == len("419") and part.isdigit())
    return part.upper() if region else part.lower()


def sanitize_lang_spans(text: str, options: LangSpans) -> tuple[str, list[str]]:
    """``(text, warnings)``: spacing and codes made regular, stray closers gone, open spans closed. Linear in the text."""
    spans = _Spans(options)
    for piece in scan(text, _NAMES):
        if isinstance(piece, str):
            spans.put(piece)
        else:
            spans.take(piece)
    return spans.end()


class _Spans:
    """The open spans, innermost last: what their closing tag is to be, or ``None`` inside a dropped one."""

    def __init__(self, options: LangSpans) -> None:
        self.options = options
        self.out: list[str] = []
        self.open: list[str | None] = []
        self.dropped = 0
        self.warnings: list[str] = []

    def put(self, text: str) -> None:
        if not self.dropped:
            self.out.append(text)

    def take(self, tag: Tag) -> None:
        if not tag.closing:
            self.start(tag)
        elif not self.open:
            self.warnings.append("a closing lang tag without an opening one was removed")
        else:
            self.leave()

    def start(self, tag: Tag) -> None:
        code = self.code(tag)
        if code is not None:
            self.enter(_opener(tag, code), "</lang>", tag)
            return
        self.warnings.append(f"a lang tag without a valid code: {tag.text[:40]}")
        if self.options.on_invalid_code == "keep":
            self.enter(tag.text, "</lang>", tag)
        else:
            self.enter("", None if self.options.on_invalid_code == "drop" else "", tag)

    def code(self, tag: Tag) -> str | None:
        written = next((value for name, value in attributes(tag) if name.lower() == "code"), None)
        text = (written or "").strip("\"'").strip()
        return language_code(text) or (None if self.options.validate_code or not text else text)

    def enter(self, opener: str, closer: str | None, tag: Tag) -> None:
        self.put(opener)
        if tag.empty:
            return
        self.open.append(closer)
        self.dropped += closer is None

    def leave(self) -> None:
        closer = self.open.pop()
        if closer is None:
            self.dropped -= 1
        else:
            self.put(closer)

    def end(self) -> tuple[str, list[str]]:
        unclosed = sum(closer != "" for closer in self.open)
        if unclosed and not self.options.auto_close:
            self.warnings.append(f"{unclosed} lang tags are not closed")
        while self.open and self.options.auto_close:
            self.leave()
        return "".join(self.out), self.warnings


def _opener(tag: Tag, code: str) -> str:
    pairs = [(name, value) for name, value in attributes(tag) if name.lower() != "code"]
    quoted = code.replace('"', "&quot;")
    return f"<lang{write_attributes([('code', f'{chr(34)}{quoted}{chr(34)}'), *pairs])}{'/' if tag.empty else ''}>"
