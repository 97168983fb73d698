"""Writes entries of lorebooks as JSON: single fields in the entry's own spelling, whole ones as world info or in a card book."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.content.entry import CharacterFilter, LorebookEntry, LorePosition, Spelling
from innkeeper.content.finding import Path
from innkeeper.content.spellings.reading import (
    CARD_FIELDS,
    EXTENSION_FIELDS,
    LOGICS,
    POSITIONS,
    SHARED_FIELDS,
    WORLD_FIELDS,
    EntryField,
)
from innkeeper.prompt.errors import UnknownNameError, UsageError

_ROLES: Final = ("system", "user", "assistant")

_WORLD: Final[Mapping[str, EntryField]] = {field.attribute: field for field in (*WORLD_FIELDS, *SHARED_FIELDS)}
_CARD: Final[Mapping[str, EntryField]] = {field.attribute: field for field in CARD_FIELDS}
_EXTENSION: Final[Mapping[str, EntryField]] = {field.attribute: field for field in EXTENSION_FIELDS}


def entry_edits(entry: LorebookEntry, fields: Mapping[str, Any]) -> dict[Path, Any]:
    """The edits that give an entry other values, in its own spelling, by paths within it."""
    if entry.spelling not in {Spelling.WORLD, Spelling.CARD}:
        hint = "write the book with to_world() or to_card_book() first"
        raise UsageError(f"entries of a {entry.spelling.value} book cannot be edited", hint=hint)
    write = _world_edits if entry.spelling is Spelling.WORLD else _card_edits
    edits: dict[Path, Any] = {}
    for name, value in fields.items():
        edits.update(write(entry, name, value))
    return edits


def world_entry(entry: LorebookEntry) -> dict[str, Any]:
    """Return the entry as SillyTavern world info, with every field."""
    data: dict[str, Any] = {"uid": entry.index}
    for field in (*WORLD_FIELDS, *SHARED_FIELDS):
        data[field.camel] = _plain(field.attribute, getattr(entry, field.attribute))
    data["disable"] = not entry.enabled
    data["characterFilter"] = _plain("character_filter", entry.character_filter)
    data["extensions"] = entry.extensions
    return {key: value for key, value in data.items() if value is not None or key in _NULLABLE}


_NULLABLE: Final = frozenset(
    {"scanDepth", "caseSensitive", "matchWholeWords", "useGroupScoring", "sticky", "cooldown", "delay"}
)
"""Fields that world info writes as null where they are not set."""


def card_entry(entry: LorebookEntry) -> dict[str, Any]:
    """Return the entry as V2 and V3 cards hold it, with every required field."""
    own = {name: _plain(name, getattr(entry, name)) for name in ("id", "keys", "secondary_keys", "comment", "content")}
    own |= {"constant": entry.constant, "selective": entry.selective}
    own |= {"insertion_order": 100 if entry.order is None else entry.order, "enabled": entry.enabled}
    own |= {"position": "before_char" if entry.position is LorePosition.BEFORE_CHAR else "after_char"}
    own |= {"use_regex": entry.use_regex if entry.use_regex is not None else False}
    optional = {"name": entry.name, "priority": entry.priority, "case_sensitive": entry.spec_case_sensitive}
    own |= {name: value for name, value in optional.items() if value is not None}
    return own | {"extensions": entry.extensions | _card_extensions(entry)}


def _card_extensions(entry: LorebookEntry) -> dict[str, Any]:
    data: dict[str, Any] = {"position": POSITIONS.index(entry.position)}
    for field in EXTENSION_FIELDS:
        value = getattr(entry, field.attribute)
        if value != field.default:
            data[field.camel] = _plain(field.attribute, value)
    if entry.character_filter != CharacterFilter():
        data["character_filter"] = _plain("character_filter", entry.character_filter)
    return data


def _world_edits(entry: LorebookEntry, name: str, value: Any) -> dict[Path, Any]:
    if name == "id":
        return {("uid",): value}
    if name == "enabled":
        return {("disable",): not value}
    if name == "character_filter":
        return {("characterFilter",): _plain(name, value)}
    if name == "extensions":
        return {(name,): value}
    if name not in _WORLD:
        raise UnknownNameError("field of a world info entry", name, _WORLD)
    return {(_name(_WORLD[name], entry.raw),): _plain(name, value)}


def _card_edits(entry: LorebookEntry, name: str, value: Any) -> dict[Path, Any]:
    if name in {"id", "enabled", "extensions"}:
        return {(name,): value}
    holder = () if "extensions" in entry.raw else ("extensions",)
    if name == "position":
        index = POSITIONS.index(LorePosition(value))
        return {("position",): ("before_char", "after_char")[index != 0]} | _extension(holder, "position", index)
    if name in _CARD:
        return {(_name(_CARD[name], entry.raw),): _plain(name, value)}
    if name == "character_filter":
        return _extension(holder, name, _plain(name, value))
    if name not in _EXTENSION:
        raise UnknownNameError("field of a card book entry", name, (*_CARD, *_EXTENSION))
    return _extension(holder, _name(_EXTENSION[name], entry.extensions), _plain(name, value))


def _extension(holder: tuple[str, ...], name: str, value: Any) -> dict[Path, Any]:
    """Write one field of ``extensions``, the whole of which is written if the entry has none."""
    return {("extensions",): {name: value}} if holder else {("extensions", name): value}


def _name(field: EntryField, raw: Mapping[str, Any]) -> str:
    return field.snake if field.snake in raw and field.camel not in raw else field.camel


def _plain(name: str, value: Any) -> Any:
    """A value of ours as the formats write it: numbers for positions, logics and roles, lists for tuples."""
    if name in _NUMBERED and value in _NUMBERED[name]:
        return _NUMBERED[name].index(value)
    if name == "delay_until_recursion":
        return bool(value) if value in {0, 1} else value
    if isinstance(value, CharacterFilter):
        return {"isExclude": value.exclude, "names": list(value.names), "tags": list(value.tags)}
    return list(value) if isinstance(value, tuple) else value


_NUMBERED: Final[Mapping[str, tuple[str, ...]]] = {"position": POSITIONS, "selective_logic": LOGICS, "role": _ROLES}
"""Fields whose values are written as their index in a list."""
