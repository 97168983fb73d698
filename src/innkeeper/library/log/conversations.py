"""Conversations and their messages, numbered and stored, and the characters who speak in them.

What people write for others passes the tier gate before it is stored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import insert, select, update

from innkeeper.library.db.engine import Database
from innkeeper.library.db.log_tables import characters, conversations, messages
from innkeeper.library.db.rows import checked, first_row, frozen_row, frozen_rows
from innkeeper.library.errors import NotFoundError
from innkeeper.library.limits import ADULT_AGE
from innkeeper.library.models.stores import RowStore
from innkeeper.library.tiers.gate import TextKind, TierGate
from innkeeper.library.tiers.moderation import moderate, row_texts
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import Where

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

__all__ = ["CharacterStore", "ConversationStore", "card_texts"]

_NO_TEXTS: Final = frozenset(
    {"id", "user_id", "content_rating", "role", "moderation_status", "consistency_method", "created_at", "updated_at"}
)
"""Columns of ``characters`` that nobody writes texts in."""


class CharacterStore(RowStore):
    """Characters: private and of the general tier unless said otherwise; the adult tier needs a declared adult age.

    Each is judged as a whole, in its own tier, before it is saved. ``gate`` is asked instead of the operator's in the database.
    What is blocked is not saved: `add`, `put` and `update` raise `TierBlockedError`, and an audit event tells of it.
    """

    table = characters

    def __init__(self, db: Database, gate: TierGate | None = None) -> None:
        super().__init__(db)
        self._gate = gate

    def _admit(self, row: FrozenDict, who: str) -> None:
        texts, resource = card_texts(row, _NO_TEXTS), (self.table.name, str(row["id"]))
        moderate(self.db, TextKind.CARD, texts, row["content_rating"], resource=resource, who=who, gate=self._gate)

    def of_user(self, user_id: str) -> tuple[FrozenDict, ...]:
        """A user's own characters by name."""
        return tuple(sorted(self.list(user_id=user_id), key=lambda row: (row["name"], row["id"])))


def card_texts(row: Mapping[str, Any], without: Collection[str]) -> dict[str, str]:
    """The texts of a character, with its declared age in words where that is below adulthood."""
    texts, age = row_texts(row, without), row.get("declared_age")
    return {**texts, "declared_age": f"{age} years old"} if age is not None and age < ADULT_AGE else texts


_SCENE: Final = ("title", "current_location", "memory_data")
"""Columns of ``conversations`` that tell of the scene."""


