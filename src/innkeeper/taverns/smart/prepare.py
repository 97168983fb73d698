"""Step ``prepare``: the request's assets, variables and settings in this tavern's own words.

Leaves `SmartInputs`. Takes request options from the preset's ``api_config``, and resolves the greeting. The table of
variables holds the chat's own and those that describe it to macros: its people, last messages and their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.content.json.values import text_of
from innkeeper.prompt.data import thaw
from innkeeper.prompt.errors import ConfigError, Where
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.request import BuildRequest
from innkeeper.prompt.run.pipeline import NoConfig, Step
from innkeeper.prompt.run.state import ScratchKey, State
from innkeeper.prompt.typed.once import convert
from innkeeper.taverns.assets import Assets, Book, assets_of, raw_of
from innkeeper.taverns.inputs import ASKING_PORTS, InputRules, note_unread
from innkeeper.taverns.smart.asset_conversion import (
    REQUEST_OPTIONS,
    convert_book,
    convert_character,
    convert_persona,
    convert_preset,
    greetings_of,
    is_smart_book,
    is_smart_character,
    is_smart_preset,
    people_variables,
)
from innkeeper.taverns.smart.assets_normalizer import (
    entries_of,
    extract_character_world_book,
    merge_world_books,
    normalize,
)
from innkeeper.taverns.smart.compat import Compat, SmartOptions, compat_of
from innkeeper.taverns.smart.conditions import HISTORY_TEXT
from innkeeper.taverns.smart.messages import MAX_NUMBER, history_text

if TYPE_CHECKING:
    from innkeeper.content.character import Character


def run(state: State, _config: NoConfig) -> None:
    """Read the inputs, note what has no effect, take the options of the preset."""
    for name, reason in ELSEWHERE.items():
        if name in state.request.settings:
            message = f"settings.{name} has no effect: {reason}"
            state.note(NoteKind.IGNORED, message, data={"input": f"settings.{name}"})
    inputs = read_inputs(state)
    state.scratch[SMART_INPUTS] = inputs
    for name, value in _configured(inputs.preset).items():
        if name in REQUEST_OPTIONS:
            state.result.options.setdefault(name, value)
    _greet(state, inputs)


_OWN_WORDS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "character": is_smart_character,
    "preset": is_smart_preset,
    "lorebooks": is_smart_book,
}
"""Which assets are files of this tavern's own, read as they are."""


def _own_words(field: str, raw: Any) -> bool:
    return field in _OWN_WORDS and _OWN_WORDS[field](raw)


INPUTS: Final = InputRules(
    ignored={
        "group": "the smart tavern knows one character and one user",
        "generation": "the smart tavern builds one kind of prompt",
        "force_lore": "whether an entry is in is up to its condition",
        "injections": "use prompts whose position is in-chat",
        "authors_note": "use a prompt whose position is in-chat",
        "lore_state": "entries of the smart tavern do not last",
        "context": "the smart tavern has nothing that reads it; configurations of steps are its module_configs",
        "locale": "macros write dates as Python does",
        **dict.fromkeys(ASKING_PORTS, "the smart tavern has no step that asks it"),
    },
    meta=(),
    refuses_settings=True,
    metadata=frozenset({"scenario"}),
    reads={
        "character": frozenset(
            {
                "name",
                "nickname",
                "description",
                "personality",
                "scenario",
                "system_prompt",
                "mes_example",
                "post_history_instructions",
                "first_mes",
                "alternate_greetings",
                "book",
                "extensions.depth_prompt",
            }
        ),
        "user": frozenset({"name", "description", "personality"}),
        "lorebooks": frozenset(
            {
                "name",
                "entries",
                *(
                    f"entries.{field}"
                    for field in (
                        "id",
                        "keys",
                        "content",
                        "comment",
                        "name",
                        "enabled",
                        "constant",
                        "order",
                        "position",
                        "depth",
                        "role",
                    )
                ),
            }
        ),
        "preset": frozenset(
            {
                "prompts",
                "orders",
                "context_window",
                *REQUEST_OPTIONS,
                *(
                    f"prompts.{field}"
                    for field in ("identifier", "content", "role", "marker", "position", "depth", "order", "enabled")
                ),
            }
        ),
    },
    own_words=_own_words,
)
"""What has no effect here, and why."""


