"""Formats: the one registry of file formats, and the functions over it: `sniff`, `open_card`, `card_bytes`.

What a file is decides its content, not its name. A format is a `Format` value in a file of its own, and a name in `FORMATS`.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Final

import msgspec

from innkeeper.content.character import read_character
from innkeeper.content.errors import LIMITS, LOST_CARD, AssetError, Limits
from innkeeper.content.files.byaf import BYAF
from innkeeper.content.files.charx import CHARX
from innkeeper.content.files.format import CardFile, Format, Formats, OpenFile
from innkeeper.content.files.png import PNG
from innkeeper.content.files.reader import Reader, Source
from innkeeper.content.files.risu import GZIP, MODULE, RPACK, read_module, read_preset
from innkeeper.content.json.document import Document
from innkeeper.content.json.json_asset import kind_of_json
from innkeeper.content.json.text import decode_json, decode_text
from innkeeper.prompt.errors import InputError, UsageError


class Sniffed(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of sniffing a file: its container (``json``, ``png``, ``zip`` …), its content, or why that is unknown."""

    container: str
    kind: str
    reason: str | None = None


def _begins_as_text(head: bytes) -> bool:
    start = head.lstrip(codecs.BOM_UTF8 + b" \t\r\n")
    return start.startswith((b"{", b"[", b'"')) or head[:2] in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}


def _kind_of_text(file: OpenFile) -> str:
    reader = file.reader
    reader.check("chat_bytes", reader.size, "the file")
    data = reader.all()
    try:
        return kind_of_json(decode_json(data, reader.limits, name=reader.name, keys_limit="lore_json_keys"))
    except InputError:
        first = decode_text(data, reader.name, []).lstrip().partition("\n")[0]
        kind = kind_of_json(decode_json(first, reader.limits)) if first.startswith("{") else "unknown"
        if kind in {"chat header", "chat message", "chat"}:
            return "chat"
        raise


def _open_json(file: OpenFile, lenient: bool) -> CardFile:  # noqa: FBT001 - one form for all openers
    document = Document.parse(file.reader.all(), file.reader.limits, name=file.reader.name)
    return CardFile(read_character(document, limits=file.reader.limits, lenient=lenient), "json")


def _kind_of_archive(file: OpenFile) -> str:
    inside = file.formats.inside(file.archive)
    return "archive" if inside is None else inside.kind_of(file)


def _open_archive(file: OpenFile, lenient: bool) -> CardFile:  # noqa: FBT001
    inside = file.formats.inside(file.archive)
    if inside is None:
        known = " and ".join(f"no {each.member} ({each.name.upper()})" for each in file.formats.values() if each.member)
        raise AssetError(f"the archive has {known}", where=file.reader.where(), hint=LOST_CARD)
    return inside.card(file, lenient=lenient)


def _kind_of_risu_preset(file: OpenFile) -> str:
    read_preset(file.reader.all(), limits=file.reader.limits)
    return "risu preset"


def _kind_of_risu_module(file: OpenFile) -> str:
    read_module(file.reader.all(), limits=file.reader.limits)
    return "risu module"


def _image(name: str, *magic: bytes, begins: Callable[[bytes], bool] | None = None) -> Format:
    """An image that no card is in, but that a CHARX may stand behind."""
    return Format(name=name, magic=magic, begins=begins, may_precede_archive=True, kind=lambda _file: "image")


FORMATS: Final = Formats(
    PNG,
    Format(
        name="zip",
        magic=(b"PK\3\4", b"PK\5\6"),
        size_limit="archive_bytes",
        kind=_kind_of_archive,
        open_card=_open_archive,
    ),
    CHARX,
    BYAF,
    Format(
        name="json",
        begins=_begins_as_text,
        kind=_kind_of_text,
        open_card=_open_json,
        extensions=("json",),
        write_card=lambda card, _image, _form: card.character.to_json(),
    ),
    _image("jpeg", b"\xff\xd8\xff"),
    _image("gif", b"GIF8"),
    _image("webp", begins=lambda head: head[:4] == b"RIFF" and head[8:12] == b"WEBP"),
    Format(name="gzip", magic=(GZIP,), may_precede_archive=True, kind=_kind_of_risu_preset),
    Format(name="risup", magic=(GZIP.translate(RPACK),), may_precede_archive=True, kind=_kind_of_risu_preset),
    Format(name="risum", magic=(MODULE,), may_precede_archive=True, kind=_kind_of_risu_module),
)
"""The formats by name. Those with a ``member`` are zips, recognised by their contents; an unrecognised file is JSON."""


def sniff(source: Source, *, limits: Limits = LIMITS, formats: Formats = FORMATS) -> Sniffed:
    """Detect the kind of a file by its content alone; an unreadable file gives a reason instead of an error.

    ``kind`` is ``character``, ``lorebook``, ``chat``, one of the presets and templates of `innkeeper.content.json.json_asset`,
    ``image`` for one without a card, ``archive`` for one without anything known, or ``unknown``.

    Raises:
        MissingFileError: the file cannot be opened.
    """
    with Reader(source, msgspec.structs.replace(limits, archive_bytes=2**62), size_limit="archive_bytes") as reader:
        file = OpenFile(reader, source, formats)
        container = file.format.name
        reader.limits = limits
        try:
            return Sniffed(container, file.format.kind_of(file))
        except (InputError, UnicodeDecodeError) as error:
            return Sniffed(container, "unknown", getattr(error, "message", str(error)))


def open_card(
    source: Source, *, limits: Limits = LIMITS, lenient: bool = False, formats: Formats = FORMATS
) -> CardFile:
    """A card from JSON, PNG, APNG, CHARX (also behind a JPEG) or BYAF; what it is decides its content, not its name.

    Args:
        source: a path, or the bytes.
        limits: the limits to hold.
        lenient: tolerate, with a finding, wrong checksums, early ends and a missing ``spec``.
        formats: other formats than these.

    Raises:
        MissingFileError: the file cannot be opened.
        AssetError: a sound image or archive has no card in it.
        FormatError: it cannot be read; the subclass says why.
        LimitError: it is beyond a limit.
    """
    with Reader(source, limits, size_limit="archive_bytes") as reader:
        file = OpenFile(reader, source, formats)
        try:
            return file.format.card(file, lenient=lenient)
        except InputError as error:
            raise error.at(asset=reader.name) from error.__cause__


def card_bytes(
    card: CardFile,
    format: str,  # noqa: A002 - what it is
    *,
    image: bytes | None = None,
    form: str = "both",
    formats: Formats = FORMATS,
) -> bytes:
    """A card as a file: ``json``, ``png`` or ``charx``.

    Args:
        card: the card, and the files it came with.
        format: what to write.
        image: the PNG to put it into; the card's own, or a plain one, where left out.
        form: what a PNG gets: see `PNG_FORMS`.
        formats: other formats than these.

    Raises:
        UsageError: a format that is not written.
        DamagedFileError: ``image`` is not a PNG.
    """
    write = formats[format].write_card if format in formats else None
    if write is None:
        written = ", ".join(each.name for each in formats.values() if each.write_card is not None)
        raise UsageError(f"cards are not written as {format!r}", hint=f"formats: {written}")
    return write(card, image, form)
