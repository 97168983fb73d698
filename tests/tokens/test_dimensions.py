"""Sizes of pictures and lengths of sounds and videos come from their headers; damaged ones have none, and none breaks off."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.tokens.dimensions import picture_size, seconds_of

GIF = b"GIF89a" + struct.pack("<HH", 700, 300) + b"\x80\0\0"
PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 3000, 600, 1, 0, 0, 0, 0)
BMP = b"BM" + bytes(16) + struct.pack("<ii", 20, -30)
JPEG = b"\xff\xd8\xff\xe0" + struct.pack(">H", 16) + bytes(14) + b"\xff\xff\xc2" + struct.pack(">HBHH", 11, 8, 300, 700)
WEBP_LOSSY = b"RIFF" + bytes(4) + b"WEBPVP8 " + bytes(7) + b"\x9d\x01\x2a" + struct.pack("<HH", 40 | 0x4000, 30)
WEBP_LOSSLESS = b"RIFF" + bytes(4) + b"WEBPVP8L" + bytes(4) + b"\x2f" + struct.pack("<I", 39 | 29 << 14)
WEBP_EXTENDED = b"RIFF" + bytes(4) + b"WEBPVP8X" + bytes(8) + b"\x27\0\0\x1d\0\0"


def wav(seconds: float, rate: int = 4000) -> bytes:
    """Eight bits of silence."""
    count = int(seconds * rate)
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, rate, 1, 8)
    return (
        b"RIFF" + struct.pack("<I", 36 + count) + b"WAVE" + form + struct.pack("<4sI", b"data", count) + b"\x80" * count
    )


MP3 = (b"\xff\xfb\x10\xc4" + bytes(100)) * 100
MP3_TAGGED = (
    b"ID3\4\0\0\0\0\0\4" + bytes(4) + b"\xff\xfb\x90\xc4" + bytes(32) + b"Xing\0\0\0\1" + struct.pack(">I", 441)
)
FLAC = b"fLaC" + bytes(14) + (8000 << 44 | 20_000).to_bytes(8, "big")
OGG = b"OggS" + bytes(24) + b"\x01vorbis" + bytes(5) + struct.pack("<I", 8000) + b"OggS\0\0" + struct.pack("<q", 12_000)
OPUS = (
    b"OggS" + bytes(24) + b"OpusHead\1\1" + struct.pack("<H", 480) + bytes(8) + b"OggS\0\0" + struct.pack("<q", 72_480)
)
MP4 = struct.pack(">I4s4s", 12, b"ftyp", b"isom") + struct.pack(">I4sI4s4x4x4xII", 36, b"moov", 28, b"mvhd", 1000, 1329)


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (GIF, (700, 300)),
        (PNG, (3000, 600)),
        (BMP, (20, 30)),
        (JPEG, (700, 300)),
        (WEBP_LOSSY, (40, 30)),
        (WEBP_LOSSLESS, (40, 30)),
        (WEBP_EXTENDED, (40, 30)),
    ],
    ids=["gif", "png", "bmp", "jpeg", "webp-lossy", "webp-lossless", "webp-extended"],
)
def test_sizes_of_pictures(data: bytes, size: tuple[int, int]) -> None:
    """Each format says width and height; a file that ends within its header has no size."""
    assert picture_size(data) == size
    assert picture_size(data[:9]) is None


@pytest.mark.parametrize(
    ("data", "seconds"),
    [(wav(2.5), 2.5), (MP3, 2.6), (MP3_TAGGED, 11.52), (FLAC, 2.5), (OGG, 1.5), (OPUS, 1.5), (MP4, 1.329)],
    ids=["wav", "mp3", "mp3-frames", "flac", "ogg", "opus", "mp4"],
)
def test_lengths_of_sounds_and_videos(data: bytes, seconds: float) -> None:
    """Each format says how long it plays; a file that ends within its header has no length."""
    assert seconds_of(data) == pytest.approx(seconds)
    assert seconds_of(data[:3]) is None


def test_a_webm_names_its_length_in_its_own_scale() -> None:
    """The duration counts in the time scale that stands before it."""
    head = b"\x1a\x45\xdf\xa3\x80\x18\x53\x80\x67\xff\x15\x49\xa9\x66\x92"
    scale, length = b"\x2a\xd7\xb1\x83" + (1_000_000).to_bytes(3, "big"), b"\x44\x89\x88" + struct.pack(">d", 1200.5)
    assert seconds_of(head + scale + length) == pytest.approx(1.2005)
    assert seconds_of(head + scale) is None


def test_what_is_none_has_no_size() -> None:
    """Other bytes, and pictures without an extent, have none."""
    assert picture_size(b"") is picture_size(b"<svg/>") is picture_size(GIF[:6] + bytes(7)) is None
    assert seconds_of(b"") is seconds_of(PNG) is None


@given(
    st.sampled_from([GIF, PNG, BMP, JPEG, WEBP_LOSSY, WEBP_LOSSLESS, wav(0.01), MP3[:300], FLAC, OGG, OPUS, MP4]),
    st.lists(st.tuples(st.integers(0, 80), st.integers(0, 255)), max_size=6),
    st.integers(0, 300),
)
def test_damage_breaks_nothing(data: bytes, damage: list[tuple[int, int]], length: int) -> None:
    """Whatever the bytes, there is a size or none."""
    mended = bytearray(data[:length])
    for at, value in damage:
        if at < len(mended):
            mended[at] = value
    size, seconds = picture_size(bytes(mended)), seconds_of(bytes(mended))
    assert size is None or min(size) >= 1
    assert seconds is None or seconds >= 0
