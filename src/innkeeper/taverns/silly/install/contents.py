"""Contents: what there is in a folder to choose from: characters and groups with their chats, lorebooks, presets.

A folder may have thousands of cards: their names are read from their text chunks, as far as that goes.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from innkeeper.prompt.errors import InnkeeperError
from innkeeper.taverns.silly.install.chats import CHATS, LINES
from innkeeper.taverns.silly.install.files import UserFolder
from innkeeper.taverns.silly.install.names import CARDS, card_names, card_of, groups
from innkeeper.taverns.silly.install.selected import PRESETS

WORLDS = "worlds"
"""The folder of lorebooks."""


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a folder: names of characters' files with their names and chats, and of groups with their chats.

    ``books`` are names of lorebooks; ``presets`` names of presets and templates by their folder.
    """

    characters: Mapping[str, tuple[str, tuple[str, ...]]]
    groups: Mapping[str, tuple[str, tuple[str, ...]]]
    books: tuple[str, ...] = ()
    presets: Mapping[str, tuple[str, ...]] = {}


def contents_of(folder: UserFolder) -> Contents:
    """List what is in a folder; a card that cannot be read is noted and left out."""
    names = {avatar: _name(folder, avatar) for avatar in folder.names(CARDS, suffix=".png")}
    return Contents(
        characters={
            avatar: (name, _stems(folder, CHATS, avatar.removesuffix(".png"), suffix=LINES))
            for avatar, name in names.items()
            if name is not None
        },
        groups={group.id: (group.name, group.chats) for group in groups(folder)},
        books=_stems(folder, WORLDS, suffix=".json"),
        presets={name: stems for name in PRESETS if (stems := _stems(folder, name, suffix=".json"))},
    )


def _stems(folder: UserFolder, *parts: str, suffix: str) -> tuple[str, ...]:
    return tuple(name.removesuffix(suffix) for name in folder.names(*parts, suffix=suffix))


def _name(folder: UserFolder, avatar: str) -> str | None:
    names = card_names(folder.root / CARDS / avatar)
    if names:
        return names[0]
    try:
        card = card_of(folder, avatar)
    except InnkeeperError as error:
        folder.note(f"the card cannot be read: {error.message}", at=f"{CARDS}/{avatar}")
        return None
    return None if card is None else card.name
