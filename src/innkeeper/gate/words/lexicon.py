"""Lexicon: the versioned list of what a detector looks for. It is a resource of its own, reviewed as one (S10).

The packaged words are those of `innkeeper.gate.words.languages`; `builtin_lexicon` shows them as one list. Operators add
lists of their own; what the packaged one finds stays found, whatever they add. `Lexicon.checked` refuses a list
that cannot be used, and says which entry is wrong. Lists are compiled once; their finds are those in a folded text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple, NoReturn

import msgspec

from innkeeper.gate.limits import MAX_LEXICON_BYTES, MAX_LEXICON_ENTRIES, MAX_LEXICON_PATTERN, REGEX_SCAN_SECONDS
from innkeeper.gate.words.languages import languages
from innkeeper.gate.words.tables import PACKAGED, tables
from innkeeper.prompt.errors import FormatError, LimitError, Where
from innkeeper.prompt.typed.once import decode, once
from innkeeper.text.automaton import Automaton, is_unspaced
from innkeeper.text.confusables import fold_word
from innkeeper.text.pyregex import Deadline, PatternLimitError, PatternSyntaxError, PyPattern, compile_pattern
from innkeeper.text.views import TextView


class LexiconEntry(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What to look for, and what finding it means.

    ``word`` and ``phrase`` stand between borders of words, in any of the ways folding sees through; ``regex`` is a regular
    expression of Python's on the folded plain text. ``allow_contexts`` are phrases around a find in which it means
    something else: the find they cover does not count, and no other find is touched.
    """

    id: str
    pattern: str
    category: str
    weight: float
    kind: Literal["word", "phrase", "regex"] = "word"
    languages: tuple[str, ...] = ()
    allow_contexts: tuple[str, ...] = ()


