"""Packing: makes the tables of `innkeeper.gate.words.tables` from the data of the languages. ``scripts/gate.py`` runs it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from innkeeper.gate.ages.age import BARE
from innkeeper.gate.limits import ADULT_AGE
from innkeeper.gate.words.languages import DATA, Language, Term, languages
from innkeeper.gate.words.prefix_index import UNSPACED
from innkeeper.gate.words.slips import slips_of, weighty_words
from innkeeper.gate.words.tables import AHEAD, STEM, Form, Number, Owners, Unspaced, WordRole, WordTables
from innkeeper.gate.words.vocabulary import distinct, entry_of
from innkeeper.prompt.typed.once import once
from innkeeper.text.confusables import fold_word
from innkeeper.text.encodings import atbash, rot13

_SPACED: Final = "ko"
"""The language without borders of words that parts numbers from what belongs to them by spaces."""

_ABOUT_ADULTHOOD: Final = frozenset({"under", "over"})
_ABOUT: Final = 5
"""How far from adulthood a limit still says something of it, in years."""

_REPORTED: Final = frozenset({"age", "sexual", "romantic", "minor_sexual", "non_consent"})
_FEWEST_TELLTALE: Final = 4
_INDICES: Final = ("measures", "objects", "pictures", "followers")
_LISTS: Final = ("leads", "persons", "labels", "adjectives", "linking", "sites", "copulas")


def packed() -> dict[str, bytes]:
    """The tables, by their names, as their files have them."""
    packing = _Packing()
    for language in languages():
        packing.add(language)
    made = {"tables": packing.tables(), "unspaced": packing.unspaced(), "slips": slips_of(languages())}
    return {name: _lines(msgspec.to_builtins(table, order="deterministic")).encode() for name, table in made.items()}


def _lines(value: Any, depth: int = 0) -> str:
    """A table as JSON, each of its rows on a line."""
    rows: list[str] = []
    if isinstance(value, dict) and depth <= 1:
        rows = [f"{json.dumps(key, ensure_ascii=False)}:{_lines(each, depth + 1)}" for key, each in value.items()]
    elif isinstance(value, list | tuple) and depth == 1 and value and isinstance(value[0], list | tuple):
        rows = [_lines(each, depth + 1) for each in value]
    if not rows:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return "\n".join((begin, ",\n".join(rows), end if depth else f"{end}\n"))


class _Packing:
    """The words of the languages that were added, each with what it stands for."""

    def __init__(self) -> None:
        self._words: dict[str, Owners] = {}
        """Words with borders; whole ones have a space at their end."""
        self._unspaced: dict[str, Owners] = {}
        self._unspaced_numbers: dict[str, int] = {}
        self._forms: list[Form] = []
        self._small_numbers = set(map(str, range(BARE[1])))
        self._turned: dict[str, set[str]] = {"rot13": set(), "back": set(), "atbash": set()}

    def add(self, language: Language) -> None:
        """Add the words of a language."""
        for term, word in language.terms:
            self._own((word,), ((WordRole.TERM, term),))
        telltales = set(map(fold_word, _telltales(language)))
        self._turned["rot13"].update(map(rot13, telltales))
        self._turned["back"].update(word[::-1] for word in telltales)
        self._turned["atbash"].update(map(atbash, telltales))
        for words, role in (
            (language.harmless, WordRole.HARMLESS),
            (language.kin, WordRole.KIN),
            (language.blockers, WordRole.BLOCKER),
            (language.asks, WordRole.ASK),
            (language.durations, WordRole.DURATION),
        ):
            self._own(words, ((role, language.language),))
        forms = list(_forms(language))
        for form in forms:
            if form.left:
                self._own((form.left,), ((WordRole.LEFT, (form._replace(left=""),)),))
        self._forms += forms
        self._add_numbers(language, forms)

    def tables(self) -> WordTables:
        """The words with borders, and the lists."""
        meanings: dict[Owners, int] = {}
        words: dict[str, dict[str, str]] = {}
        stems: dict[str, str] = {}
        for word, owners in self._words.items():
            first, space, after = word.partition(" ")
            lines, name = (words.setdefault(first, {}), after[:AHEAD]) if space else (stems, word[:STEM])
            line = f"{word}\t{meanings.setdefault(distinct(owners), len(meanings))}"
            lines[name] = f"{lines[name]}\t{line}" if name in lines else line
        lefts: dict[tuple[str, ...], int] = {}
        rights: dict[tuple[str, str, str, bool, bool], list[str]] = {}
        for form in self._forms:
            if form.right:
                key = (form.right, form.kind, form.language, form.ordinal, bool(form.left))
                rights.setdefault(key, []).append(form.left)
        spoken = languages()
        indices = {name: [word for each in spoken for word in getattr(each, name)] for name in _INDICES}
        lists = {name: [word for each in spoken for word in getattr(each, name)] for name in _LISTS}
        lists |= {
            "connectors": [word for each in spoken for word in each.ranges],
            "small_numbers": [*self._small_numbers],
        }
        return WordTables(
            version="+".join(sorted({each.version for each in spoken})),
            meanings=tuple(meanings),
            words={first: "\n".join(lines.values()) for first, lines in words.items()},
            stems=stems,
            turned={way: " ".join(sorted(each)) for way, each in self._turned.items()},
            rights=tuple((*key[:4], lefts.setdefault(tuple(each), len(lefts))) for key, each in rights.items()),
            lefts=tuple(lefts),
            indices={name: tuple(dict.fromkeys(map(_open_folded, each))) for name, each in indices.items()},
            lists={name: frozenset(map(fold_word, each)) for name, each in lists.items()},
            numbers={word: value for value, each in enumerate(spoken[0].numbers) for word in each.split("|")},
            speech=_speech(spoken),
            patterns={name: _expanded(pattern) for name, pattern in _patterns()["patterns"].items()},
            weighty=tuple(dict.fromkeys(word for each in spoken for word in weighty_words(each))),
        )

    def unspaced(self) -> Unspaced:
        """The words without borders."""
        by_meaning: dict[Owners, list[str]] = {}
        for word, owners in self._unspaced.items():
            by_meaning.setdefault(distinct(owners), []).append(word)
        words = tuple((owners, tuple(each)) for owners, each in by_meaning.items())
        return Unspaced(words, self._unspaced_numbers)

    def _add_numbers(self, language: Language, forms: list[Form]) -> None:
        for value, spellings in enumerate(language.numbers):
            number = Number(value, language.language)
            for word in map(fold_word, spellings.split("|")):
                self._small_numbers.add(word)
                if language.unspaced:
                    self._unspaced_numbers.setdefault(word, value)
                    self._add_closed(number, word, forms)
                else:
                    self._own((word,), ((WordRole.NUMBER, number),))
                    self._own((f"{word}{glue}" for glue in language.glued), ((WordRole.CLOSED, ("years", number)),))
        for value, spellings in enumerate(language.ordinals, 1):
            self._own(spellings.split("|"), ((WordRole.NUMBER, Number(value, language.language, ordinal=True)),))

    def _add_closed(self, number: Number, word: str, forms: list[Form]) -> None:
        """A number with its cues, one word. Those of adults are needed only where the words of a minor are part of theirs."""
        near = abs(number.value - ADULT_AGE) < _ABOUT
        owners: dict[str, Owners] = {}
        for form in forms:
            plain = form.kind == "years" and not form.left
            if plain or (near if form.left or form.kind in _ABOUT_ADULTHOOD else number.value < ADULT_AGE):
                owner = owners.setdefault(form.kind, ((WordRole.CLOSED, (form.kind, number)),))
                right = form.right.rstrip("*")
                for space in {"", " "} if plain or form.language == _SPACED else {""}:
                    before = f"{form.left}{space if form.left else ''}"
                    _put(self._unspaced, f"{before}{word}{space}{right}".strip(), owner)

    def _own(self, words: Iterable[str], owners: Owners) -> None:
        for word in words:
            folded = fold_word(word.rstrip("*"))
            if folded and not folded.isascii() and UNSPACED.search(folded):
                _put(self._unspaced, folded, _shortened(owners, folded))
            elif folded:
                _put(self._words, folded if word.endswith("*") else f"{folded} ", _shortened(owners, folded))


def _put(words: dict[str, Owners], word: str, owners: Owners) -> None:
    words[word] = (*words.get(word, ()), *owners)


def _shortened(owners: Owners, word: str) -> Owners:
    """The owners of a word, without an id that the word gives."""
    role, value = owners[0]
    derived = role == WordRole.TERM and isinstance(value, Term) and value.entry == entry_of(value.category, word)
    return ((role, value._replace(entry="")),) if derived else owners


def _open_folded(word: str) -> str:
    return fold_word(word) + ("*" if word.endswith("*") else "")


def _forms(language: Language) -> Iterator[Form]:
    for kind, texts in language.forms.items():
        for text in texts:
            ordinal = "{o}" in text
            left, _, right = text.partition("{o}" if ordinal else "{n}")
            yield Form(kind, fold_word(left), _open_folded(right), language.language, ordinal)


def _telltales(language: Language) -> set[str]:
    """Words of Latin letters by which a text is known that was written in another way."""
    words = {word for term, word in language.terms if term.category in _REPORTED}
    words.update(spelling for spellings in language.numbers for spelling in spellings.split("|"))
    words |= frozenset(_patterns()["turned"].get(language.language, "").split())
    words.update(form for forms in language.forms.values() for text in forms for form in text.split())
    least = _FEWEST_TELLTALE if language.language == "en" else _FEWEST_TELLTALE + 1
    letters = {word for word in words if len(word) >= least and word.isascii() and word.isalpha()}
    return letters - frozenset(_patterns()["turned"]["either_way"].split())


_REFERENCE: Final = re.compile(r"\{\{(\w+)\}\}")


@once
def _patterns() -> dict[str, dict[str, Any]]:
    return tomllib.loads((DATA / "patterns.toml").read_text("utf-8"))


def _expanded(pattern: str) -> str:
    return _REFERENCE.sub(lambda match: _expanded(_patterns()["parts"][match[1]]), pattern.replace("\n", ""))


def _speech(spoken: Iterable[Language]) -> str:
    words: Mapping[bool, list[str]] = {False: [], True: []}
    for language in spoken:
        words[language.unspaced].extend(map(fold_word, language.speech))
    return rf"\b(?:{'|'.join(words[False])})\b|{'|'.join(words[True])}"
