"""Tests that what is wrong with a file is said with the file's name and with how to mend it."""

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from innkeeper.content import load_character
from innkeeper.prompt.errors import InputError


def chunk(kind: bytes, data: bytes) -> bytes:
    """A PNG chunk with the right checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
END = chunk(b"IEND", b"")


@dataclass(frozen=True)
class Case:
    """Bytes of a file that is no card, and what the error calls that."""

    id: str
    data: bytes
    kind: str


CASES = (
    Case("cut in a chunk", PNG + b"\0\0\0", "damaged_file: whole"),
    Case("without an end", PNG, "damaged_file: whole"),
    Case(
        "a chunk that lies about its length", PNG + struct.pack(">I", 2**31 - 1) + b"tEXtchara\0", "damaged_file: whole"
    ),
    Case("a wrong checksum", PNG + chunk(b"tEXt", b"chara\0e30=")[:-1] + b"\0" + END, "damaged_file: checksum"),
    Case("a header that is none", PNG[:8] + END, "damaged_file: png"),
    Case("a picture without a card", PNG + END, "asset"),
    Case("an archive cut short", b"PK\3\4" + bytes(40), "damaged_file: sound"),
    Case("a list", b"[]", "asset"),
    Case("null", b"null", "asset"),
    Case("a text", b'"Mara"', "asset"),
    Case("data that is a list", b'{"spec": "chara_card_v2", "data": []}', "asset"),
    Case("no JSON", b'{"name" "Mara"}', "json"),
    Case("a number of ten thousand digits", b'{"a": ' + b"1" * 10_000 + b"}", "json"),
    Case("nothing", b"", "json"),
    Case("another encoding", '{"name": "Zoë"}'.encode("latin-1"), "json"),
    Case("nested too deeply", b"[" * 10_000, "limit"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_place_and_mend(case: Case, tmp_path: Path) -> None:
    """Each error is of its rule's class, names the file, and has a hint."""
    file = tmp_path / "mara.card"
    file.write_bytes(case.data)
    with pytest.raises(InputError) as caught:
        load_character(file)
    kind, _, rule = case.kind.partition(": ")
    assert (caught.value.kind, caught.value.details.get("rule", "")) == (kind, rule)
    assert caught.value.where is not None
    assert caught.value.where.asset == str(file)
    assert caught.value.hint


def test_json_types() -> None:
    """What stands in the place of an object is called as JSON calls it, not as Python does."""
    with pytest.raises(InputError, match="not null"):
        load_character(b"null")


def test_digits() -> None:
    """A number with too many digits is refused without advice that is for programmers of Python."""
    with pytest.raises(InputError, match="a number has more than 4,300 digits") as caught:
        load_character(b"[" + b"1" * 5_000 + b"]")
    assert "sys." not in str(caught.value)