class Lexicon(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A list of entries with the version that decisions name."""

    name: str
    version: str
    entries: tuple[LexiconEntry, ...] = ()
    description: str = ""

    @property
    def label(self) -> str:
        """Name and version, as decisions and audit events write it."""
        return f"{self.name}@{self.version}"

    def checked(self) -> Lexicon:
        """The list itself, where it can be used.

        Raises:
            FormatError: an id twice or empty, a pattern or context without a letter or digit, a weight out of range, an
                expression that is none.
            LimitError: too many entries, or too long a pattern.
        """
        check(self)
        return self


@once
def builtin_lexicon() -> Lexicon:
    """The packaged lists of all languages as one."""
    entries: dict[str, LexiconEntry] = {}
    for language in languages():
        for term, word in language.terms:
            spoken = entries[term.entry].languages if term.entry in entries else ()
            entries[term.entry] = LexiconEntry(
                id=term.entry,
                pattern=word.rstrip("*"),
                category=term.category,
                weight=term.weight,
                kind="phrase" if " " in word else "word",
                languages=tuple(dict.fromkeys((*spoken, language.language))),
            )
    description = "Words of ages and contexts; see docs/tiers.md"
    return Lexicon(PACKAGED, tables().version, tuple(entries.values()), description)


def load_lexicon(data: bytes | str, *, asset: str | None = None) -> Lexicon:
    """A list from its JSON.

    Raises:
        FormatError: no such JSON, or as `Lexicon.checked` says.
        LimitError: too large.
    """
    if len(data) > MAX_LEXICON_BYTES:
        raise LimitError(
            "a detection list", limit="MAX_LEXICON_BYTES", allowed=MAX_LEXICON_BYTES, found=len(data), where=_at(asset)
        )
    try:
        return decode(data, Lexicon).checked()
    except FormatError as error:
        raise error.at(asset=asset) from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise FormatError(f"not a detection list: {error}", where=_at(asset), hint=_HINT) from error


def _at(asset: str | None) -> Where | None:
    return None if asset is None else Where(asset=asset)


_HINT: Final = "each entry has its own id, a pattern with letters, a category, and a weight above 0 up to 1"
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")


def check(lexicon: Lexicon) -> None:
    """Raise what `Lexicon.checked` raises."""
    size = sum(1 + len(entry.allow_contexts) for entry in lexicon.entries)
    if size > MAX_LEXICON_ENTRIES:
        raise LimitError("a detection list", limit="MAX_LEXICON_ENTRIES", allowed=MAX_LEXICON_ENTRIES, found=size)
    if not (lexicon.name.strip() and lexicon.version.strip()):
        raise FormatError("a detection list needs a name and a version", hint="give it both")
    seen: set[str] = set()
    for number, entry in enumerate(lexicon.entries):
        where = Where(path=f"entries[{number}]")
        for wrong in _faults(entry, seen):
            raise FormatError(f"{wrong} (entry {entry.id[:80]!r})", where=where, hint=_HINT)
        seen.add(entry.id)
        for text in (entry.pattern, *entry.allow_contexts):
            if len(text) > MAX_LEXICON_PATTERN:
                _too_long(text, where)


def _too_long(text: str, where: Where) -> NoReturn:
    limit = MAX_LEXICON_PATTERN
    raise LimitError(
        "a pattern of a detection list", limit="MAX_LEXICON_PATTERN", allowed=limit, found=len(text), where=where
    )


def _faults(entry: LexiconEntry, seen: set[str]) -> Iterator[str]:
    """What is wrong with an entry."""
    if not entry.id.strip() or entry.id in seen:
        yield "the id is empty" if entry.id.strip() == "" else "the id is given twice"
    if not _NAME.fullmatch(entry.category):
        yield "the category must be small letters, digits and underscores"
    if not 0 < entry.weight <= 1:
        yield f"the weight {entry.weight} is not above 0 and at most 1"
    words = entry.allow_contexts if entry.kind == "regex" else (entry.pattern, *entry.allow_contexts)
    if not all(fold_word(word) for word in words):
        yield "a pattern or context has no letter or digit"
    if entry.kind == "regex" and (fault := _fault_of(entry.pattern)):
        yield fault


def _fault_of(pattern: str) -> str:
    try:
        compile_pattern(pattern)
    except (PatternSyntaxError, PatternLimitError) as error:
        return error.message
    return ""


_LOOSE_LETTERS: Final = 4
"""From so many letters on, a word counts where letters are spelled out one by one and its borders cannot be seen."""


class LexiconHit(NamedTuple):
    """A find in a view: the entry's number, and where."""

    entry: int
    start: int
    end: int


class Matcher:
    """The entries of detection lists, in one automaton for words and phrases and one expression each for the rest."""

    def __init__(self, entries: Sequence[LexiconEntry]) -> None:
        self.entries = tuple(entries)
        plain, merged = _Words(self.entries, merged=False), _Words(self.entries, merged=True)
        self._words = (plain, merged)
        self._patterns: tuple[tuple[int, PyPattern], ...] = tuple(
            (number, compile_pattern(entry.pattern))
            for number, entry in enumerate(self.entries)
            if entry.kind == "regex"
        )

    def finds(self, view: TextView) -> list[LexiconHit]:
        """The finds of words and phrases, those in an allowed context left out."""
        return self._words[view.merged].finds(view)

    def matches(self, view: TextView) -> list[LexiconHit]:
        """The finds of expressions. Raises `PatternLimitError` when they take longer than ``REGEX_SCAN_SECONDS`` together."""
        if not self._patterns:
            return []
        deadline = Deadline(REGEX_SCAN_SECONDS, ends_build=False)
        entries = [
            LexiconHit(number, *match.span())
            for number, pattern in self._patterns
            for match in pattern.matches(view.text, deadline)
            if match.end() > match.start()
        ]
        return _outside(entries, self._words[0].contexts(view)) if entries else entries


class _Words:
    """Words, phrases and contexts of entries by their folded texts; ``merged``: with ``l`` written ``i``."""

    def __init__(self, entries: Sequence[LexiconEntry], *, merged: bool) -> None:
        self._owners: dict[str, tuple[list[int], list[int]]] = {}
        for number, entry in enumerate(entries):
            if entry.kind != "regex":
                self._own(entry.pattern, number, 0, merged=merged)
            for context in entry.allow_contexts:
                self._own(context, number, 1, merged=merged)
        self._texts = list(self._owners)
        self._automaton = Automaton(self._texts)

    def _own(self, text: str, number: int, role: int, *, merged: bool) -> None:
        folded = fold_word(text)
        self._owners.setdefault(folded.replace("l", "i") if merged else folded, ([], []))[role].append(number)

    def finds(self, view: TextView) -> list[LexiconHit]:
        hits = list(self._hits(view))
        if not hits:
            return []
        return _outside(self._of(hits, 0), self._of(hits, 1))

    def contexts(self, view: TextView) -> list[LexiconHit]:
        return self._of(self._hits(view), 1)

    def _of(self, hits: Iterable[tuple[str, int, int]], role: int) -> list[LexiconHit]:
        return [LexiconHit(number, start, end) for text, start, end in hits for number in self._owners[text][role]]

    def _hits(self, view: TextView) -> Iterator[tuple[str, int, int]]:
        for index, start, end in self._automaton.find(view.text):
            text = self._texts[index]
            before, after = view.text[max(0, start - 1) : start], view.text[end : end + 1]
            inside_word = _joined(before, view.text[start]) or _joined(view.text[end - 1], after)
            if not inside_word or (view.loose and len(text) >= _LOOSE_LETTERS):
                yield text, start, end


def _outside(finds: list[LexiconHit], contexts: list[LexiconHit]) -> list[LexiconHit]:
    """The finds that no context of their own entry covers."""
    if not contexts:
        return finds
    starts: dict[int, list[int]] = {}
    reach: dict[int, list[int]] = {}
    for context in sorted(contexts, key=lambda each: each.start):
        ends = reach.setdefault(context.entry, [])
        starts.setdefault(context.entry, []).append(context.start)
        ends.append(max(context.end, ends[-1] if ends else 0))  # how far contexts that begin up to here go
    return [find for find in finds if not _covered(find, starts.get(find.entry, []), reach.get(find.entry, []))]


def _covered(find: LexiconHit, starts: list[int], reach: list[int]) -> bool:
    before = bisect_right(starts, find.start)
    return before > 0 and reach[before - 1] >= find.end


def _joined(left: str, right: str) -> bool:
    """Whether two neighbours belong to one word."""
    return left.isalnum() and right.isalnum() and not (is_unspaced(left) or is_unspaced(right))
