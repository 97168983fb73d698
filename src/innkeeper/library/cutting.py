"""Cutting: the longest beginning of a text that fits, ended after a sentence, a clause or a word, never inside a word."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final

__all__ = ["cut_text"]

_SENTENCE_END: Final = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s|$)|[。！？]+[」』）]*|\n+")
_CLAUSE_END: Final = re.compile(r"\s*[,;:、，；](?=\s|$)|(?<=[、，；])")
_WORD_END: Final = re.compile(r"(?<=\S)(?=\s|$)|(?<=[\u3040-\u30ff\u3400-\u9fff])")
_WORTH: Final = 0.5
"""A cut after a sentence or clause is taken where it keeps at least this part of what a cut after a word would."""


def cut_text(text: str, fits: Callable[[str], bool]) -> str:
    """The beginning of ``text`` that is kept: empty where not even its first word fits."""
    if fits(text):
        return text
    word = _longest(text, [match.end() for match in _WORD_END.finditer(text)], fits)
    for ends in (_SENTENCE_END, _CLAUSE_END):
        places = [match.start() if ends is _CLAUSE_END else match.end() for match in ends.finditer(text)]
        kept = _longest(text, [place for place in places if place <= len(word)], fits)
        if len(kept) >= _WORTH * len(word) and kept.strip():
            return kept.rstrip()
    return word.rstrip(" ,;:\t\n")


def _longest(text: str, ends: Sequence[int], fits: Callable[[str], bool]) -> str:
    """The longest beginning up to one of the places that fits, where longer ones are larger; what it gives always fits."""
    kept = bisect_right(ends, False, key=lambda end: not fits(text[:end]))  # noqa: FBT003 - a search among truth values
    return text[: ends[kept - 1]] if kept else ""
