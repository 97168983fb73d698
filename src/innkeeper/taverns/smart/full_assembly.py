"""The whole raw prompt: construct, then framing around what it made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from innkeeper.taverns.smart.construction import construct
from innkeeper.taverns.smart.framing import assemble
from innkeeper.taverns.smart.options import SmartOptions
from innkeeper.taverns.smart.screening import IN_CHAT
from innkeeper.taverns.smart.values import text_of

__all__ = ["assemble_full", "in_chat_prompts", "wrapped"]


def assemble_full(
    presets: Any,
    world_books: Any = None,
    history: Any = None,
    character: Any = None,
    persona: Any = None,
    variables: Any = None,
    *,
    options: SmartOptions | None = None,
) -> dict[str, Any]:
    """The messages of a preset file, books and a chat: `construct` with the in-chat prompts, then `assemble` with the others.

    ``history`` may be wrapped as ``{messages: [...]}``. Raises what `construct` and `assemble` raise.
    """
    chosen = options or SmartOptions()
    books = wrapped(world_books)
    listed = history.get("messages") if isinstance(history, Mapping) else history
    made = construct(listed, in_chat_prompts(presets), books, variables, options=chosen)
    return assemble(made["messages"], books, None, presets, character, persona, options=chosen)


def in_chat_prompts(presets: Any) -> list[dict[str, Any]]:
    """The prompts of a preset file whose position is ``in-chat`` in any case; `construct` then wants it in lower case."""
    prompts = presets.get("prompts") if isinstance(presets, Mapping) else None
    listed = prompts if isinstance(prompts, (list, tuple)) else ()
    return [item for item in listed if isinstance(item, dict) and _is_in_chat(item)]


def _is_in_chat(prompt: dict[str, Any]) -> bool:
    return text_of(prompt.get("position"), "presets").lower() == IN_CHAT


def wrapped(world_books: Any) -> Any:
    """An array of entries as a book of them, the way the original hands it on."""
    return {"entries": world_books} if isinstance(world_books, (list, tuple)) else world_books
