"""Assets normaliser: the books and regex rules of preset, character and files, each as one list.

SmartTavern's ``assets_normalizer``. What belongs to a caller is never changed; what is returned shares nothing with
it. `entries_of` flattens the containers that world books come in, for every operation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from innkeeper.content.json.values import copied, text_of
from innkeeper.prompt.errors import LimitError, Where
from innkeeper.taverns.smart.compat import Compat, SmartOptions

MAX_BOOK_DEPTH: Final = 64
"""Nested arrays and objects around a world book's entries (no error: deeper ones are not seen)."""

_REGEX_ORDER: Final = ("independent", "preset", "character")
_BOOK_ORDER: Final = ("original_world_books", "character_world_book")


def normalize(
    preset: Any, world_books: Any, character: Any, regex_files: Any = None, *, options: SmartOptions | None = None
) -> dict[str, Any]:
    """``{preset, world_book, character, merged_regex, meta}``: the assets of a chat as the constructor takes them.

    Preset and character come back as they are. ``world_book`` holds the entries of ``world_books``, then the character's;
    ``merged_regex.regex_rules`` those of ``regex_files``, preset and character; ``meta`` counts them.

    With `Compat.wide_books` (the default) books are found in every container, by name too; the original's application hands
    over ``{"wb_0": book, …}``, of which its own normaliser finds nothing. Raises `LimitError` for data that is too deep.
    """
    books = extract_character_world_book(character)
    merged_books = merge_world_books(world_books, books, options=options)
    rules = {
        "independent": _rules_of(regex_files, "independent"),
        "preset": extract_preset_regex(preset)["regex_rules"],
        "character": extract_character_regex(character)["regex_rules"],
    }
    merged, removed = _distinct_rules(rules)
    return {
        "preset": copied(preset, "preset"),
        "world_book": merged_books["world_book"],
        "character": copied(character, "character"),
        "merged_regex": {"regex_rules": merged},
        "meta": {
            "stats": {
                "world_books_input_count_flat": merged_books["meta"]["input_counts"]["world_books_flat"],
                "character_world_book_extracted_count": books["meta"]["count"],
                "regex_input_independent_count": len(rules["independent"]),
                "regex_extracted_from_preset_count": len(rules["preset"]),
                "regex_extracted_from_character_count": len(rules["character"]),
                "regex_final_count": len(merged),
                "regex_dedup_removed_count": removed,
            },
            "order": {"regex": list(_REGEX_ORDER), "world_book": list(_BOOK_ORDER)},
            "warnings": [],
        },
    }


# --- regex rules -------------------------------------------------------------------------------------------------------


def extract_preset_regex(preset: Any) -> dict[str, Any]:
    """``{regex_rules, meta}``: the rules of a preset, each with ``meta.source``."""
    return _extracted(preset, "preset")


def extract_character_regex(character: Any) -> dict[str, Any]:
    """``{regex_rules, meta}``: the rules of a character, each with ``meta.source``."""
    return _extracted(character, "character")


def _extracted(asset: Any, source: str) -> dict[str, Any]:
    rules = _listed(asset.get("regex_rules"), source) if isinstance(asset, Mapping) else []
    return {"regex_rules": rules, "meta": {"source": source, "count": len(rules)}}


def merge_regex(
    independent_regex: Any,
    preset_regex: Any = None,
    character_regex: Any = None,
    *,
    options: SmartOptions | None = None,
) -> dict[str, Any]:
    """``{merged_regex: {regex_rules}, meta}``: rules in the order of the arguments, each once.

    An argument is a list of rules, ``{"regex_rules": […]}``, ``{"items": […]}`` of those, or an object of them by name.
    Rules are the same when they have the same id, else the same name, else the same pattern; the first stays.
    """
    del options  # one behaviour in every profile
    sources = (independent_regex, preset_regex, character_regex)
    rules = {source: _rules_of(value, source) for source, value in zip(_REGEX_ORDER, sources, strict=True)}
    merged, removed = _distinct_rules(rules)
    return {
        "merged_regex": {"regex_rules": merged},
        "meta": {
            "order": list(_REGEX_ORDER),
            "input_counts": {source: len(source_rules) for source, source_rules in rules.items()},
            "dedup_removed_count": removed,
            "total": len(merged),
            "dedup_by": "auto",
            "on_conflict": "keep_first",
        },
    }


def _rules_of(container: Any, source: str) -> list[dict[str, Any]]:
    if not isinstance(container, Mapping) or "regex_rules" in container:
        return _listed(container, source)
    items = container.get("items")
    if isinstance(items, list):
        return [rule for item in items for rule in _listed(item, source)]
    return [rule for item in container.values() if isinstance(item, Mapping) for rule in _listed(item, source)]


def _listed(container: Any, source: str) -> list[dict[str, Any]]:
    """The rules of a list or of ``{"regex_rules": […]}``, copied, with their source."""
    listed = container.get("regex_rules") if isinstance(container, Mapping) else container
    rules = [copied(rule, source) for rule in listed if isinstance(rule, dict)] if isinstance(listed, list) else []
    for rule in rules:
        meta = rule.get("meta")
        rule["meta"] = {**(meta if isinstance(meta, dict) else {}), "source": source}
    return rules


def _distinct_rules(rules: Mapping[str, list[dict[str, Any]]]) -> tuple[list[dict[str, Any]], int]:
    every = [rule for source in _REGEX_ORDER for rule in rules[source]]
    return _first_of_each(every, [_rule_identity(rule) for rule in every])


