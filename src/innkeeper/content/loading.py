"""Loading: the readers that take a path or bytes, one for each kind of asset."""

from __future__ import annotations

from innkeeper.content.card_file import open_card
from innkeeper.content.character import Character
from innkeeper.content.chat import Chat
from innkeeper.content.chat_reading import read_chat
from innkeeper.content.document import Document
from innkeeper.content.errors import PersonaError, PresetError, WrongKindError
from innkeeper.content.limits import LIMITS, Limits
from innkeeper.content.lorebook import Lorebook, read_lorebook
from innkeeper.content.persona import Persona, read_personas
from innkeeper.content.preset import Preset
from innkeeper.content.preset_file import PresetFile, read_preset_file
from innkeeper.content.reader import Reader, Source
from innkeeper.content.shapes import kind_of_json
from innkeeper.content.sniffing import container_of
from innkeeper.prompt.errors import InputError, Where

__all__ = [
    "load_character",
    "load_chat",
    "load_lorebook",
    "load_persona",
    "load_personas",
    "load_preset",
    "load_preset_file",
]


def load_character(source: Source, *, limits: Limits = LIMITS, lenient: bool = False) -> Character:
    """The character in a JSON, PNG, APNG, CHARX or BYAF file. Raises what `open_card` raises."""
    return open_card(source, limits=limits, lenient=lenient).character


def load_lorebook(source: Source, *, limits: Limits = LIMITS) -> Lorebook:
    """A lorebook from a JSON file of any known shape, or the one in a card.

    Raises:
        MissingFileError: the file cannot be opened.
        LorebookError: it has no entries.
        WrongKindError: a card without a book.
        FormatError, ContentLimitError: it cannot be read, or is beyond a limit.
    """
    with Reader(source, limits, size_limit="archive_bytes") as reader:
        if container_of(reader) == "json":
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
        PresetError: there is none.
        WrongKindError: it is something else.
        FormatError, ContentLimitError: it cannot be read, or is beyond a limit.
    """
    with Reader(source, limits) as reader:
        document = Document.parse(reader.all(), limits, name=reader.name)
        return read_preset_file(document, limits=limits, name=reader.name)


def load_preset(source: Source, *, limits: Limits = LIMITS) -> Preset:
    """The chat-completion preset in a JSON file. Raises what `load_preset_file` raises."""
    file = load_preset_file(source, limits=limits)
    if file.preset is None:
        hint = "load_preset_file reads templates and master exports"
        raise PresetError(f"this is not a chat preset but a {file.kind}", hint=hint)
    return file.preset


def load_personas(source: Source, *, limits: Limits = LIMITS) -> tuple[Persona, ...]:
    """All personas in a JSON file: one, a list, or SillyTavern's backup of all.

    Raises:
        MissingFileError: the file cannot be opened.
        PersonaError: there is none.
        FormatError, ContentLimitError: it cannot be read, or is beyond a limit.
    """
    with Reader(source, limits) as reader:
        document = Document.parse(reader.all(), limits, name=reader.name)
        return read_personas(document, limits=limits, name=reader.name)


def load_persona(source: Source, name: str | None = None, *, limits: Limits = LIMITS) -> Persona:
    """One persona: by name, else the default one, else the only or first one. Raises what `load_personas` raises."""
    personas = load_personas(source, limits=limits)
    found = [p for p in personas if name in {p.name, p.avatar}] if name is not None else list(personas)
    if not found:
        known = ", ".join(sorted({persona.name for persona in personas}))
        raise PersonaError(f"there is no persona {name!r}", hint=f"there are: {known}" if known else None)
    return next((persona for persona in found if persona.is_default), found[0])


def load_chat(source: Source, *, limits: Limits = LIMITS, lenient: bool = False) -> Chat:
    """A chat from JSON lines or JSON. Raises what `read_chat` raises, and `MissingFileError`."""
    with Reader(source, limits, size_limit="chat_bytes") as reader:
        return read_chat(reader.all(), limits=limits, name=reader.name, lenient=lenient)


def _read_book(document: Document, limits: Limits, name: str | None) -> Lorebook:
    try:
        return read_lorebook(document, limits=limits)
    except InputError as error:
        raise error.at(asset=name) from None
