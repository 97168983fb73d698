"""Snapshot: a catalogue as canonical JSON under its SHA-256, so that it is whole or refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

from innkeeper.content.files.private import write_private
from innkeeper.gate.tier import Tier
from innkeeper.library.catalogue.catalogue import AnswerSource, Catalogue
from innkeeper.library.catalogue.rows import DATES, CatalogueModel, CatalogueNegative, CatalogueProvider, catalogue_rows
from innkeeper.library.limits import SNAPSHOT_MAX_BYTES
from innkeeper.library.templates.template import Labelled, read_version, write_version
from innkeeper.prompt.data import parse_json, to_json
from innkeeper.prompt.errors import FormatError, InputError, Where

_FORMAT: Final = "innkeeper-snapshot"
_VERSION: Final = 1
_HEAD: Final = re.compile(rb'\{"content_sha256":"([0-9a-f]{64})","payload":')
_TAIL: Final = b"}\n"
_TABLES: Final = ("negatives", "models", "providers")


class Snapshot(msgspec.Struct, frozen=True):
    """A catalogue as it is kept: a row of ``prompt_cache_snapshot`` without its id and date."""

    payload: bytes
    content_sha256: str
    built_from_revision: int


def snapshot_of(catalogue: Catalogue) -> Snapshot:
    """The snapshot of a catalogue; equal catalogues give equal bytes."""
    payload = to_json(
        {
            "format": _FORMAT,
            "version": _VERSION,
            "revision": catalogue.revision,
            "ceiling": catalogue.ceiling.value,
            "labelled": [{"label": row.label, "version": write_version(row.version)} for row in catalogue.labelled],
            "pinned": [write_version(version) for version in catalogue.pinned],
            **{
                table: [
                    {name: value for name, value in row.to_dict().items() if name not in DATES}
                    for row in getattr(catalogue, table)
                ]
                for table in _TABLES
            },
            "retired": catalogue.retired,
        }
    )
    return Snapshot(payload, sha256(payload).hexdigest(), catalogue.revision)


def catalogue_of(snapshot: Snapshot, *, ceiling: Tier | None = None, asset: str = "snapshot") -> Catalogue:
    """The catalogue of a snapshot, down to ``ceiling`` where that is lower than the snapshot's own.

    Raises `FormatError` where the checksum is not that of the payload, or the payload is no snapshot of this version.
    """
    if len(snapshot.payload) > SNAPSHOT_MAX_BYTES:
        raise damaged(f"the snapshot is larger than {SNAPSHOT_MAX_BYTES:,} bytes", asset)
    if sha256(snapshot.payload).hexdigest() != snapshot.content_sha256:
        raise damaged("the snapshot is damaged: its SHA-256 is another", asset)
    try:
        return _read(parse_json(snapshot.payload, asset=asset), ceiling)
    except (InputError, KeyError, TypeError, ValueError) as error:
        raise damaged(f"not a snapshot that is read here: {error}", asset) from error


def damaged(message: str, asset: str | None = None) -> FormatError:
    """The error of a snapshot that cannot be used, or that is not there."""
    return FormatError(
        message, where=None if asset is None else Where(asset), hint="`innkeeper admin cache rebuild` writes a new one"
    )


def _read(data: Any, ceiling: Tier | None) -> Catalogue:
    if not isinstance(data, Mapping) or (data.get("format"), data.get("version")) != (_FORMAT, _VERSION):
        raise FormatError("another format or version")
    own = Tier(data["ceiling"])
    return Catalogue.build(
        (Labelled(str(row["label"]), read_version(row["version"])) for row in data["labelled"]),
        pinned=(read_version(row) for row in data["pinned"]),
        ceiling=own if ceiling is None else Tier.lowest(own, ceiling),
        negatives=catalogue_rows(data["negatives"], CatalogueNegative),
        models=catalogue_rows(data["models"], CatalogueModel),
        providers=catalogue_rows(data["providers"], CatalogueProvider),
        revision=int(data["revision"]),
        retired=tuple(map(str, data.get("retired", ()))),
        source=AnswerSource.SNAPSHOT,
    )


class SnapshotFile:
    """The last verified snapshot in a file: a source for when the database is not there.

    The file is one JSON object: ``content_sha256`` and ``payload``. It is replaced as a whole, and read up to ``ceiling``.
    """

    def __init__(self, path: Path | str, *, ceiling: Tier | Callable[[], Tier] = Tier.SFW) -> None:
        self.path = Path(path)
        self._ceiling = ceiling

    def load(self) -> Catalogue:
        """The catalogue in the file. Raises `FormatError` where there is none, or it is damaged."""
        try:
            size = self.path.stat().st_size
            data = self.path.read_bytes() if size <= SNAPSHOT_MAX_BYTES else b""
        except OSError as error:
            raise damaged(f"no snapshot: {error.strerror}", str(self.path)) from error
        ceiling = self._ceiling if isinstance(self._ceiling, Tier) else self._ceiling()
        return catalogue_of(_opened(data, str(self.path)), ceiling=ceiling, asset=str(self.path))

    def store(self, catalogue: Catalogue) -> None:
        """Replace the file. Raises `MissingFileError` where that cannot be done; the old one is whole then."""
        from innkeeper.content.errors import MissingFileError

        snapshot = snapshot_of(catalogue)
        head = f'{{"content_sha256":"{snapshot.content_sha256}","payload":'.encode()
        try:
            write_private(self.path, head + snapshot.payload + _TAIL)
        except OSError as error:
            where = Where(str(self.path))
            raise MissingFileError(f"the snapshot cannot be written: {error.strerror}", where=where) from error


def _opened(data: bytes, asset: str) -> Snapshot:
    """The snapshot in a file's bytes, not verified yet."""
    head = _HEAD.match(data)
    if head is None or not data.endswith(_TAIL):
        raise damaged("the snapshot is damaged: it does not begin and end as one", asset)
    return Snapshot(data[head.end() : -len(_TAIL)], head[1].decode(), 0)
