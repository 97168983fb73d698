"""SillyInputs: everything a request gives this tavern, typed: cards, persona, chat, preset, settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from innkeeper.budget.settings import note_unknown_window
from innkeeper.content.character import Character
from innkeeper.content.finding import Level
from innkeeper.content.persona import Persona
from innkeeper.content.preset import Preset
from innkeeper.content.templates import ContextTemplate, InstructTemplate, SystemPrompt
from innkeeper.dialects.registry import TEXT_DIALECTS
from innkeeper.dialects.sillytavern.post_processing import MODES, TOOLLESS_TYPES
from innkeeper.lore import LoreScope, LoreSettings, ScopedBook
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.data import EMPTY, freeze
from innkeeper.prompt.errors import UsageError, Where
from innkeeper.prompt.message import messages_of
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.payload.dialect import reply_limit
from innkeeper.prompt.request import GENERATION_TYPES, BuildRequest
from innkeeper.prompt.run.state import State
from innkeeper.prompt.text import kind_of
from innkeeper.taverns.assets import (
    Assets,
    AuthorsNote,
    assets_of,
    character_of,
    messages_in_known_roles,
    note_of,
    persona_of,
    preset_of,
)
from innkeeper.taverns.inputs import warn_of
from innkeeper.taverns.silly.cache_friendly import CacheFriendly
from innkeeper.taverns.silly.extensions.cfg import Guidance, guidance_of, is_missing
from innkeeper.taverns.silly.extensions.memory import MemorySettings
from innkeeper.taverns.silly.extensions.note import character_note, note_fields
from innkeeper.taverns.silly.extensions.vectors import BankFile, VectorSettings, bank_files
from innkeeper.taverns.silly.lines.group import Group, group_of, speaker_of
from innkeeper.taverns.silly.lines.line import Line, lines_of, spoken_lines
from innkeeper.taverns.silly.settings import (
    LARGEST_WINDOW,
    CharacterNote,
    Generation,
    PowerUser,
    Quirks,
    check_shapes,
    compat_of,
    noted_settings,
)
from innkeeper.tokens.table.catalogue import known_window

T = TypeVar("T", bound=msgspec.Struct)


class TextSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of text completion: the templates, and lengths in tokens. ``instruct`` is ``None`` when it is off."""

    context: ContextTemplate
    sysprompt: SystemPrompt
    instruct: InstructTemplate | None = None
    max_context: int = 8192
    amount_gen: int = 300
    textgen: Mapping[str, Any] = EMPTY
    raw: Mapping[str, Any] = EMPTY


class SillyInputs(msgspec.Struct, frozen=True, kw_only=True):
    """A request, typed. ``character`` is the speaker; in a group one of ``group.members``."""

    character: Character
    persona: Persona
    lines: tuple[Line, ...]
    preset: Preset
    lore: LoreSettings
    books: tuple[ScopedBook, ...]
    power: PowerUser
    note: AuthorsNote
    generation: Generation
    type: str
    message: str = ""
    group: Group | None = None
    character_note: CharacterNote | None = None
    text: TextSettings | None = None
    chat_id: str = ""
    metadata: Mapping[str, Any] = EMPTY
    filename: str = ""
    tags: tuple[str, ...] = ()
    macro_vars: Mapping[str, Any] = EMPTY
    compat: Quirks = Quirks()
    guidance: Guidance | None = None
    memory: MemorySettings | None = None
    vectors: VectorSettings | None = None
    bank: tuple[BankFile, ...] = ()
    cache: CacheFriendly | None = None
    default_note: str = ""
    """The author's note of chats without one of their own, for the macro."""
    rare: frozenset[str] = frozenset()
    """Those of `RARE` that any of the lines has."""

    @property
    def user(self) -> str:
        """The user's name."""
        return self.persona.name

    @property
    def char(self) -> str:
        """The speaker's name."""
        return self.character.name

    @property
    def calls_tools(self) -> bool:
        """Whether tools are offered and their history is sent: not by modes that drop them, nor to sources that have none."""
        name, preset = self.preset.custom_prompt_post_processing, self.preset
        mode = MODES.get(name)
        if self.is_text or preset.chat_completion_source == _TOOLLESS:
            return False
        return preset.function_calling and (mode.tools if mode is not None else not name)

    @property
    def offers_tools(self) -> bool:
        """Whether tools are offered now: not to generations that cannot be interrupted."""
        return self.calls_tools and self.type not in TOOLLESS_TYPES

    @property
    def is_text(self) -> bool:
        """Whether the prompt is one text."""
        return self.text is not None

    @property
    def context_tokens(self) -> int:
        """The window less the reply, in tokens: what prompt and lore budget are shares of."""
        return self.max_context - self.max_response

    @property
    def max_context(self) -> int:
        """The window, in tokens."""
        return self.text.max_context if self.text is not None else self.preset.context_window or DEFAULT_WINDOW

    @property
    def max_response(self) -> int:
        """The tokens set aside for the reply."""
        if self.text is not None:
            return self.text.amount_gen
        return DEFAULT_REPLY if self.preset.max_tokens is None else self.preset.max_tokens

    def spoken(self, lines: tuple[Line, ...]) -> tuple[Line, ...]:
        """The lines as they are sent: where no tools are called, those of calls as lines of text."""
        return lines if self.calls_tools or "tool_calls" not in self.rare else tuple(spoken_lines(lines))

    def replace(self, **fields: Any) -> SillyInputs:
        """A copy with other fields."""
        return msgspec.structs.replace(self, **fields)


