"""The tables of people, conversations and logs, beside those of `innkeeper.library.db.tables`.

Those of jobs are in `innkeeper.library.db.job_tables`.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Numeric,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from innkeeper.library.db.columns import (
    BIG,
    Moment,
    created,
    given_id,
    json_column,
    one_of,
    serial,
    text_column,
    tier,
)
from innkeeper.library.db.tables import metadata as metadata  # noqa: PLC0414 - the modules of tables load each other

# ------------------------------------------------------------------------------------------------- characters and messages

characters: Final = Table(
    "characters",
    metadata,
    given_id(),
    text_column("user_id", index=True),
    Column("name", String, nullable=False),
    Column("description", Text, nullable=False, default="", server_default=""),
    *(
        text_column(name)
        for name in ("persona", "traits", "backstory", "voice_tone", "mood", "first_message", "system_prompt")
    ),
    *(
        text_column(name)
        for name in ("base_prompt", "style_preset", "reference_image_url", "image_url", "preview_image_url")
    ),
    *(
        json_column(name, "{}")
        for name in ("personality_traits", "physical_traits", "outfit_defaults", "rendering_rules")
    ),
    *(json_column(name, "[]") for name in ("appearance_tags", "clothing_tags", "signature_items", "voice_examples")),
    *(
        json_column(name, "[]")
        for name in ("forbidden_phrases", "alternate_greetings", "locked_traits", "avoid_traits")
    ),
    json_column("scene_behavior_rules", "{}"),
    text_column("gender"),
    one_of("gender", "male", "female", "non-binary", "other", "unspecified"),
    text_column("role", "ai"),
    one_of("role", "ai", "user", "narrator"),
    *tier("content_rating"),
    Column("is_public", Boolean, nullable=False, default=False, server_default=text("false")),
    Column("declared_age", Integer),
    text_column("moderation_status", "pending"),
    one_of("moderation_status", "pending", "approved", "rejected"),
    text_column("consistency_method", "i2i_reference"),
    one_of("consistency_method", "seed_locked", "i2i_reference", "hybrid"),
    Column("seed_locked", BIG),
    json_column("metadata", "{}"),
    created(),
    created("updated_at"),
    text_column("tenant", ""),
    CheckConstraint(
        "content_rating = 'sfw' OR (declared_age IS NOT NULL AND declared_age >= 18)", name="adult_is_declared"
    ),
)

conversations: Final = Table(
    "conversations",
    metadata,
    given_id(),
    text_column("user_id"),
    text_column("project_id"),
    Column("character_id", String, ForeignKey("characters.id", ondelete="SET NULL")),
    Column("user_character_id", String, ForeignKey("characters.id", ondelete="SET NULL")),
    text_column("title", "New Conversation"),
    text_column("conversation_type", "general"),
    text_column("status", "active"),
    text_column("memory_tier", "conversation"),
    one_of("memory_tier", "conversation", "character", "profile"),
    json_column("memory_data", "{}"),
    text_column("current_location"),
    Column("last_seq", BIG, nullable=False, default=0, server_default="0"),
    created(),
    created("updated_at"),
    text_column("tenant", ""),
    Index("ix_conversations_user", "user_id", "updated_at"),
)

messages: Final = Table(
    "messages",
    metadata,
    given_id(),
    Column("conversation_id", String, ForeignKey("conversations.id", ondelete="CASCADE"), nullable=False),
    Column("seq", BIG, nullable=False),
    text_column("client_msg_id"),
    Column("role", String, nullable=False),
    one_of("role", "system", "user", "assistant", "tool"),
    Column("content", Text, nullable=False),
    text_column("message_type", "text"),
    Column("tokens", Integer),
    text_column("model_key"),
    text_column("template_id"),
    Column("template_version", Integer),
    *tier("tier", default=None),
    text_column("finish_reason"),
    json_column("safety"),
    created(),
    Column("deleted_at", Moment),
    Column("pinned", Boolean, nullable=False, default=False, server_default=text("false")),
    text_column("reply_to"),  # the id of the message that this one answers
    text_column("original"),  # what the model wrote, where post-processing changed it
    json_column("post_processing"),
    UniqueConstraint("conversation_id", "seq", name="one_place"),
    UniqueConstraint("conversation_id", "client_msg_id", name="sent_once"),
    Index("ix_messages_reply_to", "reply_to"),
)

memories: Final = Table(
    "memories",
    metadata,
    given_id(),
    text_column("tenant", ""),
    text_column("user_id", ""),
    Column("scope", String, nullable=False),
    one_of("scope", "conversation", "character", "profile"),
    Column("scope_id", String, nullable=False, default="", server_default=""),  # of the conversation or the character
    Column("kind", String, nullable=False, default="fact", server_default="fact"),
    one_of("kind", "fact", "preference", "event", "relationship", "summary"),
    Column("content", Text, nullable=False),
    Column("content_sha256", String, nullable=False),
    *tier("tier"),
    Column("pinned", Boolean, nullable=False, default=False, server_default=text("false")),
    text_column("source", "user"),
    one_of("source", "user", "model", "operator"),
    Column("message_id", String, ForeignKey("messages.id", ondelete="SET NULL")),
    created(),
    created("updated_at"),
    UniqueConstraint("tenant", "user_id", "scope", "scope_id", "content_sha256", name="remembered_once"),
)
"""What is remembered beyond the turns that a prompt has room for: of one conversation, of a character, of a person."""

# -------------------------------------------------------------------------------------------------------------------- logs

enhancement_logs: Final = Table(
    "enhancement_logs",
    metadata,
    serial(),
    text_column("request_id", index=True),
    created(),
    *(text_column(name) for name in ("user_id", "conversation_id", "job_id", "use_case", "job_type", "target_model")),
    *(text_column(name) for name in ("enhancer_model", "provider", "template_id", "template_name")),
    Column("template_version", Integer),
    *(text_column(name) for name in ("template_label", "template_source", "resolution_level")),
    Column("resolution_level_int", Integer),
    Column("fallback_level", Integer),  # the document's name for the same figure
    json_column("resolution_trace", "[]"),
    text_column("execution", "none"),
    one_of("execution", "model", "rules", "none"),
    *(text_column(name) for name in ("requested_tier", "effective_tier")),
    json_column("tier_reasons", "[]"),
    *(text_column(name) for name in ("detector_version", "decision", "input_sha256", "output_sha256")),
    *(Column(name, Integer) for name in ("input_tokens", "output_tokens", "budget_tokens")),
    Column("compressed", Boolean),
    json_column("dropped_segments", "[]"),
    Column("ui_tokens", Integer),
    Column("cache_hit", Boolean),
    text_column("cache_layer"),
    Column("cache_age_s", Numeric(14, 3, asdecimal=False)),
    json_column("attempts", "[]"),
    text_column("used_fallback_model"),
    json_column("latency_ms", "{}"),
    Column("execution_time_ms", Numeric(14, 3, asdecimal=False)),  # the document's name for latency_ms.total
    json_column("usage", "{}"),
    Column("cost_usd", Numeric(12, 6, asdecimal=False)),
    text_column("cost_source"),
    one_of("cost_source", "provider", "catalogue", "estimate"),
    text_column("status", "ok"),
    *(text_column(name) for name in ("error_code", "error_detail_redacted", "experiment_id", "variant")),
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
    Column("cost_usd", Numeric(12, 6, asdecimal=False)),
    text_column("cost_source"),
    Column("response_status", Integer),
    Column("response_time_ms", Numeric(14, 3, asdecimal=False)),
    text_column("error_code"),
    json_column("metadata", "{}"),
)

audit_events: Final = Table(
    "audit_events",
    metadata,
    serial(),
    created(index=True),
    text_column("actor", ""),
    Column("action", String, nullable=False),
    text_column("resource_type", ""),
    text_column("resource_id", ""),
    text_column("request_id"),
    json_column("before"),
    json_column("after"),
    json_column("details", "{}"),
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
