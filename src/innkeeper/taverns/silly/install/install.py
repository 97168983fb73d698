"""Install: a SillyTavern user's folder, and the request for what SillyTavern would send next from it.

The folder is only read. A `InstalledRequest` holds the request for a character or a group and a chat, the chat as a value, and
notes of what the files hold that is not carried along. Each part of a request has a module of its own here: what is selected,
the chat, the persona, the group's members. Lorebooks, and the files that extensions search (`data_bank`), are read here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from innkeeper.content.errors import LIMITS, Limits
from innkeeper.prompt.data import EMPTY, FrozenDict, deep_merge
from innkeeper.prompt.determinism import Randomness
from innkeeper.prompt.errors import InnkeeperError, InputError, UsageError, Where
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.prompt.request import BuildRequest
from innkeeper.taverns.silly.extensions.note import note_fields
from innkeeper.taverns.silly.install.chats import (
    OpenChat,
    group_chat,
    one_to_one_chat,
    resolve_greeting,
    script_injections,
)
from innkeeper.taverns.silly.install.contents import WORLDS, Contents, contents_of
from innkeeper.taverns.silly.install.files import SETTINGS, UserFolder, list_of, mapping_of, text_of, user_folder
from innkeeper.taverns.silly.install.groups import OpenGroup, greet, open_group
from innkeeper.taverns.silly.install.names import NamedCard, card_of, find_card, find_group, groups
from innkeeper.taverns.silly.install.persona import ActivePersona, active_persona
from innkeeper.taverns.silly.install.selected import CHAT_API, Selected, selecting

if TYPE_CHECKING:
    from innkeeper.content.chat import ChatLog
    from innkeeper.prompt import Plan, Ports


class InstalledRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request, its ``chat``, the chat's present or future file (``chat_file``), and notes on the files.

    ``presets`` are the files of the presets and templates that are selected, where they are there.
    """

    request: BuildRequest
    chat: ChatLog
    chat_file: str
    is_new: bool
    character: str
    persona: str
    notes: tuple[Note, ...] = ()
    presets: tuple[str, ...] = ()
    media: Callable[[str], bytes | None] | None = None
    """Reads pictures and files of the folder that the chat names: a port of builds."""

    def __str__(self) -> str:
        """Name speaker, user and chat."""
        chat = f"{self.chat_file} (new)" if self.is_new else self.chat_file
        return f"{self.character or 'nobody'} and {self.persona or 'a user without a persona'} in {chat}"

    def build(self, ports: Ports | None = None, **inputs: Any) -> Plan:
        """The plan, with the notes of the files before its own. Raises what `Tavern.build` raises."""
        from innkeeper.prompt import Ports
        from innkeeper.taverns.silly import build

        ports = ports or Ports()
        plan = build(self.request, replace(ports, media=ports.media or self.media), **inputs)
        return plan.with_(notes=(*self.notes, *plan.notes))


_SHOWN: Final = 30
"""The number of names that an error lists."""


def _choices(folder: UserFolder) -> str:
    """The available names, in a line: characters by their files, which are not opened for it, and groups."""
    names = [f"--character {name.removesuffix('.png')!r}" for name in folder.names("characters", suffix=".png")]
    names += [f"--group {group.name!r}" for group in groups(folder)]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}" if names else "there is neither a character nor a group in it"


