"""Memories; whose conversations and characters are; what messages answer, what was written before they were processed, pins."""

import sqlalchemy as sa
from alembic import op

from innkeeper.library.db.columns import Moment, fresh_id, moment_now

revision = "0008"
down_revision = "0007"


def _one_of(name: str, *words: str) -> sa.CheckConstraint:
    listed = ", ".join(f"'{word}'" for word in words)
    return sa.CheckConstraint(f"{name} IN ({listed})", name=f"ck_memories_{name}_known")


def _made(name: str) -> sa.Column[str]:
    return sa.Column(name, Moment, nullable=False, server_default=moment_now())


def _text(name: str, default: str, kind: type[sa.String] = sa.Text) -> sa.Column[str]:
    return sa.Column(name, kind, nullable=False, server_default=default)


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.text("false"))


def upgrade() -> None:
    """Add the columns and the table; no row is changed."""
    op.add_column("characters", _text("tenant", ""))
    op.add_column("conversations", _text("tenant", ""))
    op.add_column("messages", _flag("pinned"))
    op.add_column("messages", sa.Column("reply_to", sa.Text))
    op.add_column("messages", sa.Column("original", sa.Text))
    op.add_column("messages", sa.Column("post_processing", sa.JSON))
    op.create_index("ix_messages_reply_to", "messages", ["reply_to"])
    op.create_table(
        "memories",
        sa.Column("id", sa.String, nullable=False, server_default=fresh_id()),
        _text("tenant", ""),
        _text("user_id", ""),
        sa.Column("scope", sa.String, nullable=False),
        _text("scope_id", "", sa.String),
        _text("kind", "fact", sa.String),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("content_sha256", sa.String, nullable=False),
        _text("tier", "sfw", sa.String),
        _flag("pinned"),
        _text("source", "user"),
        sa.Column("message_id", sa.String),
        _made("created_at"),
        _made("updated_at"),
        _one_of("scope", "conversation", "character", "profile"),
        _one_of("kind", "fact", "preference", "event", "relationship", "summary"),
        _one_of("tier", "sfw", "nsfw"),
        _one_of("source", "user", "model", "operator"),
        sa.PrimaryKeyConstraint("id", name="pk_memories"),
        sa.ForeignKeyConstraint(["message_id"], ["messages.id"], name="fk_memories_message_id", ondelete="SET NULL"),
        sa.UniqueConstraint("tenant", "user_id", "scope", "scope_id", "content_sha256", name="remembered_once"),
    )