def _configured(preset: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a preset turns on: all of its ``api_config``, or those it lists as enabled."""
    config = preset.get("api_config")
    if not isinstance(config, Mapping) or config.get("enabled") is not True:
        return {}
    chosen = config.get("enabled_fields")
    listed = chosen if isinstance(chosen, (list, tuple)) else list(config)
    return {
        name: value
        for name, value in config.items()
        if name in listed and isinstance(value, (bool, int, float)) and abs(value) <= MAX_NUMBER
    }


def window_of(inputs: SmartInputs) -> int | None:
    """The window that the preset says its prompts are for, in tokens."""
    window = _configured(inputs.preset).get("max_context")
    return window if type(window) is int and window > 0 else None


def _greet(state: State, inputs: SmartInputs) -> None:
    index = state.request.greeting
    if index is None:
        return
    position = max(index, 0)
    if position >= len(inputs.greetings) or index < -1:
        state.warn(f"there is no greeting {index}; the card has {len(inputs.greetings)}")
        position = 0
    state.result.greeting = inputs.greetings[position] if inputs.greetings else ""
    state.result.greeting_index = position


PREPARE: Final = Step("prepare", run, NoConfig)
"""Reads everything the other steps need."""


RESULT_ROLES: Final = frozenset({"tool", "function"})
"""Roles of results of tool calls, which are sent as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmartInputs:
    """The inputs of the steps.

    ``books`` are the names of the books that the entries are from, one for each.
    ``messages`` are the chat with the new message at its end, ``history`` the same for construct, which knows no tools:
    results of tool calls stand in it as the assistant's.
    ``table`` holds the variables of the chat and those that tell of it.
    """

    options: SmartOptions
    settings: SmartSettings
    preset: dict[str, Any]
    entries: list[dict[str, Any]]
    books: list[str]
    rules: dict[str, Any]
    character: dict[str, Any] | None
    card: Character | None
    persona: dict[str, Any] | None
    greetings: tuple[str, ...]
    messages: tuple[Message, ...]
    history: list[dict[str, Any]]
    table: dict[str, Any]


def inputs_of(state: State) -> SmartInputs:
    """The inputs that *prepare* left."""
    return state.scratch[SMART_INPUTS]


SMART_INPUTS: Final = ScratchKey[SmartInputs]("prepare")
"""What the step ``prepare`` leaves."""


def read_inputs(state: State) -> SmartInputs:
    """The inputs of a build. Raises the errors of the readers of its assets, and of `read_settings`."""
    request, assets = state.request, assets_of(state)
    settings = read_settings(request)
    options = _options(state, settings)
    character, card = convert_character(assets, state)
    persona = convert_persona(assets.user)
    preset = _preset(assets, card, state)
    rules = normalize(preset, None, character, settings.regex_rules, options=options)["merged_regex"]
    messages = assets.history
    if request.message:
        messages = (*messages, Message("user", request.message))
    history = [{"role": message.role, "content": message.content} for message in messages]
    people = people_variables(character, card, persona)
    own = state.variables.to_dict()
    entries, books = _entries(state, assets, character, card, options)
    return SmartInputs(
        options=options,
        settings=settings,
        preset=preset,
        entries=[_unforged(entry, ("type", "source_id")) for entry in entries],
        books=books,
        rules=rules,
        character=character,
        card=card,
        persona=persona,
        greetings=greetings_of(character, card),
        messages=messages,
        history=[{**item, "role": "assistant"} if item["role"] in RESULT_ROLES else item for item in history],
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


def _preset(assets: Assets, card: Character | None, state: State) -> dict[str, Any]:
    raw = raw_of(assets.request.preset)
    if is_smart_preset(raw):
        own: dict[str, Any] = thaw(dict(raw))
        own["prompts"] = [_unforged(item, ("type", "id", "source_id")) for item in own["prompts"]]
        return own
    if assets.preset is None:
        return DEFAULT_PRESET
    converted = convert_preset(assets.preset, card, state)
    return converted if converted["prompts"] else {**converted, "prompts": DEFAULT_PRESET["prompts"]}


def _book(book: Book, state: State) -> Any:
    raw = raw_of(book.value)
    if not is_smart_book(raw):
        return convert_book(book.lorebook, state)
    own = thaw(raw)
    if unread := sorted({f"entries.{key}" for entry in entries_of(own, _WIDE) for key in entry} - _ENTRY_KEYS):
        note_unread(state, "lorebooks", unread, "nothing reads them")
    return own


_ENTRY_KEYS: Final = frozenset(
    f"entries.{key}"
    for key in (
        "id",
        "name",
        "comment",
        "content",
        "enabled",
        "mode",
        "condition",
        "keys",
        "position",
        "depth",
        "order",
        "role",
    )
)


def _entries(
    state: State, assets: Assets, character: Any, card: Character | None, options: SmartOptions
) -> tuple[list[dict[str, Any]], list[str]]:
    """The entries of the books, then the character's, and the book of each; of the same entry only the first.

    With `Compat.lossy_merges` entries of one ``id`` are the same, as in the original; else those of one id and text.
    """
    own_books = [_book(book, state) for book in assets.books]
    books = [entries_of(book, _WIDE) for book in own_books]
    own = {"entries": [entry for entries in books for entry in entries]}
    carried = extract_character_world_book(character)
    every = [*own["entries"], *carried["entries"]]
    selected: list[dict[str, Any]]
    if options.compat.lossy_merges:
        merged = merge_world_books(own, carried, options=options)
        selected, removed = merged["world_book"], merged["meta"]["dedup_removed_count"]
    else:
        selected, removed = _distinct(every)
    names = [
        name
        for index, (book, entries) in enumerate(zip(own_books, books, strict=True))
        for name in [_name(book) or f"book {index}"] * len(entries)
    ]
    names += [_own_book_name(character, card)] * len(carried["entries"])
    if removed:
        message = f"{removed} entries of the books are left out: the same ones came before"
        state.note(NoteKind.IGNORED, message, data={"entries": removed})
        # the book names of the entries that are left of `every`, in the same order
        rest = zip(every, names, strict=True)
        pairs = ((entry.get("id"), entry.get("content")) for entry in selected)
        names = [
            next((name for entry, name in rest if (entry.get("id"), entry.get("content")) == key), "") for key in pairs
        ]
    return selected, names


def _name(book: Any) -> str:
    name = book.get("name") if isinstance(book, Mapping) else None
    return name if isinstance(name, str) else ""


def _own_book_name(character: Any, card: Character | None) -> str:
    """The name of the character's own book."""
    if card is not None and card.book is not None:
        return card.book.name or f"{card.name}'s Lorebook"
    return (
        (_name(character.get("world_book")) or f"{_name(character)}'s Lorebook")
        if isinstance(character, Mapping)
        else ""
    )


_WIDE: Final = Compat(wide_books=True)
"""Books come as a list here, so every container in it is looked into."""


def _distinct(entries: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The entries, each once, and how many were there before."""
    distinct: dict[object, dict[str, Any]] = {}
    for index, entry in enumerate(entries):
        content = entry.get("content")
        is_named = entry.get("id") is not None and isinstance(content, str)
        distinct.setdefault((text_of(entry["id"], "id"), content) if is_named else index, entry)
    return list(distinct.values()), len(entries) - len(distinct)


BOOK_NAME: Final = "book_name"
"""The key of an entry for the name of its book."""


def with_books(inputs: SmartInputs) -> list[Any]:
    """The entries with the names of their books, for the sources of the messages that are made of them."""
    pairs = zip(inputs.entries, inputs.books, strict=True)
    return [{**entry, BOOK_NAME: name} if isinstance(entry, dict) else entry for entry, name in pairs]


def _unforged(item: Any, keys: tuple[str, ...]) -> Any:
    """A copy without the keys by which an entry could say that its text came from elsewhere."""
    return {key: value for key, value in item.items() if key not in keys} if isinstance(item, dict) else item


class SmartSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``regex_rules`` are rules besides the preset's and the character's. ``policy`` replaces undefined variables.

    ``python`` off leaves ``{{python:…}}`` without a result; ``compat`` changes single switches of the profile.
    """

    regex_rules: Any = None
    policy: dict[str, Any] = {}
    python: bool = True
    compat: Compat = Compat()


ELSEWHERE: Final[Mapping[str, str]] = {
    "text": "the smart tavern makes chats, which need no templates of text completion",
    "power_user": "the smart tavern has nothing that reads it",
}
"""Settings that files of other taverns bring, and why they have no effect here."""


def read_settings(request: BuildRequest) -> SmartSettings:
    """The settings of a request. Raises `ConfigError` for unknown keys and wrong types, `UnknownNameError` for a profile."""
    settings = {name: thaw(value) for name, value in request.settings.items() if name not in _LEFT_ASIDE}
    try:
        switches = {**msgspec.structs.asdict(compat_of(request.profile)), **settings.pop("compat", {})}
        return convert({**settings, "compat": switches}, SmartSettings)
    except (msgspec.ValidationError, TypeError) as error:
        known = ", ".join(SmartSettings.__struct_fields__)
        raise ConfigError(f"invalid settings: {error}", where=Where(asset="settings"), hint=f"keys: {known}") from error


_LEFT_ASIDE: Final = frozenset({"chat_metadata", *ELSEWHERE})


def chat_variables(history: list[dict[str, Any]], message: str) -> dict[str, Any]:
    """``user_input_text``, ``chat_last_message`` and so on; those of which there is nothing yet are not set."""
    texts = {role: [item["content"] for item in history if item["role"] == role] for role in ("user", "assistant")}
    variables: dict[str, Any] = {
        HISTORY_TEXT: history_text(history),
        "chat_message_count": len(history),
        "chat_user_message_count": len(texts["user"]),
        "chat_conversation_length": sum(len(item["content"]) for item in history),
    }
    last = {
        "user_input_text": [message] if message else [],
        "chat_last_message": [item["content"] for item in history],
        "chat_last_user_message": texts["user"],
        "chat_last_assistant_message": texts["assistant"],
    }
    return variables | {name: newest[-1] for name, newest in last.items() if newest}


_PLACEHOLDERS: Final = ("charBefore", "charDescription", "charAfter", "personaDescription", "chatHistory")

DEFAULT_PRESET: Final[dict[str, Any]] = {
    "name": "Default",
    "prompts": [
        {"identifier": name, "name": name, "enabled": True, "role": "system", "position": "relative"}
        for name in _PLACEHOLDERS
    ],
    "regex_rules": [],
}
"""Never modified: every operation copies the parts it keeps."""
