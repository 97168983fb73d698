"""JSON text to plain data and back: fast, bounded, and precise about what is wrong and where.

What the format leaves open is defined here: of duplicate keys the last one counts (as in JavaScript) and the others are a
finding; a lone surrogate becomes U+FFFD, with a finding; ``NaN`` and ``Infinity`` are not JSON; a fraction too large for a
double is refused, a whole number kept up to 4,300 digits; a byte order mark and UTF-16 are read, with a finding.
"""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from innkeeper.content.errors import LIMITS, JsonError, Limits, check_limit, limit_error
from innkeeper.content.finding import Finding, Level, shown
from innkeeper.prompt.data import json_error
from innkeeper.prompt.errors import Where
from innkeeper.prompt.text import scalar_text

EXCERPT_CHARS: Final = 120
"""Characters of a line that an error shows."""

DUPLICATES_SHOWN: Final = 20
"""The number of duplicate keys that get a finding each."""

STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A JSON string in bytes, or the rest of the text where it is not closed.

Possessive, and matching at every quote, so that its time and memory are linear on any input.
"""

UTF8_HINT: Final = "save the file as UTF-8"

WHOLE: Final = re.compile(rb'(?:[^"]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)
"""The longest beginning of the text without a string cut off at its end."""

BLOCK: Final = 1024 * 1024
"""Bytes that are looked at at a time."""

SHORTEST_MEMBER: Final = len('"":0,')
"""Bytes that a key with its value takes at least: a short text cannot have too many."""

NOT_JSON: Final = re.compile(rb"-?\b(?:NaN|Infinity)\b")
_CONTAINERS: Final = frozenset((dict, list))
_UTF16: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def decode_json(
    data: bytes | str,
    limits: Limits = LIMITS,
    *,
    name: str | None = None,
    findings: list[Finding] | None = None,
    keys_limit: str = "json_keys",
) -> Any:
    """Plain data from JSON text.

    Args:
        data: the text, or its bytes.
        limits: the limits to hold.
        name: what errors call the text.
        findings: where to put what was not quite right.
        keys_limit: the name of the limit on the number of keys.

    Raises:
        JsonError: it is not JSON; with line, column and the line.
        JsonError: the bytes are not text.
        LimitError: it is larger, deeper or has more parts than a limit allows.
    """
    collected: list[Finding] = [] if findings is None else findings
    raw = _as_utf8(data, name, collected)
    check_limit(limits, "file_bytes", len(raw), "the JSON text", asset=name)
    _check_counts(raw, limits, keys_limit, name)
    try:
        tree = msgspec.json.decode(raw)
    except RecursionError:
        raise limit_error("json_depth", "the nesting of the JSON", limits.json_depth).at(asset=name) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        tree = _second_opinion(raw, str(error), limits, name, collected)
    keys = _check_shape(tree, len(raw), limits, name)
    if findings is not None and raw.count(b'":') - raw.count(b'\\":') != keys:  # exact for text of programs, and quick
        findings += _duplicates(raw)
    return tree


def decode_text(data: bytes, name: str | None, findings: list[Finding]) -> str:
    """Bytes as text: UTF-8, or UTF-16 with its mark.

    Raises:
        JsonError: they are neither.
    """
    if data.startswith(codecs.BOM_UTF8):
        findings.append(Finding("byte-order-mark", "the text begins with a byte order mark", level=Level.INFO))
        data = data[len(codecs.BOM_UTF8) :]
    elif data[:2] in _UTF16:
        return _decode_utf16(data, name, findings)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise _encoding_error(data, error, name) from error


def encode_json(value: Any, *, indent: int | None = None, ascii_only: bool = False) -> bytes:
    """JSON text of plain data, in UTF-8. Lone surrogates are written as U+FFFD.

    Raises:
        JsonError: the value is not plain data, refers to itself or is nested too deeply.
    """
    try:
        if indent is None and not ascii_only:
            return _encode_fast(value)
        separators = (",", ":") if indent is None else (",", ": ")
        text = json.dumps(
            value, indent=indent, ensure_ascii=ascii_only, separators=separators, allow_nan=False, default=_refuse
        )
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise JsonError(f"not plain data: {error}") from error
    return scalar_text(text).encode()


def _containers(tree: Any) -> Iterator[tuple[Any, int]]:
    """Every object and list of a tree with its depth, the root's being 1, level by level and without recursion."""
    level, depth = ([tree] if type(tree) in _CONTAINERS else []), 1
    while level:
        yield from ((node, depth) for node in level)
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node)
            if type(child) in _CONTAINERS
        ]
        depth += 1


