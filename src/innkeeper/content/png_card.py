"""Cards in PNG files: which text is the card, how it is coded, and how a card is put into an image."""

from __future__ import annotations

import binascii
import re
import struct
import zlib
from base64 import b64encode
from typing import Final

from innkeeper.content.character import CardVersion, Character
from innkeeper.content.character_reading import read_character
from innkeeper.content.document import Document
from innkeeper.content.errors import NoCardError
from innkeeper.content.finding import Finding, Level
from innkeeper.content.png import SIGNATURE, TEXT_KINDS, PngChunk, PngFile, read_chunks, read_text
from innkeeper.content.reader import Reader
from innkeeper.prompt.errors import InputError, UsageError

__all__ = ["PNG_FORMS", "blank_png", "card_of_png", "embed_in_png", "png_asset"]

KEYWORDS: Final = ("ccv3", "chara")
"""Where cards stand; the first is preferred."""

PNG_FORMS: Final = ("both", "v2", "v3")
"""What is written into an image: a V2 card as ``chara``, a V3 card as ``ccv3``, or both."""

_OTHER: Final = re.compile(rb"[^A-Za-z0-9+/]+")
_URL_SAFE: Final = bytes.maketrans(b"-_", b"+/")


def card_of_png(reader: Reader, png: PngFile, *, lenient: bool = False) -> Character:
    """The card in an image: V3 before V2, the last of several; the other one where the first cannot be read.

    Raises:
        NoCardError: the image has no card.
        FormatError: it has one that cannot be read.
    """
    candidates = [text for keyword in KEYWORDS for text in reversed(png.texts) if text.keyword == keyword]
    if not candidates:
        raise NoCardError("the image has no character card in it", where=reader.where())
    failure: InputError | None = None
    for text in candidates:
        findings = [*png.findings, *_failed(failure)]
        try:
            return _read(reader, text.text, text.keyword, findings, lenient=lenient)
        except InputError as error:
            failure = failure or error
    raise failure or NoCardError("the image has no character card in it")


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
        PngError: the image is no PNG.
        TruncatedError: the image ends too early.
    """
    if form not in PNG_FORMS:
        raise UsageError(f"no such form {form!r}", hint=f"forms: {', '.join(PNG_FORMS)}")
    out = bytearray(SIGNATURE)
    for chunk in read_chunks(image):
        if chunk.kind == b"IEND":
            out += b"".join(_new_chunks(character, form))
        if not _is_card(image, chunk):
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


def _failed(failure: InputError | None) -> list[Finding]:
    if failure is None:
        return []
    return [Finding("unreadable-card", f"another card in the image cannot be read: {failure.message}")]


def _read(reader: Reader, payload: bytes, keyword: str, findings: list[Finding], *, lenient: bool) -> Character:
    text = decode_payload(payload, findings)
    name = f"{reader.name or 'image'} ({keyword})"
    document = Document.parse(text, reader.limits, name=name)
    document = Document(document.tree, document.data, (*findings, *document.findings))
    character = read_character(document, limits=reader.limits, lenient=lenient)
    expected = keyword == "ccv3"
    if expected is not (character.version is CardVersion.V3):
        message = f"a {character.version.value.upper()} card stands under the keyword {keyword}"
        return _with_finding(character, Finding("keyword", message, level=Level.INFO))
    return character


def _with_finding(character: Character, finding: Finding) -> Character:
    from msgspec.structs import replace

    return replace(character, findings=(*character.findings, finding))


def _is_card(image: bytes, chunk: PngChunk) -> bool:
    keyword = image[chunk.start : chunk.end].split(b"\0", 1)[0].lower() if chunk.kind in TEXT_KINDS else b""
    return keyword.decode("latin-1") in KEYWORDS


def _new_chunks(character: Character, form: str) -> list[bytes]:
    versions = [CardVersion.V2, CardVersion.V3] if form == "both" else [CardVersion(form)]
    return [_text_chunk(version, character.to_version(version)) for version in versions]


def _text_chunk(version: CardVersion, character: Character) -> bytes:
    keyword = b"ccv3" if version is CardVersion.V3 else b"chara"
    return write_chunk(b"tEXt", keyword + b"\0" + b64encode(character.to_json()))
