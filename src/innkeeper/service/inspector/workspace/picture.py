"""Picture: what a page may show of a PNG: the chunks that make the picture, and no other."""

from __future__ import annotations

import struct
from typing import Final

from innkeeper.content.files.png import read_chunks, write_chunk
from innkeeper.prompt.errors import InputError

PNG: Final = b"\x89PNG\r\n\x1a\n"
"""How a picture begins that a page may show."""

MAX_PICTURE_SIDE: Final = 8_192
"""Pixels of a side of a picture that is shown (no error: a larger one is not)."""


def only_picture(data: bytes) -> bytes | None:
    """The chunks of a PNG that make the picture; None for what is none, is damaged, or larger than a page should unpack."""
    if not data.startswith(PNG):
        return None
    try:
        chunks = list(read_chunks(data, lenient=True))
        sides = struct.unpack_from(">II", data, chunks[0].start)
    except (InputError, IndexError, struct.error):
        return None
    if max(sides) > MAX_PICTURE_SIDE:
        return None
    return PNG + b"".join(
        write_chunk(chunk.kind, data[chunk.start : chunk.end]) for chunk in chunks if chunk.kind in _PICTURE
    )


_PICTURE: Final = frozenset({b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"})
"""The chunks that make a picture: not its texts, nor what animates it."""
