"""PNG files: every text chunk that can hold a card, and every way to lie about one."""

import struct
import zlib
from base64 import b64encode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content import (
    LIMITS,
    AssetError,
    Character,
    DamagedFileError,
    JsonError,
    Level,
    Limits,
    Reader,
    blank_png,
    embed_in_png,
    open_card,
)
from innkeeper.content.files.png import MAX_LENGTH, PngFile, read_chunks, read_png
from innkeeper.prompt.errors import FormatError, InnkeeperError, LimitError, UsageError
from tests import shared
from tests.content.builders import HEADER, SIGNATURE, attempt, card, card_json, card_png, cards, chunk, png, text_chunk

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


def _raises(error: type[Exception] | str) -> Any:
    """An error by its class, or damage by its rule."""
    if isinstance(error, str):
        return pytest.raises(DamagedFileError, check=lambda damage: damage.rule == error)
    return pytest.raises(error)


@dataclass(frozen=True)
class Hostile:
    """Bytes that are no sound PNG, and the error."""

    name: str
    data: bytes
    error: type[Exception] | str


FULL = card_png()
HOSTILE = [
    Hostile("empty", b"", "png"),
    Hostile("not a png", b"GIF89a" + b"\0" * 50, "png"),
    Hostile("signature only", SIGNATURE, "whole"),
    Hostile("no end chunk", png(end=False), "whole"),
    Hostile("cut in a header", FULL[:-10], "whole"),
    Hostile("cut in a text", FULL[:80], "whole"),
    Hostile("length beyond the file", png(chunk(b"tEXt", b"chara\0x", length=10_000)), "whole"),
    Hostile("length of two gigabytes", png(chunk(b"tEXt", b"chara\0x", length=MAX_LENGTH)), "whole"),
    Hostile("length beyond the format", png(chunk(b"tEXt", b"chara\0x", length=2**32 - 1)), "png"),
    Hostile("length too short", png(chunk(b"tEXt", b"chara\0" + b"x" * 50, length=7)), "checksum"),
    Hostile("kind of no letters", png(chunk(b"\0\1\2\3", b"")), "png"),
    Hostile("wrong checksum", png(chunk(b"tEXt", b"chara\0x", crc=1)), "checksum"),
    Hostile("wrong checksum of pixels", png(chunk(b"IDAT", b"x", crc=1)), "checksum"),
    Hostile("no header", SIGNATURE + chunk(b"IEND", b""), "png"),
    Hostile("short header", SIGNATURE + chunk(b"IHDR", HEADER[:5]) + chunk(b"IEND", b""), "png"),
    Hostile("unknown compression", png(chunk(b"zTXt", b"chara\0\x07abc")), "png"),
    Hostile("compression that is none", png(chunk(b"zTXt", b"chara\0\0not zlib")), FormatError),
    Hostile("compression cut off", png(chunk(b"zTXt", b"chara\0\0" + zlib.compress(b"x" * 500)[:-6])), "whole"),
    Hostile("international text without its parts", png(chunk(b"iTXt", b"chara\0\0\0")), "png"),
    Hostile("international text without flags", png(chunk(b"iTXt", b"chara\0")), "png"),
]


@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: case.name)
def test_what_is_broken_is_refused(case: Hostile) -> None:
    """Each lie is a typed error of its own kind."""
    with _raises(case.error):
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
    with pytest.raises(LimitError) as caught:
        read(data, small)
    assert caught.value.limit == limit


@pytest.mark.parametrize("kind", ["zTXt", "iTXtz"])
def test_a_compressed_bomb_stops_at_the_limit(kind: str) -> None:
    """Half a megabyte that would become half a gigabyte is refused at eight."""
    packed = zlib.compress(b"\0" * (64 * 1024 * 1024), 9)
    body = {"zTXt": b"chara\0\0" + packed, "iTXtz": b"chara\0\1\0\0\0" + packed}[kind]
    with pytest.raises(LimitError) as caught:
        read(png(chunk(kind[:4].encode(), body)))
    assert caught.value.limit == "png_text_bytes"


