"""Cards, images and archives for tests: sound ones, and ones that lie."""

import binascii
import io
import json
import struct
import zipfile
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from hypothesis import strategies as st

from innkeeper.prompt.errors import InnkeeperError

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
HEADER: Final = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
PIXEL: Final = zlib.compress(b"\0\x60")


def card(version: str = "v2", **data: Any) -> dict[str, Any]:
    """A small sound card."""
    number = version.removeprefix("v")
    own = {"name": "Mira", "description": "A clockmaker.", "first_mes": "Come in.", "extensions": {}, **data}
    return {"spec": f"chara_card_v{number}", "spec_version": f"{number}.0", "data": own}


def card_json(version: str = "v2", **data: Any) -> bytes:
    """The same as JSON text."""
    return json.dumps(card(version, **data), ensure_ascii=False).encode()


def chunk(kind: bytes, data: bytes, *, length: int | None = None, crc: int | None = None) -> bytes:
    """A PNG chunk; ``length`` and ``crc`` may lie."""
    size = len(data) if length is None else length
    check = binascii.crc32(kind + data) if crc is None else crc
    return struct.pack(">I", size) + kind + data + struct.pack(">I", check)


def text_chunk(keyword: str, text: bytes, kind: str = "tEXt") -> bytes:
    """A text chunk of any of the three kinds; ``iTXtz`` is a compressed ``iTXt``."""
    key = keyword.encode("latin-1") + b"\0"
    packed = zlib.compress(text, 9)
    body = {
        "tEXt": key + text,
        "zTXt": key + b"\0" + packed,
        "iTXt": key + b"\0\0" + b"en\0key\0" + text,
        "iTXtz": key + b"\1\0" + b"\0\0" + packed,
    }
    return chunk(kind[:4].encode(), body[kind])


def png(*chunks: bytes, end: bool = True) -> bytes:
    """A 1x1 PNG with more chunks before its end."""
    tail = chunk(b"IEND", b"") if end else b""
    return SIGNATURE + chunk(b"IHDR", HEADER) + chunk(b"IDAT", PIXEL) + b"".join(chunks) + tail


def card_png(payload: bytes | None = None, keyword: str = "chara", kind: str = "tEXt") -> bytes:
    """A PNG with a card in it, in base64."""
    return png(text_chunk(keyword, b64encode(card_json() if payload is None else payload), kind))


def archive(
    files: Mapping[str, bytes] | Iterable[tuple[str, bytes]], *, prefix: bytes = b"", stored: bool = False
) -> bytes:
    """A sound zip, perhaps behind something else."""
    out = io.BytesIO()
    out.write(prefix)
    method = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(out, "a" if prefix else "w", method) as made:
        for name, data in files.items() if isinstance(files, Mapping) else files:
            made.writestr(name, data)
    return out.getvalue()


def archive_with(info: zipfile.ZipInfo, data: bytes = b"x") -> bytes:
    """A zip with one file that is described by hand."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        made.writestr(info, data)
    return out.getvalue()


def entry_fields(data: bytes, index: int) -> int:
    """Where the directory entry with this index begins in a zip."""
    position = -1
    for _ in range(index + 1):
        position = data.index(b"PK\1\2", position + 1)
    return position


def patched(data: bytes, position: int, new: bytes) -> bytes:
    """Bytes with others at a place."""
    return data[:position] + new + data[position + len(new) :]


texts = st.text(max_size=20)
"""Any text, without lone surrogates."""

values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
"""Any JSON value."""

objects = st.dictionaries(texts, values, max_size=4)
"""Any JSON object."""

NAMES: Final = (
    *("name", "description", "personality", "scenario", "first_mes", "mes_example", "creator_notes", "system_prompt"),
    *(
        "post_history_instructions",
        "alternate_greetings",
        "tags",
        "creator",
        "character_version",
        "extensions",
        "nickname",
    ),
    *("group_only_greetings", "creator_notes_multilingual", "source", "creation_date", "assets", "character_book"),
)

ENTRY_NAMES: Final = (
    *("uid", "id", "key", "keys", "keysecondary", "secondary_keys", "content", "comment", "constant", "selective"),
    *("selectiveLogic", "order", "insertion_order", "position", "disable", "enabled", "depth", "role", "probability"),
    *(
        "extensions",
        "sticky",
        "delayUntilRecursion",
        "triggers",
        "characterFilter",
        "group",
        "groupWeight",
        "use_regex",
    ),
)


@st.composite
def books(draw: st.DrawFn) -> dict[str, Any]:
    """A lorebook whose entries have real names and any values."""
    entry = st.dictionaries(st.sampled_from(ENTRY_NAMES), values, max_size=8) | objects
    entries = draw(
        st.lists(entry, max_size=4) | st.dictionaries(st.integers(0, 20).map(str) | texts, entry, max_size=4)
    )
    return {**draw(objects), "entries": entries}


@st.composite
def cards(draw: st.DrawFn) -> dict[str, Any]:
    """A card whose fields have real names and any values, and others besides."""
    version = draw(st.sampled_from(("v2", "v3")))
    data = {**draw(objects), **draw(st.dictionaries(st.sampled_from(NAMES), values, max_size=8))}
    data["name"] = draw(st.text(min_size=1, max_size=9).filter(str.strip))
    if draw(st.booleans()):
        data["character_book"] = draw(books())
    return {**draw(objects), "spec": f"chara_card_{version}", "spec_version": f"{version[1]}.0", "data": data}


def attempt(call: Callable[[], Any]) -> Any:
    """What a call gives, or the error of ours that it raises; any other exception gets out."""
    try:
        return call()
    except InnkeeperError as error:
        return error
