"""Messages ``{role, content, source}``: the four roles, the sources of texts, and the history as messages.

Entries are read by `role_or` and `whole_number`. A source says with the keys of its entry where a text came from.
`normalised_history` is the strict reading of construct (3-smarttavern, *behaviour details*); `framed_history` that of
framing, which refuses nothing and keeps the sources it is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from innkeeper.content.json.values import PLAIN, ShapeError, copied, text_of, wrong_type
from innkeeper.prompt.errors import Where
from innkeeper.taverns.smart.compat import Compat

ROLES: Final = frozenset({"system", "user", "assistant", "thinking"})
"""Every role a message may have."""

RANK: Final = MappingProxyType({"assistant": 0, "user": 1, "system": 2, "thinking": 2})
"""assistant < user < system (3-smarttavern, *sorting*); thinking stands with system."""


MAX_NUMBER: Final = 2**53
"""The largest number of reports and of settings of a preset: what every JSON reader holds (no error: it is cut)."""


def folded_role(value: Any, path: str) -> str:
    """A role for comparison: text in lower case, blanks kept."""
    return value.lower() if isinstance(value, str) else ("none" if value is None else text_of(value, path).lower())


def role_or(entry: dict[str, Any], default: str, path: str) -> str:
    """An entry's own role, or ``default`` where it has none of the four."""
    role = folded_role(entry.get("role", default), path)
    return role if role in ROLES else default


def whole_number(value: Any, default: int) -> int | None:
    """A whole number by Python's ``int``, the default for an empty or false value, ``None`` for anything else.

    A zero that is a number is itself.
    """
    if type(value) is int:
        return value
    if not value and type(value) is not float:
        return default
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def shown_number(value: int | None) -> int | None:
    """A whole number as reports show it: one that JSON readers may not hold as the nearest that they do."""
    return None if value is None else max(-MAX_NUMBER, min(value, MAX_NUMBER))


def preset_source(entry: dict[str, Any], index: int, *, emit_source_id: bool) -> dict[str, Any]:
    """Of an in-chat prompt: ``type``, ``id``, then the prompt's own keys, which may write over both (as in the original)."""
    name = entry.get("identifier") or entry.get("name") or index
    source = {"type": "preset.in-chat", "id": "preset_" + _text(name), **entry}
    return _finished(source, emit_source_id=emit_source_id)


def entry_source(entry: dict[str, Any], index: int, role: str, *, emit_source_id: bool) -> dict[str, Any]:
    """The source of an in-chat book entry: its ``id`` as ``wb_id``, its role at the end if it has none of its own."""
    own = entry.get("id")
    source = {"type": "world_book.in-chat", "id": "wb_" + _text(index if own is None else own)}
    for key, value in entry.items():
        source["wb_id" if key == "id" else key] = value
    source.setdefault("role", role)
    return _finished(source, emit_source_id=emit_source_id)


def prompt_source(entry: dict[str, Any]) -> dict[str, Any]:
    """Of a relative prompt."""
    name = entry.get("identifier") or entry.get("name") or ""
    return _finished({"type": "preset.relative", "id": "preset_" + _text(name), **entry})


def framed_entry_source(entry: dict[str, Any], index: int, position: str) -> dict[str, Any]:
    """Of a book entry before or after the character; here its own ``type`` does not count."""
    source = entry_source(entry, index, "system", emit_source_id=False)
    source["type"] = f"world_book.{position}"
    return source


def document_source(document: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Of a character's or persona's description: all keys of its file follow."""
    return _finished({"type": f"{prefix}.description", "id": f"{prefix}_description", **document})


def _finished(source: dict[str, Any], *, emit_source_id: bool = False) -> dict[str, Any]:
    """With containers as copies: a caller's own objects are never handed out."""
    for key, value in source.items():
        if type(value) not in PLAIN:
            source[key] = copied(value, "source")
    if emit_source_id and "source_id" not in source and source["id"] is not None:
        source["source_id"] = copied(source["id"], "source")
    return source


def _text(value: Any) -> str:
    return text_of(value, "source.id")


def items_of(history: Any) -> Iterable[Any]:
    """The messages of a history; none for ``None`` or anything empty. Raises `ShapeError` for anything but an array."""
    if isinstance(history, (list, tuple)):
        return history
    if not history:
        return ()
    hint = "a wrapper {messages: [...]} is not read here; give its array" if isinstance(history, Mapping) else None
    raise wrong_type("history", "an array of messages", history, hint=hint)


def normalised_history(history: Any, compat: Compat) -> list[dict[str, Any]]:
    """Each message as ``{role, content, source}`` (3-smarttavern, *behaviour details*).

    Raises:
        ShapeError: a role that is not one of the four.
        ShapeError: the history is not an array, or a message not an object.
    """
    system = compat.history_system_type
    return [_message(index, item, system, compat.emit_source_id) for index, item in enumerate(items_of(history))]


def _message(index: int, item: Any, system: str, emit_source_id: bool) -> dict[str, Any]:  # noqa: FBT001 - inner loop
    if not isinstance(item, Mapping):
        raise wrong_type(f"history[{index}]", "a message", item, hint='a message looks like {"role": …, "content": …}')
    role = item.get("role", "")
    if type(role) is not str or role not in ROLES:
        role = folded_role(role, f"history[{index}].role")
        if role not in ROLES:
            raise ShapeError(
                f"invalid message role at history[{index}]: {role}",
                where=Where(path=f"history[{index}].role"),
                hint="roles are system, user, assistant and thinking, without blanks around them",
            )
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
    """The text that keywords are searched in: the contents that are text, joined by line breaks."""
    contents = [item.get("content") for item in history if isinstance(item, Mapping)]
    return "\n".join([content for content in contents if isinstance(content, str)])


def framed_history(history: Any, compat: Compat) -> list[dict[str, Any]]:
    """The messages of an array or of ``{messages: [...]}``; anything else has none. Items that are not objects are skipped."""
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
        copy: dict[str, Any] = copied(own, f"history[{index}].source")
        return copy
    kind = compat.framing_system_type if role == "system" else f"history.{role}"
    return {"type": kind, "id": f"history_{index}", "index": index}
