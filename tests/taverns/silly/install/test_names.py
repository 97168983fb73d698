"""Cards and groups by name: the file's name, then the one inside; what several have is an error that lists them."""

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
from innkeeper.prompt import UnknownNameError
from innkeeper.taverns.silly.install import names as module
from innkeeper.taverns.silly.install.files import UserFolder
from innkeeper.taverns.silly.install.names import AmbiguousNameError, card_names, card_of, cards, find_card, find_group
from tests.taverns.silly.install.folders import card, folder, group


@pytest.fixture
def user(tmp_path: Path) -> UserFolder:
    """A folder with two characters of one name."""
    root = folder(tmp_path)
    card(root, "Mira1", "Mira")
    card(root, "b", "Bram")
    card(root, "c", "Twin")
    card(root, "d", "Twin")
    group(root, "17", "Inn", "Mira.png")
    group(root, "18", "Inn", "b.png")
    group(root, "19", "Yard", "b.png")
    return UserFolder(root)


@pytest.mark.parametrize(
    ("name", "avatar"),
    [("Mira", "Mira.png"), ("Mira.png", "Mira.png"), ("Mira1", "Mira1.png"), ("Bram", "b.png"), ("bram", "b.png")],
)
def test_a_card(user: UserFolder, name: str, avatar: str) -> None:
    """The name of a file comes first; case counts only where it tells two apart."""
    assert find_card(user, name).avatar == avatar


def test_several(user: UserFolder) -> None:
    """Who could be meant is in the error."""
    with pytest.raises(AmbiguousNameError, match="Twin") as told:
        find_card(user, "Twin")
    assert told.value.candidates == ("c.png", "d.png")
    with pytest.raises(AmbiguousNameError):
        find_group(user, "Inn")
    assert find_group(user, "18").name == "Inn"
    assert find_group(user, "yard").id == "19"


@pytest.mark.parametrize("name", ["Nobody", "../Mira", ""])
def test_nobody(user: UserFolder, name: str) -> None:
    """A name that nobody has, or that leads out of the folder, is an error with the nearest names."""
    with pytest.raises(UnknownNameError):
        find_card(user, name)
    with pytest.raises(UnknownNameError):
        find_group(user, name)


def test_damaged_cards(user: UserFolder) -> None:
    """A card that cannot be read is noted, and does not hide the others."""
    (user.root / "characters" / "broken.png").write_bytes(b"no picture")
    assert {one.avatar for one in cards(user)} == {"Mira.png", "Mira1.png", "b.png", "c.png", "d.png"}
    assert "characters/broken.png" in str(user.notes[0])
    assert card_of(user, "Mira.json") is None


def test_an_unknown_name_says_what_was_passed_over(tmp_path: Path) -> None:
    """The card that is looked for may be one that cannot be read, so the error names those."""
    root = folder(tmp_path)
    (root / "characters" / "Bad.png").write_bytes(b"no picture")
    with pytest.raises(UnknownNameError) as caught:
        find_card(UserFolder(root), "Somebody")
    assert caught.value.hint is not None
    assert "known: Mira; passed over: " in caught.value.hint
    assert "characters/Bad.png" in caught.value.hint


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
