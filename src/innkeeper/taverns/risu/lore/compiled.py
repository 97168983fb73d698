"""ReadyLore: entries made ready to be scanned, once for the same content, and the texts in which their keys are searched.

RisuAI compares a key and a text in lower case, without the macros that are comments, and without blanks. For whole words it
compares a key with what stands between single blanks. Both are sets of numbers here: of the keys that a text holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from innkeeper.lore.matcher import KeyIndex, Pattern, RegexKey
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.beginnings import Beginnings
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.taverns.risu.lore.decorators import Decorators, Query, read_decorators
from innkeeper.taverns.risu.lore.entry import CHILD, LoreEntry
from innkeeper.text.javascript.values import WHITE_SPACE

if TYPE_CHECKING:
    from innkeeper.taverns.risu.lore.ranking import ActiveLore

_COMMENTS: Final = re.compile(r"\{\{(?://|comment:)")
_STEPS_AN_ENTRY: Final = 40
_ENTRY_BYTES: Final = 4096
_LISTED_BYTES: Final = 400
_CHARACTERS_A_STEP: Final = 32
_FEW: Final = 128
"""Messages that are gone through in each scan."""
_COUNTERS: Final = 8


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
    is_simple: bool = False
    """Whether one of its keys, which are plain texts, is all it takes, in any text that is searched by default."""

    @property
    def source(self) -> str:
        """Its name, by which injections and the log call it."""
        return self.entry.comment or f"lorebook {self.index}"


class _Called(NamedTuple):
    """A number of texts, and by their indexes the entries that search for a key in them, each with the last such text."""

    texts: int
    last: dict[int, int]


class ReadyLore:
    """The entries in order, the index over their keys, and by each key's number the entries that search for it.

    ``always`` are the entries that each pass looks at, whatever the texts hold.
    """

    def __init__(self, entries: Sequence[LoreEntry], *, full_words: bool, keep_slash: bool) -> None:
        self._partial: dict[str, int] = {}
        self._words: dict[str, int] = {}
        self.by_number: dict[int, list[int]] = {}
        self.always: list[int] = []
        self._hits: dict[int, frozenset[int]] = {}
        self._calls: dict[int, frozenset[int]] = {}
        self._called: Beginnings[str, _Called] = Beginnings(_Called(0, {}), self._with_called)
        self._active: dict[str, dict[int, ActiveLore]] = {}
        self.depths: set[float | None] = set()
        ids: dict[str, int] = {}
        self.entries = tuple(
            self._compiled(index, entry, entries, ids, full_words=full_words, keep_slash=keep_slash)
            for index, entry in enumerate(entries)
        )
        self.index = KeyIndex([Pattern(text, exact_case=True) for text in self._partial])
        self.simple = frozenset([entry.index for entry in self.entries if entry.is_simple])

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
        is_plain = not (head.conditions or head.forces or entry.always_active or entry.mode == CHILD)
        by_default = head.scan_depth is None and head.searches_recursion
        compiled = ReadyEntry(
            index=index,
            entry=entry,
            head=head,
            queries=tuple(
                [self._query(query, words=words, regex=entry.use_regex, keep_slash=keep_slash) for query in queries]
            ),
            full_words=words,
            parent=parent,
            is_plain=is_plain,
            is_simple=is_plain and by_default and len(queries) == 1 and not entry.use_regex,
        )
        if not (entry.key or entry.always_active or entry.mode == CHILD):
            return compiled  # no pass looks at it
        draws = any([condition.name == "probability" for condition in head.conditions])  # noqa: C419 - quicker
        if entry.always_active or entry.use_regex or head.forces or draws:
            self.always.append(index)
        for number in dict.fromkeys([number for query in compiled.queries for number in query.numbers]):
            self.by_number.setdefault(number, []).append(index)
        return compiled

    def _query(self, query: Query, *, words: bool, regex: bool, keep_slash: bool) -> KeyQuery:
        keys = tuple([text for key in query.keys if (text := key.strip(WHITE_SPACE))])
        if regex:
            # where 166.3.3 meets a key that is no regular expression, it gives up those behind it
            first = next((at for at, key in enumerate(keys) if keep_slash and not key.startswith("/")), len(keys))
            keys = keys[:first]
            return KeyQuery(query, keys, patterns=tuple(_regex(key, keep_slash=keep_slash) for key in keys))
        # even numbers are those of keys that are found anywhere, odd ones those of whole words
        numbers, kind = (self._words, 1) if words else (self._partial, 0)
        texts = [key.lower() if words else key.lower().replace(" ", "") for key in keys]
        return KeyQuery(query, keys, tuple([2 * numbers.setdefault(text, len(numbers)) + kind for text in texts]))

    def hits_of_entry(self, entry: ReadyEntry) -> frozenset[int]:
        """The numbers of the keys that the text of an entry holds."""
        known = self._hits.get(entry.index)
        if known is None:
            known = self._hits[entry.index] = self.hits(entry.head.text)
        return known

    def called_by(self, entry: ReadyEntry) -> frozenset[int]:
        """The entries that search for a key which the text of an entry holds."""
        known = self._calls.get(entry.index)
        if known is None:
            lists = [self.by_number.get(number, ()) for number in self.hits_of_entry(entry)]
            known = self._calls[entry.index] = frozenset(chain.from_iterable(lists))
        return known

    def called_since(self, texts: Sequence[str], begin: int) -> Iterable[int]:
        """The entries that search for a key in one of these texts, from an index on."""
        by_number = self.by_number
        if len(texts) - begin <= _FEW:
            numbers = frozenset[int]().union(*map(self.hits_of_message, texts[begin:]))
            return chain.from_iterable([by_number.get(number, ()) for number in numbers])
        # gone through from a text on that is the same for many turns
        first = begin - begin % _FEW
        return [at for at, last in self._called.of(tuple(texts[first:])).last.items() if last >= begin - first]

    def _with_called(self, before: _Called, texts: tuple[str, ...], _key: None) -> _Called:
        last = dict(before.last)
        for index, text in enumerate(texts, before.texts):
            called = [self.by_number.get(number, ()) for number in self.hits_of_message(text)]
            last.update(dict.fromkeys(chain.from_iterable(called), index))
        return _Called(before.texts + len(texts), last)

    def active_by(self, counted_by: str) -> dict[int, ActiveLore]:
        """The entries that have fired so far, by their indexes, with tokens counted so; kept where that has a name."""
        if len(self._active) >= _COUNTERS:
            self._active = {}
        return self._active.setdefault(counted_by, {}) if counted_by else {}

    def hits(self, text: str) -> frozenset[int]:
        """Return the numbers of the keys that a text holds."""
        lowered = searched_text(text)
        charge("lore", 1 + len(text) // _CHARACTERS_A_STEP)
        hits = [2 * number for number in self.index.search(lowered.replace(" ", ""))] if self._partial else []
        if self._words:
            hits += [2 * self._words[word] + 1 for word in self._words.keys() & lowered.split(" ")]
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
