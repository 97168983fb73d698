"""Cards, groups and chats of a folder by name: the file's name first, then the name that stands inside.

A folder may have thousands of cards. `card_names` tells from the text chunks of a file what its character is called, so that
only the cards that may be meant are read, and those that are not pictures as SillyTavern writes them.
"""

from __future__ import annotations

import binascii
import stat
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

import msgspec

from innkeeper.content.character import Character
from innkeeper.content.files.loading import load_character
from innkeeper.content.files.png import SIGNATURE
from innkeeper.prompt.errors import InnkeeperError, UnknownNameError, UsageError, Where
from innkeeper.prompt.near import near_names
from innkeeper.prompt.text import shorten
from innkeeper.prompt.typed.once import decode
from innkeeper.taverns.silly.install.files import UserFolder, list_of, text_of

CARDS: Final = "characters"
GROUPS: Final = "groups"
_PNG: Final = ".png"
_JSON: Final = ".json"
_SHOWN: Final = 20
_NOTES: Final = 3

T = TypeVar("T", "NamedCard", "GroupFile")


class AmbiguousNameError(UsageError):
    """Several assets of a folder have this name; ``candidates`` are distinct names of them."""

    def __init__(self, what: str, name: str, candidates: Iterable[str]) -> None:
        self.candidates = tuple(candidates)
        hint = f"say which: {', '.join(self.candidates[:_SHOWN])}"
        super().__init__(f"several {what} are called {shorten(name, 80)!r}", hint=hint, candidates=self.candidates)


class NamedCard(msgspec.Struct, frozen=True):
    """A card and the name of its file (``Mira.png``), which is the character's identity in the whole folder."""

    avatar: str
    card: Character

    @property
    def stem(self) -> str:
        """The file's name without its ending: the name of the folder with its chats."""
        return self.avatar.removesuffix(_PNG)

    @property
    def name(self) -> str:
        """The character's name."""
        return self.card.name

    @property
    def key(self) -> str:
        """A unique name."""
        return self.avatar


class GroupFile(msgspec.Struct, frozen=True):
    """A group: the name of its file without its ending, and the object in it."""

    id: str
    raw: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The group's name."""
        return text_of(self.raw.get("name")) or self.id

    @property
    def key(self) -> str:
        """A unique name."""
        return self.id

    @property
    def chats(self) -> tuple[str, ...]:
        """The names of its chats."""
        return tuple(filter(None, map(text_of, list_of(self.raw.get("chats")))))


def card_of(folder: UserFolder, avatar: str) -> NamedCard | None:
    """The card in a file of the folder; ``None`` without such a file. Raises the errors of `load_character`."""
    path = folder.path(CARDS, avatar) if avatar.endswith(_PNG) else None
    if path is None:
        return None
    return NamedCard(avatar, load_character(path, limits=folder.limits, lenient=True))


def cards(folder: UserFolder, avatars: Iterable[str] | None = None) -> tuple[NamedCard, ...]:
    """The cards in these files, or all of the folder, by file name; those that cannot be read are noted and left out."""
    cards = []
    for name in folder.names(CARDS, suffix=_PNG) if avatars is None else avatars:
        try:
            card = card_of(folder, name)
        except InnkeeperError as error:
            folder.note(f"the card cannot be read: {error.message}", at=f"{CARDS}/{name}")
        else:
            cards += [card] if card is not None else []
    return tuple(cards)


