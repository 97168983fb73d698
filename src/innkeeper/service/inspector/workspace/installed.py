"""Installed: what is open of a SillyTavern folder: its files that can be edited, and the request that all the rest of it makes.

`Install.prepare` is what reads the folder, as at every door. What is edited here stands in the place of what it read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from innkeeper.content.character import Character
from innkeeper.content.files.loading import PresetFile
from innkeeper.content.json.text import encode_json
from innkeeper.content.lorebook import Lorebook
from innkeeper.content.preset import Preset
from innkeeper.dialects.registry import TEXT_DIALECTS
from innkeeper.prompt import BuildRequest, deep_merge
from innkeeper.service.inspector.session.messages import InstallOpening, InstallSource, OpeningFile
from innkeeper.service.inspector.views.installed import (
    InstallContents,
    InstalledBook,
    InstalledPreset,
    InstalledSpeaker,
    InstallView,
)
from innkeeper.service.inspector.workspace.saving import saved_bytes
from innkeeper.service.inspector.workspace.turn_states import is_same
from innkeeper.taverns.silly.install.chats import greeted_chat, resolve_greeting
from innkeeper.taverns.silly.install.contents import WORLDS
from innkeeper.taverns.silly.install.files import list_of, mapping_of, text_of, user_folder
from innkeeper.taverns.silly.install.install import Install, InstalledRequest
from innkeeper.taverns.silly.install.names import CARDS, NamedCard
from innkeeper.taverns.silly.install.selected import CHAT_API, TEXT_API, Selected

if TYPE_CHECKING:
    from innkeeper.content.chat import ChatLog
    from innkeeper.prompt import Note
    from innkeeper.service.inspector.workspace.working import WorkingFile

PERSONA: Final = "persona.json"
"""How the persona is called, which is in the settings and not in a file of its own."""


class Installed:
    """The chosen part of a folder, prepared. Raises what `Install.prepare` raises."""

    def __init__(self, source: InstallSource) -> None:
        self.source = source
        self._folder = user_folder(source.root, linked=source.linked)
        self._edited: tuple[Any, bool | None] = (None, None)
        self._parts: dict[str, tuple[Any, Any]] = {}
        self._prepared = self._prepare({})
        self._is_text = self.request.dialect in TEXT_DIALECTS

    def _prepare(self, edited: Mapping[str, bytes], *, is_text: bool | None = None) -> InstalledRequest:
        choice, folder = self.source.choice, self._folder.with_edits(edited)
        changes: dict[str, Any] = {}
        if choice.books:
            info = mapping_of(Selected(folder.again()).raw, "world_info_settings", "world_info")
            books = [*map(text_of, list_of(info.get("globalSelect"))), *choice.books]
            changes["world_info_settings"] = {"world_info": {"globalSelect": list(dict.fromkeys(books))}}
        if is_text is not None:
            changes["main_api"] = TEXT_API if is_text else CHAT_API
        install = Install(folder, changes)
        presets = choice.presets if is_text is None else ()
        return install.prepare(choice.character, group=choice.group, chat=choice.chat, presets=presets)

    @property
    def request(self) -> BuildRequest:
        """The request as the folder has it."""
        return self._prepared.request

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is to be known of the folder."""
        return self._prepared.notes

    @property
    def media(self) -> Any:
        """Reads pictures that the chat names: a port of builds."""
        return self._prepared.media

    # ----------------------------------------------------------------------------------------------------------- opening

    def view(self) -> InstallView:
        """What is open, for the page."""
        prepared, choice, request = self._prepared, self.source.choice, self.request
        speaker = str(request.character.name if request.group is None else request.group["name"])
        name = choice.group if choice.group is not None else prepared.character
        chat = prepared.chat_file.rpartition("/")[2].removesuffix(".jsonl")
        return InstallView(speaker, name or "", chat, prepared.is_new, choice)

    def opening(self) -> InstallOpening:
        """The files that are opened, each with whether the prompt is made of it."""
        prepared, request = self._prepared, self.request
        avatars = [f"{member['filename']}.png" for member in request.group["members"]] if request.group else []
        cards = [f"{CARDS}/{avatar}" for avatar in avatars or [prepared.character]]
        books = [f"{WORLDS}/{item['name']}.json" for item in request.lorebooks]
        chats = [] if prepared.is_new else [prepared.chat_file]
        named = [OpeningFile(name) for name in dict.fromkeys((*cards, *books, *chats))]
        presets = [OpeningFile(name, is_used=self._is_selected(name)) for name in prepared.presets]
        persona = OpeningFile(PERSONA, data=encode_json(dict(request.user or {}), indent=4))
        view = self.view()
        return InstallOpening(f"{view.name} · {view.chat}", (*named, *presets, persona))

    def _is_selected(self, name: str) -> bool:
        """Whether the settings say what a preset's file says: what was changed since is in the settings alone."""
        tree = self._folder.again().json(*name.split("/")) or {}
        request, (folder, _) = self.request, name.split("/")
        part = {"instruct": "instruct", "context": "context", "sysprompt": "sysprompt", "TextGen Settings": "textgen"}
        of_settings = mapping_of(request.settings, "text", part[folder]) if folder in part else request.preset
        return bool(of_settings) and all(of_settings.get(key) == value for key, value in tree.items())

    def contents(self) -> InstallContents:
        """What there is to choose from, and what is active now."""
        install = Install(self._folder)
        contents, request, settings = install.contents(), self.request, Selected(self._folder.again()).raw
        last = {False: text_of(settings.get("active_character")), True: text_of(settings.get("active_group"))}
        scopes: dict[str, list[str]] = {}
        for item in request.lorebooks:
            scopes.setdefault(item["name"], []).append(item["scope"])
        speakers = [
            InstalledSpeaker(key, name, chats, is_group, key == last[is_group])
            for is_group, those in ((False, contents.characters), (True, contents.groups))
            for key, (name, chats) in those.items()
        ]
        presets = [
            InstalledPreset(name, folder, f"{folder}/{name}.json" in self._prepared.presets)
            for folder, names in contents.presets.items()
            for name in names
        ]
        books = [InstalledBook(name, tuple(scopes.get(name, ()))) for name in contents.books]
        return InstallContents(tuple(speakers), tuple(books), tuple(presets))

    # ---------------------------------------------------------------------------------------------------------- request

    def prepare_for(self, chat: WorkingFile | None, dialect: str | None) -> None:
        """Read the folder again where another kind of model is built for, or what stands before the chat was edited."""
        is_text = None if dialect is None or (dialect in TEXT_DIALECTS) == self._is_text else dialect in TEXT_DIALECTS
        facts = None  # what of the chat the folder's reader looks at: its header, else its messages
        if chat is not None and chat.tree is not chat.saved_tree:
            facts = chat.asset.messages if chat.asset.header is None else chat.asset.header
        if facts is self._edited[0] and is_text == self._edited[1]:
            return
        edited = {} if chat is None or facts is None else {chat.name: saved_bytes(chat)}
        self._prepared, self._edited = self._prepare(edited, is_text=is_text), (facts, is_text)

    def fields(
        self, fields: dict[str, Any], opened: Iterable[WorkingFile], used: Iterable[WorkingFile], *, saved: bool
    ) -> dict[str, Any]:
        """The fields of a request: those of the files that are used, and of the folder what is in none that is opened."""
        base = self.request
        assets = {file.name: file.built_of(saved=saved) for file in used}
        closed = {file.name for file in opened} - assets.keys()
        made: dict[str, Any] = {name: fields[name] for name in ("history", "user") if name in fields}
        scoped = {f"{WORLDS}/{item['name']}.json" for item in base.lorebooks}
        others = (asset for name, asset in assets.items() if isinstance(asset, Lorebook) and name not in scoped)
        books = filter(None, (self._book(item, assets, closed) for item in base.lorebooks))
        made |= {"request": base, "lorebooks": (*books, *others)}
        made.setdefault("user", None)
        if base.group is not None:
            made["group"] = self._group(base.group, assets, closed)
        else:
            made["character"] = next((one for one in assets.values() if isinstance(one, Character)), None)
        if "history" not in fields and isinstance(made.get("character"), Character):
            made |= self._cached("greeting", (base, made["character"], made["user"]), lambda: self._greeting(made))
        if "preset" in fields:
            made["preset"] = self._cached(
                "preset", (base, fields["preset"]), lambda: Preset.of({**(base.preset or {}), **fields["preset"].raw})
            )
        if "settings" in fields:
            files = tuple(asset for asset in assets.values() if isinstance(asset, PresetFile))
            made["settings"] = self._cached(
                "settings", (base, *files), lambda: deep_merge(base.settings, fields["settings"])
            )
        return made

    def _greeting(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """What a chat begins with that is not there yet."""
        card, folder = NamedCard(self._prepared.character, fields["character"]), self._folder.again()
        before = Selected(folder).variables({})
        request = self.request.with_(character=card.card, user=fields["user"], history=(), variables=before)
        _, request = resolve_greeting(greeted_chat(folder, card, ""), request)
        return {"history": request.history, "variables": request.variables}

    def _book(self, item: Mapping[str, Any], assets: Mapping[str, Any], closed: set[str]) -> Any:
        """A book in its scope, as it is edited; None for one whose file is not used."""
        name = f"{WORLDS}/{item['name']}.json"
        book = assets.get(name, item["book"])
        return (
            None if name in closed else self._cached(f"{item['scope']} {name}", (book,), lambda: {**item, "book": book})
        )

    def _group(self, group: Mapping[str, Any], assets: Mapping[str, Any], closed: set[str]) -> Mapping[str, Any]:
        """The group with its members' cards as they are edited; one whose file is not used is no member."""
        files = [f"{CARDS}/{member['filename']}.png" for member in group["members"]]
        numbers = [number for number, name in enumerate(files) if name not in closed]
        cards = tuple(assets.get(files[number], group["members"][number]["card"]) for number in numbers)

        def edited() -> Mapping[str, Any]:
            members = [{**group["members"][number], "card": card} for number, card in zip(numbers, cards, strict=True)]
            speaker = numbers.index(group["speaker"]) if group["speaker"] in numbers else 0
            muted = tuple(numbers.index(number) for number in group["disabled"] if number in numbers)
            return {**group, "members": tuple(members), "speaker": speaker, "disabled": muted}

        group_made: Mapping[str, Any] = self._cached("group", (group, *cards), edited)
        return group_made

    def _cached(self, name: str, parts: tuple[Any, ...], made: Callable[[], Any]) -> Any:
        """Return what ``made`` makes of some values: the same object as long as they are the same."""
        before = self._parts.get(name)
        if before is None or not is_same(before[0], parts):
            before = self._parts[name] = parts, made()
        return before[1]

    def history(self, chat: ChatLog, fields: Mapping[str, Any], *, cut: bool) -> dict[str, Any]:
        """The fields of a chat as SillyTavern reads it: hidden messages, too, and without a header not the first.

        Of one that is ``cut`` nothing holds that a later turn has left.
        """
        if chat.header is None:
            return {"history": self.request.history}
        made: dict[str, Any] = {"history": chat.to_messages(hidden=True)}
        if cut:
            settings = fields.get("settings", self.request.settings)
            made["settings"] = self._cached(
                "cut", (chat, settings), lambda: {**settings, "chat_metadata": chat.metadata}
            )
            everywhere = {"local": {}, "global": self.request.variables.get("global", {})}
            made["variables"] = self._cached("variables", (self.request,), lambda: everywhere)
        return made
