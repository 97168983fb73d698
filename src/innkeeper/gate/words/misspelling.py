"""Misspelling: words with a slip of the hand in them, and a text with such words put right.

Slips are those that leave a word readable: a letter doubled, left out or changed places, in long words another vowel, letters
of the same sound, the word backwards, and signs in the place of letters (``n*ked``). Only words that weigh much are looked
for, and no slip counts that is a word of its own: the data of a language lists those.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from innkeeper.gate.limits import ADULT_AGE
from innkeeper.gate.words.languages import Language, languages
from innkeeper.prompt.typed.once import once
from innkeeper.text.confusables import fold_word
from innkeeper.text.views import TextView, respelled

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


@once
def _slips() -> dict[str, str]:
    """The right word for each slip, of all languages. A word that is in the data itself is no slip."""
    known: set[str] = set()
    stems: dict[str, list[str]] = {}
    words: dict[str, None] = {}
    for language in languages():
        for word in _words(language):
            known.update(fold_word(word.replace("|", " ")).split())
            if word.endswith("*"):
                stem = fold_word(word)
                stems.setdefault(stem[:_STEM], []).append(stem)
        known.update(language.not_misspelt)
        words.update(dict.fromkeys(_weighty(language)))
    numbers = {word for language in languages() for word in _numbers(language)}
    stems_by_start = {start: tuple(listed) for start, listed in stems.items()}
    return {
        slip: word
        for word in words
        for slip in misspellings(word, short=word in numbers)
        if slip not in known and not slip.startswith(stems_by_start.get(slip[:_STEM], _NO_STEM))
    }


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


def _weighty(language: Language) -> Iterator[str]:
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


_MASKS: Final = "*#_%+~?^•●×&="
_MASKED: Final = re.compile(rf"(?<![^\W\d_])[^\W\d_]+(?:[{re.escape(_MASKS)}]{{1,4}}[^\W\d_]+)+")
_AS_STARS: Final = str.maketrans(dict.fromkeys(_MASKS, "*"))
_LONGEST: Final = 14
_SHORTEST: Final = 3


@once
def _hidden() -> dict[str, str]:
    """The word for each way to put stars into it: for one or two letters inside it, and for all its vowels."""
    spellings: dict[str, str] = {}
    for word in (word for language in languages() for word in _weighty(language)):
        if _SHORTEST <= len(word) <= _LONGEST and word.isalpha():
            for masked in _masks(word):
                spellings.setdefault(masked, word)
    return spellings


def _masks(word: str) -> Iterator[str]:
    for at in range(1, len(word) - 1):
        yield f"{word[:at]}*{word[at + 1 :]}"
        if at < len(word) - 2:
            yield f"{word[:at]}**{word[at + 2 :]}"
    inside = "".join("*" if letter in _VOWELS else letter for letter in word[1:-1])
    yield f"{word[0]}{inside}{word[-1]}"


def unmasked(text: str) -> str | None:
    """A text with the letters in their place that signs stand for, as long as before; None where there are no such words."""
    if not any(map(text.__contains__, _MASKS)):
        return None
    right = _MASKED.sub(_shown, text)
    return None if right == text else right


def _shown(match: re.Match[str]) -> str:
    return _hidden().get(match[0].lower().translate(_AS_STARS), match[0])


def put_right(view: TextView) -> TextView | None:
    """A view with its misspelt words put right, or None where it has none."""
    slips = _slips()
    words = view.words
    wrong = slips.keys() & set(words)
    return respelled(view, words, {word: slips[word] for word in wrong}) if wrong else None
