"""Non-person ages: whether years are those of a thing: a whisky, a dog, a museum.

A thing has the years beside it where it stands before them as what the sentence is about, with nothing but linking words
between (``the erotic museum is twelve years old``), or where they describe it (``a twelve-year-old erotic novel``). A thing that
is only where somebody is (``in the car``), or that says what somebody does (``a car model``), has none.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from innkeeper.gate.words.prefix_index import UNSPACED
from innkeeper.gate.words.vocabulary import TierVocabulary
from innkeeper.text.confusables import fold_word
from innkeeper.text.views import TextView

_NEAR: Final = 12
"""Characters between a thing and its years at most, in scripts without spaces."""

_LONGEST: Final = 6
"""Characters of the longest thing in such a script."""

_FAR: Final = 48
"""Characters between a thing and its years at most, where words link them."""

_AROUND: Final = 80
"""So many characters before a thing or a number are looked at."""

_ADJECTIVES: Final = 2
"""How many words may describe a thing that follows its years."""

_ARTICLE: Final = 4
"""So many words before a thing a preposition may stand, with whoever it is about."""

_OF: Final = frozenset({"of", "von", "vom", "des", "de", "du", "del", "della", "di", "do", "da"})
"""What makes a thing that of whatever stands before: of somebody, where that is no thing."""

_AGENTS: Final = ("er", "ers", "or", "ors", "ist", "ists", "ess", "woman", "man", "girl", "boy", "lady")
"""Endings of words for people who do something with a thing."""

_ARTICLES: Final = frozenset(
    {"the", "le", "la", "les", "el", "los", "las", "il", "lo", "gli", "os", "as", "der", "die", "das", "dem", "den"}
)
_POSSESSIVES: Final = frozenset(
    {"her", "his", "my", "our", "your", "their", "ihr", "mein", "unser", "sein", "ma", "sa", "mi", "su"}
)
"""What a sentence about somebody's thing may begin with."""

_BEHIND_OBJECTS: Final = tuple(
    f" {fold_word(word)}"
    for word in (
        *("ans", "anos", "anni", "years", "jahre", "jahren", "alt", "лет", "года", "год"),
        *("demi", "medio", "meio", "mezzo"),
    )
)
"""Years that are not written as what describes a thing, like ``year-old`` is: what follows them is something else."""

_OF_PERSONS: Final = ("school", "french", "birthday")

_WORD: Final = re.compile(r"[^ ]+")
_STOP: Final = re.compile(r"[.!?。！？\n]")
_BREAK: Final = re.compile(r"[.!?;,:。！？；，、\n]")
_NONE: Final = 1_000


def text_between(view: TextView, original: str, start: int, end: int) -> str:
    """The text as given between two places of a view of it."""
    first = view.source_span(start - 1, start)[1] if start else 0
    return original[first : view.source_span(end, end + 1)[0]]


def sentence_of(text: str) -> str:
    """The last sentence of a text, as far as it goes."""
    return _STOP.split(text)[-1]


def is_broken(view: TextView, original: str, end: int) -> bool:
    """Whether a sentence or a part of one ends at a place of a view."""
    if not original or view.loose:
        return False
    last = view.source_span(end - 1, end)[1]
    return _BREAK.match(original[last : last + 2].lstrip()) is not None