_TOOLLESS: Final = "perplexity"
DEFAULT_WINDOW: Final = 8192
DEFAULT_REPLY: Final = 300


def read_inputs(state: State) -> SillyInputs:
    """The typed inputs of a build. Raises the content floor's errors for assets, `ConfigError` for settings."""
    request, compat, assets = state.request, compat_of(state.request.profile), assets_of(state)
    settings = request.settings
    check_shapes(state)
    group = group_of(state, assets)
    character = speaker_of(state, assets, group)
    own = None if group is None else group.member(character)
    filename = str(settings.get("character_filename") or character.name) if own is None else own.file
    chat = lines_of(assets.history, user=assets.persona.name, char=character.name)
    own_note = settings.get("character_note") or character_note(settings.get("note") or EMPTY, filename)
    return SillyInputs(
        character=character,
        persona=assets.persona,
        lines=chat.lines,
        rare=chat.rare,
        preset=_preset(assets.preset or Preset.of({}), state),
        lore=_lore(settings, compat),
        books=tuple(_books(state, assets, character)),
        power=noted_settings(state, PowerUser, settings.get("power_user"), "power_user"),
        note=_note(state, assets),
        generation=_generation(state, group),
        type=_type(request.generation, group),
        message=request.message,
        group=group,
        character_note=None if own_note is None else noted_settings(state, CharacterNote, own_note, "character_note"),
        text=_text(assets, state) if request.dialect in TEXT_DIALECTS else None,
        chat_id=str(settings.get("chat_id") or ""),
        metadata=assets.metadata,
        filename=filename,
        tags=(() if own is None else own.tags) or tuple(map(str, settings.get("character_tags") or ())),
        macro_vars=request.macro_vars,
        compat=compat,
        guidance=_guidance(state, assets, filename),
        memory=_extension(state, MemorySettings, "memory"),
        vectors=_extension(state, VectorSettings, "vectors"),
        bank=_bank(state, assets, filename),
        cache=_cache(state),
        default_note=str((settings.get("note") or EMPTY).get("default") or ""),
    )


def inputs_with(state: State, inputs: SillyInputs, changed: Mapping[str, Any]) -> SillyInputs:
    """The inputs with the values set by hooks, each read as the request's own is. Raises the errors of `read_inputs`."""
    fields = {_HOOKED[name]: _READERS[name](value) for name, value in changed.items()}
    for name in [name for name in ("character", "user", "preset") if name in changed]:
        for finding in fields[_HOOKED[name]].findings:
            if finding.level is not Level.INFO:
                warn_of(state, name, finding)
    if "preset" in fields:
        fields["preset"] = _preset(fields["preset"], state)
    inputs = inputs.replace(**{name: value for name, value in fields.items() if name != "lines"})
    if changed.keys() & {"history", "user", "character"}:
        messages = fields.get("lines", assets_of(state).history)
        chat = lines_of(messages, user=inputs.user, char=inputs.char)
        inputs = inputs.replace(lines=chat.lines, rare=chat.rare)
    return inputs


def _message(value: Any) -> str:
    if not isinstance(value, str):
        raise UsageError(f"a before_build hook left {kind_of(value)} in place of the user's message")
    return value


_HOOKED: Final = {
    "character": "character",
    "user": "persona",
    "preset": "preset",
    "history": "lines",
    "user_message": "message",
    "macro_vars": "macro_vars",
}
"""The keys that hooks may set, and the fields of the inputs that they change."""