class Install:
    """A user's folder of an install. Nothing is remembered of its files: each call reads them as they are."""

    def __init__(self, folder: UserFolder, changes: Mapping[str, Any] = EMPTY) -> None:
        self.folder = folder
        self.changes = changes

    @classmethod
    def open(
        cls,
        path: str | Path,
        user: str | None = None,
        *,
        changes: Mapping[str, Any] = EMPTY,
        limits: Limits = LIMITS,
        linked: Iterable[str | Path] = (),
    ) -> Self:
        """The folder of a user, or the data folder or install that it is in. Raises what `user_folder` raises.

        ``changes`` are settings that hold instead of those in ``settings.json``, in its shape; nothing is written.
        ``linked`` are folders outside that links in it may lead to.
        """
        return cls(user_folder(path, user, limits=limits, linked=linked), changes)

    def contents(self) -> Contents:
        """List what there is in the folder to choose from."""
        return contents_of(self.folder.again())

    def prepare(
        self,
        character: str | None = None,
        *,
        group: str | None = None,
        chat: str | None = None,
        presets: tuple[str, ...] = (),
        chat_only: bool = False,
        **fields: Any,
    ) -> InstalledRequest:
        """Return the request that SillyTavern would send next; ``fields`` are fields of the request, over the folder's.

        Args:
            character: the name of a card's file, or of its character; in a group it is who speaks. Without it and without
                a group, what the settings remember as open.
            group: the name of a group, or its id.
            chat: the name of a chat, without its ending; otherwise the one that is open there.
            presets: names of presets and templates to select first.
            chat_only: the settings for chat completion count, whichever API is on.
            fields: ``message``, ``generation``, ``seed`` and others of `BuildRequest`.

        Raises:
            UnknownNameError: there is no such character, group, chat or preset.
            AmbiguousNameError: there are several.
            UsageError: none is named, and none was open.
            InputError: the card or the chat cannot be read.
        """
        folder = self.folder.again()
        selected = Selected(folder, self.changes)
        if chat_only and selected.is_text:
            folder.note(
                "its settings for chat completion are used, not those of the API that is on", kind=NoteKind.FALLBACK
            )
            selected = Selected(folder, deep_merge(self.changes, {"main_api": CHAT_API}))
        if presets:
            choice = selecting(folder, presets, is_text=selected.is_text)
            selected = Selected(folder, deep_merge(selected.changes, choice))
        selected.note_api(folder)
        if character is None and group is None:
            character, group = self._last(selected)
        if group is not None:
            return _in_group(folder, selected, group, character, chat, fields)
        card = find_card(folder, character or "")
        return _prepared(folder, selected, one_to_one_chat(folder, card, chat), fields, card)

    def _last(self, selected: Selected) -> tuple[str | None, str | None]:
        """The last open chat."""
        character, group = (text_of(selected.raw.get(key)) for key in ("active_character", "active_group"))
        if character and self.folder.path("characters", character) is not None:
            return character, None
        if group and self.folder.path("groups", f"{group}.json") is not None:
            return None, group
        raise UsageError(
            "neither a character nor a group is named, and none was open",
            where=Where(asset=SETTINGS),
            hint=_choices(self.folder.again()),
        )


def _in_group(
    folder: UserFolder,
    selected: Selected,
    name: str,
    character: str | None,
    chat: str | None,
    fields: Mapping[str, Any],
) -> InstalledRequest:
    file = find_group(folder, name)
    members = tuple(
        card for avatar in map(text_of, list_of(file.raw.get("members"))) if (card := _member(folder, avatar))
    )
    opened = group_chat(folder, file, chat)
    group = open_group(file, members)
    if character is not None:
        group = group.with_speaker(character)
    return _prepared(folder, selected, opened, fields, None, group)


def _member(folder: UserFolder, avatar: str) -> NamedCard | None:
    """A member's card; one that is gone, or cannot be read, is not of the group."""
    try:
        card = card_of(folder, avatar)
    except InnkeeperError as error:
        folder.note(
            f"the card cannot be read, and is not of the group: {error.message}", at=f"characters/{avatar[:80]}"
        )
        return None
    if card is None:
        folder.note(f"the group's member {avatar[:80]!r} is not there", at="groups")
    return card


def _prepared(
    folder: UserFolder,
    selected: Selected,
    opened: OpenChat,
    fields: Mapping[str, Any],
    card: NamedCard | None,
    group: OpenGroup | None = None,
) -> InstalledRequest:
    kind, identity = ("group", group.id) if group is not None else ("character", card.avatar if card else "")
    persona = active_persona(folder, selected, opened.metadata, kind, identity)
    request = _base_request(folder, selected, opened, persona, fields)
    if group is not None:
        opened, group, request = _group_turn(folder, opened, group, request, fields.get("seed") or 0)
        card = group.card
    else:
        own = {**request.settings, **selected.of_character(card)}
        request = request.with_(character=card.card if card is not None else None, settings=own)
        if opened.is_new:
            opened, request = resolve_greeting(opened, request.with_(history=()))
    injections, notes = script_injections(opened.metadata)
    books = lorebooks(folder, selected, opened.metadata, card, persona.lorebook)
    _note_unselected(folder, {name for _, name in _named(selected, opened.metadata, card, persona.lorebook)})
    request = request.with_(
        lorebooks=(*books, *request.lorebooks),
        injections=(*injections, *request.injections),
        settings={
            **request.settings,
            **selected.of_character(card),
            **data_bank(folder, selected, opened.metadata, card),
        },
    )
    return InstalledRequest(
        request=request,
        chat=opened.chat,
        chat_file="/".join(opened.parts),
        is_new=opened.is_new,
        character=card.avatar if card is not None else "",
        persona=persona.avatar,
        notes=(*folder.notes, *notes),
        presets=selected.preset_files(folder),
        media=folder.media,
    )


