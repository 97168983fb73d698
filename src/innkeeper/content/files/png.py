"""PNG and APNG, chunk by chunk, and the character cards in them. Pixels are never decoded.

Cards stand in ``tEXt``, ``zTXt`` or ``iTXt`` chunks with the keyword ``ccv3`` (V3) or ``chara`` (V1, V2), in any case; V3 is
preferred, and of several the last one counts. RisuAI keeps further files in chunks called ``chara-ext-asset_…``; they are
listed here and read on demand. `embed_in_png` puts a card into an image and keeps the bytes of every other chunk.
"""

from __future__ import annotations

import binascii
import re
import struct
import zlib
from base64 import b64encode
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from innkeeper.content.card_versions import CardVersion
from innkeeper.content.character import Character, read_character
from innkeeper.content.errors import LOST_CARD, AssetError, DamagedFileError
from innkeeper.content.files.format import CardFile, Format, OpenFile
from innkeeper.content.files.reader import Reader
from innkeeper.content.finding import Finding, Level
from innkeeper.content.json.document import Document
from innkeeper.prompt.errors import InputError, UsageError

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
TEXT_KINDS: Final = frozenset({b"tEXt", b"zTXt", b"iTXt"})
ASSET_KEYWORDS: Final = ("chara-ext-asset_:", "chara-ext-asset_")
MAX_LENGTH: Final = 2**31 - 1
"""Bytes that one chunk of a PNG may announce (`DamagedFileError`)."""
KEYWORD_BYTES: Final = 1024
"""Longest keyword that is looked for. The format allows 79 bytes; asset names are longer in practice."""

IHDR_LENGTH: Final = 13


class PngChunk(NamedTuple):
    """One chunk: its kind and where its data begin and end in the file."""

    kind: bytes
    start: int
    end: int


class PngText(msgspec.Struct, frozen=True):
    """One text chunk: its kind, its keyword in lower case, and its text, decompressed, as bytes."""

    kind: str
    keyword: str
    text: bytes