class ConversationStore:
    """The conversations of one database. What tells of the scene (its place, what is remembered) passes the tier gate first."""

    def __init__(self, db: Database, gate: TierGate | None = None) -> None:
        self.db = db
        self._gate = gate

    def create(self, values: Mapping[str, Any]) -> FrozenDict:
        """Begin a conversation; with an ``id`` that exists already, the one that is there (so that a repeat makes no second).

        Raises `FieldError`, `TierBlockedError`.
        """
        with self.db.transaction() as connection:
            given = values.get("id")
            found = None if given is None else self._find(connection, given)
            if found is not None:
                return found
            now = self.db.now()
            stamp = {"id": given or self.db.fresh_id(), "created_at": now, "updated_at": now}
            row = checked(conversations, {**values, **stamp})
            connection.execute(insert(conversations), row)
            return self._admitted(self._get(connection, row["id"]))

    def update(self, conversation_id: str, changes: Mapping[str, Any]) -> FrozenDict:
        """Change some columns of a conversation. Raises `NotFoundError`, `FieldError`, `TierBlockedError`."""
        with self.db.transaction() as connection:
            self._get(connection, conversation_id)
            values = checked(conversations, {**changes, "updated_at": self.db.now()}, whole=False)
            connection.execute(update(conversations).where(conversations.c.id == conversation_id).values(values))
            return self._admitted(self._get(connection, conversation_id))

    def get(self, conversation_id: str) -> FrozenDict:
        """A conversation. Raises `NotFoundError`."""
        with self.db.reading() as connection:
            return self._get(connection, conversation_id)

    def of_user(self, user_id: str, limit: int = 100) -> tuple[FrozenDict, ...]:
        """A user's conversations, the one that was used last first."""
        here = select(conversations).where(conversations.c.user_id == user_id)
        query = here.order_by(conversations.c.updated_at.desc(), conversations.c.id).limit(limit)
        with self.db.reading() as connection:
            return frozen_rows(connection.execute(query))

    def append(
        self, conversation_id: str, role: str, content: str, *, client_msg_id: str | None = None, **more: Any
    ) -> FrozenDict:
        """Add a message with the next number.

        Args:
            conversation_id: the conversation.
            role: ``system``, ``user``, ``assistant`` or ``tool``.
            content: the text.
            client_msg_id: the sender's own id; a message that has it already is returned, and none is added.
            **more: further columns of ``messages``.

        Raises:
            NotFoundError: there is no such conversation.
            FieldError: a value that its column does not take.
        """
        with self.db.transaction() as connection:
            now = self.db.now()
            seq = self._next(connection, conversation_id, now)
            sent = self._sent(connection, conversation_id, client_msg_id)
            if sent is not None:
                return sent
            row = {"id": self.db.fresh_id(), "created_at": now, **more}
            row |= {"conversation_id": conversation_id, "seq": seq, "role": role, "content": content}
            row["client_msg_id"] = client_msg_id
            connection.execute(insert(messages), checked(messages, row))
            self._count(connection, conversation_id, seq)
            return frozen_row(connection.execute(select(messages).where(messages.c.id == row["id"])).mappings().one())

    def newest(self, conversation_id: str, limit: int = 100, *, before: int | None = None) -> tuple[FrozenDict, ...]:
        """The newest messages that are not deleted, oldest of them first; only those with a lower number than ``before``."""
        query = select(messages).where(messages.c.conversation_id == conversation_id, messages.c.deleted_at.is_(None))
        if before is not None:
            query = query.where(messages.c.seq < before)
        with self.db.reading() as connection:
            rows = frozen_rows(connection.execute(query.order_by(messages.c.seq.desc()).limit(limit)))
        return tuple(reversed(rows))

    def delete_message(self, message_id: str) -> FrozenDict:
        """Mark a message as deleted; its number is not given again. Raises `NotFoundError`."""
        with self.db.transaction() as connection:
            here = messages.c.id == message_id
            connection.execute(update(messages).where(here).values(deleted_at=self.db.now()))
            row = first_row(connection.execute(select(messages).where(here)))
            if row is None:
                raise NotFoundError(f"there is no message {message_id!r}", where=Where(asset="messages"))
            return row

    def _admitted(self, row: FrozenDict) -> FrozenDict:
        texts = row_texts({name: row[name] for name in _SCENE}, ())
        resource, who = ("conversations", row["id"]), row["user_id"] or ""
        moderate(self.db, TextKind.SCENE, texts, None, resource=resource, who=who, gate=self._gate)
        return row

    def _next(self, connection: Connection, conversation_id: str, now: str) -> int:
        """Lock the conversation and return the number after its last."""
        here = conversations.c.id == conversation_id
        query = update(conversations).where(here).values(updated_at=now).returning(conversations.c.last_seq)
        last: int | None = connection.execute(query).scalar()
        if last is None:
            raise _unknown(conversation_id)
        return last + 1

    def _count(self, connection: Connection, conversation_id: str, seq: int) -> None:
        connection.execute(update(conversations).where(conversations.c.id == conversation_id).values(last_seq=seq))

    def _sent(self, connection: Connection, conversation_id: str, client_msg_id: str | None) -> FrozenDict | None:
        if client_msg_id is None:
            return None
        here = (messages.c.conversation_id == conversation_id) & (messages.c.client_msg_id == client_msg_id)
        return first_row(connection.execute(select(messages).where(here)))

    def _find(self, connection: Connection, conversation_id: str) -> FrozenDict | None:
        return first_row(connection.execute(select(conversations).where(conversations.c.id == conversation_id)))

    def _get(self, connection: Connection, conversation_id: str) -> FrozenDict:
        found = self._find(connection, conversation_id)
        if found is None:
            raise _unknown(conversation_id)
        return found


def _unknown(conversation_id: str) -> NotFoundError:
    return NotFoundError(f"there is no conversation {conversation_id!r}", where=Where(asset="conversations"))
