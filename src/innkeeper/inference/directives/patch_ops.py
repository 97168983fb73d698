"""Patch operations in a directive's payload: ``set``, ``delete``, ``append`` and ``insert`` at a path."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from innkeeper.inference.errors import AnswerError
from innkeeper.prompt import freeze

__all__ = ["PATCH_PREFIXES", "PatchOp", "patch_ops"]

PATCH_PREFIXES: Final = ("/draft/", "/ui_state/")
"""Where patches may go; a relative path is under the first."""

_ALIASES: Final = {
    "set": "set",
    "add": "set",
    "replace": "set",
    "delete": "delete",
    "remove": "delete",
    "rm": "delete",
    "append": "append",
    "push": "append",
    "insert": "insert",
}
_BAD_ESCAPE: Final = re.compile(r"~(?![01])")


class PatchOp(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change: ``path`` is a JSON Pointer, ``index`` (from 0) is where ``insert`` puts its value."""

    op: str
    path: str
    value: Any = None
    index: int | None = None


def patch_ops(payload: Mapping[str, Any], prefixes: Sequence[str] = PATCH_PREFIXES) -> tuple[PatchOp, ...]:
    """The operations of ``payload["ops"]``, their names and paths made regular.

    ``add`` and ``replace`` are ``set``, ``remove`` and ``rm`` ``delete``, ``push`` ``append``; without a name, an operation with
    a value sets. Raises `AnswerError` with code ``MISSING_OPS``, ``INVALID_PATCH_OP``, ``INVALID_PATCH_PATH``,
    ``MISSING_PATCH_VALUE`` or ``INVALID_PATCH_INDEX``; ``details["index"]`` is the operation's place.
    """
    ops = payload.get("ops")
    if not isinstance(ops, (list, tuple)) or not ops:
        msg = "the payload has no ops"
        raise AnswerError(msg, code="MISSING_OPS")
    return tuple(_op(item, place, prefixes) for place, item in enumerate(ops))


def _op(item: Any, place: int, prefixes: Sequence[str]) -> PatchOp:
    if not isinstance(item, Mapping):
        raise _error("INVALID_PATCH_OP", place, "an operation must be an object")
    written = item.get("op")
    name = _ALIASES.get(written.strip().lower()) if isinstance(written, str) else None
    if written is None and "value" in item:
        name = "set"
    if name is None:
        raise _error("INVALID_PATCH_OP", place, f"no operation {str(written)[:40]!r}")
    path = _path(item.get("path"), place, prefixes)
    if name == "delete":
        return PatchOp(name, path)
    if "value" not in item:
        raise _error("MISSING_PATCH_VALUE", place, f"{name} needs a value")
    return PatchOp(name, path, freeze(item["value"]), _index(item, place) if name == "insert" else None)


def _path(value: Any, place: int, prefixes: Sequence[str]) -> str:
    text = value.strip() if isinstance(value, str) else ""
    path = text if text.startswith("/") else prefixes[0] + text
    inside = any(path.startswith(prefix) and len(path) > len(prefix) for prefix in prefixes)
    if not text or not inside or _BAD_ESCAPE.search(path) or ".." in path.split("/"):
        raise _error("INVALID_PATCH_PATH", place, f"a path must be a JSON Pointer under {' or '.join(prefixes)}")
    return path


def _index(item: Mapping[str, Any], place: int) -> int:
    index = item.get("index")
    if isinstance(index, str) and index.strip().isascii() and index.strip().isdigit():
        index = int(index)
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        raise _error("INVALID_PATCH_INDEX", place, "insert needs an index from 0")
    return index


def _error(code: str, place: int, message: str) -> AnswerError:
    return AnswerError(f"operation {place}: {message}", code=code, index=place)
