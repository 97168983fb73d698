"""The shapes of settings that no typed value reads: checked once, before anything uses them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.lore import LoreSettings
from innkeeper.prompt.errors import ConfigError, Where
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.state import State

__all__ = ["check_shapes"]

_OBJECTS: Final = ("power_user", "wi_settings", "world_info", "chat_metadata", "generation", "character_note", "text")
_LISTS: Final = ("extensions", "character_tags")
_METADATA_TEXTS: Final = ("scenario", "mes_example", "system_prompt", "chat_id_hash")
_METADATA: Final = (*_METADATA_TEXTS, "pick_reroll_seed", "lastInContextMessageId")
_TEXT_NUMBERS: Final = ("max_context", "amount_gen")
LARGEST_WINDOW: Final = 2**53
_PREFIX: Final = "world_info_"


def check_shapes(state: State) -> None:
    """Raise `ConfigError` naming the setting that has the wrong shape; note fields that mean nothing here."""
    settings = state.request.settings
    for name in _OBJECTS:
        _check(settings, name, Mapping, "an object", "")
    for name in _LISTS:
        _check(settings, name, (list, tuple), "a list", "")
    _check_metadata(state, settings.get("chat_metadata") or {})
    for name in _TEXT_NUMBERS:
        _check_number(settings.get("text") or {}, name)
    _note_lore(state, settings.get("wi_settings") or settings.get("world_info") or {})


def _check(fields: Mapping[str, Any], name: str, kind: Any, what: str, parent: str) -> None:
    value = fields.get(name)
    if value is not None and not isinstance(value, kind):
        path = f"{parent}{name}"
        raise ConfigError(f"{path} is {what}, not {type(value).__name__}", where=Where(asset="settings", path=path))


def _check_metadata(state: State, metadata: Mapping[str, Any]) -> None:
    for name in _METADATA_TEXTS[:3]:
        _check(metadata, name, str, "a text", "chat_metadata.")
    for name in metadata.keys() - set(_METADATA):
        field = f"chat_metadata.{name}"
        state.note(NoteKind.IGNORED, f"{field} has no effect in this tavern", data={"input": field})


def _check_number(fields: Mapping[str, Any], name: str) -> None:
    _check(fields, name, int, "a whole number", "text.")
    value = fields.get(name)
    if value is not None and (isinstance(value, bool) or not 0 <= value <= LARGEST_WINDOW):
        where = Where(asset="settings", path=f"text.{name}")
        raise ConfigError(f"text.{name} is a number of tokens between 0 and {LARGEST_WINDOW}", where=where)


def _note_lore(state: State, fields: Mapping[str, Any]) -> None:
    known = set(LoreSettings.__struct_fields__)
    for name in fields:
        if str(name).removeprefix(_PREFIX) not in known:
            field = f"wi_settings.{name}"
            state.note(NoteKind.IGNORED, f"{field} has no effect in this tavern", data={"input": field})
