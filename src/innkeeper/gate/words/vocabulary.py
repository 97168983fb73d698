"""TierVocabulary: the words, numbers and cues of all languages, and where each stands in a view of a text.

Words with borders are looked up where a word of the text begins. What has none, in scripts without spaces and in letters spelled
out one by one, is searched for by an automaton. There are four, each made when it is first asked for and only once: with borders
around words or without, and with ``l`` written ``i`` or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from innkeeper.gate.words.languages import Term
from innkeeper.gate.words.prefix_index import UNSPACED, PrefixIndex
from innkeeper.gate.words.tables import AHEAD, STEM, Form, Number, Owners, WordRole, merged_lines, tables, unspaced
from innkeeper.prompt.typed.once import once
from innkeeper.text.views import TextView


class Rights(NamedTuple):
    """The forms that what stands behind a number may be of: those without a left side, and all of them."""

    alone: tuple[Form, ...] = ()
    all: frozenset[Form] = frozenset()


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


_FEWEST_LOOSE: Final = 4
"""From so many letters on, a word counts where its borders cannot be seen."""

_NO_ADVERBS: Final = frozenset(
    {"and", "to", "or", "than", "between", "no", "de", "que", "o", "e", "ou", "a", "i", "um", "auf", "mit", "von"}
)
"""Small words behind which a number is one of several, or counted."""

_MET: Final = 8_192
"""So many words of texts are remembered with what begins with them."""

_Line: TypeAlias = tuple[tuple[int, ...], dict[str, Owners]]
"""Phrases that begin alike: their lengths, and what each stands for."""

_Begun: TypeAlias = tuple[tuple[tuple[int, Owners], ...], dict[str, str | _Line]]
"""What begins with a word of a text: the lengths of what ends with or in it, with their owners; phrases by what follows it."""

_Occurrence: TypeAlias = tuple[int, int, Owners]
"""Where a word ends and begins, the space behind a whole word included, and what it stands for."""


class TierVocabulary:
    """All languages, for one kind of view."""

    def __init__(self, *, loose: bool, merged: bool) -> None:
        self.loose, self.merged = loose, merged
        self._tables = tables()
        self._words, self._stems = self._tables.words, self._tables.stems
        if merged:
            self._words, self._stems = merged_lines(self._words, "\n"), merged_lines(self._stems, "\t")
        self._met: dict[str, _Begun] = {}
        self._turned = (
            {} if loose or merged else {way: frozenset(each.split()) for way, each in self._tables.turned.items()}
        )
        self._telling = frozenset[str]().union(*self._turned.values())
        self._machine = once(self._made_machine)
        self._fitting: dict[tuple[int, str, bool, bool], Rights] = {}
        self.connectors = self._listed("connectors")
        self.leads = self._listed("leads")
        self.persons = self._listed("persons")
        self.labels = self._listed("labels")
        self.adjectives = self._listed("adjectives")
        self.linking = self._listed("linking")
        self.sites = self._listed("sites")
        self.copulas = self._listed("copulas")
        self.small_numbers = self._tables.lists["small_numbers"]
        self.adverbs = self.leads - self.copulas - _NO_ADVERBS

    def fold(self, word: str) -> str:
        """A word of the tables as it stands in views of this kind."""
        if self.loose:
            word = word.replace(" ", "")
        return word.replace("l", "i") if self.merged else word

    def _listed(self, name: str) -> frozenset[str]:
        return (
            frozenset(map(self.fold, self._tables.lists[name]))
            if self.loose or self.merged
            else self._tables.lists[name]
        )

    @cached_property
    def unspaced_numbers(self) -> Mapping[str, int]:
        """Numbers in words of languages without spaces, which have one plain view."""
        return {} if self.loose or self.merged else unspaced().numbers

    @cached_property
    def rights(self) -> PrefixIndex[Form]:
        """What stands behind a number, with its forms."""
        index: PrefixIndex[Form] = PrefixIndex(loose=self.loose)
        for right, kind, language, ordinal, lefts in self._tables.rights:
            if not (UNSPACED.search(right) and (self.loose or self.merged)):
                for left in self._tables.lefts[lefts]:
                    form = Form(kind, left, right, language, ordinal)
                    index.add(self.fold(right), form, is_open=right.endswith("*"))
        return index

    measures = cached_property[PrefixIndex[None]](lambda self: self._index("measures"))
    objects = cached_property[PrefixIndex[None]](lambda self: self._index("objects"))
    pictures = cached_property[PrefixIndex[None]](lambda self: self._index("pictures"))
    followers = cached_property[PrefixIndex[None]](lambda self: self._index("followers"))

    def _index(self, name: str) -> PrefixIndex[None]:
        index: PrefixIndex[None] = PrefixIndex(loose=self.loose)
        for word in self._tables.indices[name]:
            index.add(self.fold(word), None, is_open=word.endswith("*"))
        return index

    def hits(self, view: TextView) -> Hits:
        """Everything that stands in a view."""
        telling = self._telling.intersection(view.words)
        turned = {way for way, words in self._turned.items() if not words.isdisjoint(telling)}
        hits = Hits([], [], [], {}, [], set(), turned, {}, [])
        text, lefts = f"{view.text} ", hits.lefts
        harmless: list[tuple[int, int]] = []
        for end, start, owners in self._occurrences(view, text):
            stop = end - 1 if text[end - 1] == " " else end
            for role, value in owners:
                if role == WordRole.TERM:
                    hits.terms.append((start, stop, value))
                elif role == WordRole.LEFT:
                    lefts[stop] = (*known, *value) if (known := lefts.get(stop)) else value
                elif role == WordRole.NUMBER:
                    goes_on = stop == end and not (self.loose or UNSPACED.match(text, end - 1))
                    hits.numbers.append((start, text.find(" ", stop) if goes_on else stop, value))
                elif role == WordRole.HARMLESS:
                    harmless.append((start, stop))
                else:
                    _keep(hits, role, start, stop, value)
        return hits._replace(terms=_outermost(hits.terms, _undepicted(harmless, hits.terms))) if hits.terms else hits

    def _occurrences(self, view: TextView, text: str) -> list[_Occurrence]:
        """The words in a view, by their ends."""
        occurrences = [] if self.loose else self._bordered(view.words, text)
        if self.loose or not (self.merged or text.isascii() or UNSPACED.search(text) is None):
            machine, words = self._machine()
            for number, start, end in machine.find_matches_as_indexes(view.text, overlapping=True):
                occurrences.append((end, start, words[number]))
        occurrences.sort(key=_SPAN)
        return occurrences

    def _bordered(self, words: list[str], text: str) -> list[_Occurrence]:
        """The words with borders, looked up where each word of the text begins."""
        occurrences: list[_Occurrence] = []
        met, at, size = self._met, 0, len(text)
        for word in words:
            behind = at + len(word) + 1
            inside, following = met.get(word) or self._begun(word)
            for length, owners in inside:
                occurrences.append((at + length, at, owners))
            if following and (line := following.get(ahead := text[behind : behind + AHEAD])) is not None:
                if isinstance(line, str):
                    phrases = self._opened(line)
                    line = following[ahead] = (tuple({len(phrase): None for phrase in phrases}), phrases)
                for length in line[0]:
                    if (phrase := line[1].get(text[at : at + length])) is not None and at + length <= size:
                        occurrences.append((at + length, at, phrase))  # noqa: PERF401 - as above
            at = behind
        return occurrences

    def _begun(self, word: str) -> _Begun:
        """What begins with a word of a text."""
        if len(self._met) >= _MET:
            self._met.clear()
        lines: dict[str, str] = {}
        for line in self._words.get(word, "").split("\n"):
            ahead = self.fold(line.partition("\t")[0].partition(" ")[2][:AHEAD])
            lines[ahead] = f"{lines[ahead]}\t{line}" if ahead in lines else line
        inside = self._opened(lines.pop("", "")) | self._opened(self._stems.get(word[:STEM], ""))
        begun = self._met[word] = (
            tuple((len(each), owners) for each, owners in inside.items() if f"{word} ".startswith(each)),
            {**lines},
        )
        return begun

    def _opened(self, line: str) -> dict[str, Owners]:
        """The words of a line as they stand in views of this kind, each with what it stands for."""
        words: dict[str, Owners] = {}
        for word, owners in self._words_in(line):
            written = word.replace("l", "i") if self.merged else word
            words[written] = distinct((*words[written], *owners)) if written in words else owners
        return words

    def _words_in(self, line: str) -> Iterator[tuple[str, Owners]]:
        parts = line.split("\t") if line else ()
        for word, number in zip(parts[::2], parts[1::2], strict=True):
            yield word, owners_of(word.rstrip(" "), self._tables.meanings[int(number)])

    def _made_machine(self) -> tuple[Any, list[Owners]]:
        """An automaton of the words without borders, and what they stand for."""
        from ahocorasick_rs import AhoCorasick

        words = (
            self._run_together()
            if self.loose
            else {word: owners_of(word, owners) for owners, each in unspaced().words for word in each}
        )
        return AhoCorasick(list(words), store_patterns=False), list(words.values())

    def _run_together(self) -> dict[str, Owners]:
        """The words as they are where their borders cannot be seen: shorter ones do not count by themselves."""
        together: dict[str, Owners] = {}
        lines = (line for each in self._tables.words.values() for line in each.split("\n"))
        for line in (*lines, *self._tables.stems.values()):
            for word, each in self._words_in(line):
                written = self.fold(word)
                owners = tuple(owner for owner in each if len(written) >= _FEWEST_LOOSE or owner[0] != WordRole.TERM)
                if owners:
                    together[written] = distinct((*together.get(written, ()), *owners))
        return together

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


_NO_RIGHTS: Final = Rights()
_SPAN: Final = itemgetter(0, 1)


def fits(form: Form, number: Number, *, foreign: bool = False) -> bool:
    """Whether a form takes a number in words: of its own language, or plain years of any."""
    if form.ordinal != number.ordinal:
        return False
    return form.language == number.language or (foreign and form.kind in _PLAIN_YEARS and not form.left)


def owners_of(word: str, owners: Owners) -> Owners:
    """What a word stands for, with the values as they are used; what repeats the word is not in the tables."""
    return tuple((role, _value(word, role, value)) for role, value in owners)


def _value(word: str, role: int, value: Any) -> Any:
    if role == WordRole.TERM:
        entry, category, *rest = value
        return Term(entry or entry_of(category, word), category, *rest)
    if role == WordRole.LEFT:
        return tuple(Form(kind, word, right, language, ordinal) for kind, _, right, language, ordinal in value)
    if role == WordRole.CLOSED:
        return value[0], Number(*value[1])
    return Number(*value) if role == WordRole.NUMBER else value


def entry_of(category: str, word: str) -> str:
    """The id of a word in decisions."""
    return f"{category}.{word.replace(' ', '-')}"


def distinct(owners: Owners) -> Owners:
    """Return each owner once, the forms as one, and of the terms of one class the one that weighs most."""
    best: dict[str, Any] = {}
    forms: dict[Any, None] = {}
    others: dict[tuple[int, Any], None] = {}
    for role, value in owners:
        if role == WordRole.LEFT:
            forms.update(dict.fromkeys(value))
        elif role != WordRole.TERM:
            others[role, value] = None
        elif value.category not in best or value.weight > best[value.category].weight:
            best[value.category] = value
    lefts = ((WordRole.LEFT, tuple(forms)),) if forms else ()
    return (*lefts, *((WordRole.TERM, term) for term in best.values()), *others)


_PLAIN_YEARS: Final = frozenset({"years", "spell"})


def _keep(hits: Hits, role: int, start: int, end: int, value: Any) -> None:
    if role == WordRole.CLOSED:
        hits.closed.append((start, end, value))
    elif role == WordRole.KIN:
        hits.kin.append((start, end))
    elif role == WordRole.BLOCKER:
        hits.blocked.add(end)
    elif role == WordRole.ASK:
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


_VOCABULARIES: Final = {
    (loose, merged): once(partial(TierVocabulary, loose=loose, merged=merged))
    for loose in (False, True)
    for merged in (False, True)
}


def vocabulary_of(view: TextView) -> TierVocabulary:
    """The vocabulary for a kind of view."""
    return _VOCABULARIES[view.loose, view.merged]()
