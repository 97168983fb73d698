"""Document: JSON as it was read, its text and its data, from which every typed asset is a view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from hashlib import sha256
from typing import Any, Self, TypeVar

import msgspec

from innkeeper.content.errors import JsonError
from innkeeper.content.finding import Finding, Path
from innkeeper.content.json import ABSENT
from innkeeper.content.json.splice import splice
from innkeeper.content.json.text import decode_json, decode_text, encode_json
from innkeeper.content.limits import LIMITS, Limits
from innkeeper.prompt.errors import UsageError
from innkeeper.prompt.memo import Memo
from innkeeper.prompt.text import scalar_text

__all__ = ["Document", "remembered"]

T = TypeVar("T")

INDENT = 4
"""Spaces a level where a document is written that was never read from text."""


class Document(msgspec.Struct, frozen=True, dict=True):
    """Plain data that nobody changes, and the bytes it was read from, if any.

    An edit makes a new document: the data share what did not change, and in the bytes only the edited places are
    written anew. A document that was not edited is written back byte for byte.
    """

    tree: Any
    data: bytes | None = None
    findings: tuple[Finding, ...] = ()

    @classmethod
    def parse(
        cls, data: bytes | str, limits: Limits = LIMITS, *, name: str | None = None, keys_limit: str = "json_keys"
    ) -> Self:
        """A document from JSON text. Raises what `decode_json` raises."""
        findings: list[Finding] = []
        raw = data if isinstance(data, bytes) else scalar_text(data).encode()
        tree = decode_json(raw, limits, name=name, findings=findings, keys_limit=keys_limit)
        return cls(tree, raw, tuple(findings))

    @classmethod
    def of(cls, value: Any, limits: Limits = LIMITS, *, keys_limit: str = "json_keys") -> Self:
        """A document of plain data, copied so that the caller's own may change. Raises what `decode_json` raises."""
        return cls(decode_json(encode_json(value), limits, keys_limit=keys_limit))

    @cached_property
    def digest(self) -> str:
        """A hash of the content: equal bytes, or equal data never read from text, give equal digests."""
        return sha256(encode_json(self.tree) if self.data is None else self.data).hexdigest()

    @property
    def text(self) -> str:
        """The JSON text, as read or as it would be written."""
        return decode_text(self.encode(), None, [])

    def at(self, path: Path) -> Any:
        """The value at a path, or `ABSENT`."""
        node = self.tree
        for part in path:
            try:
                node = node[part]
            except (KeyError, IndexError, TypeError):
                return ABSENT
        return node

    def replace(self, edits: Mapping[Path, Any]) -> Self:
        """A document with other values at some paths; `ABSENT` removes one. Raises `JsonError` for a path to nowhere."""
        tree, text = self.tree, None if self.data is None else self.text
        for path, value in edits.items():
            plain = value if value is ABSENT else decode_json(encode_json(value))
            tree = _with(tree, path, plain)
            text = None if text is None else splice(text, path, plain)
        return type(self)(tree, None if text is None else text.encode(), self.findings)

    def encode(self) -> bytes:
        """The document as JSON text in UTF-8: the bytes it was read from, or indented text."""
        return encode_json(self.tree, indent=INDENT) if self.data is None else self.data


def remembered(
    memo: Memo[str, T], value: Any, read: Callable[[Document], T], *, what: str, keys_limit: str = "json_keys"
) -> T:
    """An asset from JSON text or plain data, read once for equal content.

    Raises:
        UsageError: ``value`` is neither.
        FormatError: the text is not JSON, or ``read`` does not accept it.
    """
    if isinstance(value, (str, bytes)):
        data = value if isinstance(value, bytes) else scalar_text(value).encode()
        key = "text " + sha256(data).hexdigest()
        return memo.get_or_make(key, lambda: read(Document.parse(data, keys_limit=keys_limit)), len(data))
    if isinstance(value, (Mapping, list, tuple)):
        data = encode_json(value)
        key = "data " + sha256(data).hexdigest()
        return memo.get_or_make(key, lambda: read(Document(decode_json(data, keys_limit=keys_limit))), len(data))
    raise UsageError(f"{what} is an object or JSON text, not {type(value).__name__}")


def _with(node: Any, path: Path, value: Any) -> Any:
    """A copy of ``node`` along ``path``, with ``value`` at its end."""
    if not path:
        return value
    part, rest = path[0], path[1:]
    if isinstance(node, dict) and isinstance(part, str):
        return _with_member(node, part, rest, value)
    if isinstance(node, list) and isinstance(part, int) and 0 <= part <= len(node):
        return _with_item(node, part, rest, value)
    raise JsonError(f"there is no place {part!r} in a {type(node).__name__}")


def _with_member(node: dict[str, Any], key: str, rest: Path, value: Any) -> dict[str, Any]:
    if not rest and value is ABSENT:
        return {name: item for name, item in node.items() if name != key}
    return {**node, key: _with(node.get(key), rest, value)}


def _with_item(node: list[Any], index: int, rest: Path, value: Any) -> list[Any]:
    if not rest and value is ABSENT:
        return node[:index] + node[index + 1 :]
    below = node[index] if index < len(node) else None
    return [*node[:index], _with(below, rest, value), *node[index + 1 :]]
