"""PNG files: every text chunk that can hold a card, and every way to lie about one."""

import struct
import zlib
from base64 import b64encode
from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper.content import LIMITS, ContentLimitError, Limits, PngChecksumError, PngError, Reader, TruncatedError
from innkeeper.content.png import MAX_LENGTH, PngFile, read_chunks, read_png
from innkeeper.prompt.errors import FormatError, LimitError
from tests.content.builders import HEADER, SIGNATURE, attempt, card_png, chunk, png, text_chunk

KINDS = ["tEXt", "zTXt", "iTXt", "iTXtz"]


def read(data: bytes, limits: Limits = LIMITS, *, lenient: bool = False) -> PngFile:
    """What a PNG says."""
    return read_png(Reader(data, limits), data, lenient=lenient)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("keyword", ["chara", "Chara", "CCV3", "comment"])
def test_texts_of_every_kind(kind: str, keyword: str) -> None:
    """Plain, compressed and international texts are read; keywords in lower case."""
    file = read(png(text_chunk(keyword, b"hello", kind)))
    assert [(text.kind, text.keyword, text.text) for text in file.texts] == [(kind[:4], keyword.lower(), b"hello")]
    assert (file.width, file.height, file.animated, file.findings) == (1, 1, False, ())


def test_animations_are_told_apart() -> None:
    """An APNG is a PNG with an animation chunk."""
    assert read(png(chunk(b"acTL", b"\0" * 8))).animated


def test_asset_chunks_are_listed_and_not_counted_as_texts() -> None:
    """Files of other applications are found by name, also more of them than there may be texts."""
    chunks = [text_chunk(f"chara-ext-asset_:{n}", b64encode(b"data")) for n in range(100)]
    file = read(png(*chunks, text_chunk("chara-ext-asset_old", b"")))
    assert list(file.assets) == [*(str(n) for n in range(100)), "old"]
    assert file.texts == ()


@dataclass(frozen=True)
class Hostile:
    """Bytes that are no sound PNG, and the error."""

    name: str
    data: bytes
    error: type[Exception]


FULL = card_png()
HOSTILE = [
    Hostile("empty", b"", PngError),
    Hostile("not a png", b"GIF89a" + b"\0" * 50, PngError),
    Hostile("signature only", SIGNATURE, TruncatedError),
    Hostile("no end chunk", png(end=False), TruncatedError),
    Hostile("cut in a header", FULL[:-10], TruncatedError),
    Hostile("cut in a text", FULL[:80], TruncatedError),
    Hostile("length beyond the file", png(chunk(b"tEXt", b"chara\0x", length=10_000)), TruncatedError),
    Hostile("length of two gigabytes", png(chunk(b"tEXt", b"chara\0x", length=MAX_LENGTH)), TruncatedError),
    Hostile("length beyond the format", png(chunk(b"tEXt", b"chara\0x", length=2**32 - 1)), PngError),
    Hostile("length too short", png(chunk(b"tEXt", b"chara\0" + b"x" * 50, length=7)), (PngError)),
    Hostile("kind of no letters", png(chunk(b"\0\1\2\3", b"")), PngError),
    Hostile("wrong checksum", png(chunk(b"tEXt", b"chara\0x", crc=1)), PngChecksumError),
    Hostile("wrong checksum of pixels", png(chunk(b"IDAT", b"x", crc=1)), PngChecksumError),
    Hostile("no header", SIGNATURE + chunk(b"IEND", b""), PngError),
    Hostile("short header", SIGNATURE + chunk(b"IHDR", HEADER[:5]) + chunk(b"IEND", b""), PngError),
    Hostile("unknown compression", png(chunk(b"zTXt", b"chara\0\x07abc")), PngError),
    Hostile("compression that is none", png(chunk(b"zTXt", b"chara\0\0not zlib")), FormatError),
    Hostile("compression cut off", png(chunk(b"zTXt", b"chara\0\0" + zlib.compress(b"x" * 500)[:-6])), TruncatedError),
    Hostile("international text without its parts", png(chunk(b"iTXt", b"chara\0\0\0")), PngError),
    Hostile("international text without flags", png(chunk(b"iTXt", b"chara\0")), PngError),
]