_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "character": lambda value: character_of(value) or Character(name=""),
    "user": persona_of,
    "preset": lambda value: preset_of(value) or Preset.of({}),
    "history": lambda value: messages_in_known_roles(messages_of(value)),
    "user_message": _message,
    "macro_vars": lambda value: freeze(value or {}),
}


def _type(generation: str, group: Group | None) -> str:
    """The generation type; a normal turn for one that is not known.

    In a group a reply is taken away before it is made anew, so that is a normal turn too.
    """
    again = generation == "regenerate" and group is not None
    return "normal" if again or generation not in GENERATION_TYPES else generation


def _generation(state: State, group: Group | None) -> Generation:
    """The options of this generation. A group does not pass on that an answer is spoken, or which texts are left out."""
    generation = noted_settings(state, Generation, state.request.settings.get("generation"), "generation")
    return generation if group is None else msgspec.structs.replace(generation, quiet_to_loud=False, skip_wian=False)


def _lore(settings: Mapping[str, Any], compat: Quirks) -> LoreSettings:
    lore_settings = LoreSettings.of(settings.get("wi_settings") or settings.get("world_info"))
    return lore_settings if compat.ascii_words else msgspec.structs.replace(lore_settings, unicode_words=True)


def _extension(state: State, kind: type[T], name: str) -> T | None:
    """The settings of an extension; ``None`` if it has none or is switched off."""
    settings = state.request.settings
    if settings.get(name) is None or name in (settings.get("disabled_extensions") or ()):
        return None
    return noted_settings(state, kind, settings[name], name)


def _cache(state: State) -> CacheFriendly | None:
    friendly = CacheFriendly.of(state.request.settings.get("cache_friendly"))
    if friendly is None or state.request.dialect not in TEXT_DIALECTS:
        return friendly
    message = "settings.cache_friendly has no effect on text completion"
    state.note(NoteKind.IGNORED, message, data={"input": "settings.cache_friendly"})
    return None


def _bank(state: State, assets: Assets, filename: str) -> tuple[BankFile, ...]:
    """The files of the data bank that are not switched off: everybody's, the chat's, the character's."""
    settings = state.request.settings
    of_character = (settings.get("character_attachments") or EMPTY).get(f"{filename}.png")
    listed = [
        files
        for files in (settings.get("attachments"), assets.metadata.get("attachments"), of_character)
        if files and isinstance(files, (list, tuple))
    ]
    if not listed:
        return ()
    if settings.get("vectors") is None:
        message = "the files of the data bank are not used: no settings of the extension vectors are given"
        state.note(NoteKind.IGNORED, message, data={"input": "attachments"})
        return ()
    return bank_files(
        *listed,
        disabled=settings.get("disabled_attachments") or (),
        report=lambda name: state.note(
            NoteKind.IGNORED, f"the file {name!r} of the data bank has no text", data={"input": "attachments"}
        ),
    )


def _guidance(state: State, assets: Assets, filename: str) -> Guidance | None:
    settings, metadata = state.request.settings.get("cfg") or EMPTY, assets.metadata
    if not settings and not any(key.startswith("cfg_") for key in metadata):
        return None
    in_group = state.request.group is not None
    if is_missing(settings, metadata, filename, in_group=in_group):
        message = (
            "the chat asks for the character's guidance, and there is none, which stops SillyTavern: it is left out"
        )
        state.warn(message, where=Where(asset="settings", path="cfg.chara"))
    return guidance_of(settings, metadata, filename, in_group=in_group)


def _note(state: State, assets: Assets) -> AuthorsNote:
    note, fields, defaults = assets.note, assets.note_fields, state.request.settings.get("note")
    if defaults and state.request.authors_note is None:
        fields = note_fields(defaults, assets.metadata)
        note = note_of(fields)
    for field in fields if isinstance(fields, Mapping) else ():
        if field not in AuthorsNote.__struct_fields__:
            name = f"authors_note.{field}"
            state.note(NoteKind.IGNORED, f"{name} has no effect in this tavern", data={"input": name})
    if note.text and note.position == 1 and note.depth < 0:
        where = Where(asset="request", path="authors_note.depth")
        state.warn(f"the chat has no depth {note.depth}: the author's note is not sent", where=where)
    return note


