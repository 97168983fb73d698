"""Dimensions: width and height of pictures and the length of sounds and videos, read from headers without decoding.

Only sizes that a header names are read, from bytes nobody has vetted: what is damaged or of another format has none.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

MAX_PARTS: Final = 10_000
"""Segments, boxes or elements of a picture that are looked at (no error: its size is not known)."""


class PictureSize(NamedTuple):
    """Width and height in pixels, both at least 1."""

    width: int
    height: int


def picture_size(data: bytes) -> PictureSize | None:
    """The size of a PNG, JPEG, GIF, WebP or BMP; ``None`` for other formats and damaged headers."""
    size = _read(data, _PICTURES)
    return PictureSize(*size) if size is not None and min(size) > 0 else None


def seconds_of(data: bytes) -> float | None:
    """The duration of a WAV, MP3, Ogg, FLAC, MP4 or WebM in seconds; ``None`` if its header does not give it."""
    seconds = _read(data, _SOUNDS)
    return seconds if seconds is not None and math.isfinite(seconds) and seconds >= 0 else None


def _read(data: bytes, formats: tuple[tuple[int, bytes, Callable[[bytes], Any]], ...]) -> Any:
    """Read with the first format whose signature the bytes have."""
    reader = next((reader for at, mark, reader in formats if data[at : at + len(mark)] == mark), None)
    try:
        return None if reader is None else reader(data)
    except (struct.error, IndexError, ValueError, ZeroDivisionError, OverflowError):
        return None


def _png(data: bytes) -> tuple[int, int] | None:
    return struct.unpack_from(">II", data, 16) if data[12:16] == b"IHDR" else None


def _gif(data: bytes) -> tuple[int, int]:
    return struct.unpack_from("<HH", data, 6)


def _bmp(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("<ii", data, 18)
    return width, abs(height)


_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""The JPEG markers of segments that begin with the picture's size."""
_BARE: Final = frozenset({0x01, *range(0xD0, 0xD9)})
"""JPEG markers without a segment."""


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    for _ in range(MAX_PARTS):
        at = data.index(b"\xff", at)
        while data[at] == 0xFF:  # noqa: PLR2004 - the mark of a marker, of which there may be several
            at += 1
        marker = data[at]
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 4)
            return width, height
        if marker not in _BARE:
            at += struct.unpack_from(">H", data, at + 1)[0]
        at += 1
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L":
        bits = struct.unpack_from("<I", data, 21)[0]
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None


def _wav(data: bytes) -> float | None:
    if data[8:12] != b"WAVE":
        return None
    rate, at = 0, 12
    for _ in range(MAX_PARTS):
        kind, size = struct.unpack_from("<4sI", data, at)
        if kind == b"fmt ":
            rate = struct.unpack_from("<I", data, at + 16)[0]
        if kind == b"data":
            return float(min(size, len(data) - at - 8) / rate)
        at += 8 + size + size % 2
    return None


def _flac(data: bytes) -> float:
    bits = int.from_bytes(data[18:26], "big")
    return (bits & 0xFFFFFFFFF) / (bits >> 44)


def _ogg(data: bytes) -> float | None:
    """The last page's position in samples, by the rate of the first stream (Opus counts 48,000 a second)."""
    vorbis, opus = data.find(b"\x01vorbis", 0, 512), data.find(b"OpusHead", 0, 512)
    last = data.rfind(b"OggS")
    position = struct.unpack_from("<q", data, last + 6)[0]
    if opus >= 0:
        return float((position - struct.unpack_from("<H", data, opus + 10)[0]) / 48_000)
    return float(position / struct.unpack_from("<I", data, vorbis + 12)[0]) if vorbis >= 0 else None