def find_card(folder: UserFolder, name: str) -> NamedCard:
    """Return the card whose file, else the one whose character, has this name.

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
    folded = name.casefold()
    maybe = [avatar for avatar, names in named.items() if not names or folded in map(str.casefold, names)]
    others = [(names[0], avatar) for avatar, names in named.items() if names and folded not in map(str.casefold, names)]
    return _by_name(folder, CARDS, name, cards(folder, maybe), others)


def groups(folder: UserFolder) -> tuple[GroupFile, ...]:
    """All groups of the folder, by file name."""
    read = ((name, folder.json(GROUPS, name)) for name in folder.names(GROUPS, suffix=_JSON))
    return tuple(GroupFile(name.removesuffix(_JSON), raw) for name, raw in read if raw is not None)


def find_group(folder: UserFolder, name: str) -> GroupFile:
    """Return the group of this id, else of this name. Raises `AmbiguousNameError`, and `UnknownNameError` if there is none."""
    known = groups(folder)
    chosen = next((group for group in known if group.id == name), None)
    return _by_name(folder, GROUPS, name, known) if chosen is None else chosen


def _by_name(
    folder: UserFolder, what: str, name: str, known: tuple[T, ...], others: Iterable[tuple[str, str]] = ()
) -> T:
    """Return the item of this name, in any case if none has it as written.

    ``others`` are names and files of those passed over.
    """
    matching = [item for item in known if item.name == name] or [
        item for item in known if item.name.casefold() == name.casefold()
    ]
    if len(matching) > 1:
        raise AmbiguousNameError(what, name, [item.key for item in matching])
    if not matching:
        listed = [*((item.name, item.key) for item in known), *others]
        count = Counter(each for each, _ in listed)
        names = [each if count[each] == 1 else f"{each} ({key})" for each, key in listed]
        near = near_names(name, count)
        meant = " or ".join(repr(label) for (each, _), label in zip(listed, names, strict=True) if each in near)
        hint = {"hint": f"did you mean {meant}?"} if meant else {}
        error = UnknownNameError(what.removesuffix("s"), name, names, **hint)
        error.where = Where(asset=what)
        error.hint = "; ".join(filter(None, (error.hint, _passed_over(folder, what)))) or None
        raise error
    return matching[0]


def _passed_over(folder: UserFolder, what: str) -> str:
    """Note the files that could not be read, since the requested one may be among them."""
    notes = [str(note) for note in folder.notes if note.where is not None and (note.where.asset or "").startswith(what)]
    more = f" and {len(notes) - _NOTES:,} more" if len(notes) > _NOTES else ""
    return f"passed over: {'; '.join(notes[:_NOTES])}{more}" if notes else ""


MAX_CHUNKS: Final = 5_000
"""Chunks of a file that are looked at (no error: it has no name)."""

MAX_TEXT: Final = 1024 * 1024
"""Bytes of a text chunk that is read here (no error: it has no name); cards are smaller, but for those with large books."""

_KEYWORDS: Final = (b"chara\0", b"ccv3\0")
_LONGEST_KEYWORD: Final = max(map(len, _KEYWORDS))
_HEAD: Final = struct.Struct(">I4s")
_BUFFER: Final = 64 * 1024


class _Named(msgspec.Struct):
    """An object with a name."""

    name: Any = None


class _Card(_Named):
    """A card: with its name in ``data``, at its top, or both."""

    data: _Named | None = None


def card_names(path: Path) -> tuple[str, ...]:
    """The names in the cards of a picture; none where that takes the cards' own reader."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return ()
        with path.open("rb", buffering=_BUFFER) as file:
            cards = [decode(binascii.a2b_base64(text, strict_mode=True), _Card) for text in _texts(file)]
    except (OSError, ValueError, RecursionError):
        return ()
    names = [name for card in cards for name in (card.data.name if card.data else None, card.name) if name is not None]
    return tuple(dict.fromkeys(names)) if all(isinstance(name, str) for name in names) else ()


def _texts(file: BinaryIO) -> Iterator[bytes]:
    """The texts of the chunks that hold cards. Raises `ValueError` for a file that is not as it should be."""
    if file.read(len(SIGNATURE)) != SIGNATURE:
        raise ValueError("not a PNG")
    for _ in range(MAX_CHUNKS):
        head = file.read(_HEAD.size)
        length, kind = _HEAD.unpack(head) if len(head) == _HEAD.size else (0, b"IEND")
        if kind == b"IEND":
            return
        if kind not in (b"tEXt", b"zTXt", b"iTXt"):
            file.seek(length + 4, 1)
            continue
        start = file.read(min(length, _LONGEST_KEYWORD))
        keyword = next((word for word in _KEYWORDS if start.lower().startswith(word)), None)
        if keyword is not None and (kind != b"tEXt" or length > MAX_TEXT):
            raise ValueError("a card for the cards' own reader")
        if keyword is not None:
            yield start[len(keyword) :] + file.read(length - len(start))
            file.seek(4, 1)
        else:
            file.seek(length - len(start) + 4, 1)
    raise ValueError("too many chunks")
