"""Workspace: opened files and settings, and the build request that they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from innkeeper.content.chat import OURS, ChatLog
from innkeeper.content.lorebook import Lorebook
from innkeeper.dialects.registry import TEXT_DIALECTS
from innkeeper.prompt import BuildRequest, Ports, UnknownNameError, deep_merge
from innkeeper.prompt.errors import LimitError
from innkeeper.service.inspector.session.messages import WorkspaceOptions
from innkeeper.service.inspector.views.inspection import OriginView
from innkeeper.service.inspector.views.workspace import (
    FileView,
    Path,
    SettingsChange,
    SettingsView,
    Variation,
    Workspace,
    view_of,
)
from innkeeper.service.inspector.workspace.findings import LintCache, finding_view
from innkeeper.service.inspector.workspace.installed import Installed
from innkeeper.service.inspector.workspace.saving import formats_of
from innkeeper.service.inspector.workspace.settings import (
    TAVERN,
    parts_of,
    patched,
    profile_of,
    settings_fields,
    usual_settings,
    with_request,
    with_templates,
)
from innkeeper.service.inspector.workspace.turn_states import TurnStates, is_same
from innkeeper.service.inspector.workspace.working import WorkingFile, book_of, entry_paths
from innkeeper.taverns.asset_fields import AssetFields

MAX_FILES: Final = 500
"""Files of one workspace of the inspector (`LimitError`)."""

MAX_FILE_BYTES: Final = 256 * 1024 * 1024
"""Bytes of all files of one workspace of the inspector (`LimitError`)."""


def check_files(count: int, size: int) -> None:
    """Check that a workspace may have so many files of so many bytes. Raises `LimitError`."""
    for limit, allowed, actual in (("MAX_FILES", MAX_FILES, count), ("MAX_FILE_BYTES", MAX_FILE_BYTES, size)):
        if actual > allowed:
            hint = "open fewer files, or a smaller folder"
            raise LimitError("the files of a workspace", limit=limit, allowed=allowed, found=actual, hint=hint)


_Book = tuple[str, Lorebook, WorkingFile]
_EntryPaths = dict[tuple[str, int | str], list[tuple[WorkingFile, Path]]]


class InspectionCache:
    """What of the last prompt serves the next one, where what it was made of is the same."""

    def __init__(self) -> None:
        self.origins: list[OriginView] = []
        """The table of origins."""
        self.numbers: dict[Any, int] = {}
        """The index of each origin in it."""
        self.states: dict[str, list[tuple[Any, int]]] = {}
        """The files that the table was made of, by their kinds, each with how often it was changed."""
        self.messages: list[Any] = []
        """The messages in their order, each with what it was made of."""
        self.verdicts: list[Any] = []
        """The verdicts in their order, each with what it was made of."""
        self.entries: Any = None
        """The paths of the entries when the verdicts were made."""


class OpenWorkspace:
    """Files with their edits, and settings. One prompt is built of it.

    Args:
        title: what the page calls it.
        files: the files.
        settings: what of the settings is given.
        now: the time of builds, where the settings say none.
        every: whether all files are used, and not one of each kind.
        installed: what the files are of, where they are of a SillyTavern folder.

    Raises `LimitError`.
    """

    def __init__(
        self,
        title: str,
        files: Iterable[WorkingFile],
        settings: SettingsChange | None = None,
        *,
        now: str = "",
        every: bool = False,
        installed: Installed | None = None,
    ) -> None:
        self.title, self.installed = title, installed
        self.files = {file.id: file for file in files}
        self._check()
        self.profile = profile_of(self.files.values())
        self.settings = usual_settings(self.files.values(), self.profile, now, every=every)
        if installed is not None:
            self.settings = with_request(SettingsView(tavern=TAVERN, now=now), installed.request)
        self._linted = LintCache()
        self._cut: tuple[ChatLog, int, ChatLog] | None = None
        self._made: tuple[dict[str, Any], BuildRequest] | None = None
        self._book_paths: tuple[list[_Book], _EntryPaths] | None = None
        self.turn_states = TurnStates()
        self.cache = InspectionCache()
        if settings is not None:
            self.change(settings)

    def _check(self) -> None:
        check_files(len(self.files), sum(len(file.data) for file in self.files.values()))

    # ----------------------------------------------------------------------------------------------------------- views

    def view(self, options: WorkspaceOptions) -> Workspace:
        """What the page is told."""
        from innkeeper.dialects import DIALECTS
        from innkeeper.taverns import TAVERNS

        return Workspace(
            title=self.title,
            files=tuple(self.file_view(file) for file in self.files.values()),
            settings=self.settings,
            taverns=tuple(TAVERNS),
            dialects=tuple(DIALECTS),
            turns=self.turns,
            library=options.library,
            talk=options.talk,
            profiles=TAVERNS[self.settings.tavern].profiles if self.settings.tavern in TAVERNS else (),
            formats={file.id: formats_of(file) for file in self.files.values()},
            routes=options.routes,
            install=None if self.installed is None else self.installed.view(),
        )

    def file(self, name: str) -> WorkingFile:
        """A file by its id. Raises `UnknownNameError`."""
        try:
            return self.files[name]
        except KeyError:
            raise UnknownNameError("file", name, self.files) from None

    def file_view(self, file: WorkingFile) -> FileView:
        """A file as the page lists it."""
        used = file.id in self.settings.used or file.id == self.settings.persona
        findings = tuple(finding_view(file, one) for one in file.findings) + self._linted.findings(file)
        facts = {"bytes": len(file.data), "used": used, "picture": file.has_picture, "parts": parts_of(file)}
        return view_of(FileView, file, **facts, findings=findings, conflict=file.theirs is not None)

    def lint(self) -> bool:
        """Look for dead entries and the like in what was not looked at as it is now; whether there was any."""
        used = (self.files[key].asset for key in self.settings.used if key in self.files)
        preset = next((asset.preset for asset in used if type(asset).__name__ == "PresetFile"), None)
        settings = self.settings
        return self._linted.lint(self.files.values(), preset, settings.model, tavern=settings.tavern)

    @property
    def chat_file(self) -> WorkingFile | None:
        """The file of the chat that is used."""
        return next((file for file in self._used(self.settings) if file.kind == "chat"), None)

    @property
    def turns(self) -> int:
        """Messages of the chat."""
        chat = self.chat_file
        return len(chat.asset.messages) if chat is not None and chat.asset is not None else 0

    # ---------------------------------------------------------------------------------------------------------- changes

    def change(self, patch: SettingsChange) -> SettingsChange:
        """Have other settings; return those that changed with them. Raises `UnknownNameError` for what is not there."""
        from innkeeper.dialects import DIALECTS
        from innkeeper.taverns import TAVERNS

        settings = self._patched(patch)
        for name in (*settings.used, *((settings.persona,) if settings.persona else ())):
            self.file(name)
        if settings.tavern not in TAVERNS:
            raise UnknownNameError("tavern", settings.tavern, TAVERNS)
        if settings.dialect is not None and settings.dialect not in DIALECTS:
            raise UnknownNameError("dialect", settings.dialect, DIALECTS)
        if patch.profile is msgspec.UNSET and settings.tavern != self.settings.tavern:
            profile = settings.profile if settings.profile in TAVERNS[settings.tavern].profiles else None
            settings = msgspec.structs.replace(settings, profile=profile)
        asked, self.settings = patched(self.settings, patch), settings
        names = [name for name in patch.__struct_fields__ if getattr(settings, name) != getattr(asked, name)]
        return SettingsChange(**{name: getattr(settings, name) for name in names})

    def _patched(self, patch: SettingsChange) -> SettingsView:
        """The settings with a patch; who changes to text completion gets templates."""
        settings = patched(self.settings, patch)
        return settings if patch.dialect is msgspec.UNSET else with_templates(settings, self.files)

    def add(self, file: WorkingFile) -> None:
        """Have one more file, which is used. Raises `LimitError`."""
        before = dict(self.files)
        self.files[file.id] = file
        try:
            self._check()
        except LimitError:
            self.files = before
            raise
        self.use(file)

    def use(self, file: WorkingFile) -> None:
        """Build of a file, in the place of one of its kind."""
        if file.kind == "persona":
            self.settings = msgspec.structs.replace(self.settings, persona=file.id)
        elif file.kind not in {"other", "profile"}:
            others = (key for key in self.settings.used if not _replaces(file, self.files[key]))
            self.settings = msgspec.structs.replace(self.settings, used=(*others, file.id))

    def use_alone(self, file: WorkingFile) -> None:
        """Build of this file alone, with the settings that it has itself."""
        plain = SettingsView(tavern=TAVERN, now=self.settings.now, used=(file.id,))
        self.settings = with_request(plain, file.asset) if file.kind == "request" else plain

    # ----------------------------------------------------------------------------------------------------------- request

    def _used(self, settings: SettingsView) -> Iterator[WorkingFile]:
        names = dict.fromkeys((*settings.used, *((settings.persona,) if settings.persona else ())))
        return (self.files[name] for name in names if name in self.files)

    def used_files(self, variation: Variation | None = None) -> tuple[WorkingFile, ...]:
        """The files that a prompt is made of, in the order in which they are put together."""
        return tuple(self._used(self.settings_of(variation)))

    def settings_of(self, variation: Variation | None) -> SettingsView:
        """The settings, with those of a variation over them."""
        if variation is None or variation.settings is msgspec.UNSET:
            return self.settings
        return self._patched(variation.settings)

    def request(self, variation: Variation | None = None) -> BuildRequest:
        """The request of what is edited and set. Raises `UsageError` where files do not go together, and what reading does."""
        settings, saved = self.settings_of(variation), variation is not None and variation.saved
        assets = AssetFields(several=True)
        for file in self._used(settings):
            asset = file.built_of(saved=saved)
            if asset is not None and file.kind not in {"other", "profile"}:
                assets.put(asset, file.name)
        fields = assets.fields
        if settings.dialect not in TEXT_DIALECTS and self.profile is None:
            _drop_templates(fields)
        if self.profile is not None:
            fields |= self._profiled(fields, self.profile.request)
        if self.installed is not None:
            self.installed.prepare_for(self.chat_file, settings.dialect)
            fields = self.installed.fields(fields, self.files.values(), self._used(settings), saved=saved)
        whole = fields.get("history")
        chat = self._until(whole, settings.turn) if isinstance(whole, ChatLog) else None
        if chat is not None:
            of_install = self.installed
            fields |= (
                {"history": chat} if of_install is None else of_install.history(chat, fields, cut=chat is not whole)
            )
        fields |= settings_fields(settings)
        request = self._requested(fields)
        self.turn_states.note = None
        if chat is None:
            return request
        stored = (chat.header or {}).get("chat_metadata")
        if chat is whole and isinstance(stored, dict) and any(stored.get(key) for key in _TURN_KEYS):
            return request  # the chat's file says itself what its turns left
        return self.turn_states.request(request, fields, chat, self.used_files(variation))

    def _profiled(self, fields: dict[str, Any], base: BuildRequest) -> dict[str, Any]:
        """Return the fields that a profile adds to those of its files."""
        own = fields.get("request")
        changes = {} if own is None else {name: getattr(own, name) for name in BuildRequest.of(own).to_dict()}
        changes |= {} if own is None else {"options": {**base.options, **own.options}}
        added: dict[str, Any] = {"request": base.with_(**changes, **({} if "group" in fields else {"group": None}))}
        if "group" in fields and base.group:
            added["group"] = {**base.group, "members": (*base.group["members"], *fields["group"]["members"])}
        if "lorebooks" in fields and base.lorebooks:
            added["lorebooks"] = (*base.lorebooks, *fields["lorebooks"])
        if "settings" in fields and base.settings:
            added["settings"] = deep_merge(fields["settings"], base.settings)
        return added

    @property
    def greeting(self) -> int | None:
        """The number of the greeting that a chat which has not begun begins with; None for no greeting."""
        return None if self.profile is None else self.profile.profile.greeting_number

    @property
    def ports(self) -> Ports:
        """What builds reach: pictures that a chat of an install names."""
        return Ports() if self.installed is None else Ports(media=self.installed.media)

    def has_begun(self, variation: Variation | None = None) -> bool:
        """Whether there is a chat, or a request without a profile, which says its chat itself."""
        kinds = {file.kind for file in self.used_files(variation)}
        return "chat" in kinds or ("request" in kinds and self.profile is None)

    def _requested(self, fields: dict[str, Any]) -> BuildRequest:
        """The request of these fields, made of the last one where only some have changed."""
        if self._made is not None and self._made[0].keys() == fields.keys():
            before, request = self._made
            changed = {name: value for name, value in fields.items() if not is_same(before[name], value)}
            if changed.keys().isdisjoint({"request", "history", "settings"}):
                request = request.with_(**changed) if changed else request
                self._made = (fields, request)
                return request
        base = fields.get("request") or BuildRequest(tavern=TAVERN)
        request = base.with_(**{name: value for name, value in fields.items() if name != "request"})
        self._made = (fields, request)
        return request

    def _until(self, chat: ChatLog, turn: int | None) -> ChatLog:
        """The chat up to a turn, without what later ones left in it."""
        if turn is None or turn >= len(chat.messages):
            return chat
        if self._cut is None or self._cut[0] is not chat or self._cut[1] != turn:
            header = chat.header
            if header is not None and isinstance(header.get("chat_metadata"), dict):
                metadata = {key: value for key, value in header["chat_metadata"].items() if key not in _TURN_KEYS}
                header = {**header, "chat_metadata": metadata}
            cut = msgspec.structs.replace(chat, messages=chat.messages[: max(turn, 0)], header=header, data=None)
            self._cut = (chat, turn, cut)
        return self._cut[2]

    def books(self, variation: Variation | None = None) -> list[_Book]:
        """The lorebooks of a prompt, as verdicts name them, each with its file."""
        books: list[_Book] = []
        saved, index = variation is not None and variation.saved, 0
        for file in self.used_files(variation):
            asset = file.built_of(saved=saved)
            book = book_of(asset)
            if book is None:
                continue
            if book is asset:
                books.append((book.name or f"book {index}", book, file))
                index += 1
            else:
                books.append((book.name or f"{asset.name}'s Lorebook", book, file))
        return books

    def entries(self, variation: Variation | None = None) -> _EntryPaths:
        """The files and paths of the entries of all books, by the name of the book and their id."""
        books = self.books(variation)
        if self._book_paths is not None:
            before = [(book, file) for _, book, file in self._book_paths[0]]
            if len(before) == len(books) and all(
                old is book and old_file is file for (old, old_file), (_, book, file) in zip(before, books, strict=True)
            ):
                return self._book_paths[1]
        paths: _EntryPaths = {}
        for name, book, file in books:
            by_entry, base = entry_paths(book), (*book.path, "entries") if isinstance(book.raw, dict) else book.path
            for entry in book.entries:
                path = by_entry.get(id(entry.raw), base)
                paths.setdefault((name, entry.id), []).append((file, path))
        self._book_paths = (books, paths)
        return paths


def _replaces(file: WorkingFile, other: WorkingFile) -> bool:
    """Whether a file takes the place of another: of one of its kind, among presets of one with the same parts."""
    if file.kind == "lorebook" or file.kind != other.kind:
        return False
    return file.kind != "preset" or not set(parts_of(file)).isdisjoint(parts_of(other))


def _drop_templates(fields: dict[str, Any]) -> None:
    """Take out of the fields of files what only text completion reads."""
    if "settings" in fields:
        fields["settings"] = {name: value for name, value in fields["settings"].items() if name != "text"}
        if not fields["settings"]:
            del fields["settings"]


_TURN_KEYS: Final = frozenset({"timedWorldInfo", "variables", "lastInContextMessageId", OURS})
"""Keys of a chat's metadata that its turns write."""
