"""Conversations and their messages, numbered and stored, and the characters who speak in them.

What people write for others passes the tier gate before it is stored. A store that is opened for an owner knows what is theirs
alone: what belongs to somebody else is not found, as if it were not there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import delete, insert, select, true, update

from innkeeper.gate.gate import TextKind, TierGate
from innkeeper.gate.limits import ADULT_AGE
from innkeeper.library.db.engine import Database
from innkeeper.library.db.owner import Owner
from innkeeper.library.db.rows import checked, first_row, insert_new, typed_rows
from innkeeper.library.db.tables.logs import characters, conversations, memories, messages
from innkeeper.library.errors import ConflictError, NotFoundError, is_storable
from innkeeper.library.limits import MAX_HISTORY_CHARS, MAX_MESSAGE_CHARS
from innkeeper.library.models.stores import RowStore
from innkeeper.library.rows import CharacterRow, ConversationRow, MessageRow
from innkeeper.library.tiers.moderation import moderate, row_texts
from innkeeper.prompt.errors import LimitError, Where

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Select
    from sqlalchemy.engine import Connection


_NO_TEXTS: Final = frozenset(
    {"id", "user_id", "tenant", "content_rating", "role", "moderation_status", "consistency_method"}
    | {"created_at", "updated_at"}
)
"""Columns of ``characters`` that nobody writes texts in."""


class CharacterStore(RowStore[CharacterRow]):
    """Characters: private and of the general tier unless said otherwise; the adult tier needs a declared adult age.

    Each is judged as a whole, in its own tier, before it is saved. ``gate`` is asked instead of the operator's in the database.
    What is blocked is not saved: `add`, `put` and `update` raise `TierBlockedError`, and an audit event tells of it.
    """

    table = characters
    row = CharacterRow

    def __init__(self, db: Database, gate: TierGate | None = None) -> None:
        super().__init__(db)
        self._gate = gate

    def _admit(self, row: CharacterRow, who: str) -> None:
        texts, resource = card_texts(row, _NO_TEXTS), (self.table.name, row.id)
        moderate(self.db, TextKind.CARD, texts, row.content_rating, resource=resource, who=who, gate=self._gate)

    def of_owner(self, owner: Owner) -> tuple[CharacterRow, ...]:
        """An owner's own characters by name."""
        return tuple(sorted(self.list(**owner.columns()), key=lambda row: (row.name, row.id)))

    def seen_by(self, owner: Owner | None, key: str) -> CharacterRow:
        """A character that an owner may speak with: their own, or a public one of their tenant that was approved.

        Without an owner any. Raises `NotFoundError` for all others, too.
        """
        row = self._looked_up(key)
        public = row is not None and row.is_public and row.moderation_status == "approved"
        if row is None or not (owner is None or owner.is_of(row) or (public and row.tenant == owner.tenant)):
            raise NotFoundError(f"there is no character {key!r:.80}", where=Where(asset="characters"))
        return row

    def owned(self, owner: Owner, key: str) -> CharacterRow:
        """A character of an owner's own. Raises `NotFoundError`."""
        row = self._looked_up(key)
        if row is None or not owner.is_of(row):
            raise NotFoundError(f"there is no character {key!r:.80}", where=Where(asset="characters"))
        return row

    def _looked_up(self, key: str) -> CharacterRow | None:
        with self.db.reading() as connection:
            return self._find(connection, key) if is_storable(key) else None


def card_texts(row: CharacterRow, without: Collection[str]) -> dict[str, str]:
    """The texts of a character, with its declared age in words where that is below adulthood."""
    texts, age = row_texts(row.to_dict(), without), row.declared_age
    return {**texts, "declared_age": f"{age} years old"} if age is not None and age < ADULT_AGE else texts


_SCENE: Final = ("title", "current_location", "memory_data")
"""Columns of ``conversations`` that tell of the scene."""

_PINS: Final = 100
"""How many pinned messages are read beside the newest."""


