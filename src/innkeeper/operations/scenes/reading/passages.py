"""Passages: split a message into narration, actions and speech.

Text in quotation marks is speech; an apostrophe is not a quotation mark. Text in asterisks or round brackets is an action. The
rest is narration if the message marks its speech, and speech if it marks only its actions; if it marks neither, the rest has
less weight, except for sentences in the third person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from innkeeper.operations.scenes.limits import MAX_SCENE_CHARS


class Kind(StrEnum):
    """The kind of a passage."""

    NARRATION = "narration"
    ACTION = "action"
    SPEECH = "speech"
    UNMARKED = "unmarked"


class Passage(NamedTuple):
    """A part of a message and its position. ``weight``, from 0 to 1, scales the confidence of facts in it."""

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
    """Return the passages of a message in order; of a very long message those of its end."""
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
    """Yield unmarked text sentence by sentence, since each may be narration or speech."""
    for sentence in _SENTENCE.finditer(text, start, end):
        narrated = kind is Kind.UNMARKED and _SUBJECT.match(sentence[0])
        yield Passage(kind, sentence[0], sentence.start(), _THIRD_PERSON if narrated else _WEIGHT[kind])
