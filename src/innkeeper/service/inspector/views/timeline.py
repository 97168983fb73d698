"""Timeline: the turns of the chat: which entries were in and why, tokens by group, what was left out, what a cache keeps."""

from __future__ import annotations

import msgspec


class TimelineRequest(msgspec.Struct, frozen=True):
    """So many turns before one, by its number from 0; None: the last. ``provider``: whose cache; empty: the usual one."""

    before: int | None = None
    count: int = 1
    provider: str = ""


class TurnEntryView(msgspec.Struct, frozen=True):
    """An entry at one turn: whether it is in, its reason, and the facts of the page's sentence for it."""

    book: str
    uid: str | int
    title: str
    fired: bool
    reason: str
    parameters: dict[str, str]


class AssetTokens(msgspec.Struct, frozen=True):
    """The tokens of a prompt whose text came from a kind of asset, and its colour."""

    asset: str
    colour: int
    tokens: int


class TurnView(msgspec.Struct, frozen=True):
    """One turn: the index of the user's message in the chat, and the prompt's tokens, in all and by where its text came from.

    ``entries`` are those that are in or came near it. ``left_out`` are tokens of what did not fit. ``shared`` are the tokens that
    the prompt before began with, too; ``read`` those of them that the provider's cache serves. ``why`` says why not more,
    ``mend`` how more.
    """

    message: int
    tokens: int
    window: int | None
    assets: tuple[AssetTokens, ...]
    left_out: int
    entries: tuple[TurnEntryView, ...]
    shared: int
    read: int
    why: str | None
    mend: str | None


class TimelineView(msgspec.Struct, frozen=True):
    """Some turns of ``total``, from number ``first`` on. ``providers`` are those whose caches are known."""

    first: int
    total: int
    provider: str
    providers: tuple[str, ...]
    turns: tuple[TurnView, ...]
