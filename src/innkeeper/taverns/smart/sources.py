"""Sources: the annotation of a message with the keys of the entry that it came from, in their order."""

from __future__ import annotations

from typing import Any, Final

from innkeeper.taverns.smart.values import copied, text_of

__all__ = ["document_source", "entry_source", "framed_entry_source", "preset_source", "prompt_source"]

_PLAIN: Final = frozenset({str, int, float, bool, type(None)})


def preset_source(entry: dict[str, Any], index: int, *, emit_source_id: bool) -> dict[str, Any]:
    """Of an in-chat prompt: ``type``, ``id``, then the prompt's own keys, which may write over both (as in the original)."""
    name = entry.get("identifier") or entry.get("name") or index
    source = {"type": "preset.in-chat", "id": "preset_" + _text(name), **entry}
    return _finished(source, emit_source_id=emit_source_id)


def entry_source(entry: dict[str, Any], index: int, role: str, *, emit_source_id: bool) -> dict[str, Any]:
    """Of an in-chat book entry: its ``id`` is told as ``wb_id``, its role at the end where it has none of its own."""
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
        if type(value) not in _PLAIN:
            source[key] = copied(value, "source")
    if emit_source_id and "source_id" not in source and source["id"] is not None:
        source["source_id"] = copied(source["id"], "source")
    return source


def _text(value: Any) -> str:
    return text_of(value, "source.id")
