"""Snapshots: the same bytes for the same catalogue, whole or refused."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.errors import MissingFileError
from innkeeper.gate.tier import Tier
from innkeeper.library.catalogue import snapshot as module
from innkeeper.library.catalogue.catalogue import AnswerSource, Catalogue
from innkeeper.library.catalogue.rows import CatalogueModel, catalogue_rows
from innkeeper.library.catalogue.snapshot import Snapshot, SnapshotFile, catalogue_of, snapshot_of
from innkeeper.library.templates.template import Labelled
from innkeeper.prompt.data import parse_json, to_json
from innkeeper.prompt.errors import FormatError
from tests.library import drawing
from tests.library.making import catalogue, made

WHOLE = catalogue(
    made("a", "x"),
    made("b", content_mode="nsfw"),
    revision=5,
    models=catalogue_rows([{"model_key": "m", "model_family": "f"}], CatalogueModel),
)


@given(drawing.rows, drawing.models)
def test_round_trip(rows: list[Labelled], models: list[dict[str, object]]) -> None:
    """A catalogue comes back from its snapshot with all its rows; the order in which it was built leaves no mark."""
    typed = catalogue_rows(models, CatalogueModel)
    whole = Catalogue.build(rows, pinned=[made("part")], ceiling=Tier.NSFW, models=typed, revision=3)
    again = catalogue_of(snapshot_of(whole))
    assert (again.labelled, again.pinned, again.models, again.revision) == (
        whole.labelled,
        whole.pinned,
        whole.models,
        3,
    )
    assert again.source is AnswerSource.SNAPSHOT
    turned = Catalogue.build(rows[::-1], pinned=[made("part")], ceiling=Tier.NSFW, models=typed, revision=3)
    assert snapshot_of(turned) == snapshot_of(whole) == snapshot_of(again)


def test_ceiling_only_lowers() -> None:
    """A snapshot may be read with a lower ceiling than it was made with, never with a higher."""
    low = catalogue(made("b", content_mode="nsfw"), made("a"), ceiling=Tier.SFW)
    assert len(catalogue_of(snapshot_of(WHOLE), ceiling=Tier.SFW)) == 1
    assert len(catalogue_of(snapshot_of(low), ceiling=Tier.NSFW)) == 1


@given(st.integers(min_value=0), st.integers(min_value=1, max_value=255))
def test_one_changed_byte_is_refused(place: int, change: int) -> None:
    """Whichever byte is changed, the snapshot is refused."""
    made_of = snapshot_of(WHOLE)
    payload = bytearray(made_of.payload)
    payload[place % len(payload)] ^= change
    with pytest.raises(FormatError):
        catalogue_of(msgspec.structs.replace(made_of, payload=bytes(payload)))


def _signed(payload: bytes) -> Snapshot:
    return Snapshot(payload, sha256(payload).hexdigest(), 0)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"[]",
        b"{}",
        b'{"format":"innkeeper-snapshot","version":2}',
        b'{"format":"innkeeper-snapshot","version":1}',
        to_json({**parse_json(snapshot_of(WHOLE).payload, asset="x"), "ceiling": "all"}),
        to_json({**parse_json(snapshot_of(WHOLE).payload, asset="x"), "labelled": [{"label": "x", "version": {}}]}),
        to_json({**parse_json(snapshot_of(WHOLE).payload, asset="x"), "labelled": 3}),
    ],
    ids=["empty", "list", "object", "version", "fields", "tier", "row", "kind"],
)
def test_what_is_no_snapshot(payload: bytes) -> None:
    """A payload with a right checksum and the wrong content is refused as well."""
    with pytest.raises(FormatError):
        catalogue_of(_signed(payload))


def test_too_large(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Snapshots beyond the limit are not read, in files or out of them."""
    SnapshotFile(tmp_path / "s").store(WHOLE)
    monkeypatch.setattr(module, "SNAPSHOT_MAX_BYTES", 10)
    with pytest.raises(FormatError, match="larger"):
        catalogue_of(snapshot_of(WHOLE))
    with pytest.raises(FormatError):
        SnapshotFile(tmp_path / "s").load()


def test_file(tmp_path: Path) -> None:
    """A file holds the catalogue as one JSON object, and is replaced as a whole."""
    file = SnapshotFile(tmp_path / "s.json", ceiling=Tier.NSFW)
    file.store(catalogue(made("old")))
    file.store(WHOLE)
    assert file.load().labelled == WHOLE.labelled
    data = parse_json(file.path.read_bytes(), asset="s")
    assert sha256(to_json(data["payload"])).hexdigest() == data["content_sha256"]
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]
    assert len(SnapshotFile(file.path).load()) == 1


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b'{"content_sha256":"00","payload":{}}\n'])
def test_damaged_file(tmp_path: Path, data: bytes) -> None:
    """A file that is no snapshot is refused, and the error names it."""
    (tmp_path / "s").write_bytes(data)
    with pytest.raises(FormatError, match="s: "):
        SnapshotFile(tmp_path / "s").load()


def test_cut_file(tmp_path: Path) -> None:
    """A file that ends too early is refused, wherever it ends."""
    file = SnapshotFile(tmp_path / "s")
    file.store(WHOLE)
    data = file.path.read_bytes()
    for length in range(0, len(data), 37):
        file.path.write_bytes(data[:length])
        with pytest.raises(FormatError):
            file.load()


def test_no_file(tmp_path: Path) -> None:
    """No file is a typed error to read, and a folder that cannot be made to write."""
    with pytest.raises(FormatError, match="no snapshot"):
        SnapshotFile(tmp_path / "none").load()
    (tmp_path / "file").write_text("x")
    with pytest.raises(MissingFileError):
        SnapshotFile(tmp_path / "file" / "s").store(WHOLE)
