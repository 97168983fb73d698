"""Cards, groups and chats of a folder by name: the file's name first, then the name that stands inside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from innkeeper.content.character import Character
from innkeeper.content.files.loading import load_character
from innkeeper.prompt.errors import InnkeeperError, UnknownNameError, UsageError, Where
from innkeeper.prompt.text import shorten
from innkeeper.taverns.silly.install.card_names import card_names
from innkeeper.taverns.silly.install.files import UserFolder, list_of, text_of

__all__ = ["AmbiguousNameError", "CardFile", "GroupFile", "card_of", "cards", "find_card", "find_group", "groups"]

CARDS: Final = "characters"
GROUPS: Final = "groups"
_PNG: Final = ".png"
_JSON: Final = ".json"
_SHOWN: Final = 20
_NOTES: Final = 3

T = TypeVar("T", "CardFile", "GroupFile")


class AmbiguousNameError(UsageError):
    """Several things of a folder have this name; ``candidates`` are names that tell them apart."""

    def __init__(self, what: str, name: str, candidates: Iterable[str]) -> None:
        self.candidates = tuple(candidates)
        hint = f"say which: {', '.join(self.candidates[:_SHOWN])}"
        super().__init__(f"several {what} are called {shorten(name, 80)!r}", hint=hint, candidates=self.candidates)


class CardFile(msgspec.Struct, frozen=True):
    """A card and the name of its file (``Mira.png``), which is the character's identity in the whole folder."""

    avatar: str
    card: Character

    @property
    def stem(self) -> str:
        """The file's name without its ending: the name of the folder with its chats."""
        return self.avatar.removesuffix(_PNG)

    @property
    def name(self) -> str:
        """What the character is called."""
        return self.card.name

    @property
    def key(self) -> str:
        """What tells it apart."""
        return self.avatar


class GroupFile(msgspec.Struct, frozen=True):
    """A group: the name of its file without its ending, and the object in it."""

    id: str
    raw: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What the group is called."""
        return text_of(self.raw.get("name")) or self.id

    @property
    def key(self) -> str:
        """What tells it apart."""
        return self.id

    @property
    def chats(self) -> tuple[str, ...]:
        """The names of its chats."""
        return tuple(filter(None, map(text_of, list_of(self.raw.get("chats")))))


def card_of(folder: UserFolder, avatar: str) -> CardFile | None:
    """The card in a file of the folder; ``None`` where there is no such file. Raises what `load_character` raises."""
    path = folder.path(CARDS, avatar) if avatar.endswith(_PNG) else None
    if path is None:
        return None
    return CardFile(avatar, load_character(path, limits=folder.limits, lenient=True))


def cards(folder: UserFolder, avatars: Iterable[str] | None = None) -> tuple[CardFile, ...]:
    """The cards in these files, or all of the folder, by file name; those that cannot be read are noted and left out."""
    found = []
    for name in folder.names(CARDS, suffix=_PNG) if avatars is None else avatars:
        try:
            card = card_of(folder, name)
        except InnkeeperError as error:
            folder.note(f"the card cannot be read: {error.message}", at=f"{CARDS}/{name}")
        else:
            found += [card] if card is not None else []
    return tuple(found)


def find_card(folder: UserFolder, name: str) -> CardFile:
    """The card whose file, else the one whose character, has this name.

    Raises:
        AmbiguousNameError: several characters have it.
        UnknownNameError: none has.
    """
    stem, avatars = name.removesuffix(_PNG), folder.names(CARDS, suffix=_PNG)
    if f"{stem}{_PNG}" in avatars:
        card = card_of(folder, f"{stem}{_PNG}")
        if card is not None:
            return card
    named = {avatar: card_names(folder.root / CARDS / avatar) for avatar in avatars}
    wanted = name.casefold()
    maybe = [avatar for avatar, names in named.items() if not names or wanted in map(str.casefold, names)]
    others = [names[0] for names in named.values() if names and wanted not in map(str.casefold, names)]
    return _by_name(folder, CARDS, name, cards(folder, maybe), others)


def groups(folder: UserFolder) -> tuple[GroupFile, ...]:
    """All groups of the folder, by file name."""
    read = ((name, folder.json(GROUPS, name)) for name in folder.names(GROUPS, suffix=_JSON))
    return tuple(GroupFile(name.removesuffix(_JSON), raw) for name, raw in read if raw is not None)


def find_group(folder: UserFolder, name: str) -> GroupFile:
    """The group of this id, else of this name. Raises `AmbiguousNameError`, and `UnknownNameError` where there is none."""
    known = groups(folder)
    chosen = next((group for group in known if group.id == name), None)
    return _by_name(folder, GROUPS, name, known) if chosen is None else chosen


def _by_name(folder: UserFolder, what: str, name: str, known: tuple[T, ...], others: Iterable[str] = ()) -> T:
    """The one of this name, in any case where none has it as it is written; ``others`` are names of those left aside."""
    found = [one for one in known if one.name == name] or [
        one for one in known if one.name.casefold() == name.casefold()
    ]
    if len(found) > 1:
        raise AmbiguousNameError(what, name, [one.key for one in found])
    if not found:
        error = UnknownNameError(what.removesuffix("s"), name, [*(one.name for one in known), *others])
        error.where = Where(asset=what)
        error.hint = "; ".join(filter(None, (error.hint, _passed_over(folder, what)))) or None
        raise error
    return found[0]


def _passed_over(folder: UserFolder, what: str) -> str:
    """What of these files could not be read, since the one that is looked for may be among them."""
    notes = [str(note) for note in folder.notes if note.where is not None and (note.where.asset or "").startswith(what)]
    more = f" and {len(notes) - _NOTES:,} more" if len(notes) > _NOTES else ""
    return f"passed over: {'; '.join(notes[:_NOTES])}{more}" if notes else ""
