"""CompiledLore: a set of books made ready to be scanned, once for the same content.

Decorators are the ``@@`` lines at the head of an entry that SillyTavern acts on. A line is one when it begins with a known name;
``@@@name`` stands in for an unknown line right before it. Known lines and unknown ``@@`` lines are cut from the text, but only
an exact known line acts. An entry that is nothing but such lines keeps them as its text, and they act (`sillytavern.md` 36).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

import msgspec

from innkeeper.content.entry import LorebookEntry, SelectiveLogic
from innkeeper.content.lorebook import Lorebook
from innkeeper.lore.matcher import KeyIndex, Pattern, RegexKey, is_word, parse_key
from innkeeper.lore.settings import InsertionStrategy, LoreSettings
from innkeeper.macros.silly import is_plain
from innkeeper.prompt.memo import Memo
from innkeeper.text.jsregex import RegexRunner

__all__ = [
    "ACTIVATE",
    "SUPPRESS",
    "CompiledEntry",
    "CompiledLore",
    "KeyTest",
    "LoreScope",
    "ScopedBook",
    "compile_lore",
    "decorator_lines",
    "descending",
    "key_tests",
    "pattern_of",
    "selective",
    "split_decorators",
]

T = TypeVar("T")

ACTIVATE: Final = "@@activate"
SUPPRESS: Final = "@@dont_activate"
_KNOWN: Final = (ACTIVATE, SUPPRESS)


def split_decorators(content: str) -> tuple[frozenset[str], str]:
    """The decorators that act, and the text without the lines at its head."""
    lines, text = decorator_lines(content)
    return frozenset(lines) & frozenset(_KNOWN), text


def decorator_lines(content: str) -> tuple[tuple[str, ...], str]:
    """The lines at the head that begin as a decorator does, fallbacks as what they stand for, and the text without the head."""
    if not content.startswith("@@"):
        return (), content
    lines = content.split("\n")
    found: list[str] = []
    fallback = False
    for index, line in enumerate(lines):
        if not line.startswith("@@"):
            return tuple(found), "\n".join(lines[index:])
        name = line[1:] if line.startswith("@@@") else line
        if line.startswith("@@@") and not fallback:
            continue
        fallback = not name.startswith(_KNOWN)
        if not fallback:
            found.append(name)
    return tuple(found), content


class LoreScope(msgspec.Struct, frozen=True):
    """The scopes a book can hold for, in SillyTavern's words."""

    CHAT = "chat"
    PERSONA = "persona"
    CHARACTER = "character"
    GLOBAL = "global"


class ScopedBook(msgspec.Struct, frozen=True):
    """A book, the name it goes by in this build, and whom it holds for (a value of `LoreScope`)."""

    name: str
    scope: str
    book: Lorebook


class KeyTest(msgspec.Struct, frozen=True, gc=False):
    """One key ready to be tried: by the index (``number``), as a regular expression, or only after macros (``macro``)."""

    text: str
    number: int | None = None
    regex: RegexKey | None = None
    literal: int | None = None
    macro: bool = False
    checked: bool = False
    """Whether JavaScript has accepted ``regex``."""


class CompiledEntry(msgspec.Struct, frozen=True, eq=False, gc=False):
    """An entry with its place in the scan order, its decorators cut off and its keys as `KeyTest` values."""

    place: int
    book: str
    entry: LorebookEntry
    decorators: frozenset[str]
    content: str
    primary: tuple[KeyTest, ...]
    secondary: tuple[KeyTest, ...]
    exact_case: bool
    whole_words: bool
    sources: tuple[str, ...] = ()
    plain: bool = False
    """Whether no macro can be in the content."""
    free: bool = False
    """Whether only its keys decide about it: no switch, filter, timer, recursion rule or decorator."""

    @property
    def uid(self) -> int | str:
        """The entry's id in its book."""
        return self.entry.id

    @property
    def key(self) -> str:
        """``book.uid``: what timed effects and forced activations call it."""
        return f"{self.book}.{self.entry.id}"


SOURCE_FLAGS: Final = {
    "match_persona_description": "persona_description",
    "match_character_description": "character_description",
    "match_character_personality": "character_personality",
    "match_character_depth_prompt": "character_depth_prompt",
    "match_scenario": "scenario",
    "match_creator_notes": "creator_notes",
}
"""Entry fields that add a source to its scan, in the order the sources are searched."""


