"""Framing: relative prompts, lore around the character and descriptions, the history in its place among them.

Framing chooses lore by the older rules of the original: an entry is on only when it says so, and a conditional one is
triggered by ``keys``, not by its condition. `assemble_full` is the whole raw prompt: construct, then framing around
what it made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from innkeeper.content.json.values import ShapeError, copied, text_of
from innkeeper.prompt.allowance import allowed, charge
from innkeeper.prompt.errors import Where
from innkeeper.taverns.smart.assets_normalizer import entries_of
from innkeeper.taverns.smart.compat import Compat, SmartOptions
from innkeeper.taverns.smart.conditions import ConditionRule, KeywordSearch, is_conditional
from innkeeper.taverns.smart.construction import IN_CHAT, construct
from innkeeper.taverns.smart.messages import (
    document_source,
    framed_entry_source,
    framed_history,
    prompt_source,
    role_or,
    whole_number,
)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The contents of placeholders."""

    history: list[dict[str, Any]]
    entries: list[dict[str, Any]]
    documents: Mapping[str, Any]
    contains: Callable[[str], bool]


@allowed()
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
    """The relative prompts in their order, each placeholder replaced by its contents.

    ``presets_relative`` wins over the relative prompts of ``presets_doc``. Without any enabled prompt the history stands alone;
    with prompts but no ``chatHistory`` among them it is left out. Conditional entries are triggered by their ``keys``.
    Nothing in the result is shared with the arguments, none of which is changed.

    Raises:
        ShapeError: an order is not a number.
        LimitError: data beyond a limit.
        AllowanceError: placeholders that stand for the same again and again make more than one build may.
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
    made: list[dict[str, Any]] = []
    first: dict[str, list[dict[str, Any]]] = {}
    for prompt in prompts:
        identifier = prompt.get("identifier")
        name = identifier if isinstance(identifier, str) else ""
        if name in first:
            charge("framing", _ENTRY_STEPS * (len(parts.entries) + len(first[name])), made=_size(first[name]))
        filled = list(_filled(name, prompt, parts))
        if name in _PLACEHOLDERS:
            first.setdefault(name, filled)
        made += filled
    return {"messages": made}


def _size(value: Any) -> int:
    """The characters of a value as they are written, about."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, (dict, list, tuple)):
        return _ITEM * len(value) + sum(map(_size, value.values() if isinstance(value, dict) else value))
    return _ITEM


def _filled(name: str, prompt: dict[str, Any], parts: _Parts) -> Iterator[dict[str, Any]]:
    """The messages that replace a prompt."""
    if name == CHAT_HISTORY:
        for message in parts.history:
            yield {**message, "source": copied(message["source"], "source")}
    elif name in LORE_POSITIONS:
        yield from framed_lore(parts.entries, LORE_POSITIONS[name], parts.contains)
    elif name in DESCRIPTIONS:
        document = parts.documents[name]
        text = document.get("description") if isinstance(document, Mapping) else None
        if has_text(text):
            source = document_source(dict(document), DESCRIPTIONS[name])
            yield {"role": _role(prompt), "content": text, "source": source}
    elif has_text(prompt.get("content")):
        yield {"role": _role(prompt), "content": prompt["content"], "source": prompt_source(prompt)}


def _role(prompt: dict[str, Any]) -> str:
    return role_or(prompt, "system", "presets_relative")


_DEFAULT_ORDER: Final = 100


def framed_lore(
    entries: Iterable[dict[str, Any]], position: str, contains: Callable[[str], bool]
) -> list[dict[str, Any]]:
    """The messages of the entries at ``position``, by order and then place. ``contains`` tests a key against the history.

    Raises `ShapeError` for an entry that would be placed and whose order is not a number.
    """
    framed = [
        (framing_order(entry, f"world_books[{index}]"), index, entry)
        for index, entry in enumerate(entries)
        if text_of(entry.get("position"), "world_books") == position and screen_framed(entry, contains) is None
    ]
    return [
        {"role": "system", "content": entry["content"], "source": framed_entry_source(entry, index, position)}
        for _, index, entry in sorted(framed, key=lambda row: row[:2])
    ]


def screen_framed(entry: dict[str, Any], contains: Callable[[str], bool]) -> ConditionRule | None:
    """The rule that excludes an entry from its position around the character, or ``None``."""
    if entry.get("enabled") is not True:
        return ConditionRule.DISABLED
    if not has_text(entry.get("content")):
        return ConditionRule.BLANK
    if is_conditional(entry) and not any(map(contains, _keys(entry.get("keys")))):
        return ConditionRule.KEYS
    return None


def _keys(keys: Any) -> list[str]:
    """The keys to look for: a text or a list of them, other values in it as text, without the blanks around them."""
    listed = [keys] if isinstance(keys, str) else keys if isinstance(keys, (list, tuple)) else ()
    texts = (text_of(key, "world_books").strip() for key in listed)
    return [text for text in texts if text]


def has_text(content: Any) -> bool:
    """Whether content is text with more than blanks."""
    return isinstance(content, str) and bool(content.strip())


def framing_order(entry: dict[str, Any], path: str) -> int:
    """An entry's order. Raises `ShapeError` with the words of Python's own error."""
    order = entry.get("order")
    number = whole_number(order, _DEFAULT_ORDER)
    if number is None:
        raise ShapeError(_refusal(order), where=Where(path=f"{path}.order"), hint="write it as a whole number")
    return number


def _refusal(order: Any) -> str:
    try:
        int(order)
    except (TypeError, ValueError, OverflowError) as error:
        return str(error)
    return "not a whole number"  # pragma: no cover - whole_number refused it by the same call


CHAT_HISTORY: Final = "chatHistory"
"""The prompt that the history replaces."""

LORE_POSITIONS: Final[Mapping[str, str]] = {"charBefore": "before_char", "charAfter": "after_char"}
"""Prompts that entries of a position replace."""

DESCRIPTIONS: Final[Mapping[str, str]] = {"charDescription": "char", "personaDescription": "persona"}
"""Prompts that a description replaces, and the names of their sources."""

_PLACEHOLDERS: Final = frozenset({CHAT_HISTORY, *LORE_POSITIONS, *DESCRIPTIONS})
_ENTRY_STEPS: Final = 30
"""The steps charged for an entry or message that is judged or written again."""
_ITEM: Final = 16


def relative_prompts(presets_relative: Any, presets_doc: Any) -> list[dict[str, Any]]:
    """The enabled prompts in their order: of the array if there is one, else the relative ones of the preset.

    Raises `ShapeError` for a prompt whose order is not a number, though orders do not sort here.
    """
    prompts = []
    for index, prompt in enumerate(_listed(presets_relative, presets_doc)):
        if isinstance(prompt, dict) and prompt.get("enabled") is True:
            framing_order(prompt, f"presets_relative[{index}]")
            prompts.append(prompt)
    return prompts


def _listed(presets_relative: Any, presets_doc: Any) -> Any:
    if isinstance(presets_relative, (list, tuple)):
        return presets_relative
    prompts = presets_doc.get("prompts") if isinstance(presets_doc, Mapping) else None
    if not isinstance(prompts, (list, tuple)):
        return ()
    return [item for item in prompts if isinstance(item, dict) and text_of(item.get("position"), "") == "relative"]


@allowed()
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
    return [
        item
        for item in listed
        if isinstance(item, dict) and text_of(item.get("position"), "presets").lower() == IN_CHAT
    ]


def wrapped(world_books: Any) -> Any:
    """An array of entries as a book of them, the way the original hands it on."""
    return {"entries": world_books} if isinstance(world_books, (list, tuple)) else world_books
