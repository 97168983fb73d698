"""CompiledLore: a set of books made ready to be scanned, once for the same content.

Of a book of thousands of entries a build looks at dozens. So only what finds them is made at once: the numbers of the keys and
the index over their texts. Entries are made ready when they are first looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from copy import copy
from itertools import islice
from typing import Final
from weakref import ref

import msgspec

from innkeeper.content.entry import LorebookEntry, SelectiveLogic
from innkeeper.lore.decorators import MARK, split_decorators
from innkeeper.lore.matcher import KeyIndex
from innkeeper.lore.order import ScopedBook, scan_order
from innkeeper.lore.patterns import KeyTest, Patterns, key_tests
from innkeeper.lore.settings import LoreSettings
from innkeeper.lore.verdict import Verdict
from innkeeper.macros.silly import is_plain
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.bounded_cache import BoundedCache


class CompiledEntry(msgspec.Struct, frozen=True, eq=False, gc=False):
    """An entry with its place in the scan order, its decorators cut off and its keys as `KeyTest` values."""

    index: int
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


Tests = tuple[KeyTest, ...]


class CompiledEntries:
    """The entries in scan order, each compiled on first use and cached.

    Making one anew gives an equal one, so threads that ask for the same one at once do no harm.
    """

    __slots__ = ("_made", "_ordered", "_patterns", "_settings")

    def __init__(self, ordered: list[tuple[str, LorebookEntry]], patterns: Patterns, settings: LoreSettings) -> None:
        self._ordered, self._patterns, self._settings = ordered, patterns, settings
        self._made: list[CompiledEntry | None] = [None] * len(ordered)

    def __len__(self) -> int:
        return len(self._ordered)

    def __getitem__(self, index: int) -> CompiledEntry:
        entry = self._made[index]
        if entry is None:
            entry = self._made[index] = self._compiled(index)
        return entry

    def __iter__(self) -> Iterator[CompiledEntry]:
        return map(self.__getitem__, range(len(self._ordered)))

    def with_others(self, ordered: list[tuple[str, LorebookEntry]], indices: Iterable[int]) -> CompiledEntries:
        """Return the entries with others at these indexes, whose keys are the same."""
        others = CompiledEntries(ordered, self._patterns, self._settings)
        others._made = [*self._made]
        for index in indices:
            before = self[index]
            others._made[index] = others._compiled(index, (before.primary, before.secondary))
        return others

    def _compiled(self, index: int, tests: tuple[Tests, Tests] | None = None) -> CompiledEntry:
        book, entry = self._ordered[index]
        exact_case, whole_words = rules_of(entry, self._settings)
        decorators, content = split_decorators(entry.content)
        primary, secondary = tests or (
            key_tests(keys, exact_case=exact_case, whole_words=whole_words, patterns=self._patterns)
            for keys in (entry.keys, entry.secondary_keys)
        )
        return CompiledEntry(
            index,
            book,
            entry,
            decorators,
            content,
            primary,
            secondary,
            exact_case=exact_case,
            whole_words=whole_words,
            sources=tuple(name for flag, name in SOURCE_FLAGS.items() if getattr(entry, flag)),
            plain=is_plain(content),
            free=not decorators and _is_free(entry),
        )


def rules_of(entry: LorebookEntry, settings: LoreSettings) -> tuple[bool, bool]:
    """Whether the case of its keys counts, and whether they are whole words only."""
    case, words = entry.case_sensitive, entry.match_whole_words
    return settings.case_sensitive if case is None else case, settings.match_whole_words if words is None else words


class CompiledLore:
    """Entries in scan order and what is needed to find which of them a text concerns.

    ``by_pattern`` has the places of entries by the numbers of their primary keys. ``always`` are the places of those that
    each pass looks at, ``timed`` of those with timed effects, ``waiting`` has the recursion levels of those that wait for one.
    ``unmatched`` keeps the verdicts of those whose keys were not seen, with the depth and the number of messages searched.
    ``deepest`` is the largest scan depth of an entry's own, and ``levels`` are the recursion levels, ascending.
    """

    __slots__ = (
        "__weakref__",
        "_indices",
        "_ordered",
        "always",
        "by_pattern",
        "deepest",
        "entries",
        "index",
        "levels",
        "timed",
        "unmatched",
        "waiting",
    )

    def __init__(self, ordered: list[tuple[str, LorebookEntry]], settings: LoreSettings) -> None:
        patterns = Patterns()
        self.entries = CompiledEntries(ordered, patterns, settings)
        self.by_pattern: dict[int, list[int]] = {}
        self.always: list[int] = []
        self.timed: list[int] = []
        self.waiting: dict[int, int] = {}
        self.unmatched: dict[int, tuple[int, int, Verdict]] = {}
        self.deepest = 0
        for index, (_, entry) in enumerate(ordered):
            numbers, stands = self._keys(index, entry, patterns, settings)
            for number in numbers:
                self.by_pattern.setdefault(number, []).append(index)
            if stands or entry.constant:
                self.always.append(index)
            if entry.sticky or entry.cooldown:
                self.timed.append(index)
            if entry.delay_until_recursion:
                self.waiting[index] = entry.delay_until_recursion
            if entry.scan_depth and entry.scan_depth > self.deepest:
                self.deepest = entry.scan_depth
        self.levels = sorted(set(self.waiting.values()))
        self.index = KeyIndex(patterns.done(unicode_words=settings.unicode_words))
        self._ordered = ordered
        self._indices: dict[str, list[int]] = {}

    def _keys(
        self, index: int, entry: LorebookEntry, patterns: Patterns, settings: LoreSettings
    ) -> tuple[list[int], bool]:
        """The patterns of the primary keys, and whether they, or decorators, ask for a look at the entry in each pass.

        One with keys that are not plain, or with decorators, is made ready at once.
        """
        exact_case, whole_words = rules_of(entry, settings)
        primary = patterns.numbers(entry.keys, exact_case=exact_case, whole_words=whole_words)
        secondary = patterns.numbers(entry.secondary_keys, exact_case=exact_case, whole_words=whole_words)
        if primary is not None and secondary is not None and not entry.content.startswith(MARK):
            return primary, False
        ready = self.entries[index]
        primary = [test.number for test in ready.primary if test.number is not None]
        return primary, bool(ready.decorators) or len(primary) < len(ready.primary)

    def edited(self, ordered: list[tuple[str, LorebookEntry]]) -> CompiledLore | None:
        """The same for other entries, few of them others and those with the keys that they had; None where they are not so.

        While somebody writes an entry in a book of thousands, one is another from each build to the next.
        """
        if len(ordered) != len(self._ordered):
            return None
        pairs = enumerate(zip(self._ordered, ordered, strict=True))
        # Lazily and by identity: a book that was loaded anew differs everywhere, and is given up after a few entries.
        differing = (index for index, (old, new) in pairs if old[1] is not new[1] or old[0] != new[0])
        others = [*islice(differing, _MOST_EDITED + 1)]
        if len(others) > _MOST_EDITED or any(
            _match_fields(self._ordered[at]) != _match_fields(ordered[at]) for at in others
        ):
            return None
        lore = copy(self)
        lore.entries, lore._ordered, lore._indices = self.entries.with_others(ordered, others), ordered, {}  # noqa: SLF001
        lore.unmatched = {index: known for index, known in self.unmatched.items() if index not in others}
        return lore

    def indices(self, keys: Collection[str]) -> list[int]:
        """The places of the entries that are called so (``book.uid``)."""
        if keys and not self._indices:
            indices: dict[str, list[int]] = {}
            for index, (book, entry) in enumerate(self._ordered):
                indices.setdefault(f"{book}.{entry.id}", []).append(index)
            self._indices = indices
        return [index for key in keys for index in self._indices.get(key, ())]


def _match_fields(item: tuple[str, LorebookEntry]) -> tuple[object, ...]:
    """Return everything that decides the content of `CompiledLore` besides the entries themselves."""
    name, entry = item
    lasting = (entry.sticky, entry.cooldown, entry.delay_until_recursion, entry.scan_depth)
    rules = (entry.case_sensitive, entry.match_whole_words, entry.constant, entry.content.startswith(MARK))
    return (name, entry.keys, entry.secondary_keys, *rules, *lasting)


def _is_free(entry: LorebookEntry) -> bool:
    filtered = entry.triggers or entry.character_filter.names or entry.character_filter.tags
    waits = entry.delay or entry.delay_until_recursion or entry.exclude_recursion
    return entry.enabled and not entry.constant and not filtered and not waits


_COMPILED: Final[BoundedCache[object, tuple[CompiledLore, int]]] = BoundedCache(items=32, size=256 * 1024 * 1024)
_LAST: Final[list[tuple[ref[CompiledLore] | None, object]]] = [(None, None)]
"""The last compiled lore, while it is alive, and its settings."""

_MOST_EDITED: Final = 8
_ENTRY_BYTES: Final = 4096
_STEPS_AN_ENTRY: Final = 20
_STEPS_A_KEY: Final = 10


def compile_lore(books: Iterable[ScopedBook], settings: LoreSettings) -> CompiledLore:
    """The compiled form of these books under these settings. Kept by the books' content, and charged each time alike."""
    scoped = tuple(books)
    facts = (settings.case_sensitive, settings.match_whole_words, settings.character_strategy, settings.unicode_words)
    key = (tuple((item.name, item.scope, item.book.digest) for item in scoped), facts)
    known = _COMPILED.get(key)
    if known is not None:
        lore, work = known
        charge("lore", work)
        return lore
    entries = [entry for item in scoped for entry in item.book.entries]
    work = _STEPS_AN_ENTRY * len(entries)
    work += _STEPS_A_KEY * sum([len(entry.keys) + len(entry.secondary_keys) for entry in entries])
    charge("lore", work)
    ordered = scan_order(scoped, settings.character_strategy)
    last, last_facts = _LAST[0]
    before = last() if last is not None and last_facts == facts else None
    edited = None if before is None else before.edited(ordered)
    if edited is not None:
        charge("lore", edited.index.work)
    lore = edited or CompiledLore(ordered, settings)
    _LAST[0] = (ref(lore), facts)
    size = lore.index.size + sum([_ENTRY_BYTES + 4 * len(entry.content) for entry in entries])
    return _COMPILED.put(key, (lore, work + lore.index.work), size)[0]


def keep_compiled(size: int) -> None:
    """Keep compiled books of up to ``size`` bytes: for a process that builds of the same books again and again."""
    _COMPILED.grow(size)


def selective(entry: LorebookEntry) -> SelectiveLogic | None:
    """The logic of the entry's secondary keys, or ``None`` when they do not count."""
    return entry.selective_logic if entry.selective and entry.secondary_keys else None
