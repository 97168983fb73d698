"""Origins: where the text of a prompt came from, as a table that pieces point into: the file, the place in it, a colour."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from innkeeper.content.finding import show_path
from innkeeper.prompt.block import Origin as BlockOrigin
from innkeeper.prompt.block import OriginAsset
from innkeeper.service.inspector.views.inspection import COLOURS, OriginView
from innkeeper.service.inspector.views.workspace import Path, Variation
from innkeeper.service.inspector.workspace.edits import existing
from innkeeper.service.inspector.workspace.settings import parts_of
from innkeeper.service.inspector.workspace.workspace import InspectionCache

if TYPE_CHECKING:
    from innkeeper.lore import Verdict
    from innkeeper.service.inspector.workspace.working import WorkingFile
    from innkeeper.service.inspector.workspace.workspace import OpenWorkspace


_PALETTE: Final = {
    OriginAsset.CHARACTER: 0,
    OriginAsset.LOREBOOK: 1,
    OriginAsset.PRESET: 2,
    OriginAsset.PERSONA: 3,
    OriginAsset.HISTORY: 4,
    OriginAsset.MESSAGE: 5,
    OriginAsset.AUTHORS_NOTE: 6,
    OriginAsset.INJECTION: 7,
    OriginAsset.TEMPLATE: 8,
    OriginAsset.REQUEST: 9,
    OriginAsset.ENGINE: 10,
    OriginAsset.DIALECT: 11,
}
"""The colours of kinds of assets."""

_ASSETS_IN: Final[Mapping[str, Iterable[OriginAsset]]] = {
    "character": (OriginAsset.CHARACTER, OriginAsset.LOREBOOK),
    "lorebook": (OriginAsset.LOREBOOK,),
    "preset": (OriginAsset.PRESET,),
    "persona": (OriginAsset.PERSONA,),
    "chat": (OriginAsset.HISTORY, OriginAsset.AUTHORS_NOTE),
}
"""What is in files of a kind; in those of the others may be anything."""

MAX_ORIGINS: Final = 8_192
"""Origins that keep their numbers from one prompt to the next (no error: they begin anew)."""

_TEMPLATES: Final[Mapping[str, str]] = {
    "story_string": "context",
    "chat_start": "context",
    "example_separator": "context",
    "instruct": "instruct",
    "sysprompt": "sysprompt",
    "post_history": "sysprompt",
}
"""The templates that have fields of text completion."""

_PROMPTS: Final = "presets_in_chat"
"""What the smart tavern's verdicts call prompts of a preset."""

_GREETINGS: Final = "alternate_greetings"
_NOTE: Final = ("header", "chat_metadata", "note_prompt")


def colour_of(asset: str) -> int:
    """The colour of a kind of asset."""
    return _PALETTE.get(asset, zlib.crc32(asset.encode()) % COLOURS)  # type: ignore[call-overload,no-any-return]


