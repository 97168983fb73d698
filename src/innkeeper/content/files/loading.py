"""Loading: readers that take a path or bytes, one for each kind of asset, and one that detects the kind.

A `PresetFile` is what a JSON file of settings holds: one preset or template, or a master export of several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, Final

import msgspec

from innkeeper.content.character import Character
from innkeeper.content.chat import ChatLog, read_chat
from innkeeper.content.errors import LIMITS, AssetError, Limits, WrongKindError
from innkeeper.content.files.format import Formats, OpenFile
from innkeeper.content.files.formats import FORMATS, open_card, sniff
from innkeeper.content.files.reader import Reader, Source
from innkeeper.content.files.risu import MODULE, RisuModule, read_module, read_module_json, read_preset
from innkeeper.content.finding import Finding, Path
from innkeeper.content.json.document import Document
from innkeeper.content.json.json_asset import JsonAsset, kind_of_json
from innkeeper.content.json.text import decode_json, encode_json
from innkeeper.content.lorebook import Lorebook, read_lorebook
from innkeeper.content.persona import Persona, read_personas
from innkeeper.content.preset import Preset, TextPreset
from innkeeper.content.templates import ContextTemplate, InstructTemplate, ReasoningTemplate, SystemPrompt
from innkeeper.prompt.errors import InputError, Where


def load_asset(
    source: Source,
    *,
    limits: Limits = LIMITS,
    formats: Formats = FORMATS,
    unknown: Callable[[Source], Any] | None = None,
) -> Any:
    """Load a file by its content: a `Character`, `Persona`, `Lorebook`, `ChatLog` or `PresetFile`.

    A file of up to ``limits.file_bytes`` is read once; a larger one, an archive or a chat, from where it is.

    Args:
        source: a path, or the bytes.
        limits: the limits to hold.
        formats: other formats than these.
        unknown: what reads JSON of no known kind.

    Raises:
        MissingFileError: the file cannot be opened.
        WrongKindError: it holds none of these; the message says why.
        InputError: what the reader of its kind raises.
    """
    with Reader(source, limits, size_limit="archive_bytes") as reader:
        data = reader.all() if reader.size <= limits.file_bytes else source
        name = reader.name
    sniffed = sniff(data, limits=limits, formats=formats)
    load = _LOADERS.get(sniffed.kind)
    if load is None and sniffed.container == "json":
        if isinstance(data, bytes):
            decode_json(data, limits, name=name, keys_limit="lore_json_keys")  # says where it stops to be JSON
        load = unknown
    try:
        if load is None:
            what = sniffed.reason or f"this holds no card, persona, lorebook, preset or chat ({sniffed.kind})"
            raise WrongKindError(what, found=sniffed.kind)
        asset = load(data)
    except InputError as error:
        raise error.at(asset=name) from error.__cause__
    return _named(asset, name) if isinstance(asset, Lorebook) else asset


def load_character(
    source: Source, *, limits: Limits = LIMITS, lenient: bool = False, formats: Formats = FORMATS
) -> Character:
    """The character in a JSON, PNG, APNG, CHARX or BYAF file. Raises what `open_card` raises."""
    return open_card(source, limits=limits, lenient=lenient, formats=formats).character


def load_lorebook(source: Source, *, limits: Limits = LIMITS) -> Lorebook:
    """A lorebook from a JSON file of any known shape, or the one in a card.

    Raises:
        MissingFileError: the file cannot be opened.
        AssetError: it has no entries.
        WrongKindError: a card without a book.
        FormatError, LimitError: it cannot be read, or is beyond a limit.
    """
    with Reader(source, limits, size_limit="archive_bytes") as reader:
        if OpenFile(reader, source, FORMATS).format.name == "json":
            reader.check("file_bytes", reader.size, "the file")
            document = Document.parse(reader.all(), limits, name=reader.name, keys_limit="lore_json_keys")
            if kind_of_json(document.tree) != "character":
                return _read_book(document, limits, reader.name)
        name = reader.name
    book = load_character(source, limits=limits).book
    if book is None:
        raise WrongKindError("the card has no lorebook in it", found="character", where=Where(asset=name))
    return book


def load_preset_file(source: Source, *, limits: Limits = LIMITS) -> PresetFile:
    """The presets and templates in a JSON file.

    Raises:
        MissingFileError: the file cannot be opened.
        AssetError: there is none.
        WrongKindError: it is something else.
        FormatError, LimitError: it cannot be read, or is beyond a limit.
    """
    with Reader(source, limits) as reader:
        is_packed = OpenFile(reader, source, FORMATS).format.name in ("gzip", "risup")
        data = reader.all()
        if is_packed:
            data = encode_json(read_preset(data, limits=limits, asset=reader.name))
        document = Document.parse(data, limits, name=reader.name)
        return read_preset_file(document, limits=limits, name=reader.name)


def load_preset(source: Source, *, limits: Limits = LIMITS) -> Preset:
    """The chat-completion preset in a JSON file. Raises what `load_preset_file` raises."""
    file = load_preset_file(source, limits=limits)
    if file.preset is None:
        hint = "load_preset_file reads templates and master exports"
        raise AssetError(f"this is not a chat preset but a {file.kind}", hint=hint)
    return file.preset


def load_personas(source: Source, *, limits: Limits = LIMITS) -> tuple[Persona, ...]:
    """All personas in a JSON file: one, a list, or SillyTavern's backup of all.

    Raises:
        MissingFileError: the file cannot be opened.
        AssetError: there is none.
        FormatError, LimitError: it cannot be read, or is beyond a limit.
    """
    with Reader(source, limits) as reader:
        document = Document.parse(reader.all(), limits, name=reader.name)
        try:
            return read_personas(document, limits=limits, name=reader.name)
        except AssetError as error:
            raise error.at(asset=reader.name) from None


def load_persona(source: Source, name: str | None = None, *, limits: Limits = LIMITS) -> Persona:
    """One persona: by name, else the default one, else the only or first one. Raises what `load_personas` raises."""
    personas = load_personas(source, limits=limits)
    matching = [p for p in personas if name in {p.name, p.avatar}] if name is not None else list(personas)
    if not matching:
        known = ", ".join(sorted({persona.name for persona in personas}))
        raise AssetError(f"there is no persona {name!r}", hint=f"there are: {known}" if known else None)
    return next((persona for persona in matching if persona.is_default), matching[0])


def load_chat(source: Source, *, limits: Limits = LIMITS, lenient: bool = False) -> ChatLog:
    """A chat from JSON lines or JSON. Raises what `read_chat` raises, and `MissingFileError`."""
    with Reader(source, limits, size_limit="chat_bytes") as reader:
        return read_chat(reader.all(), limits=limits, name=reader.name, lenient=lenient)


def load_risu_module(source: Source, *, limits: Limits = LIMITS) -> RisuModule:
    """A module of RisuAI's (``.risum`` or JSON). Raises `MissingFileError`, and what `read_module` raises."""
    with Reader(source, limits, size_limit="archive_bytes") as reader:
        data = reader.all()
        read = read_module if data.startswith(MODULE) else read_module_json
        return read(data, limits=limits, asset=reader.name)


