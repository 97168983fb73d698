"""MemoryStore: what is remembered, in the database: written where somebody asks for it, and nobody else's.

A memory passes the tier gate before it is kept, and is read in no lower tier than it was written in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import delete, func, or_, select, update

from innkeeper.gate.gate import TextKind, TierGate
from innkeeper.gate.tier import Tier
from innkeeper.library.db.engine import Database
from innkeeper.library.db.owner import Owner
from innkeeper.library.db.rows import checked, insert_new, typed_rows
from innkeeper.library.db.tables.logs import memories
from innkeeper.library.errors import FieldError, NotFoundError, is_storable
from innkeeper.library.limits import MAX_MEMORIES, MAX_MEMORY_CHARS
from innkeeper.library.memory import SCOPES, MemoryRow, NewMemory, reach
from innkeeper.library.rows import ConversationRow
from innkeeper.library.tiers.moderation import moderate
from innkeeper.prompt.errors import LimitError, Where

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement
    from sqlalchemy.engine import Connection


_ONCE: Final = ("tenant", "user_id", "scope", "scope_id", "content_sha256")
"""Columns that no two memories have alike."""


class MemoryStore:
    """The memories of one owner, in one database."""

    def __init__(self, db: Database, owner: Owner, gate: TierGate | None = None) -> None:
        self.db, self.owner = db, owner
        self._gate = gate

    def add(
        self, conversation: ConversationRow, memory: Iterable[NewMemory], tier: Tier = Tier.SFW
    ) -> tuple[MemoryRow, ...]:
        """Remember things that a conversation is about, all or none; what is remembered already is there once.

        Raises:
            FieldError: a scope beyond what the conversation remembers, a blank text, or a kind that there is not.
            LimitError: a text that is too long, or more memories than are kept of one scope.
            TierBlockedError: a text that does not pass; the block is recorded.
        """
        rows = [self._row(conversation, each, tier) for each in memory]
        with self.db.transaction() as connection:
            return tuple([self._put(connection, row) for row in rows])

    def recall(self, conversation: ConversationRow, tier: Tier = Tier.SFW) -> tuple[MemoryRow, ...]:
        """What a conversation remembers in a tier: pinned memories first, then the newest."""
        scopes = [self._at(scope, _scope_id(conversation, scope)) for scope in reach(conversation.memory_tier)]
        allowed = [one.value for one in Tier if one.rank <= tier.rank]
        here = select(memories).where(or_(*scopes), memories.c.tier.in_(allowed))
        ordered = here.order_by(memories.c.pinned.desc(), memories.c.created_at.desc(), memories.c.id)
        with self.db.reading() as connection:
            return typed_rows(connection.execute(ordered.limit(MAX_MEMORIES)), MemoryRow)

    def list(self, scope: str | None = None, scope_id: str | None = None) -> tuple[MemoryRow, ...]:
        """All that is remembered for this owner, the newest first; of one scope, or of one conversation or character."""
        query = select(memories).where(self.owner.owns(memories))
        if scope is not None:
            query = query.where(memories.c.scope == _known_scope(scope))
        if scope_id is not None:
            query = query.where(memories.c.scope_id == (scope_id if is_storable(scope_id) else ""))
        ordered = query.order_by(memories.c.created_at.desc(), memories.c.id).limit(MAX_MEMORIES * len(SCOPES))
        with self.db.reading() as connection:
            return typed_rows(connection.execute(ordered), MemoryRow)

    def pin(self, memory_id: str, *, pinned: bool = True) -> MemoryRow:
        """Keep a memory before others, or no more. Raises `NotFoundError`."""
        with self.db.transaction() as connection:
            self._get(connection, memory_id)
            values = {"pinned": pinned, "updated_at": self.db.now()}
            connection.execute(update(memories).where(memories.c.id == memory_id).values(values))
            return self._get(connection, memory_id)

    def forget(self, memory_id: str) -> MemoryRow:
        """Take a memory out, for good. Raises `NotFoundError`."""
        with self.db.transaction() as connection:
            row = self._get(connection, memory_id)
            connection.execute(delete(memories).where(memories.c.id == memory_id))
        return row

    def _row(self, conversation: ConversationRow, memory: NewMemory, tier: Tier) -> dict[str, Any]:
        text = memory.content.strip()
        if len(text) > MAX_MEMORY_CHARS:
            limit, size = "MAX_MEMORY_CHARS", len(text)
            raise LimitError("the characters of a memory", limit=limit, allowed=MAX_MEMORY_CHARS, found=size)
        if not text:
            raise FieldError("a memory has a text", where=Where(asset="memories", path="content"))
        memory_tier, scope = conversation.memory_tier, _known_scope(memory.scope or conversation.memory_tier)
        scope = "conversation" if memory.scope is None and _scope_id(conversation, scope) is None else scope
        if scope not in reach(memory_tier) or _scope_id(conversation, scope) is None:
            hint = f"this conversation remembers: {', '.join(reach(memory_tier))}"
            raise FieldError(
                f"the scope {scope!r} is not for it", where=Where(asset="memories", path="scope"), hint=hint
            )
        now = self.db.now()
        row: dict[str, Any] = {"id": self.db.fresh_id(), "created_at": now, "updated_at": now, **self.owner.columns()}
        row |= {"scope": scope, "scope_id": _scope_id(conversation, scope), "kind": memory.kind, "content": text}
        row |= {"tier": tier.value, "pinned": memory.pinned, "source": memory.source, "message_id": memory.message_id}
        digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        row = checked(memories, {**row, "content_sha256": digest})
        resource = ("memories", row["id"])
        moderate(
            self.db, TextKind.SCENE, {"content": text}, tier, resource=resource, who=self.owner.user, gate=self._gate
        )
        return row

    def _put(self, connection: Connection, row: Mapping[str, Any]) -> MemoryRow:
        here = self._at(row["scope"], row["scope_id"])
        same = select(memories).where(here, memories.c.content_sha256 == row["content_sha256"])
        if known := typed_rows(connection.execute(same), MemoryRow):
            return known[0]
        count = connection.execute(select(func.count()).select_from(memories).where(here)).scalar_one()
        if count >= MAX_MEMORIES:
            what = f"the memories of one {row['scope']}"
            hint = "forget some of them first"
            raise LimitError(what, limit="MAX_MEMORIES", allowed=MAX_MEMORIES, found=count + 1, hint=hint)
        insert_new(connection, memories, row, *_ONCE)
        return typed_rows(connection.execute(same), MemoryRow)[0]

    def _at(self, scope: str, scope_id: str | None) -> ColumnElement[bool]:
        there = (memories.c.scope == scope) & (memories.c.scope_id == (scope_id or ""))
        return self.owner.owns(memories) & there

    def _get(self, connection: Connection, memory_id: str) -> MemoryRow:
        here = self.owner.owns(memories) & (memories.c.id == memory_id)
        rows = typed_rows(connection.execute(select(memories).where(here)), MemoryRow) if is_storable(memory_id) else ()
        if not rows:
            raise NotFoundError(f"there is no memory {memory_id!r:.80}", where=Where(asset="memories"))
        return rows[0]


def _known_scope(scope: str) -> str:
    if scope not in SCOPES:
        hint = f"scopes: {', '.join(SCOPES)}"
        raise FieldError(f"{scope!r:.40} is no scope", where=Where(asset="memories", path="scope"), hint=hint)
    return scope


def _scope_id(conversation: ConversationRow, scope: str) -> str | None:
    """What a scope is about in a conversation; None where it is about nothing, as without a character."""
    named: dict[str, Any] = {"conversation": conversation.id, "character": conversation.character_id, "profile": ""}
    scope_id: str | None = named[scope]
    return scope_id
