"""What keys of the service have spent."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "spendings",
        sa.Column("tenant", sa.String, nullable=False),
        sa.Column("owner", sa.String, nullable=False),
        sa.Column("spent", sa.Double, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "owner", name="pk_spendings"),
    )
