"""Installed: what is open of a SillyTavern folder, and what there is in it to choose from."""

from __future__ import annotations

import msgspec


class InstallChoice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What to open: a character by the name of its file or a group by its id, and one of its chats; else what was open last.

    ``presets`` are selected first, ``books`` count in all chats beside those that do already.
    """

    character: str | None = None
    group: str | None = None
    chat: str | None = None
    presets: tuple[str, ...] = ()
    books: tuple[str, ...] = ()


class InstallView(msgspec.Struct, frozen=True):
    """What is open: who speaks, by name and by file or id, in which chat, and what was chosen for it."""

    name: str
    speaker: str
    chat: str
    is_new: bool
    choice: InstallChoice


class InstalledSpeaker(msgspec.Struct, frozen=True):
    """A character by its file, or a group by its id, with the chats; ``is_active``: it was open last in SillyTavern."""

    id: str
    name: str
    chats: tuple[str, ...]
    is_group: bool
    is_active: bool


class InstalledBook(msgspec.Struct, frozen=True):
    """A lorebook, and for what it counts in the chat that is open: for nothing where there is no scope."""

    name: str
    scopes: tuple[str, ...]


class InstalledPreset(msgspec.Struct, frozen=True):
    """A preset or template, and its folder."""

    name: str
    folder: str
    is_selected: bool


class InstallContents(msgspec.Struct, frozen=True):
    """What there is to choose from."""

    speakers: tuple[InstalledSpeaker, ...]
    books: tuple[InstalledBook, ...]
    presets: tuple[InstalledPreset, ...]
