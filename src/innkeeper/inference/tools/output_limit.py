"""How large a tool's output may be: measured before it is serialised, so that serialising cannot run away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from innkeeper.inference.limits import (
    DEFAULT_MAX_TOOL_BYTES,
    MAX_OUTPUT_DEPTH,
    MAX_OUTPUT_ITEMS,
    MAX_OUTPUT_NODES,
)

__all__ = ["OutputLimits", "excess"]


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