class Origins:
    """The table of one prompt. `number` gives the index of an origin, which is added the first time.

    Origins keep their numbers from one prompt of a workspace to the next, so that messages that did not change are the same.
    """

    def __init__(self, workspace: OpenWorkspace, variation: Variation | None = None) -> None:
        self._files = workspace.used_files(variation)
        self._saved = variation is not None and variation.saved
        self.entries = workspace.entries(variation)
        self._lines: list[int] | None = None
        self._is_install = workspace.installed is not None
        cache = workspace.cache if variation is None else InspectionCache()
        if len(cache.origins) > MAX_ORIGINS:
            cache = workspace.cache = InspectionCache()
        self._numbers, self.table = cache.numbers, cache.origins
        self._update(cache)

    def _update(self, cache: InspectionCache) -> None:
        """Update the origins in kinds of files that have changed since the last prompt."""
        before, cache.states = cache.states, {}
        for file in self._files:
            cache.states.setdefault(file.kind, []).append((file, file.changes_made))
        kinds = {kind for kind in {*before, *cache.states} if before.get(kind) != cache.states.get(kind)}
        if not kinds:
            return
        assets = {asset for kind in kinds for asset in _ASSETS_IN.get(kind, ())}
        for origin, number in self._numbers.items():
            if origin.asset in assets or not kinds <= _ASSETS_IN.keys():
                self.table[number] = self._view(origin)

    def number(self, origin: BlockOrigin | None) -> int | None:
        """Its index in the table; None for an unknown origin."""
        if origin is None or origin.asset == OriginAsset.UNKNOWN:
            return None
        number = self._numbers.get(origin)
        if number is None:
            number = self._numbers[origin] = len(self.table)
            self.table.append(self._view(origin))
        return number

    def _view(self, origin: BlockOrigin) -> OriginView:
        file, path = self._source(origin)
        shown = f" {show_path(path)}" if path else ""
        label = f"{file.name}{shown}" if file is not None else str(origin)
        if origin.macro:
            label += f" {{{{{origin.macro}}}}}"
        return OriginView(None if file is None else file.id, str(origin.asset), path, label, colour_of(origin.asset))

    def _source(self, origin: BlockOrigin) -> tuple[WorkingFile | None, Path]:
        """The file and the place in its document, as far as they are known."""
        if origin.asset == OriginAsset.MESSAGE:
            return None, ("message",)
        find = {
            OriginAsset.CHARACTER: self._of_card,
            OriginAsset.LOREBOOK: self._of_entry,
            OriginAsset.PRESET: self._of_preset,
            OriginAsset.PERSONA: self._of_persona,
            OriginAsset.HISTORY: self._of_line,
            OriginAsset.AUTHORS_NOTE: self._of_note,
        }.get(origin.asset)  # type: ignore[call-overload]  # a guest's word is a text
        return self._elsewhere if find is None else find(origin)

    @property
    def _elsewhere(self) -> tuple[WorkingFile | None, Path]:
        return self._first("request"), ()

    def _of_persona(self, origin: BlockOrigin) -> tuple[WorkingFile | None, Path]:
        file = self._first("persona")
        return self._elsewhere if file is None else (file, file.existing_path((origin.field or "description",)))

    def _of_note(self, _: BlockOrigin) -> tuple[WorkingFile | None, Path]:
        file = self._first("chat")
        return (file, _NOTE) if file is not None and file.existing_path(_NOTE) == _NOTE else self._elsewhere

    def _first(self, kind: str) -> WorkingFile | None:
        return next((file for file in self._files if file.kind == kind), None)

    def _of_card(self, origin: BlockOrigin) -> tuple[WorkingFile | None, Path]:
        cards = [file for file in self._files if file.kind == "character"]
        named = [file for file in cards if file.asset is not None and file.asset.name == origin.name]
        file = next(iter(named or cards), None)
        if file is None:
            return self._elsewhere
        base: Path = ("data",) if isinstance(existing(file.tree, ("data",))[1], dict) else ()
        field = origin.field or ""
        path: Path = (*base, field)
        if field == "depth_prompt":
            path = (*base, "extensions", "depth_prompt", "prompt")
        elif origin.entry is not None and origin.entry.isdecimal() and field in {"first_mes", _GREETINGS}:
            number = int(origin.entry)
            path = (*base, "first_mes") if number == 0 else (*base, _GREETINGS, number - 1)
        return file, file.existing_path(path)

    def _of_entry(self, origin: BlockOrigin) -> tuple[WorkingFile | None, Path]:
        entry = self.entry(origin.name or "", origin.entry or "")
        if entry is None:
            return self._elsewhere
        return entry[0], entry[0].existing_path((*entry[1], origin.field or "content"))

    def entry(self, book: str, uid: int | str, number: int = 0) -> tuple[WorkingFile, Path] | None:
        """The file and path of an entry, by the name of its book and its id, and its number among several."""
        entries = self.entries.get((book, uid))
        if entries is None and isinstance(uid, str) and uid.isdecimal():
            entries = self.entries.get((book, int(uid)))
        return None if entries is None else entries[min(number, len(entries) - 1)]

    def verdict_source(self, verdict: Verdict, number: int) -> tuple[WorkingFile, Path] | None:
        """The file and path of what a verdict is about: an entry, or a prompt of the preset that goes into the chat."""
        if verdict.facts.get("asset") != _PROMPTS:
            return self.entry(verdict.book, verdict.uid, number)
        for file in self._files:
            for index, prompt in _prompts(file) if file.kind == "preset" else ():
                if str(prompt.get("identifier") or prompt.get("name")) == verdict.uid:
                    return file, ("prompts", index)
        return None

    def _of_preset(self, origin: BlockOrigin) -> tuple[WorkingFile | None, Path]:
        for file in self._files:
            if file.kind != "preset":
                continue
            if origin.field == "prompts":
                for index, prompt in _prompts(file):
                    if prompt.get("identifier") == origin.entry:
                        return file, file.existing_path(("prompts", index, "content"))
            elif (part := _TEMPLATES.get(origin.field or "")) in parts_of(file):
                base = file.existing_path((part,))
                return file, file.existing_path((*base, origin.entry or origin.field or ""))
            elif origin.field and file.existing_path((origin.field,)):
                return file, (origin.field,)
        return self._elsewhere

    def _of_line(self, origin: BlockOrigin) -> tuple[WorkingFile | None, Path]:
        file, entry = self._first("chat"), origin.entry or ""
        if file is None or not entry.isdecimal():
            return self._elsewhere
        lines = self.lines
        index = lines[int(entry)] if int(entry) < len(lines) else None
        if index is None:
            return file, ()
        path: Path = ("messages", index)
        raw = existing(file.tree, path)[1]
        return file, file.existing_path((*path, "mes" if isinstance(raw, dict) and "mes" in raw else "content"))

    @property
    def lines(self) -> list[int]:
        """For each line of the chat as a tavern counts them, the index of its message.

        SillyTavern counts hidden ones, and takes the first for a header where there is none.
        """
        if self._lines is None:
            file = self._first("chat")
            chat = None if file is None else file.built_of(saved=self._saved)
            messages = () if chat is None else chat.messages
            self._lines = [index for index, one in enumerate(messages) if self._is_install or not one.hidden]
            if self._is_install and chat is not None and chat.header is None:
                del self._lines[:1]
        return self._lines


def _prompts(file: WorkingFile) -> Iterator[tuple[int, dict[str, Any]]]:
    """The prompts of a preset, by their index."""
    prompts = existing(file.tree, ("prompts",))[1]
    for index, prompt in enumerate(prompts if isinstance(prompts, list) else ()):
        if isinstance(prompt, dict):
            yield index, prompt
