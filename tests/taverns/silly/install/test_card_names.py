"""Names of characters told from the text chunks of their files."""

from __future__ import annotations

import json
import os
import struct
import zlib
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from innkeeper.content import blank_png
from innkeeper.content.files.png import SIGNATURE
from innkeeper.taverns.silly.install import card_names as module
from innkeeper.taverns.silly.install.card_names import card_names
from tests.taverns.silly.install.folders import card, folder


def chunk(kind: bytes, data: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def text(raw: Any, keyword: bytes = b"chara", kind: bytes = b"tEXt") -> bytes:
    """A text chunk with a card, or with these bytes."""
    data = raw if isinstance(raw, bytes) else b64encode(json.dumps(raw).encode())
    return chunk(kind, keyword + b"\0" + data)


def picture(*chunks: bytes) -> bytes:
    """A picture with these chunks before its end."""
    image = blank_png(2, 2)
    end = image.index(b"IEND") - 4
    return image[:end] + b"".join(chunks) + image[end:]


@pytest.mark.parametrize(
    ("chunks", "names"),
    [
        ([text({"name": "Old"})], ("Old",)),
        ([text({"name": "Old", "data": {"name": "New"}})], ("New", "Old")),
        ([text({"data": {"name": "A"}}), text({"data": {"name": "B"}}, b"CCV3")], ("A", "B")),
        ([chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0x"), text({"name": "Ann"})], ("Ann",)),
        ([chunk(b"tEXt", b""), text({"name": "Ann"})], ("Ann",)),
    ],
    ids=["V1", "V2", "both forms", "other text", "an empty text"],
)
def test_names(tmp_path: Path, chunks: list[bytes], names: tuple[str, ...]) -> None:
    """All names that the cards of a file have, inner ones first."""
    (tmp_path / "a.png").write_bytes(picture(*chunks))
    assert card_names(tmp_path / "a.png") == names


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no picture",
        SIGNATURE + b"\0\0",
        picture(),
        picture(text(b"no base64!")),
        picture(text([])),
        picture(text({"name": 7})),
        picture(text({"data": 7})),
        picture(text({"description": "nameless"})),
        picture(text({"name": "Ann"}, kind=b"zTXt")),
        picture(text({"name": "Ann"}))[:-40],
        SIGNATURE + struct.pack(">I4s", 2**32 - 1, b"tEXt") + b"chara\0",
    ],
    ids=range(12),
)
def test_files_for_the_reader_of_cards(tmp_path: Path, data: bytes) -> None:
    """Of a file that is anything else nothing is said: it has to be opened."""
    (tmp_path / "a.png").write_bytes(data)
    assert card_names(tmp_path / "a.png") == ()


def test_links_and_missing_files(tmp_path: Path) -> None:
    """Only files of the folder itself are looked at."""
    (tmp_path / "a.png").write_bytes(picture(text({"name": "Ann"})))
    os.symlink(tmp_path / "a.png", tmp_path / "b.png")  # noqa: PTH211 - as any program would
    assert card_names(tmp_path / "b.png") == ()
    assert card_names(tmp_path / "c.png") == ()
    assert card_names(tmp_path) == ()


def test_so_many_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of more chunks than the limit is left to the reader of cards."""
    monkeypatch.setattr(module, "MAX_CHUNKS", 10)
    (tmp_path / "a.png").write_bytes(picture(*[chunk(b"tEXt", b"x\0")] * 20, text({"name": "Ann"})))
    assert card_names(tmp_path / "a.png") == ()


def test_cards_of_a_folder(tmp_path: Path) -> None:
    """Cards as they are written in folders are told by their names."""
    card(folder(tmp_path), "x", "Zoë Å.")
    assert card_names(tmp_path / "characters" / "x.png") == ("Zoë Å.",)