def _encode_fast(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return scalar_text(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_refuse)).encode()


def _refuse(value: object) -> Any:
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _as_utf8(data: bytes | str, name: str | None, findings: list[Finding]) -> bytes:
    if isinstance(data, str):
        return scalar_text(data).encode()
    if data[:2] in _UTF16 or data.startswith(codecs.BOM_UTF8):
        return decode_text(data, name, findings).encode()
    return data


def _decode_utf16(data: bytes, name: str | None, findings: list[Finding]) -> str:
    codec = _UTF16[data[:2]]
    try:
        text = data[2:].decode(codec)
    except UnicodeDecodeError as error:
        message = f"broken {codec.upper()} text: {error.reason}"
        raise JsonError(message, where=Where(asset=name), hint=UTF8_HINT) from error
    findings.append(Finding("utf-16", "the text is UTF-16; it is written back as UTF-8", level=Level.INFO))
    return text


def _encoding_error(data: bytes, error: UnicodeDecodeError, name: str | None) -> JsonError:
    before = data[: error.start]
    start = before.rfind(b"\n") + 1
    line = data[start:].partition(b"\n")[0].decode(errors="replace")
    column = len(before[start:].decode(errors="replace")) + 1
    where = _where(line, before.count(b"\n") + 1, column, name)
    message = f"not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start:,}"
    return JsonError(message, where=where, hint=UTF8_HINT)


def _check_counts(raw: bytes, limits: Limits, keys_limit: str, name: str | None) -> None:
    """Refuse more values or keys than the limits before any memory is spent on them."""
    most_keys: int = getattr(limits, keys_limit)
    if len(raw) <= min(limits.json_values, SHORTEST_MEMBER * most_keys):
        return
    if _marks(raw) <= limits.json_values and raw.count(b":") <= most_keys:
        return
    values, keys = 0, 0
    for piece in _without_strings(raw):
        values, keys = values + _marks(piece), keys + piece.count(b":")
        check_limit(limits, "json_values", values, "the number of JSON values", asset=name)
        check_limit(limits, keys_limit, keys, "the number of JSON keys", asset=name)