def _read_book(document: Document, limits: Limits, name: str | None) -> Lorebook:
    try:
        return _named(read_lorebook(document, limits=limits), name)
    except InputError as error:
        raise error.at(asset=name) from None


def _named(book: Lorebook, name: str | None) -> Lorebook:
    """The book; one without a name inside is called by its file, as SillyTavern's books are."""
    stem = PurePath(name or "").stem if (name or "").endswith(".json") else ""
    return book if book.name or not stem else msgspec.structs.replace(book, name=stem)


_CHARACTERS: Final = ("character", "byaf character", "byaf manifest")
_CHATS: Final = ("chat", "chat header", "chat message")


class PresetFile(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a settings file; ``None`` for absent ones."""

    kind: str
    preset: Preset | None = None
    context: ContextTemplate | None = None
    instruct: InstructTemplate | None = None
    sysprompt: SystemPrompt | None = None
    reasoning: ReasoningTemplate | None = None
    text_preset: TextPreset | None = None
    document: Document = Document(None)

    @property
    def parts(self) -> tuple[JsonAsset, ...]:
        """Everything in it."""
        parts = (self.preset, self.context, self.instruct, self.sysprompt, self.reasoning, self.text_preset)
        return tuple(part for part in parts if part is not None)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings about all parts."""
        return tuple(dict.fromkeys(finding for part in self.parts for finding in part.findings))


_SINGLE: Final[Mapping[str, tuple[str, type[JsonAsset]]]] = {
    "chat preset": ("preset", Preset),
    "risu preset": ("preset", Preset),
    "tavernkit preset": ("preset", Preset),
    "context template": ("context", ContextTemplate),
    "instruct template": ("instruct", InstructTemplate),
    "system prompt": ("sysprompt", SystemPrompt),
    "reasoning template": ("reasoning", ReasoningTemplate),
    "text preset": ("text_preset", TextPreset),
}
"""Kinds of JSON that are one preset or template."""

_LOADERS: Final[Mapping[str, Callable[[Source], Any]]] = {
    **dict.fromkeys(_CHARACTERS, load_character),
    **dict.fromkeys(_CHATS, load_chat),
    **dict.fromkeys((*_SINGLE, "master export"), load_preset_file),
    "lorebook": load_lorebook,
    "risu module": load_risu_module,
    "persona": load_persona,
}
"""The reader of each kind that `sniff` detects."""

_MASTER: Final[Mapping[str, tuple[str, type[JsonAsset]]]] = {
    "instruct": ("instruct", InstructTemplate),
    "context": ("context", ContextTemplate),
    "sysprompt": ("sysprompt", SystemPrompt),
    "reasoning": ("reasoning", ReasoningTemplate),
    "preset": ("text_preset", TextPreset),
}
"""The parts of a master export."""


def read_preset_file(document: Document, *, limits: Limits = LIMITS, name: str | None = None) -> PresetFile:
    """The presets and templates of a document.

    Raises:
        AssetError: there is none.
        WrongKindError: it is something else that is read elsewhere.
    """
    kind = kind_of_json(document.tree)
    if kind == "master export":
        parts = {
            attribute: cls.read(document, (key,), limits=limits)
            for key, (attribute, cls) in _MASTER.items()
            if isinstance(document.tree.get(key), dict)
        }
        return _file(kind, parts, document)
    if kind in _SINGLE:
        attribute, cls = _SINGLE[kind]
        return _file(kind, {attribute: cls.read(document, limits=limits)} | _old_sysprompt(document, kind), document)
    if kind != "unknown":
        raise WrongKindError(f"this is not a preset but a {kind}", found=kind, where=Where(asset=name))
    hint = "a chat preset has `prompts`, a context template `story_string`, an instruct template sequences"
    raise AssetError("this JSON is not a preset or template", where=Where(asset=name), hint=hint)


def _old_sysprompt(document: Document, kind: str) -> dict[str, Any]:
    """The system prompt that instruct templates had in them before it became a template of its own."""
    path: Path = ()
    if kind != "instruct template" or not isinstance(document.tree.get("system_prompt"), str):
        return {}
    return {"sysprompt": SystemPrompt.read(document, path)}


def _file(kind: str, parts: Mapping[str, Any], document: Document) -> PresetFile:
    return PresetFile(kind=kind, document=document, **parts)
