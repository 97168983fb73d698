"""CHARX: a zip with ``card.json`` and the card's assets (Character Card V3, *CHARX*)."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from innkeeper.content.card_versions import CardAsset, CardVersion, asset_folder
from innkeeper.content.character import Character, read_character
from innkeeper.content.files.format import CardFile, Format, OpenFile
from innkeeper.content.files.risu import read_module
from innkeeper.content.finding import Finding, Level
from innkeeper.content.json.document import Document
from innkeeper.content.lorebook import Lorebook
from innkeeper.prompt.errors import InputError

CARD_NAME: Final = "card.json"
MODULE_NAME: Final = "module.risum"
FOREIGN_FILES: Final = (MODULE_NAME, "x_meta/")
"""Files that other applications store beside the card: a module of RisuAI's, and notes on the assets."""

MAX_LISTED: Final = 20
"""Missing or spare files of an archive that get a finding each (a note of the rest)."""

EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""The time of every file in an archive written here, so that equal cards are equal bytes."""

_PACKED: Final = frozenset({"png", "jpg", "jpeg", "webp", "avif", "gif", "mp3", "ogg", "mp4", "webm", "woff2"})


def open_charx(file: OpenFile, lenient: bool) -> CardFile:  # noqa: FBT001 - one form for all openers
    """The card of a CHARX, and the files beside it.

    Raises:
        FormatError, LimitError: as the archive, the JSON and the card do.
    """
    archive, reader = file.archive, file.reader
    name = f"{reader.name}/{CARD_NAME}" if reader.name else CARD_NAME
    document = Document.parse(archive.read(CARD_NAME), reader.limits, name=name)
    character = read_character(document, limits=reader.limits, lenient=lenient)
    files = tuple(name for name in archive.names if name != CARD_NAME)
    findings = [*character.findings, *_asset_findings(character, files)]
    if character.version is not CardVersion.V3:
        why = "the card in a CHARX should be V3; it is read as what it is"
        findings.insert(len(character.findings), Finding("charx-version", why, path="spec"))
    if MODULE_NAME in files:
        try:
            character = _with_module(character, read_module(archive.read(MODULE_NAME), limits=reader.limits).module)
        except InputError:
            pass  # kept, not read: a finding says so
        else:
            findings = [each for each in findings if not each.message.startswith(MODULE_NAME)]
    character = msgspec.structs.replace(character, findings=tuple(findings))
    return CardFile(character, "charx", names=files, read=file.member)


def _with_module(character: Character, module: Mapping[str, Any]) -> Character:
    """The character with the scripts, the triggers and the lorebook of a module in the place of its own, as RisuAI has it."""
    stored = {"customScripts": module.get("regex"), "triggerscript": module.get("trigger")}
    own = character.extensions.get("risuai")
    risu = {**(own if isinstance(own, Mapping) else {}), **{key: value for key, value in stored.items() if value}}
    book, entries = character.book, module.get("lorebook")
    if isinstance(entries, list) and entries:
        name = book.name if book is not None else str(module.get("name") or "")
        settings = () if book is None else ("scan_depth", "token_budget", "recursive_scanning", "extensions")
        fields = {field: getattr(book, field) for field in settings}
        book = msgspec.structs.replace(Lorebook.of({"type": "risu", "ver": 1, "data": entries}), name=name, **fields)
    return msgspec.structs.replace(character, extensions={**character.extensions, "risuai": risu}, book=book)


def charx_bytes(card: CardFile) -> bytes:
    """The card and everything that came with it as a CHARX; the image that held it becomes its main icon.

    Raises:
        FormatError: one of the files inside cannot be read.
    """
    character, files = _with_embedded_assets(card)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        _write(archive, CARD_NAME, character.to_json())
        for name, data in files.items():
            _write(archive, name, data)
    return out.getvalue()


def _with_embedded_assets(card: CardFile) -> tuple[Character, dict[str, bytes]]:
    character = card.character.to_version(CardVersion.V3)
    files = {name: card.read(name) for name in card.names} if card.kind in {"charx", "byaf"} else {}
    assets = []
    for asset in character.assets:
        data = None if asset.path in files else card.read_asset(asset)
        assets.append(asset if data is None else _embed(asset, data, files))
    changed = tuple(assets) != character.assets
    return (character.replace(assets=assets) if changed else character), files


def _embed(asset: CardAsset, data: bytes, files: dict[str, bytes]) -> CardAsset:
    """An asset with its bytes in the archive, under a name that is free."""
    ext = asset.ext if asset.ext.isalnum() else "unknown"
    stem = "".join(c if c.isalnum() or c in "-_" else "_" for c in asset.name) or "asset"
    name = _free(f"{asset_folder(asset.type, ext)}/{stem}", ext, files)
    files[name] = data
    return CardAsset(asset.type, f"embeded://{name}", asset.name, ext)


def _free(stem: str, ext: str, taken: Mapping[str, bytes]) -> str:
    number, name = 1, f"{stem}.{ext}"
    while name in taken:
        number, name = number + 1, f"{stem}-{number + 1}.{ext}"
    return name


def _write(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, EPOCH)
    is_packed = name.rpartition(".")[2].lower() in _PACKED
    info.compress_type = zipfile.ZIP_STORED if is_packed else zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    archive.writestr(info, data)


def _asset_findings(character: Character, files: tuple[str, ...]) -> list[Finding]:
    named = {asset.path for asset in character.assets} - {None}
    missing = [f"the asset {path!r} is not in the archive" for path in sorted(filter(None, named)) if path not in files]
    unused = [f"{name} is kept, but not used" for name in files if name.startswith(FOREIGN_FILES)]
    spare = [
        f"{name} belongs to no asset" for name in files if name not in named and not name.startswith(FOREIGN_FILES)
    ]
    return [
        *_findings("missing-asset", missing, Level.WARNING),
        *_findings("kept-not-read", unused, Level.INFO),
        *_findings("spare-file", spare, Level.INFO),
    ]


def _findings(rule: str, messages: Iterable[str], level: Level) -> list[Finding]:
    listed = list(messages)
    collected = [Finding(rule, message, level=level) for message in listed[:MAX_LISTED]]
    if len(listed) > MAX_LISTED:
        collected.append(Finding(rule, f"and {len(listed) - MAX_LISTED:,} more", level=level))
    return collected


CHARX: Final = Format(
    name="charx",
    member=CARD_NAME,
    size_limit="archive_bytes",
    kind=lambda _file: "character",
    open_card=open_charx,
    extensions=("charx",),
    write_card=lambda card, _image, _form: charx_bytes(card),
)