def _base_request(
    folder: UserFolder, selected: Selected, opened: OpenChat, persona: ActivePersona, fields: Mapping[str, Any]
) -> BuildRequest:
    """The request by the settings, the persona and the chat, for any speaker; ``fields`` take precedence."""
    base: dict[str, Any] = {
        "tavern": "silly",
        "user": persona.fields,
        "dialect": "text" if selected.is_text else "openai",
        "authors_note": note_fields(mapping_of(selected.extensions, "note"), opened.metadata),
        "preset": None if selected.is_text else selected.preset(folder),
        "model": None if selected.is_text else selected.model,
        "variables": selected.variables(opened.metadata),
    }
    settings = selected.settings() | selected.tokenizer(folder)
    settings |= {"chat_id": opened.name, "chat_metadata": opened.metadata, "extensions": selected.enabled(folder)}
    return BuildRequest.of(base | {"settings": settings, "history": opened.chat.to_messages(hidden=True), **fields})


def _group_turn(
    folder: UserFolder, opened: OpenChat, group: OpenGroup, request: BuildRequest, seed: Any
) -> tuple[OpenChat, OpenGroup, BuildRequest]:
    """The chat, with the members' greetings where it is new, and who of the group answers."""
    if opened.is_new:
        opened = greet(folder, opened, group, request, Randomness(seed).stream("greetings"))
        request = request.with_(history=opened.chat.to_messages(hidden=True))
    group = group.speaking(folder, request, Randomness(seed).stream("speakers"))
    return opened, group, request.with_(group=group.request_fields())


def data_bank(
    folder: UserFolder, selected: Selected, metadata: Mapping[str, Any], card: NamedCard | None
) -> dict[str, Any]:
    """The setting ``attachments``, each file with its text; nothing where the vector storage does not search files.

    Those of all chats come first, then the chat's, then the character's, without those that are switched off.
    """
    if "vectors" in selected.disabled or not mapping_of(selected.extensions, "vectors").get("enabled_files"):
        return {}
    off = set(map(text_of, list_of(selected.extensions.get("disabled_attachments"))))
    of_character = mapping_of(selected.extensions, "character_attachments").get(card.avatar) if card else None
    listed = (selected.extensions.get("attachments"), metadata.get("attachments"), of_character)
    attachments = []
    for file in filter(None, (mapping_of(file) for files in listed for file in list_of(files))):
        url = text_of(file.get("url"))
        if url not in off:
            data = folder.media(url)
            text = None if data is None else data.decode("utf-8-sig", errors="replace")
            attachments.append({**file, "text": text})
    return {"attachments": attachments} if attachments else {}


_JSON: Final = ".json"


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


def _note_unselected(folder: UserFolder, selected: AbstractSet[str]) -> None:
    """Name the books that are in the folder and take no part: the commonest reason why an entry does not fire."""
    names = [file.removesuffix(_JSON) for file in folder.names(WORLDS, suffix=_JSON)]
    others = [name for name in names if name not in selected]
    if others:
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        message = (
            f"not active: {', '.join(others[:_SHOWN])}{more}; selected neither for all chats nor by this chat, the persona "
            "or the character"
        )
        hint = "select a book in SillyTavern, or give it as a lorebook of the request"
        where = Where(asset=WORLDS)
        folder.notes.append(Note(NoteKind.LORE, message, where=where, hint=hint, data=FrozenDict(books=tuple(others))))


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
