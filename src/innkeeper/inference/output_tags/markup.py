"""Tags in a text, found in one pass: the tokens that output tag rules and sanitizers work on.

A tag is ``<``, an optional ``/``, a name, and anything but ``<`` and ``>`` up to ``>``; spaces are allowed before the slash,
the name and the end. So each tag ends at the first bracket after it, and scanning is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

import msgspec

__all__ = ["Tag", "attributes", "scan", "write_attributes"]

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
