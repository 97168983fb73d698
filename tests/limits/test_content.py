"""Readers of files: what hostile JSON, pictures and archives cost."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib

import pytest

from innkeeper.content.files.loading import load_character, load_chat, load_lorebook
from tests.limits.growth import Family, held


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png(*chunks: bytes) -> bytes:
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(chunks) + _chunk(b"IEND", b"")


def _zip(count: int, size: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(count):
            archive.writestr(f"{number}.json", " " * size)
    return file.getvalue()


def _packed(size: int) -> bytes:
    return _chunk(b"zTXt", b"chara\0\0" + zlib.compress(b" " * size))


CARD = json.dumps({"spec": "chara_card_v2", "data": {"name": "x", "extensions": {"a": []}}})

FAMILIES = (
    Family("lists", lambda n: load_lorebook(b'{"entries":[' + b"[]," * n + b"[]]}"), 10_000, ""),
    Family("depth", lambda n: load_character(b"[" * n + b"]" * n), 50_000, ""),
    Family("keys", lambda n: load_character(json.dumps({f"{i}": 1 for i in range(n)}).encode()), 6_000, ""),
    Family("values of a card", lambda n: load_character(CARD.replace("[]", "[" + "[]," * n + "1]").encode()), 10_000, ""),
    Family("entries", lambda n: load_lorebook(json.dumps({"entries": [{"key": ["a"], "content": "b"}] * n}).encode()), 1_000, ""),
    Family("messages", lambda n: load_chat(b'{"mes":"a","name":"b","is_user":true}\n' * n), 1_000, ""),
    Family("chunks of a picture", lambda n: load_character(_png(*[_chunk(b"tEXt", b"a\0b")] * n)), 1_000, ""),
    Family("a packed picture", lambda n: load_character(_png(_packed(n))), 300_000, ""),
    Family("files of an archive", lambda n: load_character(_zip(n, 10)), 100, ""),
    Family("a packed archive", lambda n: load_character(_zip(1, n)), 300_000, ""),
)  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_twice_the_file_costs_twice_as_much(family: Family) -> None:
    """Time and memory grow as the file does, until a limit of reading ends it."""
    assert held(family)
