"""Slips: ways in which a hand slips in a word that stays readable, for the words of the data that weigh much.

A letter doubled, left out or changed places, in long words another vowel, letters of the same sound, and the word backwards. No
slip counts that is a word of its own: the data of a language lists those. They are packed once (`innkeeper.gate.words.packing`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from innkeeper.gate.limits import ADULT_AGE
from innkeeper.gate.words.languages import Language
from innkeeper.gate.words.tables import BEGIN
from innkeeper.text.confusables import fold_word

_DOUBLED: Final = 4
_SWAPPED: Final = 5
_LEFT_OUT: Final = 6
_BACKWARDS: Final = 6
_OTHER_VOWEL: Final = 7
"""From so many letters on a word is looked for with each of these slips."""

_SOUNDS: Final = (
    *(("sch", "sk"), ("c", "k"), ("ck", "k"), ("k", "c"), ("ph", "f"), ("x", "ks"), ("x", "cks"), ("y", "i")),
    *(("ee", "ea"), ("ea", "ee"), ("s", "z"), ("z", "s"), ("ch", "tch"), ("ou", "u"), ("ie", "ei"), ("ei", "ie")),
    *(("i", "y"), ("th", "f"), ("ll", "l"), ("tt", "t"), ("nn", "n"), ("rr", "r"), ("ss", "s"), ("u", "oo")),
)
"""Letters that are taken for one another by their sound."""

_FIRST: Final = 3
_VOWELS: Final = "aeiou"
_WEIGHS: Final = 0.6
_CATEGORIES: Final = frozenset({"age", "sexual", "minor_sexual"})


def misspellings(word: str, *, short: bool = False) -> Iterator[str]:
    """The slips of a folded word, in any order, the word itself not among them. ``short``: a letter less is enough for each."""
    size = len(word) + short
    if size < _DOUBLED:
        return
    if len(word) >= _BACKWARDS:
        yield word[::-1]
    if size >= _SWAPPED:
        yield from (word.replace(sound, other) for sound, other in _SOUNDS if sound in word)
    for at, letter in enumerate(word):
        before, after = word[:at], word[at + 1 :]
        yield before + letter * 2 + after
        if at and after and size >= _SWAPPED and after[0] != letter:
            yield before + after[0] + letter + after[1:]
        if at and size >= _LEFT_OUT:
            yield before + after
        if letter in _VOWELS and at and size >= _OTHER_VOWEL:
            yield from (before + vowel + after for vowel in _VOWELS if vowel != letter)


def slips_of(languages: Sequence[Language]) -> dict[str, dict[str, str]]:
    """The slips of each word, parted by spaces, by how they begin. A word that is in the data itself is no slip."""
    known: set[str] = set()
    stems: dict[str, list[str]] = {}
    words: dict[str, None] = {}
    for language in languages:
        for word in _words(language):
            known.update(fold_word(word.replace("|", " ")).split())
            if word.endswith("*"):
                stem = fold_word(word)
                stems.setdefault(stem[:_STEM], []).append(stem)
        known.update(language.not_misspelt)
        words.update(dict.fromkeys(word for word in weighty_words(language) if " " not in word))
    numbers = {word for language in languages for word in _numbers(language)}
    stems_by_start = {start: tuple(listed) for start, listed in stems.items()}
    right = {
        slip: word
        for word in words
        for slip in misspellings(word, short=word in numbers)
        if slip not in known and not slip.startswith(stems_by_start.get(slip[:_STEM], _NO_STEM))
    }
    slips: dict[str, dict[str, str]] = {}
    for slip, word in right.items():
        lines = slips.setdefault(slip[:BEGIN], {})
        lines[word] = f"{lines[word]} {slip}" if word in lines else slip
    return slips


_STEM: Final = 4
_NO_STEM: Final = ("\0",)


def _words(language: Language) -> Iterator[str]:
    """Every word and phrase of the data."""
    kinds: Iterable[Iterable[str]] = (
        language.numbers,
        language.ordinals,
        language.harmless,
        language.kin,
        language.measures,
        language.objects,
        language.durations,
        (word for weights in language.words.values() for words in weights.values() for word in words),
        (form for forms in language.forms.values() for form in forms),
    )
    for words in kinds:
        yield from words


def weighty_words(language: Language) -> Iterator[str]:
    """The words that are looked for with slips: single ones of age and sex, numbers, and what the data names."""
    if language.unspaced:
        return
    for term, word in language.terms:
        if term.category in _CATEGORIES and term.weight >= _WEIGHS and " " not in word:
            yield fold_word(word)
    yield from _numbers(language)
    for words in (language.ordinals, language.misspelt):
        for word in words:
            yield from fold_word(word.replace("|", " ")).split()


def _numbers(language: Language) -> Iterator[str]:
    """The numbers of years of a minor and of adulthood, in words."""
    for word in () if language.unspaced else language.numbers[_FIRST : ADULT_AGE + 1]:
        yield from fold_word(word.replace("|", " ")).split()