class ConversationStore:
    """The conversations of one database. What tells of the scene (its place, what is remembered) passes the tier gate first.

    With an ``owner`` it knows their conversations alone, and characters that they may speak with; without, all.
    """

    def __init__(self, db: Database, gate: TierGate | None = None, owner: Owner | None = None) -> None:
        self.db = db
        self.owner = owner
        self._gate = gate

    def create(self, values: Mapping[str, Any]) -> ConversationRow:
        """Begin a conversation; with an ``id`` that exists already, the one that is there (so that a repeat makes no second).

        Raises `FieldError`, `TierBlockedError`, and `NotFoundError` for an id or a character that is somebody else's.
        """
        with self.db.transaction() as connection:
            now = self.db.now()
            stamp = {"id": values.get("id") or self.db.fresh_id(), "created_at": now, "updated_at": now}
            own = {} if self.owner is None else self.owner.columns()
            row = checked(conversations, {**values, **stamp, **own})
            if self._find(connection, row["id"]) is not None:
                return self._get(connection, row["id"])
            self._check_characters(row)
            new = insert_new(connection, conversations, row, "id")
            made = self._get(connection, row["id"])
            return self._admitted(made) if new else made

    def update(self, conversation_id: str, changes: Mapping[str, Any]) -> ConversationRow:
        """Change some columns of a conversation. Raises `NotFoundError`, `FieldError`, `TierBlockedError`."""
        with self.db.transaction() as connection:
            self._get(connection, conversation_id)
            own = {} if self.owner is None else self.owner.columns()
            values = checked(conversations, {**changes, **own, "updated_at": self.db.now()}, whole=False)
            self._check_characters(values)
            connection.execute(update(conversations).where(conversations.c.id == conversation_id).values(values))
            return self._admitted(self._get(connection, conversation_id))

    def remove(self, conversation_id: str) -> ConversationRow:
        """Take a conversation out for good, with its messages and what was remembered in it. Raises `NotFoundError`."""
        with self.db.transaction() as connection:
            row = self._get(connection, conversation_id)
            own = (memories.c.scope == "conversation") & (memories.c.scope_id == conversation_id)
            connection.execute(delete(memories).where(own))
            connection.execute(delete(conversations).where(conversations.c.id == conversation_id))
        return row

    def get(self, conversation_id: str) -> ConversationRow:
        """A conversation. Raises `NotFoundError`."""
        with self.db.reading() as connection:
            return self._get(connection, conversation_id)

    def list(self, limit: int = 100) -> tuple[ConversationRow, ...]:
        """The conversations that this store knows, the one that was used last first."""
        query = select(conversations).where(self._known())
        newest = query.order_by(conversations.c.updated_at.desc(), conversations.c.id).limit(limit)
        with self.db.reading() as connection:
            return typed_rows(connection.execute(newest), ConversationRow)

    def append(
        self,
        conversation_id: str,
        role: str,
        content: str,
        *,
        client_msg_id: str | None = None,
        reply_to: str | None = None,
        **more: Any,
    ) -> MessageRow:
        """Add a message with the next number.

        Args:
            conversation_id: the conversation.
            role: ``system``, ``user``, ``assistant`` or ``tool``.
            content: the text.
            client_msg_id: the sender's own id; a message that has it already is returned, and none is added.
            reply_to: the message that this one answers; where it has an answer already, that is returned, and none is added.
            **more: further columns of ``messages``.

        Raises:
            NotFoundError: there is no such conversation.
            FieldError: a value that its column does not take.
            ConflictError: another text was sent under this ``client_msg_id``.
            LimitError: a text that is longer than messages are.
        """
        if isinstance(content, str) and len(content) > MAX_MESSAGE_CHARS:
            size, limit = len(content), "MAX_MESSAGE_CHARS"
            raise LimitError("the characters of a message", limit=limit, allowed=MAX_MESSAGE_CHARS, found=size)
        with self.db.transaction() as connection:
            now = self.db.now()
            seq = self._next(connection, conversation_id, now)
            row = {"id": self.db.fresh_id(), "created_at": now, **more}
            row |= {"conversation_id": conversation_id, "seq": seq, "role": role, "content": content}
            row = checked(messages, {**row, "client_msg_id": client_msg_id, "reply_to": reply_to})
            sent = self._sent(connection, row)
            if sent is not None:
                return sent
            connection.execute(insert(messages), row)
            connection.execute(update(conversations).where(conversations.c.id == conversation_id).values(last_seq=seq))
            query = select(messages).where(messages.c.id == row["id"])
            return typed_rows(connection.execute(query), MessageRow)[0]

    def newest(self, conversation_id: str, limit: int = 100, *, before: int | None = None) -> tuple[MessageRow, ...]:
        """The newest messages that are not deleted, oldest of them first; only those with a lower number than ``before``.

        For an owner it raises `NotFoundError`.
        """
        with self.db.reading() as connection:
            if self.owner is not None:
                self._get(connection, conversation_id)
            query = _live(conversation_id, before).order_by(messages.c.seq.desc())
            return typed_rows(connection.execute(query.limit(limit)), MessageRow)[::-1]

    def turns(self, conversation_id: str, limit: int = 500, *, before: int | None = None) -> tuple[MessageRow, ...]:
        """What a prompt is made from: the newest messages, and those that are pinned, however old they are.

        Of the newest there are so many that their texts have `MAX_HISTORY_CHARS` at most.
        """
        with self.db.reading() as connection:
            newest = _within(self.newest(conversation_id, limit, before=before))
            query = _live(conversation_id, newest[0].seq if newest else before).where(messages.c.pinned)
            pins = typed_rows(connection.execute(query.order_by(messages.c.seq.desc()).limit(_PINS)), MessageRow)
        return (*reversed(pins), *newest)

    def sent(self, conversation_id: str, client_msg_id: str) -> MessageRow | None:
        """The message that was sent under an id of its client's. Raises `NotFoundError` where the conversation is not there."""
        with self.db.reading() as connection:
            self._get(connection, conversation_id)
            if not is_storable(client_msg_id):
                return None
            query = _live(conversation_id).where(messages.c.client_msg_id == client_msg_id)
            return first_row(connection.execute(query), MessageRow)

    def reply_to(self, message: MessageRow) -> MessageRow | None:
        """The answer to a message, where it has one."""
        with self.db.reading() as connection:
            return self._reply(connection, message.conversation_id, message.id)

    def pin(self, message_id: str, *, pinned: bool = True) -> MessageRow:
        """Keep a message in every prompt, or no more. Raises `NotFoundError`."""
        return self._change_message(message_id, pinned=pinned)

    def delete_message(self, message_id: str) -> MessageRow:
        """Mark a message as deleted; its number is not given again. Raises `NotFoundError`."""
        return self._change_message(message_id, deleted_at=self.db.now())

    def _change_message(self, message_id: str, **values: Any) -> MessageRow:
        with self.db.transaction() as connection:
            here = select(messages).where(messages.c.id == message_id)
            row = first_row(connection.execute(here), MessageRow) if is_storable(message_id) else None
            if row is None or self._find(connection, row.conversation_id) is None:
                raise NotFoundError(f"there is no message {message_id!r:.80}", where=Where(asset="messages"))
            connection.execute(update(messages).where(messages.c.id == message_id).values(**values))
            return typed_rows(connection.execute(here), MessageRow)[0]

    def _admitted(self, row: ConversationRow) -> ConversationRow:
        texts = row_texts({name: getattr(row, name) for name in _SCENE}, ())
        resource, who = ("conversations", row.id), row.user_id or ""
        moderate(self.db, TextKind.SCENE, texts, None, resource=resource, who=who, gate=self._gate)
        return row

    def _check_characters(self, values: Mapping[str, Any]) -> None:
        """Raise `NotFoundError` for characters whom this owner may not speak with, or as."""
        if self.owner is not None:
            for name in ("character_id", "user_character_id"):
                if values.get(name) is not None:
                    CharacterStore(self.db, self._gate).seen_by(self.owner, values[name])

    def _known(self) -> ColumnElement[bool]:
        return true() if self.owner is None else self.owner.owns(conversations)

    def _next(self, connection: Connection, conversation_id: str, now: str) -> int:
        """Lock the conversation and return the number after its last."""
        if not is_storable(conversation_id):
            raise _unknown(conversation_id)
        here = (conversations.c.id == conversation_id) & self._known()
        query = update(conversations).where(here).values(updated_at=now).returning(conversations.c.last_seq)
        last: int | None = connection.execute(query).scalar()
        if last is None:
            raise _unknown(conversation_id)
        return last + 1

    def _sent(self, connection: Connection, row: Mapping[str, Any]) -> MessageRow | None:
        """The message that this one repeats. Raises `ConflictError` where it says something else."""
        if row["client_msg_id"] is not None:
            here = messages.c.conversation_id == row["conversation_id"]
            query = select(messages).where(here, messages.c.client_msg_id == row["client_msg_id"])
            sent = first_row(connection.execute(query), MessageRow)
            if sent is not None and (sent.role, sent.content) != (row["role"], row["content"]):
                hint = "send another message under another client_msg_id"
                raise ConflictError("another message was sent under this client_msg_id", hint=hint)
            if sent is not None:
                return sent
        return None if row["reply_to"] is None else self._reply(connection, row["conversation_id"], row["reply_to"])

    def _reply(self, connection: Connection, conversation_id: str, message_id: str) -> MessageRow | None:
        here = _live(conversation_id).where(messages.c.reply_to == message_id).order_by(messages.c.seq.desc()).limit(1)
        return first_row(connection.execute(here), MessageRow)

    def _find(self, connection: Connection, conversation_id: Any) -> ConversationRow | None:
        if not is_storable(conversation_id):
            return None
        here = (conversations.c.id == conversation_id) & self._known()
        return first_row(connection.execute(select(conversations).where(here)), ConversationRow)

    def _get(self, connection: Connection, conversation_id: str) -> ConversationRow:
        row = self._find(connection, conversation_id)
        if row is None:
            raise _unknown(conversation_id)
        return row


def _live(conversation_id: str, before: int | None = None) -> Select[Any]:
    """The messages of a conversation that are not deleted."""
    query = select(messages).where(messages.c.conversation_id == conversation_id, messages.c.deleted_at.is_(None))
    return query if before is None else query.where(messages.c.seq < before)


def _within(rows: tuple[MessageRow, ...]) -> tuple[MessageRow, ...]:
    """Return the last messages whose texts together have at most `MAX_HISTORY_CHARS`."""
    left = MAX_HISTORY_CHARS
    for index in range(len(rows) - 1, -1, -1):
        left -= len(rows[index].content)
        if left < 0:
            return rows[index + 1 :]
    return rows


def _unknown(conversation_id: str) -> NotFoundError:
    return NotFoundError(f"there is no conversation {conversation_id!r:.80}", where=Where(asset="conversations"))