def _asked_window(request: BuildRequest) -> int | None:
    """The window that is asked for; 0 is none, as in every tavern."""
    return LARGEST_WINDOW if request.context_window == 0 else request.context_window


def _asked_reserve(request: BuildRequest) -> int | None:
    """The reply's share that is asked for; 0 is asked for as well, and an option that allows the answer more counts."""
    limit = reply_limit(request.options)
    return max(request.reserved_tokens or 0, limit) if limit else request.reserved_tokens


def _preset(preset: Preset, state: State) -> Preset:
    request = state.request
    window, reserve = _asked_window(request), _asked_reserve(request)
    if not (window or preset.context_window or request.dialect in TEXT_DIALECTS):
        window = _model_window(state)
    numbers: dict[str, Any] = {} if window is None else {"context_window": window}
    if reserve is not None or preset.max_tokens == 0:
        numbers["max_tokens"] = reserve
    if request.tools and "function_calling" not in (preset.document.at(preset.path) or {}):
        numbers["function_calling"] = True
    return msgspec.structs.replace(preset, **numbers) if numbers else preset


def _model_window(state: State) -> int:
    """Return the window of the request's model; notes where nobody knows it and the default counts."""
    window = known_window(state.request.model)
    if window is None:
        note_unknown_window(state, f"the prompt is made for {DEFAULT_WINDOW:,} tokens")
    return window or DEFAULT_WINDOW


_SCOPES: Final = {"character_extra": LoreScope.CHARACTER, "global": LoreScope.GLOBAL, "chat": LoreScope.CHAT,
                  "persona": LoreScope.PERSONA, "character": LoreScope.CHARACTER}  # fmt: skip
_SINGLE: Final = frozenset({"chat", "persona", "character"})
"""Scopes that hold one book: a later one replaces an earlier one."""


def _books(state: State, assets: Assets, character: Character) -> list[ScopedBook]:
    """The books of this build. A book of several scopes counts in the first: global, chat, persona, character.

    The character's own book stands before its extra books, whatever their order in the request.
    """
    books: list[tuple[str, ScopedBook]] = []
    charge("lore", _BOOK_STEPS * len(assets.books))
    for index, candidate in enumerate(assets.books):
        scope = candidate.scope
        if scope not in _SCOPES:
            state.note(NoteKind.IGNORED, f"lorebook {index} has the scope {scope!r}: it is not used")
            continue
        if scope in _SINGLE:
            books = [pair for pair in books if pair[0] != scope]
        books.append((scope, ScopedBook(candidate.name or f"book {index}", _SCOPES[scope], candidate.lorebook)))
    books += _embedded(state, character, books)
    books.sort(key=lambda pair: pair[0] == "character_extra")
    before = {scope: _before(books, scope) for scope in dict(books)}
    return [book for scope, book in books if book.name not in before[scope]]


_BOOK_STEPS: Final = 300
"""The steps charged for reading one book's settings, however short."""

_FIRST: Final = ("global", "chat", "persona", "character")


def _before(books: list[tuple[str, ScopedBook]], scope: str) -> set[str]:
    """The names of books that count in a scope which comes before ``scope``."""
    scopes = _FIRST[: _FIRST.index(scope)] if scope in _FIRST else _FIRST
    return {book.name for other, book in books if other in scopes}


def _embedded(state: State, character: Character, books: list[tuple[str, ScopedBook]]) -> list[tuple[str, ScopedBook]]:
    """The card's own book, when the request asks for it (SillyTavern uses it only once it was imported)."""
    imports_book = state.request.settings.get("import_character_book", True)
    if character.book is None or any(scope == "character" for scope, _ in books):
        return []
    if not imports_book:
        state.note(NoteKind.IGNORED, "the card's lorebook is not used: import_character_book is off")
        return []
    name = character.book.name or f"{character.name}'s Lorebook"
    return [("character", ScopedBook(name, LoreScope.CHARACTER, character.book))]


def _text(assets: Assets, state: State) -> TextSettings:
    request = state.request
    fields = request.settings.get("text") or EMPTY
    reserve = _asked_reserve(request)
    return TextSettings(
        context=assets.templates.context,
        sysprompt=assets.templates.sysprompt,
        instruct=assets.templates.instruct,
        max_context=_asked_window(request) or fields.get("max_context") or _model_window(state),
        amount_gen=reserve if reserve is not None else fields.get("amount_gen") or DEFAULT_REPLY,
        textgen=fields.get("textgen") or EMPTY,
        raw=fields,
    )
