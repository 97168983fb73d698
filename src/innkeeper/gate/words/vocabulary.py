"""TierVocabulary: the words, numbers and cues of all languages in one automaton, and where each stands in a view of a text.

Four are made, each when it is first asked for and only once: with borders around words or without, for letters that were
spelled out one by one, and with ``l`` written ``i`` or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from innkeeper.gate.ages.age import BARE
from innkeeper.gate.limits import ADULT_AGE
from innkeeper.gate.words.languages import Language, Term, languages
from innkeeper.gate.words.patterns import turned_words
from innkeeper.gate.words.prefix_index import UNSPACED, PrefixIndex
from innkeeper.prompt.typed.once import once
from innkeeper.text.confusables import fold_word
from innkeeper.text.encodings import atbash, rot13
from innkeeper.text.views import TextView


class Number(NamedTuple):
    """A number in words; ``language`` is empty for figures."""

    value: int
    language: str = ""
    ordinal: bool = False


class Form(NamedTuple):
    """A form of an age: what stands left and right of its number, and what it means."""

    kind: str
    left: str
    right: str
    language: str
    ordinal: bool = False


class Rights(NamedTuple):
    """The forms that what stands behind a number may be of: those without a left side, and all of them."""

    alone: tuple[Form, ...] = ()
    all: frozenset[Form] = frozenset()


_Owners: TypeAlias = tuple[tuple[int, Any], ...]
"""What a key of the automaton stands for: roles, each with its term, number, form or language."""


class Hits(NamedTuple):
    """What a vocabulary finds in a view; every list holds (start, end, what) in the order of the ends."""

    terms: list[tuple[int, int, Term]]
    numbers: list[tuple[int, int, Number]]
    closed: list[tuple[int, int, tuple[str, Number]]]
    """Numbers in words with their cues, in languages without spaces: (kind, number)."""
    lefts: dict[int, tuple[Form, ...]]
    """Cues that end before a number, by their end."""
    kin: list[tuple[int, int]]
    blocked: set[int]
    """Where a number goes on to a larger one: ends of ``hundred``."""
    turned: set[str]
    """In which other way the text seems to be written: ``rot13`` or ``back``."""
    durations: dict[int, set[str]]
    """Ends of words that make years a span of time, with their languages."""
    asks: list[int]
    """Ends of what asks for an age."""


_TERM, _NUMBER, _CLOSED, _LEFT, _KIN, _BLOCKER, _DURATION, _HARMLESS, _TURNED, _ASK = range(10)
_ROT13: Final = ((_TURNED, "rot13"),)
_BACKWARDS: Final = ((_TURNED, "back"),)
_ATBASH: Final = ((_TURNED, "atbash"),)
_FEWEST_LOOSE: Final = 4
"""From so many letters on, a word counts where its borders cannot be seen."""

_SPACED: Final = "ko"
"""The language without borders of words that parts numbers from what belongs to them by spaces."""

_NO_ADVERBS: Final = frozenset(
    {"and", "to", "or", "than", "between", "no", "de", "que", "o", "e", "ou", "a", "i", "um", "auf", "mit", "von"}
)
"""Small words behind which a number is one of several, or counted."""

_ABOUT_ADULTHOOD: Final = frozenset({"under", "over"})
_ABOUT: Final = 5
"""How far from adulthood a limit still says something of it, in years."""


class TierVocabulary:
    """All languages, compiled for one kind of view."""

    def __init__(self, *, loose: bool, merged: bool) -> None:
        self.loose, self.merged = loose, merged
        self._owners: dict[str, _Owners] = {}
        self._fitting: dict[tuple[int, str, bool, bool], Rights] = {}
        self.rights: PrefixIndex[Form] = PrefixIndex(loose=loose)
        self.measures: PrefixIndex[None] = PrefixIndex(loose=loose)
        self.objects: PrefixIndex[None] = PrefixIndex(loose=loose)
        self.pictures: PrefixIndex[None] = PrefixIndex(loose=loose)
        self.followers: PrefixIndex[None] = PrefixIndex(loose=loose)
        self.connectors: set[str] = set()
        self.leads: set[str] = set()
        self.persons: set[str] = set()
        self.labels: set[str] = set()
        self.adjectives: set[str] = set()
        self.linking: set[str] = set()
        self.sites: set[str] = set()
        self.copulas: set[str] = set()
        self.small_numbers: set[str] = set(map(str, range(BARE[1])))
        self.unspaced_numbers: dict[str, int] = {}
        """Numbers in words of languages without spaces."""
        for language in languages():
            self._add(language)
        self.adverbs = self.leads - self.copulas - _NO_ADVERBS
        from ahocorasick_rs import AhoCorasick

        self._patterns = [owners if len(owners) == 1 else _distinct(owners) for owners in self._owners.values()]
        self._machine = AhoCorasick(list(self._owners), store_patterns=False)
        del self._owners

    def fold(self, text: str) -> str:
        """A word of the data as it stands in views of this kind."""
        folded = fold_word(text)
        if self.loose:
            folded = folded.replace(" ", "")
        return folded.replace("l", "i") if self.merged else folded

    def hits(self, view: TextView) -> Hits:
        """Everything that stands in a view."""
        hits = Hits([], [], [], {}, [], set(), set(), {}, [])
        text, patterns, lefts = f" {view.text} ", self._patterns, hits.lefts
        harmless: list[tuple[int, int]] = []
        for index, start, end in self._machine.find_matches_as_indexes(text, overlapping=True):
            is_word = text[start] == " "  # keys begin with a space, and end in one unless their word may go on
            first, stop = (start, end - 2 if text[end - 1] == " " else end - 1) if is_word else (start - 1, end - 1)
            for role, value in patterns[index]:
                if role == _TERM:
                    hits.terms.append((first, stop, value))
                elif role == _LEFT:
                    lefts[stop] = (*known, *value) if (known := lefts.get(stop)) else value
                elif role == _NUMBER:
                    # A word that may go on takes its ending along; the view is one character before the text.
                    last = text.find(" ", stop + 1) - 1 if is_word and text[end - 1] != " " else stop
                    hits.numbers.append((first, last, value))
                elif role == _HARMLESS:
                    harmless.append((first, stop))
                else:
                    _keep(hits, role, first, stop, value)
        return hits._replace(terms=_outermost(hits.terms, _undepicted(harmless, hits.terms))) if hits.terms else hits

    def is_object(self, word: str) -> bool:
        """Whether a word is for a thing that has years."""
        return bool(self.objects.at(word, 0)[1])

    def is_measure(self, word: str) -> bool:
        """Whether a word is for what numbers count."""
        return bool(self.measures.at(word, 0)[1])

    def behind(self, text: str, end: int, number: Number | None, *, foreign: bool) -> tuple[int, Rights]:
        """What stands behind a number, and where it ends; ``foreign``: years may be those of another language."""
        stop, forms = self.rights.at(text, end)
        if not forms:
            return stop, _NO_RIGHTS
        language, ordinal = (number.language, number.ordinal) if number else ("", False)
        key = (id(forms), language, ordinal, foreign)  # the lists of forms live as long as the vocabulary
        known = self._fitting.get(key)
        if known is None:
            fitting = [form for form in forms if number is None or fits(form, number, foreign=foreign)]
            known = Rights(tuple(form for form in fitting if not form.left), frozenset(fitting))
            self._fitting[key] = known
        return stop, known

    def _add(self, language: Language) -> None:
        self._add_terms(language)
        self._add_cues(language)
        forms = list(_forms(language))
        for form in forms:
            if form.left:
                self._own((form.left,), ((_LEFT, (form,)),))
            if form.right and not (UNSPACED.search(form.right) and (self.loose or self.merged)):
                self.rights.add(self.fold(form.right), form, is_open=form.right.endswith("*"))
        self._add_numbers(language, forms)

    def _add_terms(self, language: Language) -> None:
        for term, word in language.terms:
            self._own((word,), ((_TERM, term),))
        if not (self.loose or self.merged):
            words = _telltales(language)
            self._own(map(rot13, words), _ROT13)
            self._own((word[::-1] for word in words), _BACKWARDS)
            self._own(map(atbash, words), _ATBASH)

    def _add_cues(self, language: Language) -> None:
        cues = (
            (language.harmless, _HARMLESS),
            (language.kin, _KIN),
            (language.blockers, _BLOCKER),
            (language.asks, _ASK),
        )
        for words, role in (*cues, (language.durations, _DURATION)):
            self._own(words, ((role, language.language),))
        lists = (
            (language.measures, self.measures),
            (language.objects, self.objects),
            (language.pictures, self.pictures),
        )
        for words, index in (*lists, (language.followers, self.followers)):
            for word in words:
                index.add(self.fold(word), None, is_open=word.endswith("*"))
        for known, listed in (
            (self.connectors, language.ranges),
            (self.leads, language.leads),
            (self.persons, language.persons),
            (self.labels, language.labels),
            (self.adjectives, language.adjectives),
            (self.linking, language.linking),
            (self.sites, language.sites),
            (self.copulas, language.copulas),
        ):
            known.update(map(self.fold, listed))

    def _add_numbers(self, language: Language, forms: list[Form]) -> None:
        for value, spellings in enumerate(language.numbers):
            number = Number(value, language.language)
            for word in map(fold_word, spellings.split("|")):
                self.small_numbers.add(word)
                if not language.unspaced:
                    self._own((word,), ((_NUMBER, number),))
                    self._own((f"{word}{glue}" for glue in language.glued), ((_CLOSED, ("years", number)),))
                elif not (self.loose or self.merged):  # its words have one plain view
                    self.unspaced_numbers.setdefault(word, value)
                    self._add_closed(number, word, forms)
        for value, spellings in enumerate(language.ordinals, 1):
            self._own(spellings.split("|"), ((_NUMBER, Number(value, language.language, ordinal=True)),))

    def _add_closed(self, number: Number, word: str, forms: list[Form]) -> None:
        """A number with its cues, one word. Those of adults are needed only where the words of a minor are part of theirs."""
        near = abs(number.value - ADULT_AGE) < _ABOUT
        owners: dict[str, _Owners] = {}
        for form in forms:
            plain = form.kind == "years" and not form.left
            if plain or (near if form.left or form.kind in _ABOUT_ADULTHOOD else number.value < ADULT_AGE):
                owner = owners.setdefault(form.kind, ((_CLOSED, (form.kind, number)),))
                right = form.right.rstrip("*")
                for space in {"", " "} if plain or form.language == _SPACED else {""}:
                    before = f"{form.left}{space if form.left else ''}"
                    self._put(f"{before}{word}{space}{right}".strip(), owner)

    def _own(self, words: Iterable[str], owners: _Owners) -> None:
        for word in words:
            folded = self.fold(word.rstrip("*"))
            if not folded:
                continue
            if not folded.isascii() and UNSPACED.search(folded):
                if not (self.loose or self.merged):  # such scripts have one plain view
                    self._put(folded, owners)
            elif not self.loose:
                self._put(f" {folded}" if word.endswith("*") else f" {folded} ", owners)
            elif len(folded) >= _FEWEST_LOOSE or owners[0][0] != _TERM:
                self._put(folded, owners)

    def _put(self, key: str, owners: _Owners) -> None:
        others = self._owners.get(key)
        self._owners[key] = owners if others is None else others + owners


_NO_RIGHTS: Final = Rights()


def fits(form: Form, number: Number, *, foreign: bool = False) -> bool:
    """Whether a form takes a number in words: of its own language, or plain years of any."""
    if form.ordinal != number.ordinal:
        return False
    return form.language == number.language or (foreign and form.kind in _PLAIN_YEARS and not form.left)


_PLAIN_YEARS: Final = frozenset({"years", "spell"})


def _distinct(owners: _Owners) -> _Owners:
    """Return each owner once, the forms as one, and of the terms of one class the one that weighs most."""
    best: dict[str, Term] = {}
    forms: dict[Form, None] = {}
    others: dict[tuple[int, Any], None] = {}
    for role, value in owners:
        if role == _LEFT:
            forms.update(dict.fromkeys(value))
        elif role != _TERM:
            others[role, value] = None
        elif value.category not in best or value.weight > best[value.category].weight:
            best[value.category] = value
    lefts = ((_LEFT, tuple(forms)),) if forms else ()
    return (*lefts, *((_TERM, term) for term in best.values()), *others)


def _keep(hits: Hits, role: int, start: int, end: int, value: Any) -> None:
    if role == _CLOSED:
        hits.closed.append((start, end, value))
    elif role == _KIN:
        hits.kin.append((start, end))
    elif role == _TURNED:
        hits.turned.add(value)
    elif role == _BLOCKER:
        hits.blocked.add(end)
    elif role == _ASK:
        hits.asks.append(end)
    else:
        hits.durations.setdefault(end, set()).add(value)


def _undepicted(harmless: list[tuple[int, int]], terms: list[tuple[int, int, Term]]) -> list[tuple[int, int]]:
    """The harmless phrases but those that begin right behind a depicting word: no ``child process`` is naked, a child is."""
    if not harmless:
        return harmless
    depicting = {end + 1 for _, end, term in terms if term.category == "sexual"}
    return [phrase for phrase in harmless if phrase[0] not in depicting]


def _outermost(terms: list[tuple[int, int, Term]], harmless: list[tuple[int, int]]) -> list[tuple[int, int, Term]]:
    """The terms that lie in no longer one and in no harmless phrase."""
    if not harmless and _are_apart(terms):
        return terms
    covers = sorted({*harmless, *((start, end) for start, end, _ in terms)}, key=lambda cover: (cover[0], -cover[1]))
    harmless_covers = set(harmless)
    outer: set[tuple[int, int]] = set()
    reach = -1
    for start, end in covers:
        if end > reach:
            reach = end
            outer.add((start, end))
    return [term for term in terms if (term[0], term[1]) in outer and (term[0], term[1]) not in harmless_covers]


def _are_apart(terms: list[tuple[int, int, Term]]) -> bool:
    """Whether none lies in another: each begins and ends behind the one before, or is where that is."""
    last_start = last_end = -1
    for start, end, _ in terms:
        if (start <= last_start or end <= last_end) and (start, end) != (last_start, last_end):
            return False
        last_start, last_end = start, end
    return True


def _forms(language: Language) -> Iterator[Form]:
    for kind, texts in language.forms.items():
        for text in texts:
            ordinal = "{o}" in text
            left, _, right = text.partition("{o}" if ordinal else "{n}")
            keep = "*" if right.endswith("*") else ""
            yield Form(kind, fold_word(left), fold_word(right.rstrip("*")) + keep, language.language, ordinal)


def _telltales(language: Language) -> set[str]:
    """Words of Latin letters by which a text is known that was written in another way."""
    words = {word for term, word in language.terms if term.category in _REPORTED}
    words.update(spelling for spellings in language.numbers for spelling in spellings.split("|"))
    words |= turned_words(language.language)
    words.update(form for forms in language.forms.values() for text in forms for form in text.split())
    least = _FEWEST_TELLTALE if language.language == "en" else _FEWEST_TELLTALE + 1
    letters = {word for word in words if len(word) >= least and word.isascii() and word.isalpha()}
    return letters - turned_words("either_way")


_REPORTED: Final = frozenset({"age", "sexual", "romantic", "minor_sexual", "non_consent"})
_FEWEST_TELLTALE: Final = 4
_VOCABULARIES: Final = {
    (loose, merged): once(partial(TierVocabulary, loose=loose, merged=merged))
    for loose in (False, True)
    for merged in (False, True)
}


def vocabulary_of(view: TextView) -> TierVocabulary:
    """The vocabulary for a kind of view."""
    return _VOCABULARIES[view.loose, view.merged]()
