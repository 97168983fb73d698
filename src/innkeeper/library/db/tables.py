"""Every table of the library, one place for names and columns (those of the reference, §1, with its NEW notes).

Templates are three tables (`templates`, `template_versions`, `template_labels`) and a history (`label_events`); the one
table that the requirement document knows, ``prompt_templates``, is a view over them (`innkeeper.library.db.schema`).
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from innkeeper.library.db.columns import BIG, Json, Moment, active, created, given_id, one_of, serial, tier

__all__ = [
    "api_model_defaults",
    "api_models",
    "api_providers",
    "audit_events",
    "characters",
    "conversations",
    "detection_lists",
    "enhancement_contents",
    "enhancement_logs",
    "label_events",
    "messages",
    "metadata",
    "negative_prompts",
    "prompt_cache_snapshot",
    "revisions",
    "secrets",
    "settings",
    "template_labels",
    "template_versions",
    "templates",
    "tier_policies",
    "tools",
    "usage_logs",
]

metadata: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _text(name: str, default: str | None = None, **options: Any) -> Column[Any]:
    """A text column: without a default it may be NULL."""
    return Column(name, Text, nullable=default is None, default=default, server_default=default, **options)


def _json(name: str, default: str | None = None) -> Column[Any]:
    """A JSON column; ``default`` is the JSON text."""
    given = None if default is None else text(f"'{default}'")
    fresh = {"{}": dict, "[]": list}.get(default or "")
    return Column(name, Json(), nullable=default is None, default=fresh, server_default=given)


def _key(name: str) -> Column[Any]:
    """A part of a selection key under a label: empty stands for any, so that the unique index sees it."""
    return Column(name, String, nullable=False, default="", server_default="")


# --------------------------------------------------------------------------------------------------------------- templates

templates: Final = Table(
    "templates",
    metadata,
    given_id(),
    Column("name", String, nullable=False, unique=True),
    _text("description", ""),
    Column("latest_version", Integer, nullable=False),
    created(),
    _text("created_by", ""),
)

template_versions: Final = Table(
    "template_versions",
    metadata,
    Column("template_id", String, ForeignKey("templates.id"), primary_key=True),
    Column("version", Integer, CheckConstraint("version > 0", name="version_positive"), primary_key=True),
    _text("target_model"),
    _text("enhancer_model"),
    _text("provider"),
    _text("job_type"),
    Column("use_case", String, nullable=False, index=True),
    *tier("content_mode"),
    Column("system_prompt", Text, nullable=False),
    _text("syntax", "mustache"),
    one_of("syntax", "mustache", "liquid"),
    _json("variables", "[]"),
    Column("token_limit", Integer, nullable=False, default=512, server_default="512"),
    Column("max_output_tokens", Integer),
    _json("partials", "[]"),
    _json("extends"),
    _json("metadata", "{}"),
    _text("note", ""),
    _text("author", ""),
    created(),
    _text("content_sha256"),  # empty in versions that SQL made: the reader computes it
)

template_labels: Final = Table(
    "template_labels",
    metadata,
    Column("template_id", String, primary_key=True),
    Column("label", String, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("use_case", String, nullable=False),
    _key("target_model"),
    _key("enhancer_model"),
    _key("job_type"),
    Column("content_mode", String, nullable=False),
    _key("partial_name"),  # the name, for a partial: partials are found by it and may share a key
    created("moved_at"),
    _text("moved_by", ""),
    ForeignKeyConstraint(
        ["template_id", "version"],
        ["template_versions.template_id", "template_versions.version"],
        name="version_exists",
    ),
    UniqueConstraint(
        "label",
        "use_case",
        "target_model",
        "content_mode",
        "job_type",
        "enhancer_model",
        "partial_name",
        name="one_answer",
    ),
)

label_events: Final = Table(
    "label_events",
    metadata,
    serial(),
    Column("template_id", String, ForeignKey("templates.id"), nullable=False, index=True),
    Column("label", String, nullable=False),
    Column("from_version", Integer),
    Column("to_version", Integer),
    _text("who", ""),
    _text("why", ""),
    created(),
)

# --------------------------------------------------------------------------------------------------------------- catalogue

negative_prompts: Final = Table(
    "negative_prompts",
    metadata,
    given_id(),
    Column("model_type", String, nullable=False),
    *tier("content_mode"),
    Column("generation_mode", String, nullable=False, default="txt2img", server_default="txt2img"),
    one_of("generation_mode", "txt2img", "i2i"),
    Column("negative_prompt", Text, nullable=False),
    Column("priority", Integer, nullable=False, default=1, server_default="1"),
    active(default=True),
    _text("description", ""),
    _text("created_by", ""),
    created(),
    created("updated_at"),
    UniqueConstraint("model_type", "content_mode", "generation_mode", "negative_prompt", name="one_fragment"),
    Index("ix_negative_prompts_pick", "model_type", "content_mode", "generation_mode", "is_active", "priority"),
)

api_providers: Final = Table(
    "api_providers",
    metadata,
    given_id(),
    Column("name", String, nullable=False, unique=True),
    _text("display_name", ""),
    _text("base_url"),
    _text("docs_url"),
    _text("auth_scheme", "bearer"),
    _text("auth_header_name", "Authorization"),
    _text("secret_name"),
    _json("rate_limits", "{}"),
    *tier("tier_ceiling", default=None),
    active(default=True),
    created(),
    created("updated_at"),
)

api_models: Final = Table(
    "api_models",
    metadata,
    given_id(),
    Column("provider_id", String, ForeignKey("api_providers.id"), nullable=False, index=True),
    Column("model_key", String, nullable=False, unique=True),
    _text("version"),
    _text("display_name", ""),
    Column("modality", String, nullable=False),
    one_of("modality", "image", "video", "chat"),
    _json("tasks", "[]"),
    Column("priority", Integer, nullable=False, default=0, server_default="0"),
    _text("model_family"),
    _text("endpoint_path"),
    _json("input_defaults", "{}"),
    _json("capabilities", "{}"),
    Column("context_window", Integer),
    _json("tokenizer"),
    _json("pricing", "{}"),
    *tier("tier_ceiling", default=None),
    _text("output_format"),
    Column("avg_generation_time", Numeric(12, 3, asdecimal=False)),
    active(default=True),
    created(),
    created("updated_at"),
    _text("replaced_by"),  # the key of the model to take instead
    Column("deprecated_at", Moment),
)

api_model_defaults: Final = Table(
    "api_model_defaults",
    metadata,
    Column("task", String, primary_key=True),  # one default a task, by construction
    Column("model_id", String, ForeignKey("api_models.id", ondelete="CASCADE"), nullable=False, index=True),
)

tools: Final = Table(
    "tools",
    metadata,
    Column("name", String, primary_key=True),
    _text("description", ""),
    _json("definition", "{}"),
    active(default=True),
    created(),
    created("updated_at"),
)

secrets: Final = Table(
    "secrets",
    metadata,
    Column("name", String, primary_key=True),
    Column("ciphertext", LargeBinary, nullable=False),
    _text("key_id", ""),
    _text("updated_by", ""),
    created(),
    created("updated_at"),
)

# ---------------------------------------------------------------------------------------------------- policies and settings


def _versioned(name: str, *columns: Any) -> Table:
    """A table of named documents in immutable versions, of which at most one a name is active."""
    return Table(
        name,
        metadata,
        Column("name", String, primary_key=True),
        Column("version", Integer, primary_key=True),
        Column("body", Json(), nullable=False),
        Column("content_sha256", String, nullable=False),
        _text("note", ""),
        _text("author", ""),
        _text("approved_by"),
        active(default=False),
        created(),
        Index(
            f"uq_{name}_active", "name", unique=True, sqlite_where=text("is_active"), postgresql_where=text("is_active")
        ),
        *columns,
    )


tier_policies: Final = _versioned("tier_policies")
detection_lists: Final = _versioned("detection_lists")

settings: Final = Table(
    "settings",
    metadata,
    Column("key", String, primary_key=True),
    Column("value", Json(), nullable=False),
    _text("updated_by", ""),
    created("updated_at"),
)

revisions: Final = Table(
    "revisions",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1", name="only_one"), primary_key=True, autoincrement=False),
    Column("revision", BIG, nullable=False),
    created("changed_at"),
)

prompt_cache_snapshot: Final = Table(
    "prompt_cache_snapshot",
    metadata,
    serial(),
    created(),
    Column("content_sha256", String, nullable=False),
    Column("payload", Text, nullable=False),
    Column("built_from_revision", BIG, nullable=False),
)

# ------------------------------------------------------------------------------------------------- characters and messages

characters: Final = Table(
    "characters",
    metadata,
    given_id(),
    _text("user_id", index=True),
    Column("name", String, nullable=False),
    Column("description", Text, nullable=False, default="", server_default=""),
    *(
        _text(name)
        for name in ("persona", "traits", "backstory", "voice_tone", "mood", "first_message", "system_prompt")
    ),
    *(_text(name) for name in ("base_prompt", "style_preset", "reference_image_url", "image_url", "preview_image_url")),
    *(_json(name, "{}") for name in ("personality_traits", "physical_traits", "outfit_defaults", "rendering_rules")),
    *(_json(name, "[]") for name in ("appearance_tags", "clothing_tags", "signature_items", "voice_examples")),
    *(_json(name, "[]") for name in ("forbidden_phrases", "alternate_greetings", "locked_traits", "avoid_traits")),
    _json("scene_behavior_rules", "{}"),
    _text("gender"),
    one_of("gender", "male", "female", "non-binary", "other", "unspecified"),
    _text("role", "ai"),
    one_of("role", "ai", "user", "narrator"),
    *tier("content_rating"),
    Column("is_public", Boolean, nullable=False, default=False, server_default=text("false")),
    Column("declared_age", Integer),
    _text("moderation_status", "pending"),
    one_of("moderation_status", "pending", "approved", "rejected"),
    _text("consistency_method", "i2i_reference"),
    one_of("consistency_method", "seed_locked", "i2i_reference", "hybrid"),
    Column("seed_locked", BIG),
    _json("metadata", "{}"),
    created(),
    created("updated_at"),
    CheckConstraint(
        "content_rating = 'sfw' OR (declared_age IS NOT NULL AND declared_age >= 18)", name="adult_is_declared"
    ),
)

conversations: Final = Table(
    "conversations",
    metadata,
    given_id(),
    _text("user_id"),
    _text("project_id"),
    Column("character_id", String, ForeignKey("characters.id", ondelete="SET NULL")),
    Column("user_character_id", String, ForeignKey("characters.id", ondelete="SET NULL")),
    _text("title", "New Conversation"),
    _text("conversation_type", "general"),
    _text("status", "active"),
    _text("memory_tier", "conversation"),
    one_of("memory_tier", "conversation", "character", "profile"),
    _json("memory_data", "{}"),
    _text("current_location"),
    Column("last_seq", BIG, nullable=False, default=0, server_default="0"),
    created(),
    created("updated_at"),
    Index("ix_conversations_user", "user_id", "updated_at"),
)

messages: Final = Table(
    "messages",
    metadata,
    given_id(),
    Column("conversation_id", String, ForeignKey("conversations.id", ondelete="CASCADE"), nullable=False),
    Column("seq", BIG, nullable=False),
    _text("client_msg_id"),
    Column("role", String, nullable=False),
    one_of("role", "system", "user", "assistant", "tool"),
    Column("content", Text, nullable=False),
    _text("message_type", "text"),
    Column("tokens", Integer),
    _text("model_key"),
    _text("template_id"),
    Column("template_version", Integer),
    *tier("tier", default=None),
    _text("finish_reason"),
    _json("safety"),
    created(),
    Column("deleted_at", Moment),
    UniqueConstraint("conversation_id", "seq", name="one_place"),
    UniqueConstraint("conversation_id", "client_msg_id", name="sent_once"),
)

# -------------------------------------------------------------------------------------------------------------------- logs

enhancement_logs: Final = Table(
    "enhancement_logs",
    metadata,
    serial(),
    _text("request_id", index=True),
    created(),
    *(_text(name) for name in ("user_id", "conversation_id", "job_id", "use_case", "job_type", "target_model")),
    *(_text(name) for name in ("enhancer_model", "provider", "template_id", "template_name")),
    Column("template_version", Integer),
    *(_text(name) for name in ("template_label", "template_source", "resolution_level")),
    Column("resolution_level_int", Integer),
    Column("fallback_level", Integer),  # the document's name for the same figure
    _json("resolution_trace", "[]"),
    _text("execution", "none"),
    one_of("execution", "model", "rules", "none"),
    *(_text(name) for name in ("requested_tier", "effective_tier")),
    _json("tier_reasons", "[]"),
    *(_text(name) for name in ("detector_version", "decision", "input_sha256", "output_sha256")),
    *(Column(name, Integer) for name in ("input_tokens", "output_tokens", "budget_tokens")),
    Column("compressed", Boolean),
    _json("dropped_segments", "[]"),
    Column("ui_tokens", Integer),
    Column("cache_hit", Boolean),
    _text("cache_layer"),
    Column("cache_age_s", Numeric(14, 3, asdecimal=False)),
    _json("attempts", "[]"),
    _text("used_fallback_model"),
    _json("latency_ms", "{}"),
    Column("execution_time_ms", Numeric(14, 3, asdecimal=False)),  # the document's name for latency_ms.total
    _json("usage", "{}"),
    Column("cost_usd", Numeric(12, 6, asdecimal=False)),
    _text("cost_source"),
    one_of("cost_source", "provider", "catalogue", "estimate"),
    _text("status", "ok"),
    *(_text(name) for name in ("error_code", "error_detail_redacted", "experiment_id", "variant")),
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
    *(_text(name) for name in ("provider", "model_key", "user_id", "request_id", "endpoint_path")),
    _text("request_type", "chat"),
    one_of("request_type", "chat", "image", "video"),
    *(Column(name, Integer) for name in ("tokens_input", "tokens_output", "tokens_cached", "tokens_total")),
    Column("cost_usd", Numeric(12, 6, asdecimal=False)),
    _text("cost_source"),
    Column("response_status", Integer),
    Column("response_time_ms", Numeric(14, 3, asdecimal=False)),
    _text("error_code"),
    _json("metadata", "{}"),
)

audit_events: Final = Table(
    "audit_events",
    metadata,
    serial(),
    created(index=True),
    _text("actor", ""),
    Column("action", String, nullable=False),
    _text("resource_type", ""),
    _text("resource_id", ""),
    _text("request_id"),
    _json("before"),
    _json("after"),
    _json("details", "{}"),
)
