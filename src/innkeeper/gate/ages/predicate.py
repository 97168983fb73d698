"""Predicates: numbers without a unit that are said of somebody: ``Mia is fifteen.``, ``Nora, fifteen, loves``, ``Tess: 13``.

The subject is any noun phrase or name; what takes a number away is what it counts, a thing that has it, or a label before it.
A number that stands alone is an age where one was asked for: ``How old is she? Fifteen.``
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from innkeeper.gate.words.vocabulary import TierVocabulary
from innkeeper.text.confusables import fold_word

LOOKED_AT: Final = 120
"""So many characters before a number are looked at."""

_TOKEN: Final = re.compile(r"[^\W_]+|[^\w\s]|\n")
_QUOTES: Final = frozenset("\"'’‘“”„«»*_`~「」『』")
_ENDS: Final = frozenset(".!?。！？…\n")
_BESIDE: Final = frozenset(",=(:–—-[/|，：、（")
_COLONS: Final = frozenset(":：")
_MOST: Final = 6
"""So many small words may stand between a verb and its number."""

_SHORTEST_NAME: Final = 2
_DATIVE: Final = re.compile(r"(?:[еуюий]|ой|ей|ам|ям)\Z")
"""The ending of whom a number of years is said in Russian, without a verb."""


class _Walked(NamedTuple):
    """What stands before the small words in front of a number, and whether there were any."""

    tokens: Sequence[str]
    skipped: bool


def is_predicated(before: str, words: TierVocabulary, *, language: str = "") -> bool:
    """Whether a number behind this text, which counts nothing, is said of somebody; ``language`` is that of its word."""
    tokens = _TOKEN.findall(before)
    left, skipped = _without_small_words(tokens, words)
    if not left:
        return False
    last = fold_word(left[-1])
    if last in words.copulas:
        return _is_somebody(left[:-1], words)
    if left[-1] in _BESIDE:
        return _is_named(left, words) or (skipped and _has_person(left, words))
    spoken_of = left[-1][0].isupper() or last in words.persons
    return language == "ru" and spoken_of and _DATIVE.search(left[-1].lower()) is not None


def _without_small_words(tokens: Sequence[str], words: TierVocabulary) -> _Walked:
    """The tokens without quotation marks and small words at their end, up to a verb."""
    at = len(tokens)
    skipped = False
    while at and len(tokens) - at < _MOST:
        token = tokens[at - 1]
        word = fold_word(token)
        if token not in _QUOTES and (word in words.copulas or word not in words.adverbs):
            break
        skipped = skipped or token not in _QUOTES
        at -= 1
    return _Walked(tokens[:at], skipped)


def _is_somebody(tokens: Sequence[str], words: TierVocabulary) -> bool:
    """Whether the subject before a verb may be somebody; what only points (``it is sixteen``) repeats what was said before."""
    left, _ = _without_small_words(tokens, words)
    while left and fold_word(left[-1]) in words.copulas:
        left, _ = _without_small_words(left[:-1], words)
    if not left or left[-1] in _ENDS:
        return True
    subject = fold_word(left[-1])
    if subject.isdigit():
        return False
    if subject in words.labels:
        return _has_person(left, words) and any(fold_word(each) in words.small_numbers for each in left)
    return True


def _is_named(tokens: Sequence[str], words: TierVocabulary) -> bool:
    """Whether a name or a word for a person stands before a sign: ``Nora, fifteen``."""
    if len(tokens) < _SHORTEST_NAME:
        return False
    name, folded = tokens[-2], fold_word(tokens[-2])
    if folded in words.small_numbers or folded in words.labels or not name[0].isalpha():
        return False
    if folded in words.persons:
        return True
    if not name[0].isupper() or len(name) < _SHORTEST_NAME or words.is_object(folded):
        return False
    return tokens[-1] not in _COLONS or not words.is_measure(folded)


def _has_person(tokens: Sequence[str], words: TierVocabulary) -> bool:
    return not words.persons.isdisjoint(map(fold_word, tokens))
