"""What a card's file calls its character, told from its text chunks alone: a folder of thousands is looked through at once.

It is only for choosing which files to read. What is not a picture as SillyTavern writes it is left to the cards' own reader.
"""

from __future__ import annotations

import binascii
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from innkeeper.content.files.png import SIGNATURE

__all__ = ["card_names"]

MAX_CHUNKS: Final = 5_000
"""Chunks of a file that are looked at."""

MAX_TEXT: Final = 1024 * 1024
"""Bytes of a text chunk that is read here; cards are smaller, but for those with large books."""

_KEYWORDS: Final = (b"chara\0", b"ccv3\0")
_LONGEST_KEYWORD: Final = max(map(len, _KEYWORDS))
_HEAD: Final = struct.Struct(">I4s")
_BUFFER: Final = 64 * 1024


class _Named(msgspec.Struct):
    """An object with a name."""

    name: Any = None


class _Card(_Named):
    """A card: with its name in ``data``, at its top, or both."""

    data: _Named | None = None


_DECODER: Final = msgspec.json.Decoder(_Card)


def card_names(path: Path) -> tuple[str, ...]:
    """The names in the cards of a picture; none where that takes the cards' own reader."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return ()
        with path.open("rb", buffering=_BUFFER) as file:
            cards = [_DECODER.decode(binascii.a2b_base64(text, strict_mode=True)) for text in _texts(file)]
    except (OSError, ValueError, RecursionError):
        return ()
    names = [name for card in cards for name in (card.data.name if card.data else None, card.name) if name is not None]
    return tuple(dict.fromkeys(names)) if all(isinstance(name, str) for name in names) else ()


def _texts(file: BinaryIO) -> Iterator[bytes]:
    """The texts of the chunks that hold cards. Raises `ValueError` for a file that is not as it should be."""
    if file.read(len(SIGNATURE)) != SIGNATURE:
        raise ValueError("not a PNG")
    for _ in range(MAX_CHUNKS):
        head = file.read(_HEAD.size)
        length, kind = _HEAD.unpack(head) if len(head) == _HEAD.size else (0, b"IEND")
        if kind == b"IEND":
            return
        if kind not in (b"tEXt", b"zTXt", b"iTXt"):
            file.seek(length + 4, 1)
            continue
        start = file.read(min(length, _LONGEST_KEYWORD))
        keyword = next((word for word in _KEYWORDS if start.lower().startswith(word)), None)
        if keyword is not None and (kind != b"tEXt" or length > MAX_TEXT):
            raise ValueError("a card for the cards' own reader")
        if keyword is not None:
            yield start[len(keyword) :] + file.read(length - len(start))
            file.seek(4, 1)
        else:
            file.seek(length - len(start) + 4, 1)
    raise ValueError("too many chunks")