class NonPersonAges:
    """The things in a view; ``given`` is the text that it is a view of."""

    def __init__(self, view: TextView, vocabulary: TierVocabulary, original: str) -> None:
        self._view, self._text, self._original, self._words = view, view.text, original, vocabulary
        self._spaced = view.text.isascii() and not view.loose

    def have(self, start: int, end: int, kind: str = "") -> bool:
        """Whether years at a place are those of a thing; years of school describe none."""
        return (not kind.startswith(_OF_PERSONS) and self._follow(end)) or (
            self._precede(start) and not self._is_of_somebody(end)
        )

    def _follow(self, end: int) -> bool:
        """Whether a thing follows, with words that describe it before it."""
        at = end
        if self._text.endswith(_BEHIND_OBJECTS, 0, end):
            return False
        if self._text[at : at + 1].isalpha() and not (self._view.loose or UNSPACED.match(self._text, at)):
            at = self._text.find(" ", at)  # the ending of a word such as ``jährig``
        words = self._words
        for _ in range(_ADJECTIVES + 1):
            stop, is_object = words.objects.at(self._text, at)
            if is_object:
                return not (self._is_broken(end) or self._is_of_somebody(stop))
            stop = self._text.find(" ", at + 1)
            if stop < 0 or self._text[at + 1 : stop] not in words.adjectives:
                return False
            at = stop
        return False

    def _is_of_somebody(self, end: int) -> bool:
        """Whether the word behind a thing is for a person: ``car model``, ``violin player``."""
        word = _WORD.match(self._text, end + 1)
        if word is None or self._is_broken(end):
            return False
        return word[0] in self._words.persons or word[0].endswith(_AGENTS)

    def _precede(self, start: int) -> bool:
        """Whether a thing stands before, and is what the sentence is about."""
        if not self._spaced and (self._view.loose or UNSPACED.search(self._text, max(0, start - _NEAR), start)):
            return self._precede_unspaced(start)
        words, end, has_noun, is_of = self._words, start, False, False
        while start - end <= _FAR:
            first, end = self._word_before(end)
            word = self._text[first:end]
            if word in _OF or word in _ARTICLES or (word in words.sites and word not in words.linking):
                if not has_noun and (is_of or word not in _OF or self._text[end:start].strip()):
                    return False  # ``the picture of a fifteen-year-old``
                is_of = is_of or not has_noun
            elif not word or (word in words.persons and word not in words.linking and word not in words.leads):
                return False
            elif word not in words.leads:
                stop = self._object_at(first, end)
                if stop > 0 and not self._is_site(first):
                    return not (is_of and words.pictures.at(self._text, first)[1]) and self._goes_on(first, stop, start)
                if stop < 0 and not self._links(first, word):
                    return False
                has_noun = has_noun or stop > 0 or (word not in words.adjectives and word not in words.linking)
            end = first
        return False

    def _precede_unspaced(self, start: int) -> bool:
        """Whether a thing stands before in a script without spaces, where no word is looked at between them."""
        for first in range(start - 1, max(0, start - _NEAR - _LONGEST) - 1, -1):
            stop, is_object = self._words.objects.at(self._text, first)
            if is_object and 0 <= start - stop <= _NEAR and self._goes_on(first, stop, start):
                return True
        return False

    def _word_before(self, end: int) -> tuple[int, int]:
        """Where the word begins and ends that stands before a place."""
        while end > 0 and self._text[end - 1] == " ":
            end -= 1
        return self._text.rfind(" ", 0, end) + 1, end

    def _object_at(self, first: int, end: int) -> int:
        """Where a thing ends that is this word, or this one and the one before; -1 where it is none."""
        stop, is_object = self._words.objects.at(self._text, first)
        if is_object:
            return stop
        stop, is_object = self._words.objects.at(self._text, self._word_before(first)[0])
        return stop if is_object and stop == end else -1

    def _links(self, at: int, word: str) -> bool:
        """Whether a word links a thing to its years, or says where or of what the thing is: ``in Lyon``."""
        words = self._words
        if (
            word in words.adjectives or word in words.linking
        ):  # ``canary, a nude twelve-year-old``: who is described is a person
            return word in words.linking
        first, end = self._word_before(at)
        before = self._text[first:end]
        if before in _ARTICLES:
            before = self._text[slice(*self._word_before(first))]
        where = before in words.sites or before in _OF
        return where and word not in words.persons and not word.endswith(_AGENTS)

    def _is_site(self, first: int) -> bool:
        """Whether a thing is only where somebody is, or what somebody is of: ``in the car``, ``the maid of the hotel``."""
        clause = _BREAK.split(self._between(max(0, first - _AROUND), first))[-1].split()
        before = self._text[max(0, first - _AROUND) : first].split()[-min(len(clause), _ARTICLE) or _NONE :]
        if not self._words.sites.isdisjoint(before):
            return True
        owners = [owner for owner, word in pairwise(before) if word in _OF]
        return not all(self._words.objects.at(owner, 0)[1] for owner in owners)

    def _goes_on(self, first: int, last: int, start: int) -> bool:
        """Whether a sentence goes on from a thing to its years: after one comma at most, where it has shown nobody."""
        breaks = _BREAK.findall(self._between(last, start))
        if not breaks:
            return True
        if breaks != [","] or self._has_person(start) or self._words.pictures.at(self._text, first)[1]:
            return False
        return _BREAK.search(sentence_of(self._between(max(0, first - _AROUND), first))) is None

    def _has_person(self, start: int) -> bool:
        """Whether one of the words before a number is for a person."""
        before = self._text[max(0, start - _AROUND) : start].split()
        if before and before[0] in _POSSESSIVES:
            del before[0]
        return not self._words.persons.isdisjoint(before)

    def _between(self, start: int, end: int) -> str:
        return text_between(self._view, self._original, start, end)

    def _is_broken(self, end: int) -> bool:
        return is_broken(self._view, self._original, end)
