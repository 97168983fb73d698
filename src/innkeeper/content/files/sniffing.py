"""What a file is, by its content and not its name: its container by the first bytes, then what is in it."""

from __future__ import annotations

import codecs
from typing import Final

import msgspec

from innkeeper.content.errors import WrongKindError
from innkeeper.content.files.archive import Archive, find_directory
from innkeeper.content.files.png import read_png
from innkeeper.content.files.reader import Reader, Source
from innkeeper.content.json.kinds import kind_of_json
from innkeeper.content.json.text import decode_json, decode_text
from innkeeper.content.limits import LIMITS, Limits
from innkeeper.prompt.errors import InputError

__all__ = ["Sniffed", "container_of", "sniff"]

HEAD_BYTES: Final = 64
TAIL_BYTES: Final = 2**16 + 22

_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"PK\3\4", "zip"),
    (b"PK\5\6", "zip"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF8", "gif"),
    (b"\x1f\x8b", "gzip"),
    (b"o\0", "risum"),
)
_TEXT_STARTS: Final = (b"{", b"[", b'"')


class Sniffed(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a file is: its container (``json``, ``png``, ``zip`` …), what it holds, and why that is not known."""

    container: str
    kind: str
    reason: str | None = None


def container_of(reader: Reader) -> str:
    """The container: ``json``, ``jsonl``, ``png``, ``zip`` (also behind something else), or what else it looks like."""
    head = reader.head(HEAD_BYTES)
    name = next((name for magic, name in _MAGIC if head.startswith(magic)), "")
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        name = "webp"
    if name in {"png", "zip"}:
        return name
    if head.lstrip(codecs.BOM_UTF8 + b" \t\r\n").startswith(_TEXT_STARTS) or head[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return "json"
    if _has_directory(reader):
        return "zip"
    return name or "json"


def sniff(source: Source, *, limits: Limits = LIMITS) -> Sniffed:
    """What a file is, by its content alone; a file that cannot be read gives the reason instead of an error.

    ``kind`` is ``character``, ``lorebook``, ``chat``, one of the presets and templates of `innkeeper.content.json.kinds`,
    ``image`` for one without a card, ``archive`` for one without anything known, or ``unknown``.

    Raises:
        MissingFileError: the file cannot be opened.
    """
    with Reader(source, msgspec.structs.replace(limits, archive_bytes=2**62), size_limit="archive_bytes") as reader:
        container = container_of(reader)
        try:
            return Sniffed(container, _kind(reader, container, limits))
        except (InputError, UnicodeDecodeError) as error:
            return Sniffed(container, "unknown", getattr(error, "message", str(error)))


def _kind(reader: Reader, container: str, limits: Limits) -> str:
    reader.limits = limits
    if container == "png":
        reader.check("file_bytes", reader.size, "the file")
        keywords = {text.keyword for text in read_png(reader, reader.all(), lenient=True).texts}
        return "character" if keywords & {"chara", "ccv3"} else "image"
    if container == "zip":
        names = Archive(reader).names
        return "character" if "card.json" in names or "manifest.json" in names else "archive"
    if container in {"jpeg", "gif", "webp"}:
        return "image"
    if container != "json":
        raise WrongKindError(f"{container} files are not read", found=container)
    return _kind_of_text(reader, limits)


def _kind_of_text(reader: Reader, limits: Limits) -> str:
    reader.check("chat_bytes", reader.size, "the file")
    data = reader.all()
    try:
        return kind_of_json(decode_json(data, limits, name=reader.name, keys_limit="lore_json_keys"))
    except InputError:
        first = decode_text(data, reader.name, []).lstrip().partition("\n")[0]
        kind = kind_of_json(decode_json(first, limits)) if first.startswith("{") else "unknown"
        if kind in {"chat header", "chat message", "chat"}:
            return "chat"
        raise


def _has_directory(reader: Reader) -> bool:
    reader.file.seek(max(0, reader.size - TAIL_BYTES))
    return find_directory(reader.file.read(TAIL_BYTES)) >= 0
