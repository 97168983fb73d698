"""Asset: a picture, sound or other file that a card names (Character Card V3, *assets*)."""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["DEFAULT_ASSETS", "EMBEDDED", "PNG_EMBEDDED", "Asset", "asset_folder"]

EMBEDDED: Final = ("embeded://", "embedded://")
"""How a path inside the archive is written; the first spelling is the specification's."""

PNG_EMBEDDED: Final = "__asset:"
"""How a chunk of the card's own PNG is written."""


class Asset(msgspec.Struct, frozen=True):
    """One asset: what it is used as, where it is, its name and its file extension in lower case without a dot."""

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


DEFAULT_ASSETS: Final = (Asset("icon", "ccdefault:", "main", "png"),)
"""What a card without ``assets`` has."""

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
