"""The tables of templates, models, policies and settings, with the names and columns of the reference (§1 and its NEW notes).

Templates are three tables (`templates`, `template_versions`, `template_labels`) and a history (`label_events`); the one
table that the requirement document knows, ``prompt_templates``, is a view over them (`innkeeper.library.db.schema`).
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from innkeeper.library.catalogue.rows import CatalogueModel, CatalogueNegative, CatalogueProvider
from innkeeper.library.db.tables.columns import (
    BIG,
    Json,
    Moment,
    created,
    decimal,
    integer,
    json_column,
    one_of,
    row_id,
    serial,
    table_of,
    text_column,
    tier,
)
from innkeeper.library.rows import ANSWER, DocumentRow, LabelRow, RoutePolicyRow, SettingRow, StoredTool
from innkeeper.library.workers.states import InvitationRow

metadata: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


# --------------------------------------------------------------------------------------------------------------- templates

templates: Final = Table(
    "templates",
    metadata,
    row_id(),
    Column("name", String, nullable=False, unique=True),
    text_column("description", ""),
    Column("latest_version", Integer, nullable=False),
    created(),
    text_column("created_by", ""),
)

template_versions: Final = Table(
    "template_versions",
    metadata,
    Column("template_id", String, ForeignKey("templates.id"), primary_key=True),
    Column("version", Integer, CheckConstraint("version > 0", name="version_positive"), primary_key=True),
    text_column("target_model"),
    text_column("enhancer_model"),
    text_column("provider"),
    text_column("job_type"),
    Column("use_case", String, nullable=False, index=True),
    *tier("content_mode"),
    Column("system_prompt", Text, nullable=False),
    text_column("syntax", "mustache"),
    one_of("syntax", "mustache", "liquid"),
    json_column("variables", "[]"),
    integer("token_limit", 512),
    Column("max_output_tokens", Integer),
    json_column("partials", "[]"),
    json_column("extends"),
    json_column("metadata", "{}"),
    text_column("note", ""),
    text_column("author", ""),
    created(),
    text_column("content_sha256"),  # empty in versions that SQL made: the reader computes it
)

template_labels: Final = table_of(
    metadata,
    "template_labels",
    LabelRow,
    Column("template_id", String, primary_key=True),
    Column("label", String, primary_key=True),
    *(
        Column(name, String, nullable=False, default="", server_default="")
        for name in ("target_model", "enhancer_model", "job_type", "partial_name")
    ),
    ForeignKeyConstraint(
        ["template_id", "version"],
        ["template_versions.template_id", "template_versions.version"],
        name="version_exists",
    ),
    UniqueConstraint(*ANSWER, name="one_answer"),
)

label_events: Final = Table(
    "label_events",
    metadata,
    serial(),
    Column("template_id", String, ForeignKey("templates.id"), nullable=False, index=True),
    Column("label", String, nullable=False),
    Column("from_version", Integer),
    Column("to_version", Integer),
    text_column("who", ""),
    text_column("why", ""),
    created(),
)

# --------------------------------------------------------------------------------------------------------------- catalogue

negative_prompts: Final = table_of(
    metadata,
    "negative_prompts",
    CatalogueNegative,
    Column("generation_mode", String, nullable=False, default="txt2img", server_default="txt2img"),
    one_of("generation_mode", "txt2img", "i2i"),
    Column("negative_prompt", Text, nullable=False),
    UniqueConstraint("model_type", "content_mode", "generation_mode", "negative_prompt", name="one_fragment"),
    Index("ix_negative_prompts_pick", "model_type", "content_mode", "generation_mode", "is_active", "priority"),
)

api_providers: Final = table_of(
    metadata, "api_providers", CatalogueProvider, Column("name", String, nullable=False, unique=True)
)

api_models: Final = table_of(
    metadata,
    "api_models",
    CatalogueModel,
    Column("provider_id", String, ForeignKey("api_providers.id"), nullable=False, index=True),
    Column("model_key", String, nullable=False, unique=True),
    Column("modality", String, nullable=False),
    one_of("modality", "image", "video", "chat"),
    decimal("avg_generation_time", 12, 3),
)

api_model_defaults: Final = Table(
    "api_model_defaults",
    metadata,
    Column("task", String, primary_key=True),  # one default a task, by construction
    Column("model_id", String, ForeignKey("api_models.id", ondelete="CASCADE"), nullable=False, index=True),
)

tools: Final = table_of(metadata, "tools", StoredTool, Column("name", String, primary_key=True))

secrets: Final = Table(
    "secrets",
    metadata,
    Column("name", String, primary_key=True),
    Column("ciphertext", LargeBinary, nullable=False),
    text_column("key_id", ""),
    text_column("updated_by", ""),
    created(),
    created("updated_at"),
)

# ------------------------------------------------------------------------------------------------------ routes and workers

route_policies: Final = table_of(
    metadata,
    "route_policies",
    RoutePolicyRow,
    Column("name", String, primary_key=True),
    *(decimal(name, 12, 3) for name in ("seconds", "first_seconds", "open_seconds")),
    decimal("money", 12, 6),
)

worker_invitations: Final = table_of(
    metadata, "worker_invitations", InvitationRow, Column("token_sha256", String, primary_key=True)
)

workers: Final = Table(
    "workers",
    metadata,
    row_id(),
    Column("kind", String, nullable=False, default="chat", server_default="chat"),
    one_of("kind", "chat", "image", "video"),
    Column("url", String, nullable=False),
    json_column("hosts", "[]"),  # what its invitation allows
    Column("state", String, nullable=False, default="starting", server_default="starting"),
    one_of("state", "starting", "ready", "degraded", "draining", "dead", "quarantined"),
    text_column("reason", ""),  # why it is in quarantine
    json_column("capabilities", "{}"),
    integer("slots", 1),
    integer("priority", 0),
    *tier("tier_ceiling"),
    Column("token_sha256", String, nullable=False, unique=True),
    Column("lease_until", Moment, nullable=False),
    created("beat_at"),
    created(),
    Index("ix_workers_alive", "kind", "lease_until"),
)

# ---------------------------------------------------------------------------------------------------- policies and settings


def _versioned(name: str) -> Table:
    """A table of named documents in immutable versions, of which at most one a name is active."""
    active = text("is_active")
    return table_of(
        metadata,
        name,
        DocumentRow,
        Column("name", String, primary_key=True),
        Column("version", Integer, primary_key=True),
        Column("body", Json(), nullable=False),
        Index(f"uq_{name}_active", "name", unique=True, sqlite_where=active, postgresql_where=active),
    )


tier_policies: Final = _versioned("tier_policies")
detection_lists: Final = _versioned("detection_lists")

settings: Final = table_of(
    metadata, "settings", SettingRow, Column("key", String, primary_key=True), Column("value", Json(), nullable=False)
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
