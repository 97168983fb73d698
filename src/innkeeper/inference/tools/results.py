"""What a tool gave, as the model gets it: an envelope ``{ok, tool_name, data, warnings, errors}``, written as text.

The output is transformed, measured and then serialised. It is measured first, so that serialising cannot run away.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from innkeeper.inference.errors import DEFAULT_MAX_TOOL_BYTES, MAX_OUTPUT_DEPTH, MAX_OUTPUT_ITEMS, MAX_OUTPUT_NODES
from innkeeper.prompt.text import scalar_text

__all__ = ["OutputLimits", "error_codes", "excess", "failure", "normalised", "written"]


def failure(tool_name: str, code: str, message: str, **data: Any) -> dict[str, Any]:
    """The envelope of a call that failed."""
    errors = [{"code": code, "message": message}]
    return {"ok": False, "tool_name": tool_name, "data": data, "warnings": [], "errors": errors}


def normalised(result: Any, tool_name: str) -> dict[str, Any]:
    """The envelope of what a tool returned: an envelope (a mapping with ``ok``), a mapping, or any other value."""
    if not isinstance(result, Mapping):
        data = {} if result is None else {"value": result}
    elif "ok" not in result:
        data = dict(result)
    else:
        return _completed(result, tool_name)
    return {"ok": True, "tool_name": tool_name, "data": data, "warnings": [], "errors": []}


def _completed(result: Mapping[str, Any], tool_name: str) -> dict[str, Any]:
    data = result.get("data")
    return {
        "ok": result["ok"] is True,
        "tool_name": str(result.get("tool_name") or tool_name),
        "data": dict(data) if isinstance(data, Mapping) else {} if data is None else {"value": data},
        "warnings": _items(result.get("warnings")),
        "errors": [_error(item) for item in _items(result.get("errors"))],
    }


def _items(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, Iterable) and not isinstance(value, (str, Mapping)) else [value]


def _error(item: Any) -> dict[str, Any]:
    if isinstance(item, Mapping):
        return {**item, "code": str(item.get("code") or "TOOL_ERROR"), "message": str(item.get("message") or "")}
    return {"code": "TOOL_ERROR", "message": str(item)}


def error_codes(envelope: Mapping[str, Any]) -> list[str]:
    """The codes of its errors."""
    return [str(error.get("code")) for error in envelope.get("errors") or () if isinstance(error, Mapping)]


def written(
    envelope: Mapping[str, Any], max_bytes: int, transform: Callable[[dict[str, Any]], dict[str, Any]]
) -> tuple[dict[str, Any], str]:
    """``(envelope, text)`` after ``transform``. What is too large or cannot be JSON becomes the envelope that says so.

    Codes: ``TOOL_OUTPUT_TOO_LARGE`` (with the limit that broke, or bytes) and ``TOOL_OUTPUT_SERIALIZATION_ERROR``.
    """
    tool, whole = str(envelope.get("tool_name")), transform(dict(envelope))
    reason = excess(whole, OutputLimits(bytes=max_bytes))
    if reason is not None:
        return _failed(tool, transform, "TOOL_OUTPUT_TOO_LARGE", reason=reason, limit=max_bytes)
    try:
        text = _json(whole)
    except (TypeError, ValueError, RecursionError):
        return _failed(tool, transform, "TOOL_OUTPUT_SERIALIZATION_ERROR")
    size = len(text.encode())
    if size > max_bytes:
        return _failed(tool, transform, "TOOL_OUTPUT_TOO_LARGE", bytes=size, limit=max_bytes)
    return whole, text


def _failed(
    tool: str, transform: Callable[[dict[str, Any]], dict[str, Any]], code: str, **data: Any
) -> tuple[dict[str, Any], str]:
    about = "too large" if code == "TOOL_OUTPUT_TOO_LARGE" else "not JSON data"
    envelope = transform(failure(tool, code, f"the tool's output is {about}", **data))
    return envelope, _json(envelope)


def _json(value: Any) -> str:
    return scalar_text(json.dumps(value, ensure_ascii=False, allow_nan=False))


class OutputLimits(msgspec.Struct, frozen=True):
    """What a tool's output may have: ``depth`` in levels, ``nodes`` in values, ``items`` a container, ``bytes`` as JSON."""

    depth: int = MAX_OUTPUT_DEPTH
    nodes: int = MAX_OUTPUT_NODES
    items: int = MAX_OUTPUT_ITEMS
    bytes: int = DEFAULT_MAX_TOOL_BYTES


def excess(value: Any, limits: OutputLimits) -> str | None:
    """The first limit that ``value`` breaks, or ``None``.

    One of ``INVALID_LIMIT``, ``MAX_DEPTH``, ``MAX_NODES``, ``MAX_HASH_KEYS``, ``MAX_ARRAY_ITEMS``, ``STRING_TOO_LARGE``,
    ``MAX_BYTES``. Bytes are estimated from below. A container counts each time it is reached, as it would be written each
    time; one that holds itself is too deep.
    """
    if min(limits.depth, limits.nodes, limits.items, limits.bytes) <= 0:
        return "INVALID_LIMIT"
    return _Walk(limits).run(value)


class _Walk:
    def __init__(self, limits: OutputLimits) -> None:
        self.limits = limits
        self.nodes = self.bytes = 0
        self.todo: list[tuple[Any, int]] = []

    def run(self, value: Any) -> str | None:
        self.todo.append((value, 1))
        while self.todo:
            broken = self.visit(*self.todo.pop())
            if broken is not None:
                return broken
        return None

    def visit(self, value: Any, depth: int) -> str | None:
        self.nodes += 1
        if self.nodes > self.limits.nodes:
            return "MAX_NODES"
        inside = isinstance(value, (Mapping, list, tuple, set, frozenset))
        broken = self.enter(value, depth) if inside else self.weigh(value)
        return broken or ("MAX_BYTES" if self.bytes > self.limits.bytes else None)

    def enter(self, value: Any, depth: int) -> str | None:
        if depth > self.limits.depth:
            return "MAX_DEPTH"
        if len(value) > self.limits.items:
            return "MAX_HASH_KEYS" if isinstance(value, Mapping) else "MAX_ARRAY_ITEMS"
        self.bytes += 2 + max(len(value) - 1, 0)
        inside = value
        if isinstance(value, Mapping):
            inside = value.values()
            self.bytes += sum(len(key) + 3 for key in value if isinstance(key, str))
        self.todo.extend((item, depth + 1) for item in inside)
        return None

    def weigh(self, value: Any) -> str | None:
        size = len(value) if isinstance(value, (str, bytes)) else 1
        self.bytes += size
        return "STRING_TOO_LARGE" if size > self.limits.bytes else None
