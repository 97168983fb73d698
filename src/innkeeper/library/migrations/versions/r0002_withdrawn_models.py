"""Models that are withdrawn and what takes their place; texts of enhancements, apart from the log and for a time."""

import sqlalchemy as sa
from alembic import op

from innkeeper.library.db.columns import Moment, moment_now

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns and the table; no row is changed."""
    op.add_column("api_models", sa.Column("replaced_by", sa.Text))
    op.add_column("api_models", sa.Column("deprecated_at", Moment))
    op.create_table(
        "enhancement_contents",
        sa.Column("log_id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("created_at", Moment, nullable=False, server_default=moment_now()),
        sa.Column("expires_at", Moment, nullable=False),
        sa.CheckConstraint("kind IN ('input', 'output')", name="ck_enhancement_contents_kind_known"),
        sa.PrimaryKeyConstraint("log_id", "kind", name="pk_enhancement_contents"),
        sa.ForeignKeyConstraint(
            ["log_id"], ["enhancement_logs.id"], name="fk_enhancement_contents_log_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_enhancement_contents_expires_at", "enhancement_contents", ["expires_at"])
