"""ConversationStates: the states of conversations between their turns, in the database.

It is a `StateStore` of `innkeeper.conversation.state`: a restarted service, and several that share a database, go on with the
same conversations.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final, Self

from sqlalchemy import bindparam, delete, func, select

from innkeeper.conversation.state import MAX_CHAT_STATES, MAX_STATES, StoredState
from innkeeper.library.db.engine import Database
from innkeeper.library.db.private import PrivateDatabase
from innkeeper.library.db.rows import upsert
from innkeeper.library.db.tables.columns import moment_text
from innkeeper.library.db.tables.logs import conversation_states as states

DAYS: Final = 90
"""Days after which a conversation that nobody goes on with is forgotten."""

_AT_ONCE: Final = 500
_EACH: Final = 256


_HERE: Final = states.c.scope == bindparam("of")
_KNOWN: Final = select(states.c.chat, states.c.state).where(_HERE, states.c.chat.in_(bindparam("keys", expanding=True)))
_NEWEST: Final = select(func.coalesce(func.max(states.c.number), 0)).where(_HERE)
_OLD: Final = delete(states).where(_HERE, states.c.number <= bindparam("old"))
"""Statements of every turn, made once: making them takes longer than SQLite's work in memory."""


class ConversationStates:
    """The states of one database. Every method is one transaction and may wait for others."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.in_memory = db.in_memory
        self._puts = 0

    @classmethod
    def private(cls, size: int = MAX_STATES) -> Self:
        """States of this process alone, in memory: those that nobody goes on with are forgotten first."""
        return cls(PrivateDatabase(states, size=size, age=states.c.updated_at))

    def get(self, scope: str, keys: Sequence[str]) -> tuple[str, bytes] | None:
        """The first of these keys that has a state, and the state."""
        with self.db.reading() as connection:
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                states = {row.chat: row.state for row in connection.execute(_KNOWN, {"of": scope, "keys": some})}
                key = next((key for key in some if key in states), None)
                if key is not None:
                    return key, str(states[key]).encode()
        return None

    def last(self, scope: str) -> StoredState | None:
        """The state that was put last."""
        columns = (states.c.chat, states.c.state, states.c.state_before)
        query = select(*columns).where(states.c.scope == scope).order_by(states.c.number.desc()).limit(1)
        with self.db.reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else StoredState(row.chat, row.state.encode(), row.state_before.encode())

    def put(self, scope: str, stored: StoredState, most: int = MAX_CHAT_STATES) -> None:
        """Keep a state; of its conversation, those that are too many are forgotten, and now and then old conversations."""
        with self.db.transaction() as connection:
            number = connection.execute(_NEWEST, {"of": scope}).scalar_one() + 1
            values = {
                "state": stored.state.decode(),
                "state_before": stored.before.decode(),
                "number": number,
                "updated_at": self.db.now(),
            }
            upsert(connection, states, {"scope": scope, "chat": stored.key, **values})
            connection.execute(_OLD, {"of": scope, "old": number - most})
        self._puts += 1
        if self._puts % _EACH == 1:
            self.forget()

    def close(self) -> None:
        """Close the database."""
        self.db.close()

    def forget(self, days: int = DAYS) -> int:
        """Forget the conversations that nobody has gone on with for so many days; how many states went."""
        since = moment_text(self.db.outside.now().now - timedelta(days=days))
        with self.db.transaction() as connection:
            return connection.execute(delete(states).where(states.c.updated_at < since)).rowcount
