"""RisuAI's packed files: modules (``.risum``) and presets (``.risup``, ``.risupreset``)."""

from __future__ import annotations

import hashlib
import zlib
from typing import Any, Final

import msgspec

from innkeeper.content.errors import LIMITS, DamagedFileError, Limits, WrongKindError, check_limit, limit_error
from innkeeper.content.json.text import decode_json
from innkeeper.lazy import install_line
from innkeeper.prompt.errors import FormatError, UnavailableError, Where

RPACK: Final = bytes.fromhex(
    "c40d1e0bbd2b3f55fc456ef566534f1ae0bb309486ba6bbf41506f9befdeb710611720df3289a89d6dabc990000c5dafd2c1"
    "56e516649182657497ca23d652d1ffb4a0e82f8a58385a60199649dbd7c83b3e434ba56347aa6a2992f415cf623478d31d3c"
    "e2058e2a570e1bcd4c2df2402c2579480fb27ab5a76c37e69c7b547efe87dc9a02e433a2ebb12e03dd99a6b0e7d58818837c"
    "f6bee15c9fc321461f084ed076125feefd8f44eaa35e8b2809359e69cc0ac78507ad4af377e967d4da848093b64d73fa2726"
    "7f04c6fbf1723951c236a968acf8edc5b9cbce75a43d81d942701c9511bcd88c98f959a113f7147db3ec71c0e38df001ae5b"
    "310624223ab8"
)
"""RPack writes byte i as the i-th byte of this table."""

_UNPACK: Final = bytes(sorted(range(256), key=RPACK.__getitem__))
MODULE: Final = b"o\0"
_ASSET: Final = 1
GZIP: Final = b"\x1f\x8b"
_PASSWORD: Final = b"risupreset"


class RisuModule(msgspec.Struct, frozen=True):
    """A module as it was stored, and the bytes of its assets in order."""

    module: dict[str, Any]
    assets: tuple[bytes, ...] = ()


def read_module(data: bytes, *, limits: Limits = LIMITS, asset: str | None = None) -> RisuModule:
    """Read a ``.risum``: the module's JSON, then its assets.

    Raises:
        WrongKindError: the bytes are no module.
        DamagedFileError: a part ends too early.
        FormatError: the module's text is not JSON.
        LimitError: the file or its assets exceed a limit.
    """
    check_limit(limits, "archive_bytes", len(data), "the module", asset=asset)
    if not data.startswith(MODULE):
        raise WrongKindError("this is no RisuAI module", found="unknown", where=Where(asset=asset))
    packed, position = _part(data, len(MODULE), "the module's text", asset)
    stored = decode_json(packed.translate(_UNPACK), limits, name=asset)
    module = stored.get("module") if isinstance(stored, dict) and stored.get("type") == "risuModule" else None
    if not isinstance(module, dict):
        raise WrongKindError("the text is no RisuAI module", found="JSON", where=Where(asset=asset))
    assets: list[bytes] = []
    while data[position : position + 1] == bytes([_ASSET]):
        packed, position = _part(data, position + 1, f"asset {len(assets) + 1:,} of the module", asset)
        assets.append(packed.translate(_UNPACK))
        check_limit(limits, "archive_entries", len(assets), "the number of assets in the module", asset=asset)
    if data[position : position + 1] != b"\0":
        raise DamagedFileError("the module has no end mark", rule="whole", where=_at(asset, position))
    return RisuModule(module, tuple(assets))


def read_module_json(data: bytes, *, limits: Limits = LIMITS, asset: str | None = None) -> RisuModule:
    """Read a module from JSON: as it is exported, or a list of scripts (``{"type": "regex", "data": […]}``).

    Raises `WrongKindError`, and `FormatError` for what is no JSON.
    """
    tree = decode_json(data, limits, name=asset)
    tree = tree if isinstance(tree, dict) else {}
    module = tree.get("module") if tree.get("type") == "risuModule" else None
    if tree.get("type") == "regex" and isinstance(tree.get("data"), list):
        module = {"regex": tree["data"]}
    if not isinstance(module, dict):
        raise WrongKindError("this JSON is no RisuAI module", found="JSON", where=Where(asset=asset))
    return RisuModule(module)


