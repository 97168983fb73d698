"""Language: what the gate knows of one language: its numbers, the forms in which ages are written, and its words by class.

One file a language in ``gate/data``, reviewed as a resource of its own (dynamic-prompting reference, S10). Words are plain
dictionary words as public moderation lists have them, written without accents where folding takes those away. ``*`` at the end
of a word stands for any ending.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from innkeeper.gate.limits import MAX_LEXICON_BYTES
from innkeeper.prompt.errors import LimitError, Where
from innkeeper.prompt.typed.once import decode, once

DATA: Final = Path(__file__).parent.parent / "data"
LANGUAGES: Final = ("en", "zh", "ja", "ko", "es", "fr", "de", "pt", "ru", "it")
"""The languages whose ages and words the gate reads."""


class Term(NamedTuple):
    """A word with its class; ``low`` and ``high`` are years of life, of words of age."""

    entry: str
    category: str
    weight: float
    low: int = 0
    high: int = 0


class Language(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The data of one language.

    ``numbers`` are the words of 0 to 99 and ``ordinals`` those from the first on, other spellings after ``|``. ``forms`` are by
    what they mean (`innkeeper.gate.ages.age`), with ``{n}`` for a number and ``{o}`` for an ordinal. ``words`` are by
    category and by weight, those of ages by ``low-high weight``. ``measures`` follow a number that is no age,
    ``durations`` precede years that are none, and ``objects`` are what has years and is no person. ``harmless`` phrases say
    something else than the words inside them. ``misspelt`` words are looked for with a slip of the hand, except for the
    slips in ``not_misspelt``. In forms, words, words for kin and harmless phrases ``(her|his|)`` stands for each of its
    alternatives.
    """

    language: str
    version: str
    numbers: tuple[str, ...]
    forms: Mapping[str, tuple[str, ...]]
    words: Mapping[str, Mapping[str, tuple[str, ...]]]
    ordinals: tuple[str, ...] = ()
    glued: tuple[str, ...] = ()
    """Words that are written together with the number: ``jährig``."""
    ranges: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    """What before a number makes it another one: ``hundred``."""
    durations: tuple[str, ...] = ()
    followers: tuple[str, ...] = ()
    """What may follow a number that only a pronoun makes an age; any other word makes it a count."""
    measures: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    kin: tuple[str, ...] = ()
    leads: tuple[str, ...] = ()
    """Small words after which a number that counts nothing may be an age, where one of ``persons`` stands before it."""
    copulas: tuple[str, ...] = ()
    """Those of ``leads``, and others, that say a number of whoever stands before them: ``is``, ``turned``, ``says``."""
    asks: tuple[str, ...] = ()
    """What asks for an age, or announces one: ``how old``."""
    persons: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()
    """Those of ``objects`` that show or tell of somebody: years behind a comma are of whom they show."""
    adjectives: tuple[str, ...] = ()
    """Words that describe a thing, and say nothing of who has the years beside it."""
    linking: tuple[str, ...] = ()
    """Words that may stand between a thing and its years, with ``leads`` and ``adjectives``: verbs, articles, ``of``."""
    sites: tuple[str, ...] = ()
    """Prepositions behind which a thing is only where something is, so that years are not its own."""
    labels: tuple[str, ...] = ()
    """Words before a number that name a thing by it, as ``chapter`` does, and such as begin a sentence without being a name."""
    speech: tuple[str, ...] = ()
    """Words for saying something."""
    harmless: tuple[str, ...] = ()
    misspelt: tuple[str, ...] = ()
    not_misspelt: tuple[str, ...] = ()
    unspaced: bool = False
    """Whether its words are not parted by spaces, or carry endings as in Korean."""

    @cached_property
    def terms(self) -> tuple[tuple[Term, str], ...]:
        """The words of the language, each with what it means."""
        return tuple(self._terms())

    def _terms(self) -> Iterator[tuple[Term, str]]:
        for category, weights in self.words.items():
            for key, words in weights.items():
                years, _, weight = key.rpartition(" ")
                low, _, high = years.partition("-")
                for word in words:
                    entry = f"{category}.{word.rstrip('*').replace(' ', '-')}"
                    yield Term(entry, category, float(weight), int(low or 0), int(high or 0)), word


@once
def languages() -> tuple[Language, ...]:
    """The packaged languages. Raises `LimitError` for a file beyond ``MAX_LEXICON_BYTES``."""
    return tuple(map(_read, LANGUAGES))


def _read(name: str) -> Language:
    data = (DATA / f"{name}.json").read_bytes()
    if len(data) > MAX_LEXICON_BYTES:
        raise LimitError(
            "the words of a language",
            limit="MAX_LEXICON_BYTES",
            allowed=MAX_LEXICON_BYTES,
            found=len(data),
            where=Where(asset=f"{name}.json"),
        )
    language = decode(data, Language)
    return msgspec.structs.replace(
        language,
        forms={kind: _expanded(forms) for kind, forms in language.forms.items()},
        words={
            name: {key: _expanded(each) for key, each in word_lists.items()}
            for name, word_lists in language.words.items()
        },
        harmless=_expanded(language.harmless),
        kin=_expanded(language.kin),
    )


_CHOICE: Final = re.compile(r"\(([^()]*)\)")


def _expanded(phrases: Iterable[str]) -> tuple[str, ...]:
    """Every phrase once for each of its alternatives."""
    return tuple(dict.fromkeys(each for phrase in phrases for each in _alternatives(phrase)))


def _alternatives(phrase: str) -> Iterator[str]:
    choices = [part.split("|") if at % 2 else [part] for at, part in enumerate(_CHOICE.split(phrase))]
    for parts in product(*choices):
        yield " ".join("".join(parts).split())