class CompiledLore:
    """Entries in scan order and what is needed to find which of them a text concerns."""

    __slots__ = ("always", "by_pattern", "deepest", "delay_levels", "entries", "index", "levels")

    def __init__(self, entries: tuple[CompiledEntry, ...], patterns: tuple[Pattern, ...]) -> None:
        self.entries = entries
        self.index = KeyIndex(patterns)
        self.by_pattern: dict[int, tuple[int, ...]] = _by_pattern(entries)
        self.always = tuple(entry.place for entry in entries if _always(entry))
        self.deepest = max((entry.entry.scan_depth or 0 for entry in entries), default=0)
        """The largest scan depth of an entry's own."""
        self.levels = tuple(sorted({e.entry.delay_until_recursion for e in entries if e.entry.delay_until_recursion}))
        self.delay_levels = {e.place: e.entry.delay_until_recursion for e in entries if e.entry.delay_until_recursion}


def _always(entry: CompiledEntry) -> bool:
    """Whether it must be looked at in each pass, found by a key or not."""
    slow = any(test.number is None for test in entry.primary)
    return entry.entry.constant or bool(entry.decorators) or slow


def _by_pattern(entries: tuple[CompiledEntry, ...]) -> dict[int, tuple[int, ...]]:
    found: dict[int, list[int]] = {}
    for entry in entries:
        for test in entry.primary:
            if test.number is not None:
                found.setdefault(test.number, []).append(entry.place)
    return {number: tuple(places) for number, places in found.items()}


def scan_order(books: Iterable[ScopedBook], strategy: int) -> list[tuple[str, LorebookEntry]]:
    """All entries in the order they are tried: chat, persona, then character and global by strategy; orders descending."""
    by_scope: dict[str, list[tuple[str, LorebookEntry]]] = {}
    for scoped in books:
        by_scope.setdefault(scoped.scope, []).extend((scoped.name, entry) for entry in scoped.book.entries)
    character, world = by_scope.get(LoreScope.CHARACTER, []), by_scope.get(LoreScope.GLOBAL, [])
    if strategy == InsertionStrategy.EVENLY:
        rest = _descending([*world, *character])
    elif strategy == InsertionStrategy.GLOBAL_FIRST:
        rest = [*_descending(world), *_descending(character)]
    else:
        rest = [*_descending(character), *_descending(world)]
    return [*_descending(by_scope.get(LoreScope.CHAT, [])), *_descending(by_scope.get(LoreScope.PERSONA, [])), *rest]


def _descending(entries: Sequence[tuple[str, LorebookEntry]]) -> list[tuple[str, LorebookEntry]]:
    return descending(entries, lambda pair: pair[1])


def descending(items: Iterable[T], entry_of: Callable[[T], LorebookEntry]) -> list[T]:
    """Items by descending order of their entries. One without an order compares equal to all others.

    Such a comparison is no order, so the way of sorting shows: SillyTavern's finds the place of each by halving what is
    sorted already, behind its equals (measured on SillyTavern 1.19, up to 32 entries).
    """
    listed = list(items)
    orders = [_order_of(entry_of(item)) for item in listed]
    if None not in orders:
        return [
            listed[index] for index in sorted(range(len(listed)), key=lambda index: orders[index] or 0, reverse=True)
        ]
    done: list[tuple[T, float | None]] = []
    for item, order in zip(listed, orders, strict=True):
        low, high = 0, len(done)
        while low < high:
            middle = (low + high) // 2
            other = done[middle][1]
            if order is not None and other is not None and order > other:
                high = middle
            else:
                low = middle + 1
        done.insert(low, (item, order))
    return [item for item, _ in done]


def _order_of(entry: LorebookEntry) -> float | None:
    """The order by which an entry is sorted: a null or blank one counts as 0, one that is missing or not a number as none."""
    if entry.order is not None:
        return entry.order
    return 0 if entry.raw.get("order", _MISSING) in (None, "") else None


_MISSING: Final = object()


class _Patterns:
    """Numbers patterns as entries are compiled, and asks JavaScript once whether a regular expression is one."""

    def __init__(self, *, unicode_words: bool = False) -> None:
        self.unicode_words = unicode_words
        self.patterns: list[Pattern] = []
        self._numbers: dict[tuple[str, bool, bool], int] = {}
        self.regex = RegexRunner(lambda _what, _why: None)

    def number(self, text: str, *, exact_case: bool = False, whole_word: bool = False) -> int:
        """The number of the pattern for a plain text, which is in lower case unless its case counts."""
        facts = (text, exact_case, whole_word)
        number = self._numbers.get(facts)
        if number is None:
            number = self._numbers[facts] = len(self.patterns)
            self.patterns.append(Pattern(text, exact_case, whole_word, whole_word and self.unicode_words))
        return number


