"""The tables of scenes, beside those of `innkeeper.library.db.tables.jobs`.

``scenes`` are templates that are used again, ``character_scenes`` what was made, ``scene_states`` what a conversation's scene is
like now (dynamic-prompting reference 1.9 and 3.9). ``metadata`` has all tables of a library once this module is imported.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, String, Table, Text, UniqueConstraint

from innkeeper.library.db.tables.columns import BIG, created, integer, json_column, one_of, table_of
from innkeeper.library.db.tables.jobs import metadata as metadata  # noqa: PLC0414 - the modules of tables load each other
from innkeeper.library.rows import SceneRow, SceneTemplateRow

scenes: Final = table_of(
    metadata,
    "scenes",
    SceneTemplateRow,
    Column("scene_prompt", Text, nullable=False),
    one_of("scene_focus", "setting", "character", "interaction", "atmosphere"),
    one_of("narrative_style", "concise", "detailed", "atmospheric"),
    one_of("perspective_hint", "third_person", "pov", "observer"),
    integer("usage_count", 0, BIG),
    CheckConstraint("max_words BETWEEN 20 AND 200", name="max_words_in_range"),
    CheckConstraint("0 <= min_characters AND min_characters <= max_characters", name="characters_in_order"),
    Index("ix_scenes_owner", "tenant", "user_id", "name"),
)
"""One row a template: private and of the general tier unless said otherwise."""

character_scenes: Final = table_of(
    metadata,
    "character_scenes",
    SceneRow,
    Column("conversation_id", String, ForeignKey("conversations.id", ondelete="CASCADE")),
    integer("number", 0, BIG),
    Column("character_id", String, ForeignKey("characters.id", ondelete="SET NULL")),
    Column("user_character_id", String, ForeignKey("characters.id", ondelete="SET NULL")),
    Column("template_id", String, ForeignKey("scenes.id", ondelete="SET NULL")),
    one_of("scene_type", "character_only", "pov", "both_characters"),
    one_of("scene_mode", "modification", "continuation", "first_from_template", "none"),
    one_of("generation_mode", "t2i", "i2i"),
    one_of("status", "pending", "succeeded", "failed", "cancelled", "expired"),
    Column("seed", BIG),
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
    integer("seq", 0, BIG),  # the last message that was read
    integer("last_number", 0, BIG),  # of its scenes
    integer("version", 1),
    created(),
    created("updated_at"),
)
"""What the scene of a conversation is like now. ``version`` grows with every change: who changes it names the one he has seen."""
