"""ReadyLore: entries made ready to be scanned, once for the same content, and the texts in which their keys are searched.

RisuAI compares a key and a text in lower case, without the macros that are comments, and without blanks. For whole words it
compares a key with what stands between single blanks. Both are sets of numbers here: of the keys that a text holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from innkeeper.lore.matcher import KeyIndex, Pattern, RegexKey
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.taverns.risu.lore.decorators import Decorators, Query, read_decorators
from innkeeper.taverns.risu.lore.entry import CHILD, LoreEntry
from innkeeper.text.javascript.values import strip

_COMMENTS: Final = re.compile(r"\{\{(?://|comment:)")
_STEPS_AN_ENTRY: Final = 40
_ENTRY_BYTES: Final = 4096
_LISTED_BYTES: Final = 400
_CHARACTERS_A_STEP: Final = 32


class KeyQuery(msgspec.Struct, frozen=True, gc=False):
    """A query made ready: its keys by number, or as regular expressions where its entry has them."""

    query: Query
    keys: tuple[str, ...]
    numbers: tuple[int, ...] = ()
    patterns: tuple[RegexKey | None, ...] = ()


class ReadyEntry(msgspec.Struct, frozen=True, eq=False, gc=False):
    """An entry with its head read. ``parent`` is the index of the entry that a child stands in for, -1 where there is none."""

    index: int
    entry: LoreEntry
    head: Decorators
    queries: tuple[KeyQuery, ...]
    full_words: bool
    parent: int = -1
    is_plain: bool = False
    """Whether its keys alone decide about it."""

    @property
    def source(self) -> str:
        """Its name, by which injections and the log call it."""
        return self.entry.comment or f"lorebook {self.index}"


class ReadyLore:
    """The entries in order, the index over their keys, and by each key's number the entries that search for it.

    ``always`` are the entries that each pass looks at, whatever the texts hold.
    """

    def __init__(self, entries: Sequence[LoreEntry], *, full_words: bool, keep_slash: bool) -> None:
        self._partial: dict[str, int] = {}
        self._words: dict[str, int] = {}
        self.by_number: dict[int, list[int]] = {}
        self.always: list[int] = []
        self._calls: dict[int, Mapping[int, Sequence[int]]] = {}
        self.depths: set[float | None] = set()
        ids: dict[str, int] = {}
        self.entries = tuple(
            self._compiled(index, entry, entries, ids, full_words=full_words, keep_slash=keep_slash)
            for index, entry in enumerate(entries)
        )
        self.index = KeyIndex([Pattern(text, exact_case=True) for text in self._partial])

    def _compiled(
        self,
        index: int,
        entry: LoreEntry,
        entries: Sequence[LoreEntry],
        ids: dict[str, int],
        *,
        full_words: bool,
        keep_slash: bool,
    ) -> ReadyEntry:
        parent = -1
        if entry.mode == CHILD:
            parent = ids.get(entry.id, -1) if entry.id else -1
            if parent >= 0:
                source = entries[parent]
                entry = msgspec.structs.replace(
                    entry, comment=source.comment, content=source.content, always_active=True
                )
        elif entry.id:
            ids.setdefault(entry.id, index)
        head = read_decorators(entry.content)
        words = full_words if head.full_words is None else head.full_words
        queries = [*head.queries, Query("key", _split(entry.key))]
        if entry.selective and entry.secondkey:
            queries.append(Query("secondary", _split(entry.secondkey)))
        self.depths.add(head.scan_depth)
        compiled = ReadyEntry(
            index=index,
            entry=entry,
            head=head,
            queries=tuple(
                self._query(query, words=words, regex=entry.use_regex, keep_slash=keep_slash) for query in queries
            ),
            full_words=words,
            parent=parent,
            is_plain=not (head.conditions or head.forces or entry.always_active or entry.mode == CHILD),
        )
        draws = any(condition.name == "probability" for condition in head.conditions)
        if entry.always_active or entry.use_regex or head.forces or draws:
            self.always.append(index)
        for number in {number for query in compiled.queries for number in query.numbers}:
            self.by_number.setdefault(number, []).append(index)
        return compiled

    def _query(self, query: Query, *, words: bool, regex: bool, keep_slash: bool) -> KeyQuery:
        keys = tuple(text for key in query.keys if (text := strip(key)))
        if regex:
            # where 166.3.3 meets a key that is no regular expression, it gives up those behind it
            first = next((at for at, key in enumerate(keys) if keep_slash and not key.startswith("/")), len(keys))
            keys = keys[:first]
            return KeyQuery(query, keys, patterns=tuple(_regex(key, keep_slash=keep_slash) for key in keys))
        # even numbers are those of keys that are found anywhere, odd ones those of whole words
        numbers, kind = (self._words, 1) if words else (self._partial, 0)
        texts = [key.lower() if words else key.lower().replace(" ", "") for key in keys]
        return KeyQuery(query, keys, tuple(2 * numbers.setdefault(text, len(numbers)) + kind for text in texts))

    def calls_of(self, entry: ReadyEntry) -> Mapping[int, Sequence[int]]:
        """The numbers of the keys that the text of an entry holds, each with the entries that search for it."""
        known = self._calls.get(entry.index)
        if known is None:
            hits = self.hits(entry.head.text)
            known = self._calls[entry.index] = {number: self.by_number.get(number, ()) for number in hits}
        return known

    def hits(self, text: str) -> frozenset[int]:
        """Return the numbers of the keys that a text holds."""
        lowered = searched_text(text)
        charge("lore", 1 + len(text) // _CHARACTERS_A_STEP)
        hits = {2 * number for number in self.index.hits(lowered.replace(" ", ""))} if self._partial else set()
        if self._words:
            hits.update(2 * self._words[word] + 1 for word in self._words.keys() & lowered.split(" "))
        return frozenset(hits)

    def hits_of_message(self, text: str) -> frozenset[int]:
        """The same for a message, which the next scan searches again."""
        key = (id(self), text)
        known = _HITS.get(key)
        if known is None:
            return _HITS.put(key, self.hits(text), 2 * len(text), alive=self)
        charge("lore", 2 * (1 + len(text) // _CHARACTERS_A_STEP))
        return known


_HITS: Final[BoundedCache[tuple[int, str], frozenset[int]]] = BoundedCache()


def searched_text(text: str) -> str:
    """Return a text as keys are searched in it: in lower case, without macros that are comments."""
    lowered = text.lower()
    return without_tags(lowered, _COMMENTS) if "{{" in lowered else lowered


def without_tags(text: str, opening: re.Pattern[str]) -> str:
    """Return a text without the tags that begin so, each to the first closing braces in its line."""
    lines = text.split("\n")
    for number, whole in enumerate(lines):
        parts, end = [], 0
        while (match := opening.search(whole, end)) and (close := whole.find("}}", match.end())) >= 0:
            parts.append(whole[end : match.start()])
            end = close + 2
        lines[number] = "".join([*parts, whole[end:]])
    return "\n".join(lines)


def _split(keys: str) -> tuple[str, ...]:
    return tuple(keys.split(","))


def _regex(key: str, *, keep_slash: bool) -> RegexKey | None:
    """The regular expression of a key, None where it is none. RisuAI 166.3.3 takes the first slash for a part of it."""
    body, slash, flags = key.rpartition("/")
    if keep_slash:
        return RegexKey(body, flags) if slash and flags else None
    if not slash or not body.startswith("/"):
        return None
    return RegexKey(body[1:], flags)


_COMPILED: Final[BoundedCache[object, ReadyLore]] = BoundedCache(items=32, size=128 * 1024 * 1024)


def compile_lore(entries: Iterable[LoreEntry], *, full_words: bool = False, keep_slash: bool = False) -> ReadyLore:
    """The compiled form of these entries under these settings; kept by their content, and charged each time alike."""
    listed = tuple(entries)
    charge("lore", _STEPS_AN_ENTRY * len(listed))
    same, key = (id(listed), full_words, keep_slash), (listed, full_words, keep_slash)
    known = _COMPILED.get(same) or _COMPILED.get(key)
    if known is None:
        known = ReadyLore(listed, full_words=full_words, keep_slash=keep_slash)
        size = known.index.size + sum([_ENTRY_BYTES + 4 * len(entry.content) for entry in listed])
        known = _COMPILED.put(key, known, size)
    # the same list again is found by its identity: to compare entries takes longer than to scan a short chat
    _COMPILED.put(same, known, _LISTED_BYTES * len(listed), alive=listed)
    charge("lore", known.index.work)
    return known
