"""Versions of the character card: their fields, and the assets of V3.

A `CardAsset` is a picture, sound or other file that a card names (Character Card V3, *assets*).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

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

SPEC_NUMBERS: Final[Mapping[CardVersion, tuple[str, str]]] = {
    CardVersion.V2: ("chara_card_v2", "2.0"),
    CardVersion.V3: ("chara_card_v3", "3.0"),
}