_KBITS: Final = {
    "1": (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    "2": (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
"""Layer III bit rates of MPEG 1, and of MPEG 2 and 2.5, in 1,000 a second."""
_RATES: Final = {3: 44_100, 2: 22_050, 0: 11_025}
_FINER: Final = (1.0, 48 / 44.1, 32 / 44.1)


def _mp3(data: bytes) -> float | None:
    """By the number of frames that the first one names, else by its bit rate, which all others have then."""
    at = 0
    if data[:3] == b"ID3":
        at = 10 + sum((data[6 + index] & 0x7F) << 7 * (3 - index) for index in range(4))
    head = struct.unpack_from(">I", data, at)[0]
    version, layer, kbits, rate = head >> 19 & 3, head >> 17 & 3, head >> 12 & 15, head >> 10 & 3
    if head >> 21 != 0x7FF or version == 1 or layer != 1:  # noqa: PLR2004 - eleven bits of sync
        return None
    first = version == 3  # noqa: PLR2004 - MPEG 1
    samples, hertz = 1152 if first else 576, round(_RATES[version] * _FINER[rate])
    tag = next((position for name in (b"Xing", b"Info") if (position := data.find(name, at, at + 64)) >= 0), -1)
    if tag >= 0 and data[tag + 7] & 1:
        return float(struct.unpack_from(">I", data, tag + 8)[0] * samples / hertz)
    return (len(data) - at) * 8 / (_KBITS["1" if first else "2"][kbits] * 1000)


def _boxes(data: bytes, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """The boxes of an MP4 between two offsets: kind, and where the content begins and ends."""
    at = start
    for _ in range(MAX_PARTS):
        if at + 8 > end:
            return
        size, kind = struct.unpack_from(">I4s", data, at)
        head = 8
        if size == 1:
            size, head = struct.unpack_from(">Q", data, at + 8)[0], 16
        size = size or end - at
        if size < head:
            return
        yield kind, at + head, min(at + size, end)
        at += size


def _mp4(data: bytes) -> float | None:
    moov = next(((start, end) for kind, start, end in _boxes(data, 0, len(data)) if kind == b"moov"), None)
    boxes = {kind: start for kind, start, _ in _boxes(data, *moov)} if moov else {}
    if b"mvhd" not in boxes:
        return None
    at = boxes[b"mvhd"]
    scale, length = (
        struct.unpack_from(">IQ", data, at + 20) if data[at] == 1 else struct.unpack_from(">II", data, at + 12)
    )
    return length / scale if length else None


_SEGMENT: Final = 0x18538067
_INFO: Final = 0x1549A966
_SCALE: Final = 0x2AD7B1
_DURATION: Final = 0x4489


def _number(data: bytes, at: int, *, marked: bool) -> tuple[int, int]:
    """A number of variable length, with its length mark where that is part of it, and where it ends."""
    length = 9 - data[at].bit_length()
    value = int.from_bytes(data[at : at + length], "big")
    return (value if marked else value & (1 << 7 * length) - 1), at + length


def _webm(data: bytes) -> float | None:
    """The duration of the segment's information. A recording that was streamed has none."""
    at, scale = 0, 1_000_000
    for _ in range(MAX_PARTS):
        kind, at = _number(data, at, marked=True)
        size, at = _number(data, at, marked=False)
        if kind in (_SEGMENT, _INFO):
            continue
        if kind == _SCALE:
            scale = int.from_bytes(data[at : at + size], "big")
        if kind == _DURATION:
            length = struct.unpack_from(">d" if size == 8 else ">f", data, at)[0]  # noqa: PLR2004 - bytes of a double
            return float(length * scale / 1e9)
        at += size
    return None


_PICTURES: Final = (
    (0, b"\x89PNG\r\n\x1a\n", _png),
    (0, b"\xff\xd8\xff", _jpeg),
    (0, b"GIF8", _gif),
    (8, b"WEBP", _webp),
    (0, b"BM", _bmp),
)
_SOUNDS: Final = (
    (0, b"RIFF", _wav),
    (0, b"fLaC", _flac),
    (0, b"OggS", _ogg),
    (0, b"ID3", _mp3),
    (0, b"\xff\xfb", _mp3),
    (0, b"\xff\xf3", _mp3),
    (0, b"\xff\xfa", _mp3),
    (0, b"\xff\xf2", _mp3),
    (0, b"\xff\xe3", _mp3),
    (4, b"ftyp", _mp4),
    (0, b"\x1a\x45\xdf\xa3", _webm),
)
