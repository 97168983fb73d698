"""Profiles that clients of the service call as models, and their files."""

import sqlalchemy as sa
from alembic import op

from innkeeper.library.db.columns import Moment, moment_now

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "profiles",
        sa.Column("name", sa.String, nullable=False),
        sa.Column("tenant", sa.Text, nullable=False, server_default=""),
        sa.Column("owner", sa.Text, nullable=False, server_default=""),
        sa.Column("document", sa.Text, nullable=False, server_default=""),
        sa.Column("digest", sa.Text, nullable=False, server_default=""),
        sa.Column("created_at", Moment, nullable=False, server_default=moment_now()),
        sa.Column("updated_at", Moment, nullable=False, server_default=moment_now()),
        sa.PrimaryKeyConstraint("name", name="pk_profiles"),
    )
    op.create_table(
        "profile_files",
        sa.Column("profile", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["profile"], ["profiles.name"], ondelete="CASCADE", name="fk_profile_files_profile"),
        sa.PrimaryKeyConstraint("profile", "name", name="pk_profile_files"),
    )
