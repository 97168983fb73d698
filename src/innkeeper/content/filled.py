"""Filled fields: what an asset holds, field by field, and the keys of its file that no field is read from.

Fields have dotted names: ``mes_example``, ``extensions.depth_prompt``, ``entries.sticky`` of a book, ``prompts.role`` of a
preset. A tavern compares them with what it reads, and names the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, Final

import msgspec

from innkeeper.content.card_versions import FIELDS, CardVersion
from innkeeper.content.character import TALKATIVENESS, V1_EXTENSIONS, Character, names_of
from innkeeper.content.entry import Spelling
from innkeeper.content.json.json_asset import JsonAsset
from innkeeper.content.lorebook import Lorebook
from innkeeper.content.persona import Persona
from innkeeper.content.preset import OLD_PROMPTS, Preset
from innkeeper.content.spellings.reading import unread_keys
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.near import nearest

Asset = Character | Persona | Preset | Lorebook

_OF_READING: Final = frozenset(
    {"document", "findings", "path", "raw", "spelling", "version", "spec_version", "index", "id", "extensions"}
)
"""Fields that tell of the reading, or are looked into."""


class Filled(msgspec.Struct, frozen=True, gc=False):
    """``fields`` that do not have their default, in their order; ``keys`` that none is read from, with the nearest that is."""

    fields: tuple[str, ...]
    keys: Mapping[str, str | None]


_FILLED: Final[BoundedCache[int, Filled]] = BoundedCache(items=1024)
_ENTRY_BYTES: Final = 64


def filled(asset: Asset) -> Filled:
    """What an asset holds. Remembered for as long as the asset lives."""
    known = _FILLED.get(id(asset))
    if known is None:
        known = Filled(tuple(dict.fromkeys(_fields(asset))), dict(_unread(asset)))
        _FILLED.put(id(asset), known, _ENTRY_BYTES * (len(known.fields) + len(known.keys)), alive=asset)
    return known


def _fields(asset: Asset) -> Iterator[str]:
    yield from _changed((asset,))
    if isinstance(asset, Preset) and "function_calling" in (asset.raw or {}):
        yield "function_calling"  # what holds where a preset does not say depends on the request
    extensions = getattr(asset, "extensions", None) or {}
    yield from (f"extensions.{name}" for name in extensions if extensions[name] and not _is_usual(asset, name))
    if isinstance(asset, Character) and asset.book is not None:
        yield from (f"book.{name}" for name in _fields(asset.book))
    elif isinstance(asset, Lorebook):
        yield from (f"entries.{name}" for name in _changed(asset.entries))
        yield from (
            "entries.extensions" for entry in asset.entries if entry.spelling is Spelling.WORLD and entry.extensions
        )
    elif isinstance(asset, Preset):
        yield from (f"prompts.{name}" for name in _changed(asset.prompts))


def _is_usual(asset: Asset, extension: str) -> bool:
    """Whether an extension that SillyTavern writes into every card says nothing in this one."""
    if not isinstance(asset, Character):
        return False
    if extension == "depth_prompt":
        return asset.depth_prompt is None
    return extension == "talkativeness" and asset.talkativeness == TALKATIVENESS


def _changed(values: Iterable[Any]) -> Iterator[str]:
    """The fields that are not as usual in any of the values, which are of one type."""
    listed = tuple(values)
    kind: Any = type(listed[0]) if listed else None
    for name, default in _defaults(kind) if listed else ():
        as_usual = list(map(attrgetter(name), listed)).count(default)
        if as_usual < len(listed) and not _is_certain(name, listed):
            yield name


def _is_certain(name: str, values: tuple[Any, ...]) -> bool:
    """Whether the field is one of chance, and none of the entries leaves anything to it: books write that out."""
    return name in _CHANCE and all(value.probability in {None, 100} for value in values)


_CHANCE: Final = frozenset({"probability", "use_probability"})


@cache
def _defaults(kind: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (each.name, each.default if each.default_factory is msgspec.NODEFAULT else each.default_factory())
        for each in msgspec.structs.fields(kind)
        if each.name not in _OF_READING
    )


def _unread(asset: Asset) -> Iterator[tuple[str, str | None]]:
    if isinstance(asset, Character):
        known = _CARD_KEYS if asset.version is CardVersion.V1 else _DATA_KEYS
        raw = asset.raw or {}
        yield from _unknown(raw if asset.version is CardVersion.V1 else raw.get("data"), known)
        if asset.book is not None:
            yield from ((f"book.{key}", near) for key, near in _unread(asset.book))
    elif isinstance(asset, Lorebook):
        yield from _of_book(asset)
    elif asset.document.tree is not None:
        own = {asset.model_key} if isinstance(asset, Preset) else frozenset[str]()
        yield from _unknown(asset.raw, _read_keys(type(asset)) | own)
        yield from _other_names(asset)
        for prompt in asset.prompts if isinstance(asset, Preset) else ():
            yield from ((f"prompts.{key}", near) for key, near in _unknown(prompt.raw, _PROMPT_KEYS))


def _unknown(raw: Any, known: frozenset[str]) -> Iterator[tuple[str, str | None]]:
    if isinstance(raw, Mapping):
        yield from ((key, nearest(str(key), known)) for key in raw if key not in known and raw[key] is not None)


def _of_book(book: Lorebook) -> Iterator[tuple[str, str | None]]:
    yield from _unknown(book.raw, _BOOK_KEYS)
    if book.spelling in {Spelling.WORLD, Spelling.CARD}:
        for names in dict.fromkeys((tuple(entry.raw), tuple(entry.extensions)) for entry in book.entries):
            yield from ((f"entries.{key}", near) for key, near in unread_keys(*names))


def _other_names(asset: JsonAsset) -> Iterator[tuple[str, str | None]]:
    """Further names of a field that is read from another of its names, and says something else."""
    for field in asset.__struct_fields__:
        present = [name for name in asset.names(field) if asset.raw.get(name) is not None]
        yield from ((name, present[0]) for name in present[1:] if asset.raw[name] != asset.raw[present[0]])


_BOOKKEEPING: Final = frozenset(
    {
        "spec",
        "spec_version",
        "data",
        "avatar",
        "chat",
        "create_date",
        "json_data",
        "metadata",
        "shallow",
        "message",
        "world_book",
    }
)
"""Keys on a card itself that say nothing of the character, or are read as other fields."""

_DATA_KEYS: Final = frozenset({*FIELDS, "character_book"} - {"book"})
_CARD_KEYS: Final = frozenset({name for field in FIELDS for name in names_of(field)} | {*V1_EXTENSIONS, *_BOOKKEEPING})
_BOOK_KEYS: Final = frozenset({
    "name", "description", "scan_depth", "scanDepth", "token_budget", "tokenBudget", "recursive_scanning",
    "recursiveScanning", "extensions", "entries", "originalName", "originalData", "spec", "data",
})  # fmt: skip
_PROMPT_KEYS: Final = frozenset({
    "identifier", "id", "key", "name", "content", "role", "system_prompt", "marker", "injection_position", "position",
    "injection_depth", "depth", "injection_order", "order", "injection_trigger", "triggers", "forbid_overrides", "enabled",
    "extension",
})  # fmt: skip
_MORE_KEYS: Final[Mapping[type, frozenset[str]]] = {
    Persona: frozenset({"persona_name"}),
    Preset: frozenset({
        *OLD_PROMPTS, "prompt_order", "names_in_completion", "tavernkit_preset_version", "generation_settings",
        "preset_settings", "preset_settings_openai",
    }),
}  # fmt: skip
"""Keys that are read besides the names of fields."""


@cache
def _read_keys(kind: type[JsonAsset]) -> frozenset[str]:
    names = {name for field in kind.__struct_fields__ for name in kind.names(field)}
    return frozenset(names) | _MORE_KEYS.get(kind, frozenset())
