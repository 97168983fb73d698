"""Stores of many chats, each with a name: a folder of files, a database, or one of a program's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Protocol, TypeAlias, runtime_checkable

from innkeeper.content.chat import ChatLog
from innkeeper.conversation.store import ChatFile, ConversationStore
from innkeeper.lazy import require
from innkeeper.prompt.errors import UsageError

ENDING: Final = ".jsonl"
"""The ending of a chat's file."""

DEFAULT_NAME: Final = "chat"
"""The name of a chat in a store of many where nobody gives one."""


@runtime_checkable
class NamedChats(Protocol):
    """Keeps many chats, each under a name. A store of your own needs this one method, and a `ConversationStore` for each."""

    def named(self, name: str) -> ConversationStore[ChatLog]:
        """Return the store of one chat. Raises `UsageError` for a name that no chat can have."""
        ...


ChatLocation: TypeAlias = str | os.PathLike[str] | NamedChats | ConversationStore[ChatLog] | None
"""Where a chat is kept: a file, a folder, the URL of a database, a store, or nowhere but in memory."""


class ChatFolder:
    """Chats as files of one folder, in SillyTavern's format: ``NAME.jsonl``."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser()

    def named(self, name: str) -> ChatFile:
        """Return the file of a chat. Raises `UsageError` for a name that leads out of the folder."""
        if not name or name != Path(name).name or "\0" in name or name.startswith("."):
            raise UsageError(
                f"no chat in a folder is named {name!r:.80}", hint="give the name of a file, without a path"
            )
        self.path.mkdir(parents=True, exist_ok=True)
        return ChatFile(self.path / f"{name}{ENDING}")


class ChatMemory:
    """Chats in the memory of this process, and one of them: what is kept nowhere else."""

    def __init__(self, chats: dict[str, ChatLog] | None = None, name: str = DEFAULT_NAME) -> None:
        self._chats: dict[str, ChatLog] = {} if chats is None else chats
        self._name = name

    def named(self, name: str) -> ChatMemory:
        """Return the store of a chat."""
        return ChatMemory(self._chats, name)

    def load(self) -> ChatLog | None:
        """Return the chat; None for a new one."""
        return self._chats.get(self._name)

    def keep(self, conversation: ChatLog) -> None:
        """Keep it."""
        self._chats[self._name] = conversation


def open_store(
    location: ChatLocation, name: str = DEFAULT_NAME
) -> tuple[NamedChats | None, ConversationStore[ChatLog]]:
    """Return the store of a chat, and the stores that it is one of, where there are such.

    A path that ends with ``.jsonl`` is a file, any other a folder; a text with ``://`` is the URL of a database. Raises
    `UsageError`, and what opening a database raises.
    """
    if location is None:
        location = ChatMemory()
    elif isinstance(location, (str, os.PathLike)):
        text = os.fspath(location)
        if "://" in text:
            require("sqlalchemy")
            from innkeeper.chat.database import ChatDatabase

            location = ChatDatabase.open(text)
        elif text.endswith(ENDING):
            file = Path(text).expanduser()
            location, name = ChatFolder(file.parent), file.stem
        else:
            location = ChatFolder(text)
    return (location, location.named(name)) if isinstance(location, NamedChats) else (None, location)
