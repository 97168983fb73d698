"""ChatDatabase: chats in two tables of a SQLite or PostgreSQL database, a row a message.

Each message is the line that a chat file would have of it. A process writes the rows that it changes and no others: two that add
to one chat at once lose nothing of each other. The header of a chat, with its variables, is that of the last turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from sqlalchemy import bindparam, delete, func, insert, select, update

from innkeeper.content.chat import EMPTY_HEADER, ChatLog, read_chat
from innkeeper.conversation.store import same_beginning
from innkeeper.library.db.engine import Database
from innkeeper.library.db.rows import insert_new
from innkeeper.library.db.tables.chats import CHATS, LINES, MAX_NAME, make_chat_tables
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.errors import UsageError

if TYPE_CHECKING:
    import os

    from sqlalchemy.engine import Connection

    from innkeeper.content.chat_message import ChatMessage

MAX_KNOWN_CHATS: Final = 256 * 1024 * 1024
"""Bytes of chats that a process keeps for their next turn (no error: a chat is read from the database again)."""

_MESSAGE_BYTES: Final = 1_024
"""Bytes of a message in memory beside its text, its alternatives and its line."""

_OWN: Final = LINES.c.chat == bindparam("of")


class _Rows(NamedTuple):
    """A chat as the database had it after so many changes, and the numbers of its messages' rows."""

    changes: int
    chat: ChatLog
    numbers: tuple[int, ...]

    @property
    def size(self) -> int:
        """About how many bytes it takes up."""
        return sum(_MESSAGE_BYTES + 4 * len(message.text) for message in self.chat.messages)


class ChatDatabase:
    """Chats by their names in a database, which need not be a library's. Threads and processes may share it.

    Open it once for a program: `named` opens no further connections.
    """

    def __init__(self, db: Database) -> None:
        self.db = db
        self._known: BoundedCache[str, _Rows] = BoundedCache(size=MAX_KNOWN_CHATS)

    @classmethod
    def open(cls, url: str | os.PathLike[str]) -> Self:
        """Open a database by its URL or its SQLite file, and make the tables where they are missing. Raises `DatabaseError`."""
        db = Database.open(url, check=False)
        try:
            with db.transaction() as connection:
                make_chat_tables(connection)
        except BaseException:
            db.close()
            raise
        return cls(db)

    def named(self, name: str) -> ChatRows:
        """Return the store of a chat. Raises `UsageError` for a name that is empty or too long."""
        if not name or len(name) > MAX_NAME or "\0" in name:
            raise UsageError(f"no chat is named {name!r:.80}", hint=f"a name has 1 to {MAX_NAME} characters")
        return ChatRows(self.db, name, self._known)

    def names(self) -> tuple[str, ...]:
        """Return the names of all chats, sorted."""
        with self.db.reading() as connection:
            return tuple(connection.execute(select(CHATS.c.name).order_by(CHATS.c.name)).scalars())

    def remove(self, name: str) -> None:
        """Delete a chat, if there is one of this name."""
        with self.db.transaction() as connection:
            connection.execute(delete(LINES).where(_OWN), {"of": name})
            connection.execute(delete(CHATS).where(CHATS.c.name == name))

    def close(self) -> None:
        """Close the connections."""
        self.db.close()