def test_the_default_limit_on_chunks() -> None:
    """Sixty-four texts are read, sixty-five refused."""
    assert len(read(png(*[text_chunk("a", b"x")] * 64)).texts) == 64
    with pytest.raises(LimitError):
        read(png(*[text_chunk("a", b"x")] * 65))


@given(data=st.binary(max_size=200), lenient=st.booleans(), start=st.sampled_from([b"", SIGNATURE, png(end=False)]))
def test_any_bytes(data: bytes, lenient: bool, start: bytes) -> None:
    """Whatever the bytes are, the answer is a value or an error of ours."""
    assert isinstance(attempt(lambda: read(start + data, lenient=lenient)), (PngFile, FormatError, LimitError))


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


V2 = b64encode(card_json("v2", name="Two"))
V3 = b64encode(card_json("v3", name="Three"))


@dataclass(frozen=True)
class Case:
    """Text chunks, and whose card counts."""

    name: str
    chunks: tuple[bytes, ...]
    expected: str
    rules: tuple[str, ...] = ()


CASES = [
    Case("v2", (text_chunk("chara", V2),), "Two"),
    Case("v3", (text_chunk("ccv3", V3),), "Three"),
    Case("v3 wins behind", (text_chunk("chara", V2), text_chunk("ccv3", V3)), "Three"),
    Case("v3 wins in front", (text_chunk("ccv3", V3), text_chunk("chara", V2)), "Three"),
    Case(
        "the last one wins", (text_chunk("chara", V2), text_chunk("chara", b64encode(card_json(name="Last")))), "Last"
    ),
    Case("keyword in capitals", (text_chunk("CHARA", V2),), "Two"),
    Case("compressed", (text_chunk("chara", V2, "zTXt"),), "Two"),
    Case("international", (text_chunk("ccv3", V3, "iTXtz"),), "Three"),
    Case("broken v3 falls back", (text_chunk("ccv3", b"!!!!"), text_chunk("chara", V2)), "Two", ("unreadable-card",)),
    Case("v2 under ccv3", (text_chunk("ccv3", V2),), "Two", ("keyword",)),
    Case("v3 under chara", (text_chunk("chara", V3),), "Three", ("keyword",)),
    Case("plain json", (text_chunk("chara", card_json(name="Plain")),), "Plain", ("plain-json",)),
    Case("base64 in lines", (text_chunk("chara", b"\n".join([V2[:40], V2[40:]])),), "Two", ("loose-base64",)),
    Case("base64 without padding", (text_chunk("chara", V2.rstrip(b"=")),), "Two"),
    Case(
        "base64 for addresses",
        (text_chunk("chara", urlsafe_b64encode(card_json(name="ÿ~~?>"))),),
        "ÿ~~?>",
        ("loose-base64",),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_which_card_counts(case: Case) -> None:
    """V3 before V2, the last of several, the other one where the first is broken; codings by decreasing strictness."""
    opened = open_card(png(*case.chunks))
    assert (opened.kind, opened.character.name) == ("png", case.expected)
    rules = [finding.rule for finding in opened.findings]
    assert rules == list(case.rules) or (case.name == "base64 without padding" and set(rules) <= {"loose-base64"})


@dataclass(frozen=True)
class Refused:
    """An image and what it is refused with."""

    name: str
    data: bytes
    error: type[Exception] | str


REFUSED = [
    Refused("no card", png(), AssetError),
    Refused("other texts", png(text_chunk("comment", b"x")), AssetError),
    Refused("empty card", png(text_chunk("chara", b"")), JsonError),
    Refused("base64 of nothing", png(text_chunk("chara", b"====")), JsonError),
    Refused("no json", png(text_chunk("chara", b64encode(b"hello"))), JsonError),
    Refused("no name", png(text_chunk("chara", b64encode(card_json(name="")))), AssetError),
    Refused("damaged", png(chunk(b"tEXt", b"chara\0" + V2, crc=5)), "checksum"),
    Refused("cut", card_png()[:-20], "whole"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_images_that_are_refused(case: Refused) -> None:
    """An image without a card, or with a broken one, is a typed error."""
    with _raises(case.error):
        open_card(case.data)


def test_a_damaged_image_on_demand() -> None:
    """Leniently read, a wrong checksum is a finding and the card is there."""
    opened = open_card(png(chunk(b"tEXt", b"chara\0" + V2, crc=5)), lenient=True)
    assert opened.character.name == "Two"
    assert [(finding.rule, finding.level) for finding in opened.findings] == [("checksum", Level.WARNING)]


def test_errors_name_the_chunk() -> None:
    """An error in the JSON says in which chunk it is."""
    with pytest.raises(JsonError) as caught:
        open_card(png(text_chunk("ccv3", b64encode(b'{"a": }'))))
    assert caught.value.where is not None
    assert (caught.value.where.asset, caught.value.where.column) == ("image (ccv3)", 7)


@given(tree=cards())
def test_a_card_survives_an_image(tree: dict[str, object]) -> None:
    """Any card that is embedded is read back: its own version byte for byte, the other one for other readers."""
    character = attempt(lambda: Character.of(tree))
    if isinstance(character, InnkeeperError):
        return
    for form in ("both", character.version.value):
        read = open_card(embed_in_png(blank_png(1, 1), character, form)).character
        assert read.name == character.name
        if character.version in {form, "v3"}:
            assert read.to_json() == character.to_json()


def test_embedding_replaces_and_keeps() -> None:
    """Cards of every kind of chunk are removed, every other chunk stays where it was."""
    others = (text_chunk("comment", b"x"), text_chunk("chara-ext-asset_:1", b64encode(b"asset")), chunk(b"abCD", b"y"))
    old = [text_chunk(keyword, V2, kind) for keyword in ("chara", "CCV3") for kind in ("tEXt", "zTXt", "iTXt")]
    made = embed_in_png(png(others[0], *old[:3], others[1], *old[3:], others[2]), Character.of(card(name="New")), "v2")
    assert made.count(b"chara\0") == 1
    assert made.lower().count(b"ccv3\0") == 0
    assert made == png(*others, text_chunk("chara", b64encode(Character.of(card(name="New")).to_json())))
    opened = open_card(made)
    assert (opened.character.name, opened.names, opened.read("1")) == ("New", ("1",), b"asset")


def test_forms() -> None:
    """``both`` writes a card for old and for new readers; another form is refused."""
    character = Character.of(card("v2"))
    made = embed_in_png(blank_png(), character)
    assert made.index(b"chara\0") < made.index(b"ccv3\0") < made.index(b"IEND")
    assert open_card(made).character.version == "v3"
    assert open_card(embed_in_png(blank_png(), character, "v2")).character.version == "v2"
    with pytest.raises(UsageError):
        embed_in_png(blank_png(), character, "v4")
    with pytest.raises(DamagedFileError):
        embed_in_png(b"\xff\xd8\xff", character)


def test_the_default_picture_is_the_image_itself() -> None:
    """The icon of an image card without assets is the image."""
    data = card_png()
    assert open_card(data).icon() == data


def test_compressed_assets_are_read() -> None:
    """An asset may stand in a chunk of any kind."""
    for kind in ("tEXt", "zTXt", "iTXt"):
        data = png(text_chunk("chara", V2), text_chunk("chara-ext-asset_:a/b.png", b64encode(b"data"), kind))
        assert open_card(data).read("a/b.png") == b"data"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ccv3_over_chara.png", "V3"),
        ("test_character.png", "Test Character"),
        ("test_character_v2.png", "V2 Test Character"),
    ],
)
def test_images_made_by_others(name: str, expected: str) -> None:
    """Images of another project give their card."""
    assert open_card(shared.need(f"fixtures/tavern_kit/characters/{name}")).character.name == expected


def test_an_image_without_a_card_made_by_others() -> None:
    """A plain image of another project has none."""
    with pytest.raises(AssetError):
        open_card(shared.need("fixtures/tavern_kit/characters/base.png"))
