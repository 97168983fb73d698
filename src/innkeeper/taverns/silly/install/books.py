"""The lorebooks of a build: those of the settings, the chat, the persona and the card, from the folder ``worlds``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from innkeeper.prompt.errors import InputError
from innkeeper.prompt.note import NoteKind
from innkeeper.taverns.silly.install.files import UserFolder, list_of, mapping_of, text_of
from innkeeper.taverns.silly.install.names import NamedCard
from innkeeper.taverns.silly.install.selected import Selected

WORLDS: Final = "worlds"


def lorebooks(
    folder: UserFolder, selected: Selected, metadata: Mapping[str, Any], speaker: NamedCard | None, persona: str
) -> list[dict[str, Any]]:
    """Each book with its scope, as a request takes it. ``persona`` names the persona's book, or is empty.

    A book that is not there is empty in the original; here it is left out, with a note.
    """
    read: dict[str, Any] = {}
    for _, name in (named := list(_named(selected, metadata, speaker, persona))):
        if name not in read:
            read[name] = _book(folder, name)
    return [{"name": name, "scope": scope, "book": read[name]} for scope, name in named if read[name] is not None]


def _named(
    selected: Selected, metadata: Mapping[str, Any], speaker: NamedCard | None, persona: str
) -> Iterator[tuple[str, str]]:
    info = mapping_of(selected.raw, "world_info_settings", "world_info")
    yield from (("global", name) for name in map(text_of, list_of(info.get("globalSelect"))) if name)
    for scope, name in (("chat", text_of(metadata.get("world_info"))), ("persona", persona)):
        if name:
            yield scope, name
    if speaker is not None:
        if speaker.card.world:
            yield "character", speaker.card.world
        for record in map(mapping_of, list_of(info.get("charLore"))):
            if record.get("name") == speaker.stem:
                extra = map(text_of, list_of(record.get("extraBooks")))
                yield from (("character_extra", name) for name in extra if name)


def _book(folder: UserFolder, name: str) -> Any:
    from innkeeper.content.lorebook import Lorebook

    file = f"{name}.json"
    if folder.path(WORLDS, file) is None:
        folder.note(f"the lorebook {name[:80]!r} is not there: it has no entries", at=WORLDS, kind=NoteKind.WARNING)
        return None
    raw = folder.json(WORLDS, file, keys_limit="lore_json_keys")
    try:
        return None if raw is None else Lorebook.of(raw)
    except InputError as error:
        folder.note(f"the lorebook cannot be read: {error.message}", at=f"{WORLDS}/{file}")
        return None
