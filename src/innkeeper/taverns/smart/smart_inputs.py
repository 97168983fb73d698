"""SmartInputs: the assets of a request in this tavern's own words, whatever they were written in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from innkeeper.content.lorebook import Lorebook
from innkeeper.content.preset import Preset
from innkeeper.prompt.frozen import thaw
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.state import State
from innkeeper.taverns.smart.assets_normalizer import extract_character_world_book, merge_world_books, normalize
from innkeeper.taverns.smart.carried_book import carried_book, is_smart_book
from innkeeper.taverns.smart.carried_people import carried_character, carried_persona, greetings_of, people_variables
from innkeeper.taverns.smart.carried_preset import carried_preset, is_smart_preset
from innkeeper.taverns.smart.chat_variables import chat_variables
from innkeeper.taverns.smart.compat import Compat
from innkeeper.taverns.smart.containers import entries_of
from innkeeper.taverns.smart.default_preset import DEFAULT_PRESET
from innkeeper.taverns.smart.options import SmartOptions
from innkeeper.taverns.smart.settings import SmartSettings, read_settings
from innkeeper.taverns.smart.values import text_of

if TYPE_CHECKING:
    from innkeeper.content.character import Character

__all__ = ["SmartInputs", "inputs_of", "read_inputs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SmartInputs:
    """What the steps read.

    ``messages`` are the chat with the new message at its end, ``history`` the same for construct.
    ``table`` holds the variables of the chat and those that tell of it.
    """

    options: SmartOptions
    settings: SmartSettings
    preset: dict[str, Any]
    entries: list[dict[str, Any]]
    rules: dict[str, Any]
    character: dict[str, Any] | None
    persona: dict[str, Any] | None
    greetings: tuple[str, ...]
    messages: tuple[Message, ...]
    history: list[dict[str, Any]]
    table: dict[str, Any]


def inputs_of(state: State) -> SmartInputs:
    """What *prepare* left."""
    inputs: SmartInputs = state.made_by("prepare")
    return inputs


def read_inputs(state: State) -> SmartInputs:
    """The inputs of a build. Raises what the readers of its assets raise, and what `read_settings` raises."""
    request = state.request
    settings = read_settings(request)
    options = _options(state, settings)
    character, card = carried_character(request.character, state)
    persona = carried_persona(request.user)
    preset = _preset(request.preset, card, state)
    rules = normalize(preset, None, character, settings.regex_rules, options=options)["merged_regex"]
    messages = request.history
    if request.message:
        messages = (*messages, Message("user", request.message))
    history = [{"role": message.role, "content": message.content} for message in messages]
    people = people_variables(character, card, persona)
    own = state.variables.to_dict()
    return SmartInputs(
        options=options,
        settings=settings,
        preset=preset,
        entries=[_unforged(entry, ("type", "source_id")) for entry in _entries(state, character, options)],
        rules=rules,
        character=character,
        persona=persona,
        greetings=greetings_of(character, card),
        messages=messages,
        history=history,
        table={
            **people,
            **chat_variables(history, request.message),
            **thaw(dict(request.macro_vars)),
            **own.get("global", {}),
            **own.get("local", {}),
        },
    )


def _options(state: State, settings: SmartSettings) -> SmartOptions:
    from innkeeper.macros.smart import MacroOptions, StreamChance

    compat = settings.compat
    macros = MacroOptions(
        compat=compat.macros,
        python=settings.python,
        now=state.inputs.clock.now,
        random=StreamChance(state.inputs.random.stream("smart-macros")),
    )
    return SmartOptions(compat=compat, macros=macros)


def _preset(value: Any, card: Character | None, state: State) -> dict[str, Any]:
    if value is None:
        return DEFAULT_PRESET
    raw = value.raw if isinstance(value, Preset) else value
    if isinstance(raw, Mapping) and is_smart_preset(raw):
        own: dict[str, Any] = thaw(dict(raw))
        own["prompts"] = [_unforged(item, ("type", "id", "source_id")) for item in own["prompts"]]
        return own
    return carried_preset(Preset.of(value), card, state)


def _book(value: Any, state: State) -> Any:
    raw = value.raw if isinstance(value, Lorebook) else value
    if is_smart_book(raw):
        return thaw(raw)
    return carried_book(Lorebook.of(value), state)


def _entries(state: State, character: Any, options: SmartOptions) -> list[dict[str, Any]]:
    """The entries of the books, then the character's; of the same entry only the first.

    With `Compat.lossy_merges` entries of one ``id`` are the same, as in the original; else those of one id and text.
    """
    books = [_book(book, state) for book in state.request.lorebooks]
    own = {"entries": [entry for book in books for entry in entries_of(book, _WIDE)]}
    found: list[dict[str, Any]]
    if options.compat.lossy_merges:
        merged = merge_world_books(own, extract_character_world_book(character), options=options)
        found, removed = merged["world_book"], merged["meta"]["dedup_removed_count"]
    else:
        found, removed = _distinct([*own["entries"], *extract_character_world_book(character)["entries"]])
    if removed:
        message = f"{removed} entries of the books are left out: the same ones came before"
        state.note(NoteKind.IGNORED, message, data={"entries": removed})
    return found


_WIDE: Final = Compat(wide_books=True)
"""Books come as a list here, so every container in it is looked into."""


def _distinct(entries: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The entries, each once, and how many were there before."""
    kept: dict[object, dict[str, Any]] = {}
    for place, entry in enumerate(entries):
        content = entry.get("content")
        said = entry.get("id") is not None and isinstance(content, str)
        kept.setdefault((text_of(entry["id"], "id"), content) if said else place, entry)
    return list(kept.values()), len(entries) - len(kept)


def _unforged(item: Any, keys: tuple[str, ...]) -> Any:
    """A copy without the keys by which an entry could say that its text came from elsewhere."""
    return {key: value for key, value in item.items() if key not in keys} if isinstance(item, dict) else item
