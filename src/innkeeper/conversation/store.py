"""ConversationStore: where a conversation is kept between its turns, and the store that is a chat file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Protocol, TypeVar

from innkeeper.content.chat import ChatLog
from innkeeper.content.chat_message import ChatMessage
from innkeeper.content.files.loading import load_chat
from innkeeper.content.files.saving import append_to_chat, locked_for_writing, save_chat
from innkeeper.content.json.text import encode_json
from innkeeper.prompt.errors import UsageError, Where

T = TypeVar("T")


class ConversationStore(Protocol[T]):
    """Where one conversation is kept between its turns. A store of your own needs these two methods.

    ``T`` is the part of the conversation that is kept: the `ChatLog` with its messages (`ChatFile`), or, for a client that has
    the messages itself, the state beside them (`innkeeper.conversation.state.ClientConversation`).
    """

    def load(self) -> T | None:
        """Return what was kept last; None for a new conversation."""
        ...

    def keep(self, conversation: T) -> None:
        """Keep the conversation as it is now: after the user's message, after the answer, and after any other change."""
        ...


class ChatFile:
    """A chat in a file in SillyTavern's format. A new message is added to the file; after any other change it is rewritten.

    Where other programs write to the file too, their messages stay in it; ``report`` gets a sentence about that, once.
    ``chat`` is the chat that the file has.
    """

    def __init__(self, path: Path, chat: ChatLog | None = None, report: Callable[[str], None] = lambda _: None) -> None:
        self.path = path
        self._written = chat
        self._report = report
        self._is_new = self._is_shared = False
        self._stamp: tuple[int, ...] = ()

    def load(self) -> ChatLog | None:
        """Return the chat in the file, the same where nothing has changed; None without one.

        Raises what `load_chat` raises, and `UsageError`.
        """
        if self._written is not None and self._stamp and not self._is_shared and self._look() == self._stamp:
            return self._written
        self._stamp, self._is_new = self._look(), self._is_empty()
        if self._is_new:
            return None
        chat = load_chat(self.path, lenient=True)
        if chat.header is None and not any(message.data for message in chat.messages):
            hint = "give a .jsonl file"
            raise UsageError("a JSON list cannot grow line by line", where=Where(asset=str(self.path)), hint=hint)
        self._written = chat
        return chat

    def keep(self, conversation: ChatLog) -> None:
        """Write the changes. Raises `MissingFileError`, and `OutputExistsError` for a file that was not loaded."""
        if conversation is self._written:
            return
        with locked_for_writing(self.path):
            if self._stamp and self._look() != self._stamp and not self._is_empty():
                if not self._is_shared:
                    self._report(f"another program writes to {self.path} too: its messages stay there beside yours")
                self._is_shared = True
            self._write(conversation, self._written)
            self._written, self._stamp = conversation, self._look()

    def _write(self, chat: ChatLog, before: ChatLog | None) -> None:
        if self._is_empty() or (before is None and not self._is_new):
            save_chat(self.path, chat, force=self._is_empty())
        elif before is None:
            there = load_chat(
                self.path, lenient=True
            ).messages  # the beginning of another program, such as the greeting
            append_to_chat(self.path, *chat.messages[same_beginning(chat.messages, there) :], chat=chat)
        elif chat.header is before.header and chat.messages and chat.messages[:-1] == before.messages:
            append_to_chat(self.path, chat.messages[-1], chat=before)
        else:
            save_chat(self.path, chat.append(*self._others(before)) if self._is_shared else chat, force=True)

    def _others(self, before: ChatLog) -> list[ChatMessage]:
        """The messages in the file that other programs wrote."""
        ours = Counter(encode_json(message.raw) for message in before.messages)
        others = []
        for message in load_chat(self.path, lenient=True).messages:
            line = encode_json(message.raw)
            if ours[line]:
                ours[line] -= 1
            else:
                others.append(message)
        return others

    def _look(self) -> tuple[int, ...]:
        """What changes with the file."""
        try:
            facts = self.path.stat()
        except OSError:
            return (0,)
        return facts.st_size, facts.st_mtime_ns, facts.st_ino

    def _is_empty(self) -> bool:
        return not self.path.exists() or self.path.stat().st_size == 0


def same_beginning(one: Sequence[ChatMessage], other: Sequence[ChatMessage]) -> int:
    """Return how many first messages of two chats have the same speaker and text, such as a greeting."""
    return sum(1 for _ in takewhile(lambda pair: _words(pair[0]) == _words(pair[1]), zip(one, other, strict=False)))


def _words(message: ChatMessage) -> tuple[str, str, str]:
    return message.role, message.name or "", message.text
