"""ChatFile: where a conversation is kept as a file in SillyTavern's format."""

from __future__ import annotations

from pathlib import Path

from innkeeper.content.chat import Chat
from innkeeper.content.files.saving import append_to_chat, save_chat


class ChatFile:
    """A chat in a file. The file grows by a message that is added; for any other change it is written anew, in one step.

    ``chat`` is the one that the file has, or begins with.
    """

    def __init__(self, path: Path, chat: Chat) -> None:
        self.path = path
        self._written = chat

    def keep(self, chat: Chat) -> None:
        """Write what has changed."""
        before = self._written
        if chat is before:
            return
        if chat.header is before.header and chat.messages and chat.messages[:-1] == before.messages:
            append_to_chat(self.path, chat.messages[-1], chat=before)
        else:
            save_chat(self.path, chat, force=True)
        self._written = chat
