"""The history as framing reads it: nothing is refused, sources are kept, what has none gets one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from innkeeper.taverns.smart.compat import Compat
from innkeeper.taverns.smart.roles import ROLES, folded_role
from innkeeper.taverns.smart.values import copied, text_of

__all__ = ["framed_history"]


def framed_history(history: Any, compat: Compat) -> list[dict[str, Any]]:
    """The messages of an array or of ``{messages: [...]}``; anything else has none. Items that are no objects are skipped."""
    return list(_messages(history, compat))


def _messages(history: Any, compat: Compat) -> Iterator[dict[str, Any]]:
    items = history.get("messages") if isinstance(history, Mapping) else history
    if not isinstance(items, (list, tuple)):
        return
    for index, item in enumerate(items):
        if isinstance(item, Mapping):
            path = f"history[{index}]"
            role = folded_role(item.get("role", ""), path)
            role = role if role in ROLES else "user"
            content = text_of(item.get("content"), path)
            yield {"role": role, "content": content, "source": _source(item.get("source"), role, index, compat)}


def _source(own: Any, role: str, index: int, compat: Compat) -> dict[str, Any]:
    if isinstance(own, dict):
        kept: dict[str, Any] = copied(own, f"history[{index}].source")
        return kept
    kind = compat.framing_system_type if role == "system" else f"history.{role}"
    return {"type": kind, "id": f"history_{index}", "index": index}
