"""Assets of other applications in SmartTavern's own words: character, persona, preset and lorebook.

A SillyTavern preset becomes its prompts in their order, with the markers this tavern has; keys of a book become
conditions. What cannot be said here is left out and noted: secondary keys, regular expressions, chance, time, groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from innkeeper.content.character import Character
from innkeeper.content.entry import LorebookEntry, LorePosition
from innkeeper.content.lorebook import Lorebook
from innkeeper.content.persona import Persona
from innkeeper.content.preset import Preset, PromptItem, PromptPosition
from innkeeper.prompt.data import thaw
from innkeeper.prompt.errors import Where
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.run.state import State
from innkeeper.taverns.assets import Assets, raw_of
from innkeeper.taverns.smart.assets_normalizer import list_in

_OWN: Final = frozenset({"message", "world_book", "regex_rules"})
_FORGEABLE: Final = ("type", "id")


def is_smart_character(value: Any) -> bool:
    """Whether a character file is written in this tavern's words."""
    return isinstance(value, Mapping) and bool(_OWN & value.keys()) and "spec" not in value and "data" not in value


def convert_character(assets: Assets, state: State) -> tuple[dict[str, Any] | None, Character | None]:
    """The character as this tavern's file would have it, and as a card where it is one."""
    raw = raw_of(assets.request.character)
    if is_smart_character(raw):
        scenario = assets.metadata.get("scenario")
        return {**_own(raw), **({"scenario": scenario} if scenario else {})}, None
    card = assets.character
    if card is None:
        return None, None
    carried: dict[str, Any] = {"name": card.display_name, "description": smart_macros(card.description)}
    if card.book is not None:
        carried["world_book"] = convert_book(card.book, state)
    return carried, card


def convert_persona(user: Persona | Character | None) -> dict[str, Any] | None:
    """The persona as this tavern's file would have it."""
    if user is None:
        return None
    if isinstance(user, Persona) and "persona_name" in (user.raw or {}):
        return _own(user.raw)
    return {"name": user.name, "description": smart_macros(user.persona_text)}


_SILLY_MACRO: Final = re.compile(
    r"\{\{\s*(random|pick|roll|getvar|getglobalvar|incvar|decvar|incglobalvar|decglobalvar|addvar|addglobalvar|setvar|"
    r"setglobalvar|upper|lower|length|reverse)\s*(?:::|:(?!:)|\s)\s*",
    re.IGNORECASE,
)
_SILLY_MARK: Final = re.compile(r"<(user|bot|char)>", re.IGNORECASE)
_MARKS: Final = {"user": "{{user}}", "bot": "{{char}}", "char": "{{char}}"}


def smart_macros(text: str) -> str:
    """A text with SillyTavern's macros as SmartTavern writes them; what has no macro here is noted where it is expanded."""
    if "{{" in text:
        text = _SILLY_MACRO.sub(lambda match: "{{" + match[1].lower() + ":", text)
    return _SILLY_MARK.sub(lambda match: _MARKS[match[1].lower()], text) if "<" in text else text


