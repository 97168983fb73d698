"""Versions of the character card: their fields, the assets of V3, and the edits that change a card in its own words.

An `CardAsset` is a picture, sound or other file that a card names (Character Card V3, *assets*).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.content.finding import Path
from innkeeper.content.json import ABSENT
from innkeeper.content.lorebook import Lorebook
from innkeeper.prompt.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from innkeeper.content.character import Character


EMBEDDED: Final = ("embeded://", "embedded://")
"""The prefixes of a path inside the archive; the first spelling is the specification's."""

PNG_EMBEDDED: Final = "__asset:"
"""The prefix of a chunk of the card's own PNG."""


class CardAsset(msgspec.Struct, frozen=True):
    """One asset: its use, its path, its name and its file extension in lower case without a dot."""

    type: str
    uri: str
    name: str = ""
    ext: str = "unknown"

    @property
    def path(self) -> str | None:
        """The path inside the archive, or the name of the PNG chunk, that holds it; ``None`` where neither does."""
        for mark in (*EMBEDDED, PNG_EMBEDDED):
            if self.uri.startswith(mark):
                return self.uri[len(mark) :]
        return None

    @property
    def is_default(self) -> bool:
        """Whether the application chooses: for the icon of an image card that is the image itself."""
        return self.uri.startswith("ccdefault:")


DEFAULT_ASSETS: Final = (CardAsset("icon", "ccdefault:", "main", "png"),)
"""The assets of a card without ``assets``."""

_FOLDERS: Final = {
    "images": ("png", "jpg", "jpeg", "webp", "avif", "gif", "apng", "bmp", "svg"),
    "audio": ("mp3", "ogg", "wav", "flac", "m4a", "opus"),
    "video": ("mp4", "webm", "mkv", "mov"),
    "3d": ("mmd", "obj", "glb", "gltf", "vrm", "fbx"),
    "ai": ("safetensors", "ckpt", "onnx", "gguf"),
    "fonts": ("otf", "ttf", "woff", "woff2"),
    "code": ("lua", "js", "py"),
}


def asset_folder(type_: str, ext: str) -> str:
    """The folder in which a CHARX archive keeps an asset (*CHARX*)."""
    kind = next((name for name, extensions in _FOLDERS.items() if ext in extensions), "other")
    return f"assets/{type_ or 'other'}/{kind}"


class CardVersion(StrEnum):
    """The specification a card follows."""

    V1 = "v1"
    V2 = "v2"
    V3 = "v3"


SPECS: Final[Mapping[str, CardVersion]] = {"chara_card_v2": CardVersion.V2, "chara_card_v3": CardVersion.V3}

V1_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "name": ("name", "char_name"),
    "description": ("description", "char_persona"),
    "personality": ("personality",),
    "scenario": ("scenario", "world_scenario"),
    "first_mes": ("first_mes", "char_greeting"),
    "mes_example": ("mes_example", "example_dialogue"),
    "creator_notes": ("creatorcomment", "creator_notes"),
}
"""The fields of a V1 card, with the names that other early formats have for them."""

TEXT_FIELDS: Final = (
    *V1_NAMES,
    *("system_prompt", "post_history_instructions", "creator", "character_version", "nickname"),
)
"""The fields of a card that are one text each."""

_LISTS: Final = ("alternate_greetings", "group_only_greetings", "tags", "source")
_OTHERS: Final = ("creator_notes_multilingual", "creation_date", "modification_date", "assets", "extensions", "book")
FIELDS: Final = (*TEXT_FIELDS, *_LISTS, *_OTHERS)
"""Every field that can be replaced."""

V2_DEFAULTS: Final[Mapping[str, Any]] = {
    **dict.fromkeys((name for name in TEXT_FIELDS if name not in {"name", "nickname"}), ""),
    "alternate_greetings": [],
    "tags": [],
    "extensions": {},
}
"""The fields that V2 requires, with their empty values."""

_NUMBERS: Final = {CardVersion.V2: ("chara_card_v2", "2.0"), CardVersion.V3: ("chara_card_v3", "3.0")}


def field_edits(character: Character, fields: Mapping[str, Any]) -> dict[Path, Any]:
    """The edits that give a card other values in some fields. Raises `UnknownNameError`, `UsageError` as `Character.replace`."""
    edits: dict[Path, Any] = {}
    for name, value in fields.items():
        if name not in FIELDS:
            raise UnknownNameError("field of a character", name, FIELDS)
        edits.update(_edits(character, name, _plain(name, value)))
    return edits


def version_edits(character: Character, version: CardVersion) -> dict[Path, Any]:
    """The edits that make a card one of another version. Raises `UsageError` for V1."""
    if version is CardVersion.V1:
        raise UsageError("a card is not taken back to V1", hint="V2 cards keep the V1 fields for old readers")
    spec, number = _NUMBERS[version]
    edits: dict[Path, Any] = {("spec",): spec, ("spec_version",): number}
    if character.version is CardVersion.V1:
        edits.update(_from_v1(character))
    else:
        data = character.document.at(("data",))
        edits.update({("data", key): value for key, value in V2_DEFAULTS.items() if key not in data})
    if version is CardVersion.V3 and character.document.at(("data", "group_only_greetings")) is ABSENT:
        edits["data", "group_only_greetings"] = []
    return edits


def _from_v1(character: Character) -> dict[Path, Any]:
    """The V1 fields moved into ``data``; fields that no V1 reader knows stay beside it."""
    data: dict[str, Any] = {"name": character.name, **V2_DEFAULTS}
    data |= {name: getattr(character, name) for name in V1_NAMES}
    data |= {"tags": list(character.tags), "extensions": dict(character.extensions)}
    moved = {spelling for names in V1_NAMES.values() for spelling in names} | {"tags", *character.extensions}
    return {("data",): data} | {(name,): ABSENT for name in moved if name in character.raw}


def _edits(character: Character, name: str, value: Any) -> dict[Path, Any]:
    if character.version is CardVersion.V1:
        return {_v1_path(character, name): value}
    key = "character_book" if name == "book" else name
    edits: dict[Path, Any] = {("data", key): ABSENT if value is None else value}
    old = getattr(character, name)
    for mirror in V1_NAMES.get(name, ())[:1]:
        if mirror in character.raw and character.raw[mirror] == old:
            edits[mirror,] = value
    return edits


def _v1_path(character: Character, name: str) -> Path:
    names = V1_NAMES.get(name)
    if names is None:
        hint = "convert it first: character.to_version('v2')"
        raise UsageError(f"a V1 card has no field {name!r}", hint=hint)
    return (next((spelling for spelling in names if spelling in character.raw), names[0]),)


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, Lorebook):
        return value.to_card_book()
    if name == "assets" and value is not None:
        return [msgspec.to_builtins(item) if isinstance(item, CardAsset) else item for item in value]
    return list(value) if isinstance(value, tuple) else value