def _rule_identity(rule: Mapping[str, Any]) -> object:
    for key in ("id", "name"):
        if text := _text(rule.get(key)):
            return key, text
    return "find_regex", _text(rule.get("find_regex"))


# --- world books -------------------------------------------------------------------------------------------------------


def extract_character_world_book(character: Any) -> dict[str, Any]:
    """``{entries, meta}``: the entries of a character's book, enabled by default."""
    book = character.get("world_book") if isinstance(character, Mapping) else None
    listed = book.get("entries") if isinstance(book, Mapping) else None
    items = listed if isinstance(listed, list) else ()
    entries = [copied(entry, "character") for entry in items if isinstance(entry, dict)]
    for entry in entries:
        entry.setdefault("enabled", True)
    return {"entries": entries, "meta": {"source": "character", "count": len(entries)}}


def merge_world_books(
    world_books: Any, character_world_book: Any = None, *, options: SmartOptions | None = None, dedup_key: str = "id"
) -> dict[str, Any]:
    """``{world_book, meta}``: the entries of both, in this order, each id once; the first stays.

    ``dedup_key="auto"`` tells entries without an id apart by name and content, ``"id"`` keeps them all; with
    `Compat.lossy_merges` it keeps only the first of them, as the original does.
    """
    chosen = options or SmartOptions()
    first, second = (_entries(books, chosen) for books in (world_books, character_world_book))
    every = first + second
    identities = [_entry_identity(entry, index, dedup_key, chosen) for index, entry in enumerate(every)]
    merged, removed = _first_of_each(every, identities)
    return {
        "world_book": merged,
        "meta": {
            "order": list(_BOOK_ORDER),
            "input_counts": {"world_books_flat": len(first), "character_world_book_items": len(second)},
            "dedup_removed_count": removed,
            "total": len(merged),
            "allow_override": False,
            "dedup_key": dedup_key,
        },
    }


def _entries(books: Any, options: SmartOptions) -> list[dict[str, Any]]:
    """With narrow containers only an object with a list of entries is a book, unlike in the constructor."""
    if options.compat.wide_books:
        entries: Iterable[Any] = entries_of(books, options.compat)
    else:
        entries = (list_in(books) if isinstance(books, Mapping) else None) or ()
    return [copied(entry, "world_books") for entry in entries if isinstance(entry, dict)]


def _entry_identity(entry: Mapping[str, Any], index: int, dedup_key: str, options: SmartOptions) -> object:
    if "id" in entry and (options.compat.lossy_merges or entry["id"] is not None):
        return "id", _text(entry["id"])
    if dedup_key == "auto":
        content = _text(entry.get("content")).encode("utf-8", "surrogatepass")
        return "content", _text(entry.get("name")), hashlib.blake2b(content).digest()
    return ("id", "") if options.compat.lossy_merges else index


def _first_of_each(items: list[dict[str, Any]], identities: list[object]) -> tuple[list[dict[str, Any]], int]:
    distinct: dict[object, dict[str, Any]] = {}
    for identity, item in zip(identities, items, strict=True):
        distinct.setdefault(identity, item)
    return list(distinct.values()), len(items) - len(distinct)


def _text(value: Any) -> str:
    return text_of(value, "id")


def entries_of(world_books: Any, compat: Compat) -> list[dict[str, Any]]:
    """The entries (objects only) of ``world_books``, depth first.

    An array, arrays within it, an object with ``entries`` or with ``world_book.entries`` (3-smarttavern, *input*); with
    `Compat.wide_books` also arrays of such objects, and books by name. Anything else has no entries.
    Raises `LimitError` beyond `MAX_BOOK_DEPTH`.
    """
    return list(_flattened(world_books, compat.wide_books, 0))


def _flattened(value: Any, wide: bool, depth: int) -> Iterator[dict[str, Any]]:  # noqa: FBT001 - recursion's own
    if depth > MAX_BOOK_DEPTH:
        raise LimitError(
            "the nesting of world books",
            limit="MAX_BOOK_DEPTH",
            allowed=MAX_BOOK_DEPTH,
            where=Where(path="world_books"),
        )
    if isinstance(value, (list, tuple)):
        yield from _of_array(value, wide, depth)
    elif isinstance(value, dict):
        listed = list_in(value)
        if listed is None and wide:
            for book in value.values():
                if isinstance(book, (list, tuple)) or (isinstance(book, dict) and list_in(book) is not None):
                    yield from _flattened(book, wide, depth + 1)
        for entry in listed or ():
            if isinstance(entry, dict):
                yield entry
            elif wide and isinstance(entry, (list, tuple)):
                yield from _of_array(entry, wide, depth + 1)


def _of_array(value: Any, wide: bool, depth: int) -> Iterator[dict[str, Any]]:  # noqa: FBT001 - recursion's own
    for item in value:
        if isinstance(item, (list, tuple)) or (
            wide and isinstance(item, dict) and "content" not in item and list_in(item) is not None
        ):
            yield from _flattened(item, wide, depth + 1)
        elif isinstance(item, dict):
            yield item


_KEYS: Final = ("entries", "world_book")


def list_in(book: Mapping[str, Any]) -> list[Any] | tuple[Any, ...] | None:
    """The array of a book's entries: its ``entries``, else those of its ``world_book``; ``None`` without one."""
    entries, inner = (book.get(key) for key in _KEYS)
    if isinstance(entries, (list, tuple)):
        return entries
    listed = inner.get("entries") if isinstance(inner, Mapping) else None
    return listed if isinstance(listed, (list, tuple)) else None
