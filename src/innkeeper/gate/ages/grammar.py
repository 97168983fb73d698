"""Grammar of ages: what a text says about how old somebody is, by its numbers and the cues around them.

A mention is a number with a cue (``15 years old``, ``aged fifteen``, ``15f``), a school year, a birthday, a year of birth, or a
number that only a pronoun makes an age (``she's 15``). It has a range of years, a certainty, and where it can be told whom it is
about. The forms of each language are data (`innkeeper.gate.words.languages`); what a number means in
each kind of form is in `innkeeper.gate.ages.age`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Final, TypeVar

from innkeeper.gate.ages.age import PERHAPS, Age, YearRange, has_figures, years_of
from innkeeper.gate.ages.non_person import NonPersonAges, is_broken, sentence_of
from innkeeper.gate.ages.predicate import LOOKED_AT, is_predicated
from innkeeper.gate.words.tables import Form, Number
from innkeeper.gate.words.vocabulary import Hits, Rights, TierVocabulary, fits, vocabulary_of
from innkeeper.text.confusables import with_plain_signs
from innkeeper.text.views import TextView

T = TypeVar("T")


_LIMITS: Final = frozenset({"under", "over", "barred", "early birthday"})
"""Kinds whose cue before the number outweighs what stands behind it: ``not yet 18 years old``."""

_UNSURE: Final = frozenset({"bare", "teen", "under", "years", "spell", "over"})
"""Kinds that a measure behind the number ends: ``she is 15 minutes late``."""

_FRENCH_CLASS: Final = " en"
"""The end of a cue before an ordinal that is one of a class only where nothing is counted: ``est en troisième``."""

_OLD: Final = "old"
"""The end of a form that counts where a word follows it: ``two old friends``."""

_BARE_KINDS: Final = frozenset({"bare", "teen"})
_RANGED: Final = frozenset({"years", "spell", "bare", "teen"})
_NUMERALS: Final = frozenset("一二三四五六七八九十百")
"""What stands before a number in words that is the end of a larger one."""

_NEXT: Final = re.compile(r"[^\S\n]*(\S|\n)")
_NUMBERED: Final = re.compile(r"\d+:")
_FIGURES: Final = re.compile("[0-9]+")
_SUFFIX: Final = re.compile(r"(?:st|nd|rd|th|er|ere|eme|e|re|o|a|de|te)(?= |$)")
_LATIN: Final = 0x500
_LONGEST: Final = 4
_SEVERAL: Final = 2
_FOREIGN: Final = 5
"""From so many letters on, a number in words is one beside years in another language too: ``quinze years old``."""

_BEFORE_KIN: Final = 40
_AFTER_KIN: Final = 24
_NONE: Final = 1_000
_NAME_AND_VERB: Final = 2
_IN_YEAR: Final = re.compile(r" in ((?:19|20)\d\d)(?= |$)")
_TURNED: Final = frozenset({"turned", "turns", "turning", "became", "becomes"})
_WHEN: Final = frozenset({"last", "this", "next", "yesterday", "today"})
_WORD_AHEAD: Final = 12
_ANSWERED: Final = 60
"""So many characters after a question for an age a number answers it."""

_ANSWER: Final = re.compile(r"\W{0,3}(\S+)")
_LONGEST_ANSWER: Final = 8
_SHORT: Final = 4_096
_AROUND: Final = 80
_NAME_IS: Final = re.compile(r"(?:^|[\s\"'(])([^\W\d_a-zа-я][^\W\d_]+) [^\W\d_]+(?: [^\W\d_]+)?$")
"""A name and the verb that leads to a number, with one small word between them at most."""

_BEFORE_PERSON: Final = 80
"""So many characters before a number a person may be spoken of."""

_LEADING_SIGNS: Final = frozenset(",;:(—–=→>，：（、")
_MUCH_LESS: Final = frozenset("<＜")
_DASHES: Final = frozenset("-–—~〜/&")
_NO_AGE_SIGNS: Final = frozenset("%€$£¥°₽₩")
_PARTED: Final = re.compile(r"\d:\d|.{2,4}:\d|(?:..)?(?<!\d)[3-8]['’′]\d", re.DOTALL)
"""A time of a clock, and feet and inches."""


def read_ages(view: TextView, vocabulary: TierVocabulary, hits: Hits, original: str = "") -> list[Age]:
    """The ages in a view, places in it; ``given`` is the text that it is a view of, whose signs tell measures from ages."""
    text = view.text
    reader = _AgeReader(view, vocabulary, hits, original)
    ages: list[Age | None] = []
    for start, end, (kind, number) in _longest(hits.closed):
        if (
            start not in hits.blocked
            and text[start - 1 : start] not in _NUMERALS
            and (meaning := years_of(kind, number.value)) is not None
        ):
            ages.append(reader.mention(start, end, meaning, kind, ""))
    ages += reader.answers()
    numbers: list[tuple[int, int, Number | None]] = []
    if has_figures(text):
        numbers = [(*match.span(), None) for match in _FIGURES.finditer(text) if not _ends_word(text, match.start())]
    numbers += [each for each in _longest(hits.numbers)]  # noqa: C416 - a list of the wider type
    previous: tuple[int, int] | None = None
    for start, end, word in sorted(numbers, key=_START) if len(numbers) > 1 else numbers:
        if word is None and end - start > _LONGEST:
            continue
        value = int(text[start:end]) if word is None else word.value
        ages.append(reader.read(start, end, value, word, previous))
        previous = (end, value)
    return [age for age in ages if age is not None]


_START: Final = itemgetter(0)


def _ends_word(text: str, at: int) -> bool:
    """Whether figures that begin at a place stand at the end of a Latin or Cyrillic word."""
    before = text[at - 1 : at]
    return before.isalpha() and ord(before) <= _LATIN


def ages_in(view: TextView) -> list[Age]:
    """The ages in a view, by the vocabulary for it."""
    vocabulary = vocabulary_of(view)
    return read_ages(view, vocabulary, vocabulary.hits(view))


def _longest(spans: list[tuple[int, int, T]]) -> list[tuple[int, int, T]]:
    """Of those that overlap, those that begin first, and of these the longest."""
    if len(spans) < _SEVERAL:
        return spans
    longest: list[tuple[int, int, T]] = []
    reach = -1
    for item in sorted(spans, key=lambda each: (each[0], -each[1])):
        if item[1] > reach:
            reach = item[1]
            longest.append(item)
        elif longest and item[0] == longest[-1][0] and item[1] == longest[-1][1]:
            longest.append(item)
    return longest


class _AgeReader:
    def __init__(self, view: TextView, vocabulary: TierVocabulary, hits: Hits, original: str) -> None:
        self.view, self.text, self.vocabulary, self.hits, self.original = view, view.text, vocabulary, hits, original
        self.kin = sorted(hits.kin)
        self.non_person = NonPersonAges(view, vocabulary, original)

    @cached_property
    def lowered(self) -> str:
        return with_plain_signs(self.original).lower()

    @cached_property
    def less(self) -> bool:
        return any(map(self.original.__contains__, _MUCH_LESS))

    def read(
        self, start: int, end: int, value: int, number: Number | None, previous: tuple[int, int] | None
    ) -> Age | None:
        """The age that a number is, by its cues; none where it has none."""
        stop, rights = self._rights(start, end, number)
        blocked, before = self.hits.blocked, self.hits.lefts
        if start in blocked or start - 1 in blocked:
            return None
        near = before.get(start, ()) + before.get(start - 1, ())
        lefts = near and [
            form for form in near if (number is None or fits(form, number)) and (not form.right or form in rights.all)
        ]
        kind, form = _strongest(lefts, rights.alone) if lefts or rights.alone else _NO_FORM
        if form is None or (kind == "tag" and number is not None):
            return self._predicated(start, end, value, number) or self._perhaps(start, end, value, number)
        if kind == "spell" and lefts and self._is_span(start, form.language):
            kind, form = _strongest(lefts, ())  # a cue that has the same word in it: ``looks in her thirteen years``
        if form is None:
            return None
        if rights.alone or form.right:
            end = stop
        if self._is_measure(kind, form, start, end, alone=not rights.alone):
            return None
        if kind == "years" and self._is_below(start):
            kind = "under"
        low, value = self._range(start, value, previous)
        meaning = self._years(end, value, kind)
        if meaning is not None and low is not None and kind in _RANGED:
            meaning = (low, meaning[1], meaning[2])
        if meaning is None:
            return self._predicated(start, end, value, number)
        return self.mention(start, end, meaning, kind, form.left)

    def answers(self) -> Iterator[Age | None]:
        """The numbers in words of languages without spaces that stand right behind what asks for an age."""
        for end in self.hits.asks:
            known = self.vocabulary.unspaced_numbers
            answer = _ANSWER.match(self.text, end)
            if answer is None or not known:
                continue
            word = next((word for size in range(_LONGEST_ANSWER, 0, -1) if (word := answer[1][:size]) in known), "")
            meaning = years_of("bare", known[word]) if word else None
            if meaning is not None:
                first = answer.start(1)
                yield self.mention(first, first + len(word), meaning, "bare", "")

    def _predicated(self, start: int, end: int, value: int, number: Number | None) -> Age | None:
        """The age that a number without a cue is: it counts nothing, and is said of somebody or answers who asked for one."""
        meaning = self._years(end, value, "bare")
        at = bisect_right(self.hits.asks, start)
        asked = at > 0 and start - self.hits.asks[at - 1] <= _ANSWERED
        if (
            meaning is None
            or self.view.loose
            or not self.original
            or (number is not None and number.ordinal and not asked)
        ):
            return None
        if self._is_count(end) or self._is_measured(start, end):
            return None
        first = self.view.source_span(start, start + 1)[0]
        before = self.original[max(0, first - LOOKED_AT) : first]
        if asked or is_predicated(before, self.vocabulary, language=number.language if number else ""):
            return self.mention(start, end, meaning, "bare", "")
        return None

    def _perhaps(self, start: int, end: int, value: int, number: Number | None) -> Age | None:
        """The age that a number without a cue may be: it counts nothing, and it is said of a person or says all there is."""
        meaning = years_of(PERHAPS, value)
        if meaning is None or self.view.loose or not self.original or (number is not None and number.ordinal):
            return None
        if self._counts_next(start, end):
            return None
        far = max(0, start - _BEFORE_PERSON)
        before = self.text[far:start].split()
        if not self._may_be_of_person(before, start, end):
            return None
        if self._is_count(end) or self._is_measured(start, end):
            return None
        first = self.view.source_span(start, start + 1)[0]
        sentence = sentence_of(self.original[self.view.source_span(far, far + 1)[0] : first]).rstrip()
        before = before[-len(sentence.split()) or _NONE :]
        leads = (
            number is not None
        )  # what may lead to an age: a small word, a break, or nothing before a number in words
        if before:
            leads = before[-1] in self.vocabulary.leads or sentence[-1:] in _LEADING_SIGNS
        if leads and self._is_of_person(before, sentence):
            return self.mention(start, end, meaning, PERHAPS, " ".join(before[-1:]))
        return None

    def _counts_next(self, start: int, end: int) -> bool:
        """What is asked before `_is_count`, since it asks for no places: whether the next word stands right behind a number."""
        word = self.text[end : end + _WORD_AHEAD].split(" ", 2)[1:2]
        if not word:
            return False
        # A word that may follow an age leaves it one; not so one that describes what is counted: ``nine naked men``.
        stop, follows = self.vocabulary.followers.at(self.text, end)
        if follows and (word[0] not in self.vocabulary.adjectives or self._is_last(stop)):
            return False
        near = self._near(start, end)
        lowered = self.lowered if near is self.original else with_plain_signs(near).lower()
        return f"{self.text[start:end]} {word[0]}" in lowered

    def _near(self, start: int, end: int) -> str:
        """What was given about a part; all of a short text, which takes less than to ask for the place."""
        if len(self.original) <= _SHORT:
            return self.original
        first, last = self.view.source_span(start, end)
        return self.original[max(0, first - _AROUND) : last + _AROUND]

    def _is_last(self, end: int) -> bool:
        """Whether a part of a sentence ends behind a word, or goes on with a small one."""
        words = self.vocabulary
        following = self.text[end : end + _WORD_AHEAD].split(" ", 2)[1:2]
        if not following or is_broken(self.view, self.original, end):
            return True
        return following[0] in words.sites or following[0] in words.leads or bool(words.followers.at(self.text, end)[1])

    def _may_be_of_person(self, before: list[str], start: int, end: int) -> bool:
        """What is asked first, since it asks for no places: whether the answer of `_is_of_person` may be yes."""
        words = self.vocabulary
        if not words.persons.isdisjoint(before):
            return True
        last = before[-_NAME_AND_VERB:]
        if before[-1:] == last or before[-1] in words.leads:
            return True
        near = self._near(start, end)
        return any(word.capitalize() in near for word in last)

    def _is_of_person(self, before: list[str], sentence: str) -> bool:
        """Whether the words before a number have one for a person or a name, or lead to the number and do nothing else."""
        words = self.vocabulary
        if not words.persons.isdisjoint(before) or words.leads.issuperset(before):
            return True
        return (named := _NAME_IS.search(sentence)) is not None and named[1].lower() not in words.labels

    def _is_measure(self, kind: str, form: Form, start: int, end: int, *, alone: bool) -> bool:
        """Whether a number with its cue counts something else than years of life."""
        if form.right == _OLD and self._is_count(end):
            return True
        if kind == "tag" and form.right and self._is_headed(start):
            return True
        if kind == "spell":
            return self._is_span(start, form.language) or self._is_measured(start, end)
        if (kind in _BARE_KINDS or form.left.endswith(_FRENCH_CLASS)) and alone and self._is_count(end):
            return True
        unsure = kind in _BARE_KINDS or (alone and (kind in _UNSURE or kind == "tag"))
        return unsure and self._is_measured(start, end)

    def _is_headed(self, start: int) -> bool:
        """Whether a number numbers what follows a colon: ``Lot 12: a nude``."""
        if not self.original or self.view.loose:
            return False
        first = self.view.source_span(start, start + 1)[0]
        return _NUMBERED.match(self.original, first) is not None

    def _years(self, end: int, value: int, kind: str) -> YearRange | None:
        """What a number means, in the year behind it where there is one: ``was ten in 2024``."""
        year = _IN_YEAR.match(self.text, end) if kind == "bare" else None
        return years_of(kind, value) if year is None else years_of("born", int(year[1]) - value)

    def _is_count(self, end: int) -> bool:
        """Whether the word behind a number is one that it counts, as far as can be told."""
        if not self.original or self.view.loose or _IN_YEAR.match(self.text, end) or self._is_turned(end):
            return False
        after = _NEXT.match(self.original, self.view.source_span(end - 1, end)[1])
        return after is not None and after[1].isalnum() and not self.vocabulary.followers.at(self.text, end)[1]

    def _is_turned(self, end: int) -> bool:
        """Whether somebody turned a number of years when is said behind it: ``became fourteen over the summer``."""
        before, following = (
            self.text[max(0, end - _AROUND) : end].split(" ")[-2:],
            self.text[end + 1 : end + _WORD_AHEAD],
        )
        when = following.partition(" ")[0]
        return before[0] in _TURNED and (when in self.vocabulary.sites or when in _WHEN)

    def mention(self, start: int, end: int, meaning: YearRange, kind: str, cue: str) -> Age | None:
        """The age, with whom it is about; none where that is a thing."""
        if self.non_person.have(start, end, kind):
            return None
        low, high, certainty = meaning
        at = bisect_left(self.kin, (start - _BEFORE_KIN, 0))
        is_kin = at < len(self.kin) and self.kin[at][0] <= end + _AFTER_KIN
        return Age(start, end, low, high, certainty, kind, "kin" if is_kin else cue)

    def _rights(self, start: int, end: int, number: Number | None) -> tuple[int, Rights]:
        stop, rights = self.vocabulary.behind(self.text, end, number, foreign=end - start >= _FOREIGN)
        if (
            number is None
            and not rights.all
            and self.text[end : end + 1].isalpha()
            and (suffix := _SUFFIX.match(self.text, end))
        ):
            stop, unit = self.vocabulary.rights.at(self.text, suffix.end())
            forms = [form for form in unit if form.ordinal or form.kind.startswith(_OF_SCHOOL)]
            rights = Rights(tuple(form for form in forms if not form.left), frozenset(forms))
        return stop, rights

    def _is_measured(self, start: int, end: int) -> bool:
        """Whether what follows a number makes it a measure, or a sign beside it does."""
        if self.vocabulary.measures.at(self.text, end)[1] and not is_broken(self.view, self.original, end):
            return True
        if not self.original or self.view.loose:
            return False
        first, last = self.view.source_span(start, end)
        signs = {self.original[last : last + 1], self.original[max(0, first - 1) : first]}
        return (
            not signs.isdisjoint(_NO_AGE_SIGNS) or _PARTED.match(self.original, max(0, first - 2), last + 2) is not None
        )

    def _is_below(self, start: int) -> bool:
        """Whether the sign before a number says that it is less."""
        if start < 1 or not self.less:
            return False
        first = max(0, self.view.source_span(start, start + 1)[0] - 2)
        return not _MUCH_LESS.isdisjoint(self.original[first : first + 2])

    def _is_span(self, start: int, language: str) -> bool:
        """Whether a word before a number of years makes it a span of time."""
        return any(language in self.hits.durations.get(at, ()) for at in (start, start - 1))

    def _range(self, start: int, value: int, previous: tuple[int, int] | None) -> tuple[float | None, int]:
        """The lower end of a range that ends in this number, and the number with what a separator makes of it."""
        if previous is None or start - previous[0] > _BEFORE_KIN:
            return None, value
        between = self.text[previous[0] : start]
        if between == " " and self.original:
            last = self.view.source_span(previous[0] - 1, previous[0])[1]
            sign = self.original[last : last + 1]
            if sign == ",":
                return None, previous[1] * 1000 + value
            if sign == ".":
                return None, previous[1]
            is_range = sign in _DASHES
        else:
            is_range = between.strip() in self.vocabulary.connectors
        return (float(previous[1]), value) if is_range and previous[1] < value else (None, value)


_NO_FORM: Final[tuple[str, Form | None]] = ("", None)
_YEARS: Final = "years"
_OF_SCHOOL: Final = ("school", "french")


def _strongest(lefts: Sequence[Form], rights: Sequence[Form]) -> tuple[str, Form | None]:
    """The form that counts: a limit before the number, then what stands behind it, then any other cue before it."""
    if limits := [form for form in lefts if form.kind in _LIMITS]:
        form = max(limits, key=lambda form: len(form.left))  # ``nobody under`` says more than ``under``
        return form.kind, form
    for form in lefts:
        if form.right:
            return form.kind, form
    in_years = any(form.kind == _YEARS for form in lefts)
    for form in rights:
        if not (in_years and form.kind.startswith(_OF_SCHOOL)):  # ``aged 14. class class``: a cue of years says enough
            return form.kind, form
    if lefts:
        form = max(lefts, key=lambda form: len(form.left))
        return form.kind, form
    return _NO_FORM