def key_tests(
    keys: Iterable[str], *, exact_case: bool, whole_words: bool, patterns: _Patterns | None = None
) -> tuple[KeyTest, ...]:
    """Each non-empty key as a `KeyTest`. Without ``patterns`` (after macros) plain keys stay texts to be searched for.

    A key that looks like a regular expression but is not one to JavaScript is plain text (`sillytavern.md` 24).
    """
    return tuple([_test(text, patterns, exact_case=exact_case, whole_words=whole_words) for text in keys if text])


_MACRO: Final = re.compile(r"\{\{|\\[{}]|<(?:user|bot|char|group|charifnotgroup)>", re.IGNORECASE)
"""What macros change in a key. A regular expression has backslashes and ``<`` of its own."""


def _test(text: str, patterns: _Patterns | None, *, exact_case: bool, whole_words: bool) -> KeyTest:
    if patterns is not None and _MACRO.search(text) is not None:
        return KeyTest(text, macro=True)
    trimmed = text.strip()
    regex = parse_key(trimmed).regex if trimmed.startswith("/") else None
    if regex is not None and (patterns is None or patterns.regex.valid(regex)):
        if patterns is None:
            return KeyTest(trimmed, regex=regex)
        literal = patterns.number(regex.literal) if regex.literal else None
        return KeyTest(trimmed, regex=regex, literal=literal, checked=True)
    if not trimmed or patterns is None:
        return KeyTest(trimmed)
    written = trimmed if exact_case else trimmed.lower()
    return KeyTest(
        trimmed, patterns.number(written, exact_case=exact_case, whole_word=whole_words and is_word(trimmed))
    )


def pattern_of(text: str, *, exact_case: bool, whole_words: bool, unicode_words: bool = False) -> Pattern:
    """The pattern of a plain key. Whole words hold for one-word keys only (`sillytavern.md` 23)."""
    whole = whole_words and is_word(text)
    return Pattern(text if exact_case else text.lower(), exact_case, whole, whole and unicode_words)


def _compile(books: tuple[ScopedBook, ...], settings: LoreSettings) -> CompiledLore:
    patterns = _Patterns(unicode_words=settings.unicode_words)
    compiled = []
    for place, (book, entry) in enumerate(scan_order(books, settings.character_strategy)):
        case = settings.case_sensitive if entry.case_sensitive is None else entry.case_sensitive
        words = settings.match_whole_words if entry.match_whole_words is None else entry.match_whole_words
        decorators, content = split_decorators(entry.content)
        primary = key_tests(entry.keys, exact_case=case, whole_words=words, patterns=patterns)
        secondary = key_tests(entry.secondary_keys, exact_case=case, whole_words=words, patterns=patterns)
        sources = tuple(name for flag, name in SOURCE_FLAGS.items() if getattr(entry, flag))
        compiled.append(
            CompiledEntry(
                place,
                book,
                entry,
                decorators,
                content,
                primary,
                secondary,
                exact_case=case,
                whole_words=words,
                sources=sources,
                plain=is_plain(content),
                free=not decorators and _is_free(entry),
            )
        )
    return CompiledLore(tuple(compiled), tuple(patterns.patterns))


def _is_free(entry: LorebookEntry) -> bool:
    filtered = entry.triggers or entry.character_filter.names or entry.character_filter.tags
    waits = entry.delay or entry.delay_until_recursion or entry.exclude_recursion
    return entry.enabled and not entry.constant and not filtered and not waits


_COMPILED: Final[Memo[object, CompiledLore]] = Memo(items=32, size=256 * 1024 * 1024)
_ENTRY_BYTES: Final = 4096


def compile_lore(books: Iterable[ScopedBook], settings: LoreSettings) -> CompiledLore:
    """The compiled form of these books under these settings. Kept by the books' content."""
    scoped = tuple(books)
    facts = (settings.case_sensitive, settings.match_whole_words, settings.character_strategy, settings.unicode_words)
    key = (tuple((item.name, item.scope, item.book.digest) for item in scoped), facts)
    known = _COMPILED.get(key)
    if known is not None:
        return known
    return _COMPILED.put(key, _compile(scoped, settings), _ENTRY_BYTES * sum(len(item.book.entries) for item in scoped))


def selective(entry: LorebookEntry) -> SelectiveLogic | None:
    """The logic of the entry's secondary keys, or ``None`` when they do not count."""
    return entry.selective_logic if entry.selective and entry.secondary_keys else None
