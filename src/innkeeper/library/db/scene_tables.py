"""The tables of scenes, beside those of `innkeeper.library.db.job_tables`.

``scenes`` are templates that are used again, ``character_scenes`` what was made, ``scene_states`` what a conversation's scene is
like now (dynamic-prompting reference 1.9 and 3.9). ``metadata`` has all tables of a library once this module is imported.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)

from innkeeper.library.db.columns import BIG, created, given_id, json_column, one_of, text_column, tier
from innkeeper.library.db.job_tables import metadata as metadata  # noqa: PLC0414 - the modules of tables load each other

scenes: Final = Table(
    "scenes",
    metadata,
    given_id(),
    text_column("tenant", ""),
    text_column("user_id", ""),
    Column("name", String, nullable=False),
    text_column("description", ""),
    Column("scene_prompt", Text, nullable=False),
    text_column("preview_image_url"),
    text_column("setting"),
    json_column("atmosphere", "{}"),
    text_column("time_of_day"),
    text_column("scenario_type"),
    json_column("scene_starters", "[]"),
    text_column("suggested_user_role"),
    text_column("default_clothing"),
    json_column("character_clothing_overrides", "{}"),
    *tier("content_rating"),
    json_column("tags", "[]"),
    text_column("scene_focus", "setting"),
    one_of("scene_focus", "setting", "character", "interaction", "atmosphere"),
    text_column("narrative_style", "concise"),
    one_of("narrative_style", "concise", "detailed", "atmospheric"),
    json_column("visual_priority", "[]"),
    text_column("perspective_hint", "third_person"),
    one_of("perspective_hint", "third_person", "pov", "observer"),
    Column("max_words", Integer, nullable=False, default=60, server_default="60"),
    Column("min_characters", Integer, nullable=False, default=1, server_default="1"),
    Column("max_characters", Integer, nullable=False, default=2, server_default="2"),
    Column("is_public", Boolean, nullable=False, default=False, server_default=false()),
    Column("usage_count", BIG, nullable=False, default=0, server_default="0"),
    created(),
    created("updated_at"),
    CheckConstraint("max_words BETWEEN 20 AND 200", name="max_words_in_range"),
    CheckConstraint("0 <= min_characters AND min_characters <= max_characters", name="characters_in_order"),
    Index("ix_scenes_owner", "tenant", "user_id", "name"),
)
"""One row a template: private and of the general tier unless said otherwise."""

character_scenes: Final = Table(
    "character_scenes",
    metadata,
    given_id(),
    text_column("tenant", ""),
    text_column("user_id", ""),
    Column("conversation_id", String, ForeignKey("conversations.id", ondelete="CASCADE")),
    Column("number", BIG, nullable=False, default=0, server_default="0"),  # counts up within its conversation
    Column("character_id", String, ForeignKey("characters.id", ondelete="SET NULL")),
    Column("user_character_id", String, ForeignKey("characters.id", ondelete="SET NULL")),
    Column("template_id", String, ForeignKey("scenes.id", ondelete="SET NULL")),
    text_column("idempotency_key"),
    text_column("request_sha256", ""),
    *(text_column(name, "") for name in ("scene_name", "scene_description", "scene_text", "text_source")),
    text_column("scene_prompt", ""),  # what is sent
    *(text_column(name, "") for name in ("scene_rules", "system_prompt")),
    json_column("scene_starters", "[]"),
    text_column("scene_type", "character_only"),
    one_of("scene_type", "character_only", "pov", "both_characters"),
    text_column("scene_mode", "none"),
    one_of("scene_mode", "modification", "continuation", "first_from_template", "none"),
    text_column("generation_mode", "t2i"),
    one_of("generation_mode", "t2i", "i2i"),
    text_column("previous_scene_id"),
    text_column("previous_scene_image_url"),
    text_column("image_url"),  # the name of a stored asset, signed or served when it is used
    text_column("job_id"),
    text_column("status", "pending"),
    one_of("status", "pending", "succeeded", "failed", "cancelled", "expired"),
    text_column("error_kind"),
    Column("priority", Integer, nullable=False, default=0, server_default="0"),
    Column("seed", BIG),
    *tier("tier"),
    json_column("state", "{}"),  # the state of the scene that it was made with
    json_column("context", "{}"),
    json_column("figures", "[]"),
    json_column("request", "{}"),
    json_column("generation_metadata", "{}"),
    created(),
    created("updated_at"),
    UniqueConstraint("tenant", "user_id", "idempotency_key", name="scene_asked_once"),
    Index("ix_character_scenes_newest", "conversation_id", "number"),
    Index("ix_character_scenes_owner", "tenant", "user_id", "created_at"),
)
"""One row a scene that was asked for. ``image_url`` is there once its job has made it."""

scene_states: Final = Table(
    "scene_states",
    metadata,
    Column("conversation_id", String, ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True),
    json_column("state", "{}"),
    Column("seq", BIG, nullable=False, default=0, server_default="0"),  # the last message that was read
    Column("last_number", BIG, nullable=False, default=0, server_default="0"),  # of its scenes
    Column("version", Integer, nullable=False, default=1, server_default="1"),
    created(),
    created("updated_at"),
)
"""What the scene of a conversation is like now. ``version`` grows with every change: who changes it names the one he has seen."""
