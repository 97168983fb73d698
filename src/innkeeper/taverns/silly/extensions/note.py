"""Note: what a chat without an author's note of its own gets, and the notes of characters (`sillytavern.md` C2, E4).

Called where the inputs are read: by `innkeeper.taverns.silly.inputs`, and for an install's folder by its reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_FIELDS: Final[Mapping[str, tuple[str, str, Any]]] = {
    "text": ("note_prompt", "default", ""),
    "interval": ("note_interval", "defaultInterval", 1),
    "position": ("note_position", "defaultPosition", 1),
    "depth": ("note_depth", "defaultDepth", 4),
    "role": ("note_role", "defaultRole", 0),
}
"""The fields of the author's note: their keys in a chat's metadata and in the settings, and what holds without either."""


def note_fields(settings: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The author's note of a chat, with the defaults of the settings (``extension_settings.note``) where the chat does not say.

    >>> note_fields({"default": "Stay brief.", "defaultDepth": 2}, {"note_depth": 0})["text"]
    'Stay brief.'
    """
    fields = {}
    for field, (key, default, otherwise) in _FIELDS.items():
        values = (metadata.get(key), settings.get(default), otherwise)
        fields[field] = next(value for value in values if value is not None)
    return {**fields, "allow_wi_scan": bool(settings.get("allowWIScan"))}


def character_note(settings: Mapping[str, Any], filename: str) -> dict[str, Any] | None:
    """The note of the character whose card's file has this name, without its ending; ``None`` without one."""
    listed = settings.get("chara")
    for note in listed if isinstance(listed, (list, tuple)) else ():
        if isinstance(note, Mapping) and note.get("name") == filename:
            text = note.get("prompt")
            position = note.get("position")
            return {
                "text": text if isinstance(text, str) else "",
                "use": bool(note.get("useChara")),
                "position": position if isinstance(position, int) else 0,
            }
    return None