def _marks(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _without_strings(raw: bytes) -> Iterator[bytes]:
    """The text without its strings, piece by piece, so that no piece needs much memory."""
    position = 0
    while position < len(raw):
        whole = WHOLE.match(raw, position, position + BLOCK)
        end = whole.end() if whole else position
        if end > position:
            yield STRING.sub(b"", raw[position:end])
        else:  # a string that is longer than a block
            string = STRING.match(raw, position)
            end = string.end() if string else position + 1
        position = end


def _check_shape(tree: Any, size: int, limits: Limits, name: str | None) -> int:
    """Hold depth and strings against their limits; the number of keys."""
    keys, long = 0, size > limits.json_string_bytes
    for node, depth in _containers(tree):
        if depth > limits.json_depth:
            raise limit_error("json_depth", "the nesting of the JSON", limits.json_depth).at(asset=name)
        if type(node) is dict:
            keys += len(node)
        if long:
            _check_strings(node, limits, name)
    if long and isinstance(tree, str):
        _check_strings([tree], limits, name)
    return keys


def _check_strings(node: dict[str, Any] | list[Any], limits: Limits, name: str | None) -> None:
    values = [*node, *node.values()] if isinstance(node, dict) else node
    for value in values:
        if isinstance(value, str) and len(value) * 4 > limits.json_string_bytes:
            check_limit(limits, "json_string_bytes", len(value.encode()), "a JSON string", asset=name)


def _second_opinion(raw: bytes, reason: str, limits: Limits, name: str | None, findings: list[Finding]) -> Any:
    """Read text that the fast decoder refused: once more with surrogates mended, or raise an error with a position."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise _encoding_error(raw, error, name) from error
    try:
        tree = json.loads(text, parse_constant=_not_a_number, parse_float=_finite)
    except json.JSONDecodeError as error:
        if b"\0" in raw[:2]:
            raise JsonError("UTF-16 without its byte order mark", where=Where(asset=name), hint=UTF8_HINT) from error
        stopped = json_error(error)
        raise _json_error(stopped.msg, text, stopped.pos, name) from error
    except RecursionError:
        raise limit_error("json_depth", "the nesting of the JSON", limits.json_depth).at(asset=name) from None
    except ValueError as error:
        raise _number_error(str(error), raw, text, name) from error
    _check_shape(tree, 0, limits, name)  # before the recursive walk below
    mended = _mend(tree)
    if mended == tree:  # pragma: no cover - a guard, should the two decoders ever differ in something else
        raise JsonError(f"not JSON: {reason}", where=Where(asset=name))
    findings.append(Finding("lone-surrogate", "half of a surrogate pair was replaced by U+FFFD"))
    return mended


def _not_a_number(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in {float("inf"), float("-inf")}:
        raise ValueError("a number is too large")
    return number


def _number_error(reason: str, raw: bytes, text: str, name: str | None) -> JsonError:
    """Return the error for an invalid number. Its position is searched in short texts only."""
    bare = STRING.sub(lambda match: b"\x00" * len(match[0]), raw) if len(raw) <= BLOCK else b""
    match = NOT_JSON.search(bare)
    if match is None:
        plain = f"a number has more than {sys.get_int_max_str_digits():,} digits" if "digits" in reason else reason
        return JsonError(f"not JSON: {plain}", where=Where(asset=name))
    return _json_error(reason, text, len(raw[: match.start()].decode()), name)


def _json_error(reason: str, text: str, offset: int, name: str | None) -> JsonError:
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text[start : end if end >= 0 else len(text)]
    where = _where(line, text.count("\n", 0, offset) + 1, offset - start + 1, name)
    return JsonError(f"not JSON: {reason}", where=where, hint=_hint(text, offset))


def _hint(text: str, offset: int) -> str | None:
    if not text.strip():
        return "the text is empty"
    if text[offset : offset + 1] in {"}", "]"} and text[:offset].rstrip().endswith(","):
        return "remove the comma before the closing bracket"
    if text[offset : offset + 1] == "'":
        return "JSON strings take double quotes"
    return None


def _where(line: str, number: int, column: int, name: str | None) -> Where:
    """Return the position of ``column`` in line ``number``; of a long line only the part around it is shown."""
    cut = max(0, column - 1 - EXCERPT_CHARS // 2) if len(line) > EXCERPT_CHARS else 0
    excerpt = line[cut : cut + EXCERPT_CHARS]
    return Where(asset=name, line=number, column=column, excerpt=excerpt, cut=cut)


def _mend(value: Any) -> Any:
    """The same data with lone surrogates as U+FFFD."""
    if isinstance(value, str):
        return scalar_text(value)
    if isinstance(value, list):
        return [_mend(item) for item in value]
    if isinstance(value, dict):
        return {scalar_text(key): _mend(item) for key, item in value.items()}
    return value


def _duplicates(raw: bytes) -> list[Finding]:
    """Return a finding for each repeated key of an object (the first few of them)."""
    doubles: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        merged = dict(pairs)
        if len(merged) < len(pairs) and len(doubles) < DUPLICATES_SHOWN:
            doubles.extend(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        return merged

    try:
        json.loads(raw, object_pairs_hook=note)
    except (ValueError, RecursionError):  # pragma: no cover - a guard: the text is sound JSON by now
        return []
    message = "stands more than once in an object; the last one counts"
    return [Finding("duplicate-key", f"the key {shown(key)} {message}") for key in doubles[:DUPLICATES_SHOWN]]
