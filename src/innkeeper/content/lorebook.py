"""Lorebook: a book of entries, from a card, a world info file or another application's export."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, Self

import msgspec

from innkeeper.content.entry import LorebookEntry, Spelling
from innkeeper.content.errors import LIMITS, AssetError, Limits, limit_error
from innkeeper.content.finding import Finding, Level, Path
from innkeeper.content.json import ABSENT
from innkeeper.content.json.document import Document, remembered
from innkeeper.content.json.record import FindingCollector, Record
from innkeeper.content.json.text import encode_json
from innkeeper.content.spellings.foreign import foreign_shape
from innkeeper.content.spellings.reading import read_entry, spelling_of
from innkeeper.content.spellings.writing import card_entry, entry_edits, world_entry
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.errors import UnknownNameError, UsageError, Where
from innkeeper.prompt.text import kind_of

LAST_INDEX: Final = 2**32 - 2
"""The largest key that JavaScript sorts as an array index."""

ENTRIES_FACTOR: Final = 2
ENTRY_FACTOR: Final = 16
"""The factor above a limit at which a warning becomes a refusal: for the number of entries, and within an entry."""


class Lorebook(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A book. ``raw`` is the JSON object it was read from, which must not be changed.

    ``scan_depth`` is in messages and ``token_budget`` in tokens; ``None`` where the book does not say. ``path`` is where
    the book stands in its ``document``.
    """

    name: str = ""
    description: str = ""
    scan_depth: int | None = None
    token_budget: int | None = None
    recursive_scanning: bool | None = None
    extensions: dict[str, Any] = {}
    entries: tuple[LorebookEntry, ...] = ()
    spelling: Spelling = Spelling.WORLD
    raw: Any = None
    document: Document = Document(None)
    path: Path = ()
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, value: Any) -> Lorebook:
        """A book from itself, a JSON object, a list of entries, or JSON text. Remembered by content.

        Raises:
            AssetError: it has no entries in any known shape.
            FormatError: the text is not JSON.
            LimitError: it is beyond a limit.
        """
        if isinstance(value, Lorebook):
            return value
        return remembered(_READ, value, read_lorebook, what="a lorebook", keys_limit="lore_json_keys")

    @cached_property
    def digest(self) -> str:
        """A hash of the book's content, the cache key of its compiled forms."""
        if not self.path and self.document.data is None:
            return self.document.digest
        return sha256(encode_json(self.raw)).hexdigest()

    def entry(self, id: int | str) -> LorebookEntry:  # noqa: A002 - the field's name
        """Return the first entry with this id. Raises `UsageError` if there is none."""
        for entry in self.entries:
            if entry.id == id or str(entry.id) == str(id):
                return entry
        raise UsageError(f"the book {self.name!r} has no entry {id!r}")

    def replace(self, **fields: Any) -> Self:
        """The book with other values of its own fields, everything else as it was. Raises `UsageError` for a name it has not."""
        return self._edited(book_edits(self, fields))

    def replace_entry(self, id: int | str, /, **fields: Any) -> Self:  # noqa: A002 - the field's name
        """The book with other values in one entry. Raises `UsageError` for an entry or a name it has not."""
        entry = self.entry(id)
        edits = entry_edits(entry, fields)
        entries = self.raw["entries"] if isinstance(self.raw, dict) else self.raw
        pairs = entries.items() if isinstance(entries, dict) else enumerate(entries)
        key = next((key for key, raw in pairs if raw is entry.raw), ABSENT)
        path = ("entries", key) if isinstance(self.raw, dict) else (key,)
        return self._edited({(*path, *inner): value for inner, value in edits.items()})

    def to_dict(self) -> Any:
        """The JSON the book was read from, as data of the caller's own."""
        return msgspec.json.decode(encode_json(self.raw))

    def to_json(self) -> bytes:
        """The book as JSON text: byte for byte as read, unless it was edited or stood inside a card."""
        return Document(self.raw).encode() if self.path and self.path != ("data",) else self.document.encode()

    def to_card_book(self) -> dict[str, Any]:
        """The book in the words of a V2 or V3 card; what those have no word for goes to ``extensions``."""
        entries = [card_entry(entry) for entry in self.entries]
        return self._own_fields() | {"extensions": self.extensions, "entries": entries}

    def to_world(self) -> dict[str, Any]:
        """The book in the words of SillyTavern world info."""
        return self._own_fields() | {"entries": {str(entry.index): world_entry(entry) for entry in self.entries}}

    def _own_fields(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in _BOOK_FIELDS[:-1]}
        return {name: value for name, value in own.items() if value not in {None, ""}}

    def _edited(self, edits: Mapping[Path, Any]) -> Self:
        document = self.document.replace({(*self.path, *path): value for path, value in edits.items()})
        return read_lorebook(document, self.path)  # type: ignore[return-value]


_BOOK_FIELDS: Final = ("name", "description", "scan_depth", "token_budget", "recursive_scanning", "extensions")


def book_edits(book: Lorebook, fields: Mapping[str, Any]) -> dict[Path, Any]:
    """The edits that give a book's own fields other values."""
    edits: dict[Path, Any] = {}
    for name, value in fields.items():
        if name not in _BOOK_FIELDS:
            raise UnknownNameError("field of a lorebook", name, _BOOK_FIELDS)
        first, *rest = name.split("_")
        camel = first + "".join(part.capitalize() for part in rest)
        edits[(camel if camel in book.raw and name not in book.raw else name,)] = value
    return edits


