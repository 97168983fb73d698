"""The user's persona when a chat is opened: the chat's own, one tied to the card, the default, else the last one.

The persona that was last used is in the settings as it was left, which its stored description need not be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.prompt.note import NoteKind
from innkeeper.taverns.silly.install.files import SETTINGS, UserFolder, list_of, mapping_of, text_of
from innkeeper.taverns.silly.install.selected import Selected

AVATARS: Final = "User Avatars"
_NAMELESS: Final = "User"
_FIELDS: Final = ("description", "position", "depth", "role", "lorebook")
_OUTDATED: Final = 1
"""A position that is read as 0."""


class ActivePersona(msgspec.Struct, frozen=True):
    """The persona's fields for a build request, the name of its lorebook (or none), and its picture's file name."""

    fields: Mapping[str, Any]
    lorebook: str
    avatar: str


def active_persona(
    folder: UserFolder, selected: Selected, metadata: Mapping[str, Any], kind: str, identity: str
) -> ActivePersona:
    """The persona for a chat with the ``character`` or ``group`` (``kind``) of this card file or id."""
    power, last = selected.power, text_of(selected.raw.get("user_avatar"))
    here = last if not last or _exists(folder, last) else _first(folder, last)
    avatar = _locked(folder, metadata) or _connected(folder, power, kind, identity) or _default(folder, power) or here
    if avatar == last:
        keys = {name: f"persona_description_{name}".removesuffix("_description") for name in _FIELDS}
        own = {name: power[key] for name, key in keys.items() if key in power}
        return _persona(avatar, text_of(selected.raw.get("username")) or _NAMELESS, own)
    described = mapping_of(power, "persona_descriptions", avatar)
    name = text_of(mapping_of(power, "personas").get(avatar)) or _NAMELESS
    return _persona(avatar, name, {name: described[name] for name in _FIELDS if name in described})


def _persona(avatar: str, name: str, own: dict[str, Any]) -> ActivePersona:
    fields = {key: value for key, value in own.items() if key != "lorebook" and value is not None}
    if fields.get("position") == _OUTDATED:
        fields["position"] = 0
    return ActivePersona({**fields, "name": name}, text_of(own.get("lorebook")), avatar)


def _exists(folder: UserFolder, avatar: str) -> bool:
    return folder.path(AVATARS, avatar) is not None


def _locked(folder: UserFolder, metadata: Mapping[str, Any]) -> str:
    avatar = text_of(metadata.get("persona"))
    if avatar and not _exists(folder, avatar):
        folder.note(f"the chat's persona {avatar[:80]!r} is not there: another is used", kind=NoteKind.FALLBACK)
        return ""
    return avatar


def _connected(folder: UserFolder, power: Mapping[str, Any], kind: str, identity: str) -> str:
    """The first persona that is tied to the card or the group."""
    tied = [
        avatar
        for avatar, described in mapping_of(power, "persona_descriptions").items()
        if any(
            mapping_of(tie).get("type") == kind and mapping_of(tie).get("id") == identity
            for tie in list_of(mapping_of(described).get("connections"))
        )
        and _exists(folder, avatar)
    ]
    if len(tied) > 1:
        message = f"{len(tied)} personas are tied to this {kind}: the first is used"
        folder.note(message, kind=NoteKind.FALLBACK, at=SETTINGS, personas=tuple(tied))
    return tied[0] if tied else ""


def _first(folder: UserFolder, last: str) -> str:
    """The first persona there is, where the last one is gone."""
    first = next(iter(folder.names(AVATARS, suffix="")), last)
    effect = "it is used without" if first == last else f"{first[:80]!r} is used"
    folder.note(f"the persona {last[:80]!r} has no picture there: {effect}", kind=NoteKind.FALLBACK, at=SETTINGS)
    return first


def _default(folder: UserFolder, power: Mapping[str, Any]) -> str:
    avatar = text_of(power.get("default_persona"))
    return avatar if avatar and _exists(folder, avatar) else ""
