"""Phrases: what a model wrote for an image or video model, cut into segments with roles, and freed of what is no prompt.

A role is told from words of the trade, in English; what says nothing of its role is part of the setting, whose end goes first.
What the user asked for, and the first phrase, is what the picture is of: it is never dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from innkeeper.library.models.emphasis import groups, outside
from innkeeper.library.prepare.segments import Role, Segment

NORMALISER: Final = "label/1"
"""The step that takes labels and quotation marks off, and its version: what an answer's ``changes`` name."""

_WORDS: Final = re.compile(r"\w[\w'-]*")
_SPLIT: Final = re.compile(r"[,;\n]+|(?<=[.!?])\s+")
_LITTLE: Final = 4
"""Words shorter than this say nothing of what the user asked for."""

_ROLES: Final = (
    (
        Role.QUALITY,
        re.compile(
            r"\b(masterpiece|(best|high|highest|top|ultra|premium) quality|highly detailed|(ultra|hyper|extremely|intricate\w*)"
            r"[- ]?detail\w*|detailed|award[- ]winning|professional|stunning|beautiful|sharp( focus)?|crisp|hd|uhd|hdr|4k|8k)\b",
            re.IGNORECASE,
        ),
    ),
    (
        Role.TECHNICAL,
        re.compile(
            r"\b(\d+ ?mm|f/\d|iso ?\d+|lens|bokeh|depth of field|aperture|shutter|camera|close[- ]?up|wide[- ](shot|angle)|shot|"
            r"framing|aspect|resolution|render(ed)?|raytracing|dslr|film grain|low[- ]angle|high[- ]angle|pan|dolly|zoom)\b",
            re.IGNORECASE,
        ),
    ),
    (
        Role.STYLE,
        re.compile(
            r"\b(style|photo\w*|painting|illustration|watercolou?r|oil|sketch|anime|cinematic|concept art|realis\w+|"
            r"impressionis\w+|minimalis\w+|vintage|render)\b",
            re.IGNORECASE,
        ),
    ),
    (
        Role.CLOTHING,
        re.compile(
            r"\b(wearing|dressed|dress|coat|jacket|shirt|hat|scarf|boots|shoes|cloak|robe|armou?r|uniform|trousers|gloves|suit)\b",
            re.IGNORECASE,
        ),
    ),
    (
        Role.MOOD,
        re.compile(
            r"\b(mood|atmosphere|\w*light(ing)?|glow\w*|serene|calm|peaceful|dramatic|moody|warm|cosy|cozy|golden hour|dawn|dusk|"
            r"sunset|sunrise|twilight|shadows?|mist\w*|fog\w*|haze)\b",
            re.IGNORECASE,
        ),
    ),
    (
        Role.ACTION,
        re.compile(r"\b(?!evening|morning|building|ceiling|clothing|painting|lighting)\w{2,}ing\b", re.IGNORECASE),
    ),
)
"""The first that fits counts."""


def segments_of(text: str, request: str) -> tuple[Segment, ...]:
    """A prompt in segments. ``request`` is what the user asked for: phrases with its words are kept.

    >>> [
    ...     segment.role.value
    ...     for segment in segments_of("a red fox, in a quiet forest, sharp focus, 35 mm lens", "a fox")
    ... ]
    ['identity', 'setting', 'quality', 'technical']
    """
    asked = {word.casefold() for word in _WORDS.findall(request) if len(word) >= _LITTLE}
    segments = []
    for index, phrase in enumerate(_phrases(text)):
        words = {word.casefold() for word in _WORDS.findall(phrase)}
        role = next((role for role, pattern in _ROLES if pattern.search(phrase)), Role.SETTING)
        segments.append(Segment(phrase, Role.IDENTITY if index == 0 or words & asked else role))
    return tuple(segments)


def _phrases(text: str) -> Iterator[str]:
    """The parts between commas and sentences, none within a group that belongs together."""
    spans = groups(text)
    start = 0
    ends = {match.start(): match.end() for match in _SPLIT.finditer(text)}
    for stop in [*outside(list(ends), spans), len(text)]:
        if phrase := text[start:stop].strip(" \t\r\n,;."):
            yield phrase
        start = ends.get(stop, stop)


_LABEL: Final = re.compile(
    r"^\s*(?:[*_#>`-]+\s*)?(?:(?:enhanced|improved|final|image|video|positive)\s+)*(?:prompt|description|result)\s*[*_]*:\s*[*_]*",
    re.IGNORECASE,
)
_FENCE: Final = re.compile(r"^\s*```[a-z]*\s*\n?(.*?)\n?```\s*$", re.DOTALL)
_QUOTES: Final = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019", "`": "`"}


def normalised(text: str) -> str:
    """A prompt without the label, the quotation marks and the blanks around it, on one line. No word of it changes.

    >>> normalised('**Enhanced prompt:** "a red fox in snow"')
    'a red fox in snow'
    """
    fenced = _FENCE.match(text)
    bare = (fenced[1] if fenced else text).strip()
    bare = _LABEL.sub("", bare, count=1).strip()
    if len(bare) > 1 and _QUOTES.get(bare[0]) == bare[-1] and bare[0] not in bare[1:-1]:
        bare = bare[1:-1]
    return " ".join(bare.split())
