"""ConversationStore: where a conversation is kept between its turns, and the store that is a chat file."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, TypeVar

from innkeeper.content.chat import Chat
from innkeeper.content.files.loading import load_chat
from innkeeper.content.files.saving import append_to_chat, save_chat
from innkeeper.prompt.errors import UsageError, Where

T = TypeVar("T")


class ConversationStore(Protocol[T]):
    """Where one conversation is kept between its turns. A store of your own needs these two methods.

    ``T`` is the part of the conversation that is kept: the `Chat` with its messages (`ChatFile`), or, for a client that has the
    messages itself, the state beside them (`innkeeper.conversation.state.ClientConversation`).
    """

    def load(self) -> T | None:
        """Return what was kept last; None for a new conversation."""
        ...

    def keep(self, conversation: T) -> None:
        """Keep the conversation as it is now: after the user's message, after the answer, and after any other change."""
        ...


class ChatFile:
    """A chat in a file in SillyTavern's format. A new message is added to the file; after any other change it is rewritten.

    ``chat`` is the chat that the file has.
    """

    def __init__(self, path: Path, chat: Chat | None = None) -> None:
        self.path = path
        self._written = chat

    def load(self) -> Chat | None:
        """Return the chat in the file; None without one. Raises what `load_chat` raises, and `UsageError`."""
        if self._is_empty():
            return None
        chat = load_chat(self.path, lenient=True)
        if chat.header is None and not any(message.data for message in chat.messages):
            hint = "give a .jsonl file"
            raise UsageError("a JSON list cannot grow line by line", where=Where(asset=str(self.path)), hint=hint)
        self._written = chat
        return chat

    def keep(self, conversation: Chat) -> None:
        """Write the changes. Raises `OutputExistsError` for a file that was not loaded."""
        chat, before = conversation, self._written
        if chat is before:
            return
        if before is None:
            save_chat(self.path, chat, force=self._is_empty())
        elif chat.header is before.header and chat.messages and chat.messages[:-1] == before.messages:
            append_to_chat(self.path, chat.messages[-1], chat=before)
        else:
            save_chat(self.path, chat, force=True)
        self._written = chat

    def _is_empty(self) -> bool:
        return not self.path.exists() or self.path.stat().st_size == 0