@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: case.name)
def test_what_is_broken_is_refused(case: Hostile) -> None:
    """Each lie is a typed error of its own kind."""
    with pytest.raises(case.error):
        read(case.data)


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (png(text_chunk("chara", b"x"), chunk(b"tEXt", b"a\0b", crc=1)), "checksum"),
        (png(text_chunk("chara", b"x"), end=False), "truncated"),
        (png(text_chunk("chara", b"x"))[:-5], "truncated"),
    ],
    ids=["checksum", "no end", "cut"],
)
def test_lenient_reading(data: bytes, rule: str) -> None:
    """A wrong checksum and an early end are tolerated on demand, and said."""
    file = read(data, lenient=True)
    assert file.texts[0].text == b"x"
    assert [finding.rule for finding in file.findings] == [rule]


def test_a_text_without_a_keyword_is_passed_over() -> None:
    """A text chunk in which no keyword ends, or one that is far too long, holds no card."""
    assert read(png(chunk(b"tEXt", b"no end"), chunk(b"tEXt", b"k" * 5_000 + b"\0x"), chunk(b"tEXt", b""))).texts == ()


def test_what_follows_the_end_is_said() -> None:
    """Bytes after the end chunk are no error."""
    file = read(FULL + b"more")
    assert [finding.rule for finding in file.findings] == ["trailing-data"]
    assert len(file.texts) == 1


@pytest.mark.parametrize(
    ("limit", "data"),
    [
        ("png_text_chunks", png(*[text_chunk("a", b"x")] * 5)),
        ("png_text_bytes", png(text_chunk("a", b"x" * 101))),
        ("png_text_bytes", png(text_chunk("a", b"x" * 101, "iTXt"))),
        ("png_text_bytes", png(text_chunk("a", b"x" * 101, "zTXt"))),
        ("png_total_text_bytes", png(*[text_chunk("a", b"x" * 80)] * 4)),
        ("png_asset_chunks", png(*[text_chunk("chara-ext-asset_:1", b"")] * 3)),
        ("png_chunks", png(*[chunk(b"abCD", b"")] * 30)),
    ],
    ids=["chunks", "text", "international", "compressed", "total", "assets", "all chunks"],
)
def test_limits(limit: str, data: bytes) -> None:
    """Each limit is counted while reading and has an error with its name."""
    small = msgspec.structs.replace(
        LIMITS, png_text_chunks=4, png_text_bytes=100, png_total_text_bytes=300, png_asset_chunks=2, png_chunks=20
    )
    with pytest.raises(ContentLimitError) as caught:
        read(data, small)
    assert caught.value.limit == limit


@pytest.mark.parametrize("kind", ["zTXt", "iTXtz"])
def test_a_compressed_bomb_stops_at_the_limit(kind: str) -> None:
    """Half a megabyte that would become half a gigabyte is refused at eight."""
    packed = zlib.compress(b"\0" * (64 * 1024 * 1024), 9)
    body = {"zTXt": b"chara\0\0" + packed, "iTXtz": b"chara\0\1\0\0\0" + packed}[kind]
    with pytest.raises(ContentLimitError) as caught:
        read(png(chunk(kind[:4].encode(), body)))
    assert caught.value.limit == "png_text_bytes"


def test_the_default_limit_on_chunks() -> None:
    """Sixty-four texts are read, sixty-five refused."""
    assert len(read(png(*[text_chunk("a", b"x")] * 64)).texts) == 64
    with pytest.raises(ContentLimitError):
        read(png(*[text_chunk("a", b"x")] * 65))


@settings(max_examples=100)
@given(data=st.binary(max_size=200), lenient=st.booleans(), start=st.sampled_from([b"", SIGNATURE, png(end=False)]))
def test_any_bytes(data: bytes, lenient: bool, start: bytes) -> None:
    """Whatever the bytes are, the answer is a value or an error of ours."""
    assert isinstance(attempt(lambda: read(start + data, lenient=lenient)), (PngFile, FormatError, LimitError))


@settings(max_examples=100)
@given(position=st.integers(0, len(FULL) - 1), value=st.integers(0, 255), lenient=st.booleans())
def test_any_changed_byte(position: int, value: int, lenient: bool) -> None:
    """A sound image with one byte changed is read or refused with a typed error."""
    data = FULL[:position] + bytes([value]) + FULL[position + 1 :]
    assert isinstance(attempt(lambda: read(data, lenient=lenient)), (PngFile, FormatError, LimitError))


def test_chunks_give_back_the_file() -> None:
    """The chunks cover the file without gaps."""
    data = png(text_chunk("a", b"x"), chunk(b"acTL", struct.pack(">II", 1, 0)))
    pieces = [data[found.start - 8 : found.end + 4] for found in read_chunks(data)]
    assert SIGNATURE + b"".join(pieces) == data