def _own(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A copy without the keys by which a file could say that its text came from elsewhere."""
    return {key: value for key, value in thaw(dict(raw)).items() if key not in _FORGEABLE}


def greetings_of(character: Mapping[str, Any] | None, card: Character | None) -> tuple[str, ...]:
    """The messages a chat may begin with."""
    if card is not None:
        return tuple(map(smart_macros, card.greetings()))
    listed = (character or {}).get("message")
    return tuple(text for text in listed if isinstance(text, str)) if isinstance(listed, (list, tuple)) else ()


def people_variables(
    character: Mapping[str, Any] | None, card: Character | None, persona: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The variables by which macros name the people of a chat."""
    variables = {
        "user_name": _text(persona, "persona_name") or _text(persona, "name") or _NOBODY,
        "persona_description": _text(persona, "description"),
    }
    if character is not None:
        variables |= {
            "character_name": _text(character, "name"),
            "character_description": _text(character, "description"),
            "character_personality": _field(character, card, "personality"),
            "scenario_description": _field(character, card, "scenario"),
        }
    return variables


def _field(character: Mapping[str, Any], card: Character | None, name: str) -> str:
    return _text(character, name) if card is None else smart_macros(getattr(card, name))


_NOBODY: Final = "User"
"""The name of a user without one."""


def _text(facts: Mapping[str, Any] | None, key: str) -> str:
    value = (facts or {}).get(key)
    return value if isinstance(value, str) else ""


_POSITIONS: Final = frozenset({"relative", "in-chat"})

_SILLY_POSITIONS: Final[Mapping[str, str]] = {
    "chatHistory": "chatHistory",
    "worldInfoBefore": "charBefore",
    "worldInfoAfter": "charAfter",
    "charDescription": "charDescription",
    "personaDescription": "personaDescription",
}
"""Markers with a placeholder of the same meaning."""

_TEXTS: Final[Mapping[str, str]] = {"charPersonality": "personality", "scenario": "scenario"}
"""Markers that are replaced by a text of the card."""

REQUEST_OPTIONS: Final = (
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "frequency_penalty",
    "presence_penalty",
    "stream",
)
"""Settings of a preset's ``api_config`` that are options of a request."""


def is_smart_preset(raw: Any) -> bool:
    """Whether a preset file is written in this tavern's words: prompts with its positions, and no order beside them."""
    if not isinstance(raw, Mapping):
        return False
    prompts = raw.get("prompts")
    if "prompt_order" in raw or not isinstance(prompts, (list, tuple)):
        return False
    positions = [item.get("position") for item in prompts if isinstance(item, Mapping)]
    named = [position for position in positions if position is not None]
    if any(not isinstance(position, str) or position.lower() not in _POSITIONS for position in named):
        return False
    return bool(named) or "api_config" in raw or "regex_rules" in raw


def convert_preset(preset: Preset, character: Character | None, state: State) -> dict[str, Any]:
    """Convert a preset to this tavern's form. Fields without an equivalent are noted."""
    prompts = [carried for item, on in _ordered(preset) if (carried := _prompt(item, character, state, on=on))]
    config = {name: getattr(preset, name) for name in REQUEST_OPTIONS if getattr(preset, name) is not None}
    if preset.context_window:
        config["max_context"] = preset.context_window
    return {"name": preset.name, "api_config": {"enabled": True, **config}, "prompts": prompts, "regex_rules": []}


def _ordered(preset: Preset) -> Iterator[tuple[PromptItem, bool]]:
    order = preset.order_for()
    if order is None:
        yield from ((item, item.enabled is not False) for item in preset.prompts)
        return
    for turn in order:
        item = preset.prompt(turn.identifier)
        if item is not None:
            yield item, turn.enabled


def _prompt(item: PromptItem, character: Character | None, state: State, *, on: bool) -> dict[str, Any] | None:
    name = _SILLY_POSITIONS.get(item.identifier, item.identifier)
    content = smart_macros(item.content)
    if item.identifier in _TEXTS:
        content = "" if character is None else smart_macros(getattr(character, _TEXTS[item.identifier]))
    elif item.marker and item.identifier not in _SILLY_POSITIONS:
        if on:
            state.note(
                NoteKind.IGNORED,
                f"the preset's {item.identifier} has no place in this tavern",
                data={"input": f"preset.{item.identifier}"},
            )
        return None
    placed = {"identifier": name, "name": item.name, "enabled": on, "role": item.role, "content": content}
    if item.position is PromptPosition.IN_CHAT:
        return {**placed, "position": "in-chat", "depth": item.depth, "order": item.order}
    return {**placed, "position": "relative"}


_MODES: Final = ("always", "conditional")
_OWN_POSITIONS: Final = ("user", "assistant", "system")
_FOREIGN_FIELDS: Final = frozenset({"key", "keys", "insertion_order"})
_BOOK_POSITIONS: Final[Mapping[LorePosition, str]] = {
    LorePosition.BEFORE_CHAR: "before_char",
    LorePosition.AFTER_CHAR: "after_char",
}
_UNSAYABLE: Final = (",", "::", "{{", "}}", "<<", ">>")
"""Texts that a keyword cannot contain."""

_DEFAULT_ORDER: Final = 100


def is_smart_book(raw: Any) -> bool:
    """Whether the entries of a book are written in this tavern's words."""
    listed = list_in(raw) if isinstance(raw, Mapping) else raw
    entries = [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, (list, tuple)) else []
    if any(entry.get("mode") in _MODES or entry.get("position") in _OWN_POSITIONS for entry in entries):
        return True
    foreign = any(_FOREIGN_FIELDS & entry.keys() for entry in entries)
    return isinstance(listed, (list, tuple)) and not foreign


def convert_book(book: Lorebook, state: State) -> dict[str, Any]:
    """The book as this tavern's file would have it."""
    losses: dict[str, int] = {}
    entries = [_entry(entry, losses) for entry in book.entries]
    for what, count in losses.items():
        state.note(
            NoteKind.FALLBACK,
            f"{count} entries of the book {book.name!r}: {what}",
            where=Where(asset=book.name or "lorebook"),
            data={"entries": count},
        )
    return {"name": book.name, "entries": entries}


def _entry(entry: LorebookEntry, losses: dict[str, int]) -> dict[str, Any]:
    keys = [key for key in entry.keys if key.strip()]
    searchable = [key for key in keys if not (key.startswith("/") or any(part in key for part in _UNSAYABLE))]
    for what, is_lost in (
        ("keys that are patterns or have commas in them are not looked for", len(searchable) < len(keys)),
        ("keys are looked for as they are written, in the whole chat", bool(searchable) and not entry.constant),
        ("secondary keys do not count", bool(entry.secondary_keys)),
        ("they always fire where they could, without chance", entry.use_probability and entry.probability != 100),  # noqa: PLR2004 - percent
        ("their place has none here: they stand after the character", _placed(entry) is None),
    ):
        if is_lost:
            losses[what] = losses.get(what, 0) + 1
    return {
        "id": entry.id,
        "name": entry.comment or entry.name or "",
        "enabled": entry.enabled,
        "mode": "always" if entry.constant else "conditional",
        "condition": "{{keywords:any::" + ",".join(searchable) + "}}" if searchable else "",
        "keys": searchable,
        "position": _placed(entry) or "after_char",
        "depth": entry.depth,
        "order": _DEFAULT_ORDER if entry.order is None else entry.order,
        "content": smart_macros(entry.content),
    }


def _placed(entry: LorebookEntry) -> str | None:
    if entry.position is LorePosition.AT_DEPTH:
        return entry.role if entry.role in _OWN_POSITIONS else "system"
    return _BOOK_POSITIONS.get(entry.position)
