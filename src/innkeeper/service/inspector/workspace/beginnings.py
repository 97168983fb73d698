"""Beginnings: new cards, books, presets and personas, the least that is one; and entries of one book in the words of another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from innkeeper.content.card_versions import SPEC_NUMBERS, V2_DEFAULTS, CardVersion
from innkeeper.content.entry import Spelling
from innkeeper.content.finding import Path
from innkeeper.content.json.text import encode_json
from innkeeper.content.preset import GLOBAL_ORDER
from innkeeper.content.spellings.writing import card_entry, world_entry
from innkeeper.prompt.errors import UnknownNameError, UnsupportedError, UsageError
from innkeeper.service.inspector.views.workspace import Edit
from innkeeper.service.inspector.workspace.edits import existing
from innkeeper.service.inspector.workspace.working import WorkingFile, book_of, entry_paths

MAIN: Final = "You are {{char}}. Answer {{user}} in the scene, and leave the words and deeds of {{user}} to {{user}}."

_SPEC, _NUMBER = SPEC_NUMBERS[CardVersion.V3]
_DATA: Final = {"name": "New character", **V2_DEFAULTS, "group_only_greetings": []}

_PROMPTS: Final[Mapping[str, str]] = {
    "main": "Main", "worldInfoBefore": "Lore before", "personaDescription": "Persona", "charDescription": "Description",
    "charPersonality": "Personality", "scenario": "Scenario", "worldInfoAfter": "Lore after",
    "dialogueExamples": "Examples", "chatHistory": "Chat", "jailbreak": "After the chat",
}  # fmt: skip
_TEXTS: Final = {"main": MAIN, "jailbreak": ""}

BEGINNINGS: Final[Mapping[str, tuple[str, Any]]] = {
    "character": ("character.json", {"spec": _SPEC, "spec_version": _NUMBER, "data": _DATA}),
    "lorebook": ("lorebook.json", {"name": "New lorebook", "entries": {}}),
    "persona": ("persona.json", {"name": "User", "description": ""}),
    "preset": (
        "preset.json",
        {
            "prompts": [
                {"identifier": name, "name": title, "role": "system", "system_prompt": True}
                | ({"content": _TEXTS[name]} if name in _TEXTS else {"marker": True})
                for name, title in _PROMPTS.items()
            ],
            "prompt_order": [
                {"character_id": GLOBAL_ORDER, "order": [{"identifier": name, "enabled": True} for name in _PROMPTS]}
            ],
        },
    ),
}
"""The kinds of files that can be begun: what each is called, and what is in it."""


def beginning(kind: str, names: Iterable[str]) -> tuple[str, bytes]:
    """The name, one that none of ``names`` is, and the bytes of a new file. Raises `UnknownNameError`."""
    if kind not in BEGINNINGS:
        raise UnknownNameError("kind of new file", kind, BEGINNINGS)
    (name, document), taken = BEGINNINGS[kind], set(names)
    stem, _, ending = name.rpartition(".")
    number = next(number for number in range(1, len(taken) + 2) if _numbered(stem, number, ending) not in taken)
    return _numbered(stem, number, ending), encode_json(document, indent=4)


def _numbered(stem: str, number: int, ending: str) -> str:
    return f"{stem}.{ending}" if number == 1 else f"{stem}-{number}.{ending}"


def copied_entries(source: WorkingFile, paths: Iterable[Path], target: WorkingFile) -> tuple[Edit, ...]:
    """The edits that put entries into another book, in its words, after those that it has.

    Raises:
        UsageError: one of the files has no book, or a path is of no entry.
        UnsupportedError: the book is in the words of another program.
    """
    book, other = book_of(source.asset), book_of(target.asset)
    if book is None or other is None:
        raise UsageError(f"{source.name if book is None else target.name} has no lorebook")
    if other.entries and other.spelling not in {Spelling.CARD, Spelling.WORLD}:
        raise UnsupportedError(f"no entry is written in the words of {other.spelling}", hint="export it as world first")
    paths_of, base = entry_paths(book), (*other.path, "entries")
    entries = {paths_of[id(entry.raw)]: entry for entry in book.entries if id(entry.raw) in paths_of}
    items = existing(target.tree, base)[1]
    edits = []
    for count, path in enumerate(paths):
        if tuple(path) not in entries:
            raise UsageError("there is no entry to copy at a path")
        entry = entries[tuple(path)]
        if isinstance(items, list):
            number = len(items) + count
            edits.append(
                Edit(file=target.id, path=(*base, number), value=card_entry(entry) | {"id": number}, insert=True)
            )
        else:
            number = max((int(key) for key in items or () if str(key).isdecimal()), default=-1) + 1 + count
            edits.append(Edit(file=target.id, path=(*base, str(number)), value=world_entry(entry) | {"uid": number}))
    return tuple(edits)
