"""What a folder stores that no part of a build reads: one table, each row with what it would do and how to see that it is set.

Whoever makes one of these count takes its row out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import Where
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.taverns.silly.install.files import SETTINGS
from innkeeper.taverns.silly.install.json_values import list_of, mapping_of, text_of
from innkeeper.taverns.silly.install.selected import Selected

__all__ = ["CHAT", "EXTENSIONS", "Stored", "notes_of"]


class Stored(msgspec.Struct, frozen=True):
    """Something that is stored under ``key`` and not used: ``what`` it is, and whether it is set to anything."""

    key: str
    what: str
    is_set: Callable[[Any], bool]
    extension: str = ""
    """The extension that reads it: when that is switched off, nothing is missed."""


def _filled(value: Any) -> bool:
    return bool(value)


def _lists(value: Any) -> bool:
    """Whether a list, or any list in an object, has something in it."""
    return bool(value) if isinstance(value, list) else any(map(_lists, mapping_of(value).values()))


def _scaled(value: Any) -> bool:
    scale = mapping_of(value, "global").get("guidance_scale", 1)
    return scale != 1 or bool(list_of(mapping_of(value).get("chara")))


def _vectors(value: Any) -> bool:
    settings = mapping_of(value)
    return any(settings.get(name) for name in ("enabled_chats", "enabled_files", "enabled_world_info"))


EXTENSIONS: Final = (
    Stored("cfg", "guidance: scale and prompts", _scaled, "cfg"),
    Stored("vectors", "vector storage: passages of chat, files and lore by their meaning", _vectors, "vectors"),
    Stored("attachments", "the data bank's files for all chats", _lists, "vectors"),
    Stored("character_attachments", "the data bank's files for characters", _lists, "vectors"),
)
"""Of ``extension_settings``."""

CHAT: Final = (
    Stored("cfg_guidance_scale", "guidance for this chat", lambda value: value not in (None, 1), "cfg"),
    Stored("cfg_negative_prompt", "guidance for this chat", _filled, "cfg"),
    Stored("cfg_positive_prompt", "guidance for this chat", _filled, "cfg"),
    Stored("attachments", "the data bank's files for this chat", _lists, "vectors"),
)
"""Of a chat's metadata."""


def notes_of(selected: Selected, metadata: Mapping[str, Any], extras: list[Mapping[str, Any]]) -> list[Note]:
    """A note for each row that is set. ``extras`` is what stands beside the chat's messages (``extra``), oldest first."""
    chat_file = "chat_metadata"
    notes = [
        _note(row, place)
        for rows, values, place in (
            (EXTENSIONS, selected.extensions, f"{SETTINGS}: extension_settings"),
            (CHAT, metadata, chat_file),
        )
        for row in rows
        if row.extension not in selected.disabled and row.is_set(values.get(row.key))
    ]
    if "memory" not in selected.disabled and any(text_of(extra.get("memory")) for extra in extras[:-1]):
        notes.append(_note(Stored("memory", "the chat's summary", _filled), "extra"))
    return notes


def _note(row: Stored, place: str) -> Note:
    message = f"{row.what} is stored and not used"
    return Note(NoteKind.IGNORED, message, where=Where(asset=place, path=row.key), data=FrozenDict({"input": row.key}))
