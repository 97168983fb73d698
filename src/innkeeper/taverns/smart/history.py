"""The history: the chat so far as messages with sources, and as the one text that keyword conditions search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from innkeeper.taverns.smart.compat import Compat
from innkeeper.taverns.smart.errors import RoleError, ShapeError
from innkeeper.taverns.smart.roles import ROLES, folded_role
from innkeeper.taverns.smart.values import copied, text_of

__all__ = ["history_text", "items_of", "normalised_history"]


def items_of(history: Any) -> Iterable[Any]:
    """The messages of a history; ``None`` or anything empty has none. Raises `ShapeError` for what is no array."""
    if isinstance(history, (list, tuple)):
        return history
    if not history:
        return ()
    hint = "a wrapper {messages: [...]} is not read here; give its array" if isinstance(history, Mapping) else None
    raise ShapeError("history", "an array of messages", history, hint=hint)


def normalised_history(history: Any, compat: Compat) -> list[dict[str, Any]]:
    """Each message as ``{role, content, source}`` (3-smarttavern, *behaviour details*).

    Raises:
        RoleError: a role that is none of the four.
        ShapeError: the history is no array, or a message no object.
    """
    system = compat.history_system_type
    return [_message(index, item, system, compat.emit_source_id) for index, item in enumerate(items_of(history))]


def _message(index: int, item: Any, system: str, emit_source_id: bool) -> dict[str, Any]:  # noqa: FBT001 - inner loop
    if not isinstance(item, Mapping):
        raise ShapeError(f"history[{index}]", "a message", item, hint='a message looks like {"role": …, "content": …}')
    role = item.get("role", "")
    if type(role) is not str or role not in ROLES:
        role = folded_role(role, f"history[{index}].role")
        if role not in ROLES:
            raise RoleError(index, role)
    content = item.get("content")
    if type(content) is not str:
        content = text_of(content, f"history[{index}].content")
    kind = system if role == "system" else "history." + role
    source = {"type": kind, "id": f"history_{index}", "index": index}
    if emit_source_id and ("id" in item or "source_id" in item):
        known = item.get("id") if item.get("id") is not None else item.get("source_id")
        if known is not None:
            source["source_id"] = copied(known, f"history[{index}]")
    return {"role": role, "content": content, "source": source}


def history_text(history: Iterable[Any]) -> str:
    """What keywords are looked for in: the contents that are text, a line break between them."""
    contents = [item.get("content") for item in history if isinstance(item, Mapping)]
    return "\n".join([content for content in contents if isinstance(content, str)])
