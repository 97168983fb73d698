"""Phrases: split a model's prompt for an image or video model into segments with roles, and clean it.

Roles are recognised by English keywords; a phrase without any is part of the setting, whose end is dropped first. The first
phrase, and phrases with the user's words, describe the subject and are never dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from innkeeper.library.models.emphasis import groups, outside
from innkeeper.library.prepare.segments import Role, Segment

NORMALISER: Final = "label/1"
"""The name and version of the step that removes labels and quotation marks, as in an answer's ``changes``."""

_WORDS: Final = re.compile(r"\w[\w'-]*")
_SPLIT: Final = re.compile(r"[,;\n]+|(?<=[.!?])\s+")
_LITTLE: Final = 4
"""Shorter words do not count as the user's."""

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
"""The first match counts."""


def segments_of(text: str, request: str) -> tuple[Segment, ...]:
    """Split a prompt into segments. ``request`` is the user's text: phrases with its words are never dropped.

    >>> [
    ...     segment.role.value
    ...     for segment in segments_of("a red fox, in a quiet forest, sharp focus, 35 mm lens", "a fox")
    ... ]
    ['identity', 'setting', 'quality', 'technical']
    """
    asked = set(user_words(request))
    segments = []
    for index, phrase in enumerate(_phrases(text)):
        words = {word.casefold() for word in _WORDS.findall(phrase)}
        role = next((role for role, pattern in _ROLES if pattern.search(phrase)), Role.SETTING)
        segments.append(Segment(phrase, Role.IDENTITY if index == 0 or words & asked else role))
    return tuple(segments)


def user_words(request: str) -> tuple[str, ...]:
    """Return the words of a request that count as the user's, each once, without case."""
    return tuple(dict.fromkeys(word.casefold() for word in _WORDS.findall(request) if len(word) >= _LITTLE))


def missing_words(request: str, text: str) -> tuple[str, ...]:
    """Return the user's words of which a text has no form: nothing in it begins as they do."""
    written = text.casefold()
    return tuple(word for word in user_words(request) if word[: max(_LITTLE, len(word) - 3)] not in written)


def _phrases(text: str) -> Iterator[str]:
    """Yield the parts between commas and sentences, without splitting groups."""
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
    """Return a prompt on one line, without label, quotation marks and outer blanks. No word is changed.

    >>> normalised('**Enhanced prompt:** "a red fox in snow"')
    'a red fox in snow'
    """
    fenced = _FENCE.match(text)
    bare = (fenced[1] if fenced else text).strip()
    bare = _LABEL.sub("", bare, count=1).strip()
    if len(bare) > 1 and _QUOTES.get(bare[0]) == bare[-1] and bare[0] not in bare[1:-1]:
        bare = bare[1:-1]
    return " ".join(bare.split())