class ChatRows:
    """One chat in a `ChatDatabase`: a `ConversationStore`. ``known`` are chats that were read or written before."""

    def __init__(self, db: Database, name: str, known: BoundedCache[str, _Rows]) -> None:
        self.db, self.name = db, name
        self._known = known
        self._rows: _Rows | None = None
        self._is_current = True

    def load(self) -> ChatLog | None:
        """Return the chat, the same where nothing has changed; None for a new one. Raises `DatabaseError`."""
        with self.db.snapshot() as connection:
            columns = select(CHATS.c.header, CHATS.c.changes).where(CHATS.c.name == self.name)
            row = connection.execute(columns).first()
            if row is None:
                self._rows = None
            elif not (self._is_current and self._rows is not None and self._rows.changes == row.changes):
                known = self._known.get(self.name)
                if known is None or known.changes != row.changes:
                    numbers, lines = self._read(connection)
                    chat = read_chat("".join(f"{line}\n" for line in [row.header, *lines]).encode(), name=self.name)
                    known = self._remember(_Rows(row.changes, chat, numbers))
                self._rows = known
        self._is_current = True
        return None if self._rows is None else self._rows.chat

    def keep(self, conversation: ChatLog) -> None:
        """Write what has changed since it was loaded or kept last. Raises `DatabaseError`."""
        before = self._rows
        if before is not None and conversation is before.chat:
            return
        with self.db.transaction() as connection:
            changes = self._lock(connection, conversation)
            if before is None:
                numbers = self._after_beginning(connection, conversation)
            else:
                numbers = self._changed(connection, before, conversation.messages)
        self._rows = _Rows(changes, conversation, numbers)
        self._is_current = self._is_current and changes == (1 if before is None else before.changes + 1)
        if self._is_current:  # nobody else has written since: this is the chat
            self._remember(self._rows)

    def _remember(self, rows: _Rows) -> _Rows:
        return self._known.put(self.name, rows, rows.size)

    def _lock(self, connection: Connection, chat: ChatLog) -> int:
        """Write the header, which locks the chat's row; return how many changes there were with this one."""
        header = _lines(ChatLog(header=chat.header or dict(EMPTY_HEADER), header_data=chat.header_data))
        insert_new(connection, CHATS, {"name": self.name, "header": header, "changes": 0}, "name")
        here = update(CHATS).where(CHATS.c.name == self.name)
        query = here.values(header=header, changes=CHATS.c.changes + 1).returning(CHATS.c.changes)
        return int(connection.execute(query).scalar_one())

    def _read(self, connection: Connection) -> tuple[tuple[int, ...], list[str]]:
        query = select(LINES.c.number, LINES.c.line).where(_OWN).order_by(LINES.c.number)
        rows = connection.execute(query, {"of": self.name}).all()
        return tuple(row.number for row in rows), [row.line for row in rows]

    def _after_beginning(self, connection: Connection, chat: ChatLog) -> tuple[int, ...]:
        """Add a new chat, without the beginning that another process has written already, such as the greeting."""
        numbers, lines = self._read(connection)
        there = read_chat("\n".join(lines).encode(), name=self.name).messages if lines else ()
        same = same_beginning(chat.messages, there)
        return numbers[:same] + self._added(connection, chat.messages[same:])

    def _changed(self, connection: Connection, rows: _Rows, after: Sequence[ChatMessage]) -> tuple[int, ...]:
        """Write the difference of two states of the chat; return the numbers of the messages after it."""
        before, numbers = rows.chat.messages, rows.numbers
        first = _same(before, after)
        if len(before) == len(after):
            changed = [at for at in range(first, len(after)) if after[at] != before[at]]
            texts = [
                {"of": self.name, "at": numbers[at], "text": _lines(ChatLog(messages=(after[at],)))} for at in changed
            ]
            if texts:
                connection.execute(_UPDATE, texts)
            return numbers
        last = min(_same(before[::-1], after[::-1]), min(len(before), len(after)) - first)
        if first + last < len(after):  # new messages go to the end, and what follows them is written anew behind them
            last = 0
        gone = numbers[first : len(before) - last]
        if gone:
            connection.execute(_DELETE, [{"of": self.name, "at": number} for number in gone])
        new = self._added(connection, after[first : len(after) - last])
        return (*numbers[:first], *new, *numbers[len(before) - last :])

    def _added(self, connection: Connection, messages: Sequence[ChatMessage]) -> tuple[int, ...]:
        """Add messages at the end; return their numbers."""
        if not messages:
            return ()
        newest = select(func.coalesce(func.max(LINES.c.number), 0)).where(_OWN)
        last = int(connection.execute(newest, {"of": self.name}).scalar_one())
        numbers = tuple(range(last + 1, last + 1 + len(messages)))
        lines = [_lines(ChatLog(messages=(message,))) for message in messages]
        pairs = zip(numbers, lines, strict=True)
        connection.execute(insert(LINES), [{"chat": self.name, "number": at, "line": line} for at, line in pairs])
        return numbers


_HERE: Final = _OWN & (LINES.c.number == bindparam("at"))
_UPDATE: Final = update(LINES).where(_HERE).values(line=bindparam("text"))
_DELETE: Final = delete(LINES).where(_HERE)


def _lines(chat: ChatLog) -> str:
    """Return the lines of a chat as a file has them, without the end of the last."""
    return chat.to_jsonl().decode().removesuffix("\n")


def _same(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Return how many first items two sequences have in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