def module_bytes(module: RisuModule) -> bytes:
    """Write a module as a ``.risum``, which `read_module` reads back."""
    text = msgspec.json.encode({"module": module.module, "type": "risuModule"})
    parts = [MODULE, _length(text), text.translate(RPACK)]
    for each in module.assets:
        parts += [bytes([_ASSET]), _length(each), each.translate(RPACK)]
    return b"".join([*parts, b"\0"])


def read_preset(data: bytes, *, limits: Limits = LIMITS, asset: str | None = None) -> dict[str, Any]:
    """Read a ``.risup`` or ``.risupreset``: the preset's fields as they were stored.

    Raises:
        WrongKindError: the bytes are no preset, or one of a newer version.
        FormatError: the preset cannot be unpacked.
        LimitError: the file or its contents exceed a limit.
        UnavailableError: the library for its encryption is missing.
    """
    check_limit(limits, "file_bytes", len(data), "the preset", asset=asset)
    packed = data if data.startswith(GZIP) else data.translate(_UNPACK)
    if not packed.startswith(GZIP):
        raise WrongKindError("this is no RisuAI preset", found="unknown", where=Where(asset=asset))
    outer = _message_pack(_gunzip(packed, limits, asset), "the file", limits, asset)
    version, sealed = outer.get("presetVersion"), outer.get("preset", outer.get("pres"))
    if outer.get("type") != "preset" or version not in (0, 2) or not isinstance(sealed, bytes):
        kind = f"preset version {version}" if isinstance(version, int) else "MessagePack"
        raise WrongKindError("only RisuAI presets of versions 0 and 2 are read", found=kind, where=Where(asset=asset))
    return _message_pack(_opened(sealed, asset), "the preset", limits, asset)


def _part(data: bytes, start: int, what: str, asset: str | None) -> tuple[bytes, int]:
    """The bytes after their length, and where they end."""
    begin = start + 4
    end = begin + int.from_bytes(data[start:begin], "little")
    if begin > len(data) or end > len(data):
        raise DamagedFileError(f"{what} ends too early", rule="whole", where=_at(asset, start))
    return data[begin:end], end


def _length(data: bytes) -> bytes:
    return len(data).to_bytes(4, "little")


def _at(asset: str | None, byte: int) -> Where:
    return Where(asset=asset, path=f"byte {byte:,}")


def _gunzip(data: bytes, limits: Limits, asset: str | None) -> bytes:
    engine = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        text = engine.decompress(data, limits.file_bytes + 1)
    except zlib.error as error:
        raise FormatError(f"the preset cannot be decompressed: {error}", where=Where(asset=asset)) from error
    if len(text) > limits.file_bytes:
        raise limit_error("file_bytes", "the preset", limits.file_bytes).at(asset=asset)
    if not engine.eof:
        raise DamagedFileError("the preset ends too early", rule="whole", where=Where(asset=asset))
    return text


def _message_pack(data: bytes, what: str, limits: Limits, asset: str | None) -> dict[str, Any]:
    check_limit(limits, "file_bytes", len(data), what, asset=asset)
    try:
        value = msgspec.msgpack.decode(data, ext_hook=lambda _code, _data: None)  # undefined, in JavaScript
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise FormatError(f"{what} is not MessagePack: {error}", where=Where(asset=asset)) from None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise FormatError(f"{what} is no object with names of fields", where=Where(asset=asset))
    return value


def _opened(sealed: bytes, asset: str | None) -> bytes:
    """The preset's bytes, which are encrypted under a password that everybody knows."""
    try:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        hint = install_line("'innkeeper[library]'")
        raise UnavailableError("RisuAI presets need the library cryptography", hint=hint) from None
    try:
        return AESGCM(hashlib.sha256(_PASSWORD).digest()).decrypt(bytes(12), sealed, None)
    except (InvalidTag, ValueError):
        raise FormatError("the preset cannot be decrypted: its bytes were changed", where=Where(asset=asset)) from None