class PngFile(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a PNG: size in pixels, texts in the order of the file, and the positions of asset chunks."""

    width: int
    height: int
    animated: bool
    texts: tuple[PngText, ...]
    assets: dict[str, PngChunk]
    findings: tuple[Finding, ...]


def read_chunks(data: bytes, *, lenient: bool = False, findings: list[Finding] | None = None) -> Iterator[PngChunk]:
    """The chunks of a PNG, each checked against its checksum.

    Args:
        data: the whole file.
        lenient: report a wrong checksum or an early end as a finding.
        findings: where to report it.

    Raises:
        DamagedFileError: it is not a PNG, a checksum is wrong, or it ends too early (rules ``png``, ``checksum``, ``whole``).
    """
    if not data.startswith(SIGNATURE):
        raise DamagedFileError("this is not a PNG: the signature is missing", rule="png")
    collected: list[Finding] = [] if findings is None else findings
    position = len(SIGNATURE)
    while position < len(data):
        chunk = _chunk(data, position, lenient=lenient, findings=collected)
        if chunk is None:
            return
        yield chunk
        position = chunk.end + 4
        if chunk.kind == b"IEND":
            count = len(data) - position
            if count:
                collected.append(Finding("trailing-data", f"{count:,} bytes follow the image's end", level=Level.INFO))
            return
    _early_end("the image ends without its end chunk", lenient=lenient, findings=collected)


def read_png(reader: Reader, data: bytes, *, lenient: bool = False) -> PngFile:
    """Read everything of a PNG except its pixels.

    Raises:
        LimitError: more text than a limit allows.
        and what `read_chunks` raises.
    """
    findings: list[Finding] = []
    texts: list[PngText] = []
    assets: dict[str, PngChunk] = {}
    size, animated = (0, 0), False
    for number, chunk in enumerate(read_chunks(data, lenient=lenient, findings=findings)):
        reader.check("png_chunks", number + 1, "the number of chunks")
        if number == 0:
            size = _header(data, chunk)
        elif chunk.kind in TEXT_KINDS:
            _read_text(reader, data, chunk, texts, assets)
        animated = animated or chunk.kind == b"acTL"
    if not any(size):
        raise DamagedFileError("the image has no header chunk", rule="png", where=reader.where())
    return PngFile(
        width=size[0], height=size[1], animated=animated, texts=tuple(texts), assets=assets, findings=tuple(findings)
    )


def read_text(reader: Reader, data: bytes, chunk: PngChunk) -> bytes:
    """The text of a text chunk, decompressed no further than a limit allows.

    Raises:
        DamagedFileError: the chunk is not built as its kind demands.
        LimitError: the text is too long.
    """
    what = f"the {chunk.kind.decode()} chunk"
    rest = data.index(b"\0", chunk.start, chunk.end) + 1
    if chunk.kind == b"tEXt":
        return _plain(reader, data[rest : chunk.end], what)
    if chunk.kind == b"zTXt":
        return _compressed(reader, data[rest : chunk.end], what)
    flags, body = data[rest : rest + 2], data[rest + 2 : chunk.end]
    parts = body.split(b"\0", 2)
    if len(flags) < 2 or len(parts) < 3:  # noqa: PLR2004 - flag and method; language, translation, text
        raise DamagedFileError(f"{what} is not built as it should be", rule="png", where=reader.where())
    return _compressed(reader, flags[1:] + parts[2], what) if flags[0] else _plain(reader, parts[2], what)


def _chunk(data: bytes, position: int, *, lenient: bool, findings: list[Finding]) -> PngChunk | None:
    """The chunk at ``position``; ``None`` where the file ends early and that is tolerated."""
    if position + 8 > len(data):
        _early_end("the image ends in the middle of a chunk", lenient=lenient, findings=findings)
        return None
    length, kind = struct.unpack_from(">I4s", data, position)
    if length > MAX_LENGTH or not kind.isalpha():
        raise DamagedFileError(f"byte {position:,} does not begin a chunk", rule="png")
    start, end = position + 8, position + 8 + length
    if end + 4 > len(data):
        left = len(data) - start
        message = f"the {kind.decode()} chunk announces {length:,} bytes, {left:,} are left"
        _early_end(message, lenient=lenient, findings=findings)
        return None
    (stored,) = struct.unpack_from(">I", data, end)
    if zlib.crc32(memoryview(data)[position + 4 : end]) != stored:
        _wrong_checksum(kind.decode(), lenient=lenient, findings=findings)
    return PngChunk(kind, start, end)


def _early_end(message: str, *, lenient: bool, findings: list[Finding]) -> None:
    if not lenient:
        raise DamagedFileError(message, rule="whole")
    findings.append(Finding("truncated", message))


def _wrong_checksum(kind: str, *, lenient: bool, findings: list[Finding]) -> None:
    message = f"the checksum of the {kind} chunk is wrong: the file is damaged"
    if not lenient:
        raise DamagedFileError(
            message, rule="checksum", hint="take another copy; programs pass lenient=True to read it all the same"
        )
    findings.append(Finding("checksum", message))


def _header(data: bytes, chunk: PngChunk) -> tuple[int, int]:
    if chunk.kind != b"IHDR" or chunk.end - chunk.start != IHDR_LENGTH:
        raise DamagedFileError("the image does not begin with its header chunk", rule="png")
    width, height = struct.unpack_from(">II", data, chunk.start)
    return width, height


def _read_text(reader: Reader, data: bytes, chunk: PngChunk, texts: list[PngText], assets: dict[str, PngChunk]) -> None:
    end = data.find(b"\0", chunk.start, min(chunk.end, chunk.start + KEYWORD_BYTES))
    keyword = data[chunk.start : max(end, chunk.start)].decode("latin-1")
    mark = next((mark for mark in ASSET_KEYWORDS if keyword.lower().startswith(mark)), None)
    if mark is not None:
        reader.charge("png_asset_chunks", 1, "the number of asset chunks")
        assets[keyword[len(mark) :]] = chunk
        return
    reader.charge("png_text_chunks", 1, "the number of text chunks")
    if end >= 0:
        text = read_text(reader, data, chunk)
        reader.charge("png_total_text_bytes", len(text), "all text chunks")
        texts.append(PngText(chunk.kind.decode(), keyword.lower(), text))


def _plain(reader: Reader, text: bytes, what: str) -> bytes:
    reader.check("png_text_bytes", len(text), what)
    return text


def _compressed(reader: Reader, data: bytes, what: str) -> bytes:
    if data[:1] != b"\0":
        raise DamagedFileError(f"{what} is compressed in an unknown way", rule="png", where=reader.where())
    return reader.inflate(memoryview(data)[1:], "png_text_bytes", what)


KEYWORDS: Final = ("ccv3", "chara")
"""The keywords of card chunks; the first is preferred."""

PNG_FORMS: Final = ("both", "v2", "v3")
"""The cards written into an image: a V2 card as ``chara``, a V3 card as ``ccv3``, or both."""

_OTHER: Final = re.compile(rb"[^A-Za-z0-9+/]+")
_URL_SAFE: Final = bytes.maketrans(b"-_", b"+/")


def card_of_png(reader: Reader, png: PngFile, *, lenient: bool = False) -> Character:
    """The card in an image: V3 before V2, the last of several; the other one where the first cannot be read.

    Raises:
        AssetError: the image has no card.
        FormatError: it has one that cannot be read.
    """
    candidates = [text for keyword in KEYWORDS for text in reversed(png.texts) if text.keyword == keyword]
    if not candidates:
        raise AssetError("the image has no character card in it", where=reader.where(), hint=LOST_CARD)
    failure: InputError | None = None
    findings = list(png.findings)
    for text in candidates:
        try:
            return _read(reader, text.text, text.keyword, findings, lenient=lenient)
        except InputError as error:
            if failure is None:
                failure = error
                message = f"another card in the image cannot be read: {error.message}"
                findings = [*png.findings, Finding("unreadable-card", message)]
    raise failure or AssetError("the image has no character card in it", hint=LOST_CARD)


def decode_payload(payload: bytes, findings: list[Finding]) -> bytes:
    """The JSON behind a card's text: strict base64, else loose base64, else the text itself."""
    try:
        return binascii.a2b_base64(payload, strict_mode=True)
    except binascii.Error:
        pass
    if payload.lstrip()[:1] == b"{":
        findings.append(Finding("plain-json", "the card is not base64 but plain JSON"))
        return payload
    findings.append(Finding("loose-base64", "the card's base64 is not well-formed"))
    digits = _OTHER.sub(b"", payload.translate(_URL_SAFE))
    digits = digits[: len(digits) - 1] if len(digits) % 4 == 1 else digits
    return binascii.a2b_base64(digits + b"=" * (-len(digits) % 4))


def embed_in_png(image: bytes, character: Character, form: str = "both") -> bytes:
    """The image with the card in it; cards that were in it are removed, every other chunk keeps its bytes.

    Args:
        image: a PNG or APNG.
        character: the card; a V1 card is taken to V2 or V3.
        form: one of `PNG_FORMS`.

    Raises:
        UsageError: ``form`` is none of them.
        DamagedFileError: the image is not a whole PNG.
    """
    if form not in PNG_FORMS:
        raise UsageError(f"no such form {form!r}", hint=f"forms: {', '.join(PNG_FORMS)}")
    out = bytearray(SIGNATURE)
    for chunk in read_chunks(image):
        if chunk.kind == b"IEND":
            versions = [CardVersion.V2, CardVersion.V3] if form == "both" else [CardVersion(form)]
            out += b"".join([_text_chunk(version, character.to_version(version)) for version in versions])
        keyword = image[chunk.start : chunk.end].split(b"\0", 1)[0].lower() if chunk.kind in TEXT_KINDS else b""
        if keyword.decode("latin-1") not in KEYWORDS:
            out += image[chunk.start - 8 : chunk.end + 4]
    return bytes(out)


def png_asset(reader: Reader, data: bytes, chunk: PngChunk) -> bytes:
    """The file that an asset chunk holds. Plain text is as long as its chunk, so only compressed text has a limit."""
    if chunk.kind == b"tEXt":
        return decode_payload(data[data.index(b"\0", chunk.start, chunk.end) + 1 : chunk.end], [])
    return decode_payload(read_text(reader, data, chunk), [])


def blank_png(width: int = 400, height: int = 600, grey: int = 96) -> bytes:
    """A plain grey image, for a card that has none."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes([grey]) * width) * height, 9)
    return SIGNATURE + write_chunk(b"IHDR", header) + write_chunk(b"IDAT", rows) + write_chunk(b"IEND", b"")


def write_chunk(kind: bytes, data: bytes) -> bytes:
    """One chunk with its length and checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _read(reader: Reader, payload: bytes, keyword: str, findings: list[Finding], *, lenient: bool) -> Character:
    text = decode_payload(payload, findings)
    name = f"{reader.name or 'image'} ({keyword})"
    document = Document.parse(text, reader.limits, name=name)
    document = Document(document.tree, document.data, (*findings, *document.findings))
    character = read_character(document, limits=reader.limits, lenient=lenient)
    expected = keyword == "ccv3"
    if expected is not (character.version is CardVersion.V3):
        message = f"a {character.version.value.upper()} card stands under the keyword {keyword}"
        findings = [*character.findings, Finding("keyword", message, level=Level.INFO)]
        return msgspec.structs.replace(character, findings=tuple(findings))
    return character


def _text_chunk(version: CardVersion, character: Character) -> bytes:
    keyword = b"ccv3" if version is CardVersion.V3 else b"chara"
    return write_chunk(b"tEXt", keyword + b"\0" + b64encode(character.to_json()))


def _kind(file: OpenFile) -> str:
    file.reader.check("file_bytes", file.reader.size, "the file")
    keywords = {text.keyword for text in read_png(file.reader, file.reader.all(), lenient=True).texts}
    return "character" if keywords & {"chara", "ccv3"} else "image"


def _open(file: OpenFile, lenient: bool) -> CardFile:  # noqa: FBT001 - one form for all openers
    data, limits = file.reader.all(), file.reader.limits
    png = read_png(file.reader, data, lenient=lenient)
    return CardFile(
        card_of_png(file.reader, png, lenient=lenient),
        "apng" if png.animated else "png",
        names=tuple(png.assets),
        image=data,
        read=lambda name: png_asset(Reader(data, limits), data, png.assets[name]),
    )


def _write(card: CardFile, image: bytes | None, form: str) -> bytes:
    """Write the card into an image: the given one, its own picture if that is a PNG, or a plain one."""
    icon = card.icon() if card.kind != "json" else None
    own = icon if icon is not None and icon.startswith(SIGNATURE[:4]) else None
    return embed_in_png(image or own or blank_png(), card.character, form)


PNG: Final = Format(
    name="png", magic=(SIGNATURE,), kind=_kind, open_card=_open, extensions=("png", "apng"), write_card=_write
)
