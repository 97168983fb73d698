"""Reading cards and books: a 2 MB image with a card and its lorebook, the same from JSON, a large book, a long chat."""

import base64
import json
import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.case import Case
from innkeeper.content import ChatLog, Document, load_character, load_chat, load_lorebook
from innkeeper.content.character import read_character

IMAGE_BYTES = 2 * 1024 * 1024
CARD_ENTRIES = 200
WORLD_ENTRIES = 2_000
MESSAGES = 1_000
PROSE = "The harbour bell rang twice, and nobody on Lantern Street looked up from their work. "


def cases() -> Iterator[Case]:
    """Each read from a file or bytes, none from a cache; JSON against the standard library's parser alone."""
    folder = Path(tempfile.mkdtemp(prefix="innkeeper-bench-"))
    card = json.dumps(_card()).encode()
    image = folder / "card.png"
    image.write_bytes(_png(card))
    assert load_character(image).name == "Mira"
    size = f"{image.stat().st_size / 1e6:.1f} MB, card {len(card) / 1e3:.0f} kB, {CARD_ENTRIES} entries"
    yield Case(
        "PNG card", lambda: load_character(image), lambda: _by_hand(image), "chunks, base64 and json alone", size
    )
    yield Case(
        "card JSON",
        lambda: read_character(Document.parse(card)),
        lambda: json.loads(card),
        "json.loads",
        f"{len(card):,} bytes",
    )
    world = json.dumps({"entries": {str(n): _world_entry(n) for n in range(WORLD_ENTRIES)}}).encode()
    note = f"{WORLD_ENTRIES} entries, {len(world):,} bytes"
    yield Case("world info", lambda: load_lorebook(world), lambda: json.loads(world), "json.loads", note)
    chat = "\n".join(json.dumps(line) for line in _lines()).encode()
    assert len(ChatLog.of(chat).messages) == MESSAGES
    note = f"{MESSAGES} messages, {len(chat):,} bytes"
    yield Case(
        "chat", lambda: load_chat(chat), lambda: [json.loads(x) for x in chat.split(b"\n")], "json.loads a line", note
    )


def _card() -> dict[str, Any]:
    book = {"extensions": {}, "entries": [_card_entry(number) for number in range(CARD_ENTRIES)]}
    texts = ("description", "personality", "scenario", "first_mes", "mes_example", "creator_notes", "system_prompt")
    data = {"name": "Mira", **dict.fromkeys(texts, PROSE * 20), "extensions": {}, "character_book": book}
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}


def _card_entry(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "keys": [f"key {number}", "bell"],
        "secondary_keys": [],
        "content": PROSE * 3,
        "comment": f"entry {number}",
        "enabled": True,
        "insertion_order": number,
        "position": "before_char",
        "extensions": {"position": 4, "depth": 2, "probability": 50, "useProbability": True, "role": 0},
    }


def _world_entry(number: int) -> dict[str, Any]:
    flags = dict.fromkeys(
        ("constant", "vectorized", "disable", "excludeRecursion", "preventRecursion", "groupOverride"), False
    )
    unset = dict.fromkeys(("scanDepth", "caseSensitive", "matchWholeWords", "sticky", "cooldown", "delay"))
    own = {"uid": number, "key": [f"key {number}", "bell"], "keysecondary": [], "content": PROSE, "order": number}
    more = {
        "position": 0,
        "depth": 4,
        "probability": 100,
        "useProbability": True,
        "selectiveLogic": 0,
        "selective": True,
    }
    return {**own, **flags, **unset, **more}


def _lines() -> Iterator[dict[str, Any]]:
    yield {"user_name": "Tomas", "character_name": "Mira", "chat_metadata": {}}
    for number in range(MESSAGES):
        name, is_user = ("Tomas", True) if number % 2 else ("Mira", False)
        yield {
            "name": name,
            "is_user": is_user,
            "is_system": False,
            "mes": PROSE * 3,
            "extra": {},
            "send_date": str(number),
        }


def _png(card: bytes) -> bytes:
    """An image of about two megabytes; its pixels are noise that no reader decodes."""
    noise = zlib.compress(b"\0" * 64, 0) + bytes(range(256)) * (IMAGE_BYTES // 256)
    pixels = b"".join(_chunk(b"IDAT", noise[start : start + 8192]) for start in range(0, len(noise), 8192))
    header = struct.pack(">IIBBBBB", 512, 768, 8, 2, 0, 0, 0)
    text = b"chara\0" + base64.b64encode(card)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + pixels + _chunk(b"tEXt", text) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _by_hand(path: Path) -> Any:
    """The least that anybody has to do: follow the chunks, decode, parse."""
    data, position = path.read_bytes(), 8
    while position < len(data):
        length, kind = struct.unpack_from(">I4s", data, position)
        if kind == b"tEXt":
            return json.loads(base64.b64decode(data[position + 8 + len(b"chara\0") : position + 8 + length]))
        position += 12 + length
    raise AssertionError("there is a card in it")
