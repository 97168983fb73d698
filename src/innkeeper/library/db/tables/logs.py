"""The tables of people, conversations and logs, beside those of `innkeeper.library.db.tables.templates`.

Those of jobs are in `innkeeper.library.db.tables.jobs`.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from innkeeper.library.db.tables.columns import (
    BIG,
    Moment,
    created,
    decimal,
    flag,
    integer,
    json_column,
    one_of,
    serial,
    table_of,
    text_column,
)
from innkeeper.library.db.tables.templates import metadata as metadata  # noqa: PLC0414 - the modules of tables load each other
from innkeeper.library.memory import MemoryRow
from innkeeper.library.rows import AuditRow, CharacterRow, ConversationRow, EnhancementRow, MessageRow

# ------------------------------------------------------------------------------------------------- characters and messages

characters: Final = table_of(
    metadata,
    "characters",
    CharacterRow,
    text_column("user_id", index=True),
    one_of("gender", "male", "female", "non-binary", "other", "unspecified"),
    one_of("role", "ai", "user", "narrator"),
    one_of("moderation_status", "pending", "approved", "rejected"),
    one_of("consistency_method", "seed_locked", "i2i_reference", "hybrid"),
    flag("is_public", default=False, written=text("false")),
    Column("seed_locked", BIG),
    CheckConstraint(
        "content_rating = 'sfw' OR (declared_age IS NOT NULL AND declared_age >= 18)", name="adult_is_declared"
    ),
)

conversations: Final = table_of(
    metadata,
    "conversations",
    ConversationRow,
    Column("character_id", String, ForeignKey("characters.id", ondelete="SET NULL")),
    Column("user_character_id", String, ForeignKey("characters.id", ondelete="SET NULL")),
    one_of("memory_tier", "conversation", "character", "profile"),
    integer("last_seq", 0, BIG),
    Index("ix_conversations_user", "user_id", "updated_at"),
)

messages: Final = table_of(
    metadata,
    "messages",
    MessageRow,
    Column("conversation_id", String, ForeignKey("conversations.id", ondelete="CASCADE"), nullable=False),
    Column("seq", BIG, nullable=False),
    one_of("role", "system", "user", "assistant", "tool"),
    Column("content", Text, nullable=False),
    flag("pinned", default=False, written=text("false")),
    UniqueConstraint("conversation_id", "seq", name="one_place"),
    UniqueConstraint("conversation_id", "client_msg_id", name="sent_once"),
    Index("ix_messages_reply_to", "reply_to"),
)

memories: Final = table_of(
    metadata,
    "memories",
    MemoryRow,
    one_of("scope", "conversation", "character", "profile"),
    Column("scope_id", String, nullable=False, default="", server_default=""),  # of the conversation or the character
    Column("kind", String, nullable=False, default="fact", server_default="fact"),
    one_of("kind", "fact", "preference", "event", "relationship", "summary"),
    Column("content", Text, nullable=False),
    flag("pinned", default=False, written=text("false")),
    one_of("source", "user", "model", "operator"),
    Column("message_id", String, ForeignKey("messages.id", ondelete="SET NULL")),
    UniqueConstraint("tenant", "user_id", "scope", "scope_id", "content_sha256", name="remembered_once"),
)
"""What is remembered beyond the turns that a prompt has room for: of one conversation, of a character, of a person."""

# -------------------------------------------------------------------------------------------------------------------- logs

enhancement_logs: Final = table_of(
    metadata,
    "enhancement_logs",
    EnhancementRow,
    text_column("request_id", index=True),
    one_of("execution", "model", "rules", "none"),
    *(text_column(name) for name in ("requested_tier", "effective_tier")),
    decimal("cache_age_s", 14, 3),
    decimal("execution_time_ms", 14, 3),
    decimal("cost_usd", 12, 6),
    one_of("cost_source", "provider", "catalogue", "estimate"),
    Index("ix_enhancement_logs_created_at", "created_at", "template_name"),
)

enhancement_contents: Final = Table(
    "enhancement_contents",
    metadata,
    Column("log_id", BIG, ForeignKey("enhancement_logs.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("kind", String, primary_key=True),
    one_of("kind", "input", "output"),
    Column("content", Text, nullable=False),
    created(),
    Column("expires_at", Moment, nullable=False, index=True),
)
"""Texts, where an operator has them stored: apart from the log, and only for a time."""

usage_logs: Final = Table(
    "usage_logs",
    metadata,
    serial(),
    created(index=True),
    *(text_column(name) for name in ("provider", "model_key", "user_id", "request_id", "endpoint_path")),
    text_column("request_type", "chat"),
    one_of("request_type", "chat", "image", "video"),
    *(Column(name, Integer) for name in ("tokens_input", "tokens_output", "tokens_cached", "tokens_total")),
    decimal("cost_usd", 12, 6),
    text_column("cost_source"),
    Column("response_status", Integer),
    decimal("response_time_ms", 14, 3),
    text_column("error_code"),
    json_column("metadata", "{}"),
)

audit_events: Final = table_of(
    metadata,
    "audit_events",
    AuditRow,
    created(index=True),
    Index("ix_audit_events_resource", "resource_type", "resource_id", "id"),
)

conversation_states: Final = Table(
    "conversation_states",
    metadata,
    Column("scope", String, primary_key=True),  # a caller's conversations with one profile, or one that has a name
    Column("chat", String, primary_key=True),  # the key of the words up to there
    text_column("state", ""),
    text_column("state_before", ""),
    Column("number", BIG, nullable=False),  # counts up within its scope
    created("updated_at", index=True),
    Index("ix_conversation_states_latest", "scope", "number"),
)

stored_responses: Final = Table(
    "stored_responses",
    metadata,
    Column("owner", String, primary_key=True),  # the key that asked for it, by its name
    Column("id", String, primary_key=True),
    text_column("content", ""),
    created("created_at", index=True),
)

spendings: Final = Table(
    "spendings",
    metadata,
    Column("tenant", String, primary_key=True),
    Column(
        "owner", String, primary_key=True
    ),  # a key by its name; nobody, where the keys of a tenant share their money
    Column("spent", Double, nullable=False),
    Column("at", Double, nullable=False),  # in seconds since 1970: what is forgiven since then is reckoned from it
)
"""What was spent and has not been forgiven by the moment of the row."""

profiles: Final = Table(
    "profiles",
    metadata,
    Column("name", String, primary_key=True),
    text_column("tenant", ""),  # whose keys may call it; where empty, all may
    text_column("owner", ""),  # the one key that may call it, by its name; where empty, all may
    text_column("document", ""),  # a profile.toml
    text_column("digest", ""),
    created(),
    created("updated_at"),
)

profile_files: Final = Table(
    "profile_files",
    metadata,
    Column("profile", String, ForeignKey("profiles.name", ondelete="CASCADE"), primary_key=True),
    Column("name", String, primary_key=True),
    Column("content", LargeBinary, nullable=False),
)
"""The files that a profile names."""