def read_lorebook(
    document: Document, path: Path = (), *, limits: Limits = LIMITS, findings: FindingCollector | None = None
) -> Lorebook:
    """The book at ``path`` of a document; (``findings`` also collects for the asset around it).

    Raises:
        AssetError: there are no entries in any known shape.
        LimitError: more entries, keys or text than a limit allows.
    """
    inner = FindingCollector(limits.findings, () if path else document.findings)
    raw = document.at(path)
    if isinstance(raw, dict) and str(raw.get("spec", "")).startswith("lorebook") and isinstance(raw.get("data"), dict):
        path, raw = (*path, "data"), raw["data"]
    if raw == []:
        hint = 'a book without entries is written {"entries": []}'
        raise AssetError("an empty list is not a lorebook", where=Where(path=None), hint=hint)
    book = {"entries": raw} if isinstance(raw, list) else raw
    if not isinstance(book, dict):
        message = f"a lorebook is an object, not {kind_of(raw)}"
        raise AssetError(message, where=Where(path=None), hint="a lorebook is an object with `entries`")
    spelling, book = foreign_shape(book, inner)
    record = Record(book, path, inner)
    entries = tuple(_read_entries(record, spelling, limits))
    for id_, count in Counter(entry.id for entry in entries).items():
        if count > 1:
            inner.add("duplicate-id", f"{count} entries have the id {id_!r}", ("entries",), level=Level.INFO)
    empty = Spelling.CARD if isinstance(book.get("entries"), list) else spelling_of({})
    read = Lorebook(
        name=record.text("name", "originalName"),
        description=record.text("description"),
        scan_depth=record.integer("scan_depth", "scanDepth"),
        token_budget=record.integer("token_budget", "tokenBudget"),
        recursive_scanning=record.flag("recursive_scanning", "recursiveScanning", default=None),
        extensions=record.mapping("extensions"),
        entries=entries,
        spelling=spelling or (entries[0].spelling if entries else empty),
        raw=raw,
        document=document,
        path=path,
        findings=inner.done(),
    )
    if findings is not None:
        for item in read.findings:
            findings.add(item.rule, item.message, (item.path,), level=item.level)  # the path is written out already
    return read


def _read_entries(record: Record, spelling: Spelling | None, limits: Limits) -> Iterator[LorebookEntry]:
    entries = record.raw.get("entries")
    if not isinstance(entries, (dict, list)):
        hint = "a lorebook has `entries`, an object or a list"
        raise AssetError("this JSON has no lorebook entries", where=Where(path=None), hint=hint)
    _limit(len(entries), "lore_entries", ENTRIES_FACTOR, "the lorebook", record.path, record.findings, limits)
    pairs: Iterable[tuple[int | str, Any]] = _in_order(entries) if isinstance(entries, dict) else enumerate(entries)
    for index, (key, raw) in enumerate(pairs):
        path = (*record.path, "entries", key)
        if not isinstance(raw, dict):
            record.findings.add("wrong-type", f"an entry is an object, not {kind_of(raw)}; left out", path)
            continue
        entry = read_entry(raw, index, _identity(key), path, record.findings)
        if spelling is not None:
            entry = msgspec.structs.replace(entry, spelling=spelling, raw=raw.get("raw", raw))
        _check_entry(entry, path, record.findings, limits)
        yield entry


def _in_order(entries: dict[str, Any]) -> list[tuple[int | str, Any]]:
    """Entries in the order JavaScript gives an object's keys: indexes ascending, then the others as written."""
    indexes = {key: number for key in entries if isinstance(number := _identity(key), int)}
    canonical = {key: number for key, number in indexes.items() if str(number) == key and number <= LAST_INDEX}
    if not canonical:
        return list(entries.items())
    first = sorted(canonical, key=canonical.__getitem__)
    return [(key, entries[key]) for key in (*first, *(key for key in entries if key not in canonical))]


def _identity(key: int | str) -> int | str:
    """The key as a number where it is written as one."""
    is_number = isinstance(key, str) and key.isascii() and key.isdecimal() and len(key) <= len(str(LAST_INDEX))
    return int(key) if is_number else key


def _check_entry(entry: LorebookEntry, path: Path, findings: FindingCollector, limits: Limits) -> None:
    keys = len(entry.keys) + len(entry.secondary_keys)
    if keys > limits.lore_keys:
        _limit(keys, "lore_keys", ENTRY_FACTOR, "an entry's keys", path, findings, limits)
    if len(entry.content) * 4 > limits.lore_content_bytes:
        size = len(entry.content.encode(errors="replace"))
        _limit(size, "lore_content_bytes", ENTRY_FACTOR, "an entry's text", path, findings, limits)
    if entry.enabled and not entry.keys and not entry.constant and not entry.vectorized:
        findings.add("no-keys", "the entry has no keys and is not constant", path, level=Level.INFO)


def _limit(
    actual: int, limit: str, factor: int, what: str, path: Path, findings: FindingCollector, limits: Limits
) -> None:
    """Warn above the limit, refuse above ``factor`` times as much."""
    allowed: int = getattr(limits, limit)
    if actual > allowed * factor:
        raise limit_error(limit, what, allowed, actual)
    if actual > allowed:
        findings.add("beyond-limit", f"{what} exceeds {limit} ({actual:,} > {allowed:,})", path)


_READ: Final[BoundedCache[str, Lorebook]] = BoundedCache(items=256)
