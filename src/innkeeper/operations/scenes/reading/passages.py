"""Passages: which parts of a message tell what happens, and which are what somebody says.

What stands in quotation marks is speech; an apostrophe is none. What stands in asterisks or in round brackets is an action. The
rest tells the story where the message marks its speech, and is speech where it marks only its actions; where it marks neither, it
counts for less, unless a sentence tells of somebody in the third person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from innkeeper.operations.scenes.limits import MAX_SCENE_CHARS


class Kind(StrEnum):
    """What a passage is."""

    NARRATION = "narration"
    ACTION = "action"
    SPEECH = "speech"
    UNMARKED = "unmarked"


class Passage(NamedTuple):
    """A part of a message, and where it stands there. ``weight`` is what a find in it counts, from 0 to 1."""

    kind: Kind
    text: str
    start: int
    weight: float


_WEIGHT: Final = {Kind.NARRATION: 1.0, Kind.ACTION: 1.0, Kind.SPEECH: 0.4, Kind.UNMARKED: 0.6}
_THIRD_PERSON: Final = 0.9
_MARKED: Final = re.compile(
    r"(?P<speech>\"[^\"\n]*(?:\"|$)|“[^”\n]*(?:”|$)|„[^“”\n]*(?:[“”]|$)|«[^»\n]*(?:»|$)|「[^」\n]*(?:」|$))"
    r"|(?P<bold>\*\*[^*\n]*\*\*)"
    r"|(?P<action>\*[^*\n]+\*|\([^()\n]+\))",
    re.MULTILINE,
)
_CLOSING: Final = '"”“»」*)'
_SENTENCE: Final = re.compile(r"[^.!?…\n]+[.!?…]*[ \t]*")
_SUBJECT: Final = re.compile(
    r"^\W*(?:(?:then|now|suddenly|slowly|quietly|finally|as)\W+)?(?:he|she|they|[A-Z][\w'-]+)\s+\w+s\b"
)


def passages(text: str) -> tuple[Passage, ...]:
    """The passages of a message in their order; of a very long one, those of its end."""
    skipped = max(0, len(text) - MAX_SCENE_CHARS)
    marks = list(_MARKED.finditer(text, skipped))
    spoken = any(mark.lastgroup == "speech" for mark in marks)
    acted = any(mark.lastgroup == "action" and mark[0].startswith("*") for mark in marks)
    plain = Kind.NARRATION if spoken else Kind.SPEECH if acted else Kind.UNMARKED
    passages: list[Passage] = []
    at = skipped
    for mark in marks:
        passages += _plain(text, at, mark.start(), plain)
        if mark.lastgroup != "bold":  # the label of who speaks
            kind = Kind.SPEECH if mark.lastgroup == "speech" else Kind.ACTION
            inner = mark[0][1:-1] if mark[0][-1] in _CLOSING and len(mark[0]) > 1 else mark[0][1:]
            passages.append(Passage(kind, inner, mark.start() + 1, _WEIGHT[kind]))
        at = mark.end()
    passages += _plain(text, at, len(text), plain)
    return tuple(passage for passage in passages if passage.text.strip())


def _plain(text: str, start: int, end: int, kind: Kind) -> Iterator[Passage]:
    """What is not marked, sentence by sentence, since each is told or said by itself."""
    for sentence in _SENTENCE.finditer(text, start, end):
        narrated = kind is Kind.UNMARKED and _SUBJECT.match(sentence[0])
        yield Passage(kind, sentence[0], sentence.start(), _THIRD_PERSON if narrated else _WEIGHT[kind])
