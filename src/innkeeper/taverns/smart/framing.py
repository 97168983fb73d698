"""Framing: relative prompts, lore around the character and descriptions, with the history in its place among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from innkeeper.taverns.smart.compat import Compat
from innkeeper.taverns.smart.containers import entries_of
from innkeeper.taverns.smart.framing_history import framed_history
from innkeeper.taverns.smart.framing_lore import framed_lore, is_said
from innkeeper.taverns.smart.framing_prompts import CHAT_HISTORY, DESCRIPTIONS, LORE_POSITIONS, relative_prompts
from innkeeper.taverns.smart.keyword_search import KeywordSearch
from innkeeper.taverns.smart.options import SmartOptions
from innkeeper.taverns.smart.roles import role_or
from innkeeper.taverns.smart.sources import document_source, prompt_source
from innkeeper.taverns.smart.values import copied

__all__ = ["assemble"]


@dataclass(frozen=True, slots=True)
class _Parts:
    """What placeholders are filled with."""

    history: list[dict[str, Any]]
    entries: list[dict[str, Any]]
    documents: Mapping[str, Any]
    contains: Callable[[str], bool]


def assemble(
    history: Any = None,
    world_books: Any = None,
    presets_relative: Any = None,
    presets_doc: Any = None,
    character: Any = None,
    persona: Any = None,
    *,
    options: SmartOptions | None = None,
) -> dict[str, Any]:
    """The relative prompts in their order, each placeholder replaced by what it stands for.

    ``presets_relative`` wins over the relative prompts of ``presets_doc``. Without any enabled prompt the history stands alone;
    with prompts but no ``chatHistory`` among them it is left out. Conditional entries are triggered by their ``keys``.
    Nothing in the result is shared with the arguments, none of which is changed.

    Raises:
        EntryNumberError: an order is no number.
        LimitError: data beyond a limit.
    """
    compat = options.compat if options is not None else Compat()
    messages = framed_history(history, compat)
    prompts = relative_prompts(presets_relative, presets_doc)
    if not prompts:
        return {"messages": messages}
    parts = _Parts(
        history=messages,
        entries=entries_of(world_books, compat),
        documents={"charDescription": character, "personaDescription": persona},
        contains=KeywordSearch("\n".join([message["content"] for message in messages])).contains,
    )
    return {"messages": [message for prompt in prompts for message in _filled(prompt, parts)]}


def _filled(prompt: dict[str, Any], parts: _Parts) -> Iterator[dict[str, Any]]:
    """The messages that stand in a prompt's place."""
    identifier = prompt.get("identifier")
    name = identifier if isinstance(identifier, str) else ""
    if name == CHAT_HISTORY:
        for message in parts.history:
            yield {**message, "source": copied(message["source"], "source")}
    elif name in LORE_POSITIONS:
        yield from framed_lore(parts.entries, LORE_POSITIONS[name], parts.contains)
    elif name in DESCRIPTIONS:
        yield from _description(prompt, parts.documents[name], DESCRIPTIONS[name])
    elif is_said(prompt.get("content")):
        yield {"role": _role(prompt), "content": prompt["content"], "source": prompt_source(prompt)}


def _description(prompt: dict[str, Any], document: Any, prefix: str) -> Iterator[dict[str, Any]]:
    text = document.get("description") if isinstance(document, Mapping) else None
    if is_said(text):
        yield {"role": _role(prompt), "content": text, "source": document_source(dict(document), prefix)}


def _role(prompt: dict[str, Any]) -> str:
    return role_or(prompt, "system", "presets_relative")
