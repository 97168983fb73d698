"""Document: JSON as it was read, its text and its data, from which every typed asset is a view.

Edits are made in place: only the value that changes is written anew, everything else keeps its bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, NamedTuple, Self, TypeVar

import msgspec

from innkeeper.content.errors import LIMITS, JsonError, Limits
from innkeeper.content.finding import Finding, Path, show_path
from innkeeper.content.json import ABSENT
from innkeeper.content.json.text import decode_json, decode_text, encode_json
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import UsageError
from innkeeper.prompt.text import kind_of, scalar_text

_SPACE: Final = re.compile(r"[ \t\r\n]*+")
_STRING: Final = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_SCALAR: Final = re.compile(r"[^\s,\]}]++")
_MARK: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)
_UNIT: Final = re.compile(r"\n([ \t]++)\S")


class JsonSpan(NamedTuple):
    """A member of an object or item of a list: where it begins (with its key), and where its value stands."""

    key: str | int
    begin: int
    start: int
    end: int


def splice(text: str, path: Path, value: Any) -> str:
    """The text with the value at ``path`` replaced, added at the end of its parent, or (`ABSENT`) removed.

    Args:
        text: JSON text, known to be sound.
        path: keys and indexes; all but the last part must exist, a list may grow by one.
        value: plain data.

    Raises:
        JsonError: the path leads nowhere.
    """
    if not path:
        return _written(text, 0, value)
    parent = locate(text, path[:-1])
    if parent is None or text[parent.start] not in "{[":
        raise JsonError(f"there is no {show_path(path[:-1])!r} to write to")
    parts = list(_parts(text, parent.start))
    there = next((part for part in reversed(parts) if part.key == path[-1]), None)
    if there is None:
        return text if value is ABSENT else _insert(text, parent, parts, path[-1], value)
    if value is ABSENT:
        return _remove(text, parent, parts, parts.index(there))
    return text[: there.start] + _written(text, there.begin, value) + text[there.end :]


def locate(text: str, path: Path) -> JsonSpan | None:
    """Return where the value at ``path`` begins in the text; of duplicate keys the last."""
    start = _skip(text, 0)
    span: JsonSpan | None = JsonSpan("", start, start, len(text.rstrip(" \t\r\n")))  # not walked: it is the whole text
    for part in path:
        if span is None or text[span.start] not in "{[":
            return None
        match = None
        for part_here in _parts(text, span.start):
            match = part_here if part_here.key == part else match
        span = match
    return span


def _parts(text: str, start: int) -> Iterator[JsonSpan]:
    """The members or items of the object or list that begins at ``start``."""
    in_object, position, index = text[start] == "{", _skip(text, start + 1), 0
    while text[position] not in "}]":
        begin, key = position, index
        name: str | int = key
        if in_object:
            match = _string(text, position)
            name, position = _unquoted(match[0]), _skip(text, _skip(text, match.end()) + 1)
        end = _value_end(text, position)
        yield JsonSpan(name, begin, position, end)
        position, index = _skip(text, end), index + 1
        if text[position] == ",":
            position = _skip(text, position + 1)


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _string(text: str, position: int) -> re.Match[str]:
    match = _STRING.match(text, position)
    if match is None:
        raise JsonError("the text is not the JSON it was taken for")
    return match


def _unquoted(literal: str) -> str:
    if "\\" not in literal:
        return literal[1:-1]
    import json

    return str(json.loads(literal))


def _value_end(text: str, position: int) -> int:
    if text[position] == '"':
        return _string(text, position).end()
    if text[position] not in "{[":
        match = _SCALAR.match(text, position)
        return match.end() if match else position
    depth = 0
    for mark in _MARK.finditer(text, position):
        depth += 1 if mark[0] in "{[" else -1 if mark[0] in "}]" else 0
        if depth == 0:
            return mark.end()
    raise JsonError("the text is not the JSON it was taken for")


def _insert(text: str, parent: JsonSpan, parts: list[JsonSpan], key: str | int, value: Any) -> str:
    in_object = text[parent.start] == "{"
    if in_object is isinstance(key, int) or (isinstance(key, int) and key != len(parts)):
        raise JsonError(f"{key!r} cannot be added to this {'object' if in_object else 'list'}")
    colon = ": " if '": ' in text or "\n" in text else ":"
    label = _literal(text, key) + colon if in_object else ""
    if not parts:
        return text[: parent.start + 1] + label + _written(text, parent.start, value) + text[parent.end - 1 :]
    first, last = parts[0], parts[-1]
    gap = text[parent.start + 1 : first.begin]
    comma = "," if gap or colon == ":" else ", "
    return text[: last.end] + comma + gap + label + _written(text, first.begin, value) + text[last.end :]


def _remove(text: str, parent: JsonSpan, parts: list[JsonSpan], index: int) -> str:
    if len(parts) == 1:
        return text[: parent.start + 1] + text[parent.end - 1 :]
    if index == 0:
        return text[: parts[0].begin] + text[parts[1].begin :]
    return text[: parts[index - 1].end] + text[parts[index].end :]


def _written(text: str, position: int, value: Any) -> str:
    """A value in the style of the text around ``position``: its indentation, its escapes."""
    if not isinstance(value, (dict, list)) or not value or "\n" not in text:
        return _literal(text, value)
    unit = _UNIT.search(text)
    line = text[text.rfind("\n", 0, position) + 1 : position]
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    step = unit[1] if unit else "  "
    pretty = encode_json(value, indent=1, ascii_only=_is_escaped(text)).decode()
    lines = pretty.split("\n")
    return "\n".join([lines[0], *(indent + _reindented(item, step) for item in lines[1:])])


def _reindented(line: str, step: str) -> str:
    bare = line.lstrip(" ")
    return step * (len(line) - len(bare)) + bare


def _literal(text: str, value: Any) -> str:
    literal = encode_json(value).decode()
    if not literal.isascii() and _is_escaped(text):
        literal = encode_json(value, ascii_only=True).decode()
    if isinstance(value, (dict, list)) and '": ' in text:
        import json

        return json.dumps(value, ensure_ascii=_is_escaped(text), allow_nan=False)
    return literal


def _is_escaped(text: str) -> bool:
    """Whether the text writes characters outside ASCII as escapes."""
    return text.isascii() and "\\u" in text


T = TypeVar("T")

INDENT = 4
"""Spaces a level where a document is written that was never read from text."""


class Document(msgspec.Struct, frozen=True, dict=True):
    """Immutable plain data, and the bytes it was read from, if any.

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

    @classmethod
    def written(cls, data: bytes, digest: str, *, keys_limit: str = "json_keys") -> Self:
        """Return a document from the output of `encode_json`, and the hash of that."""
        document = cls(decode_json(data, keys_limit=keys_limit))
        vars(document)["digest"] = digest
        return document

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
    cache: BoundedCache[str, T], value: Any, read: Callable[[Document], T], *, what: str, keys_limit: str = "json_keys"
) -> T:
    """An asset from JSON text or plain data, read once for equal content.

    Raises:
        UsageError: ``value`` is neither.
        FormatError: the text is not JSON, or ``read`` does not accept it.
    """
    if isinstance(value, (str, bytes)):
        data = value if isinstance(value, bytes) else scalar_text(value).encode()
        key = "text " + sha256(data).hexdigest()
        return cache.get_or_make(key, lambda: read(Document.parse(data, keys_limit=keys_limit)), len(data))
    if isinstance(value, (Mapping, list, tuple)):
        same = (id(value), id(cache))
        known: T | None = _SAME.get(same) if type(value) is FrozenDict else None
        if known is not None:
            return known
        data = encode_json(value)
        digest = sha256(data).hexdigest()
        asset = cache.get_or_make(
            "data " + digest, lambda: read(Document.written(data, digest, keys_limit=keys_limit)), len(data)
        )
        return _SAME.put(same, asset, len(data), alive=value) if type(value) is FrozenDict else asset
    raise UsageError(f"{what} is an object or JSON text, not {kind_of(value)}")


_SAME: Final[BoundedCache[tuple[int, int], Any]] = BoundedCache(items=128)
"""Assets by the identity of frozen data that they were read from of late: to write these as JSON takes longer than a turn."""


def _with(node: Any, path: Path, value: Any) -> Any:
    """A copy of ``node`` along ``path``, with ``value`` at its end."""
    if not path:
        return value
    part, rest = path[0], path[1:]
    if isinstance(node, dict) and isinstance(part, str):
        if not rest and value is ABSENT:
            return {name: item for name, item in node.items() if name != part}
        return {**node, part: _with(node.get(part), rest, value)}
    if isinstance(node, list) and isinstance(part, int) and 0 <= part <= len(node):
        return _with_item(node, part, rest, value)
    raise JsonError(f"there is no place {part!r} in {kind_of(node)}")


def _with_item(node: list[Any], index: int, rest: Path, value: Any) -> list[Any]:
    if not rest and value is ABSENT:
        return node[:index] + node[index + 1 :]
    below = node[index] if index < len(node) else None
    return [*node[:index], _with(below, rest, value), *node[index + 1 :]]
