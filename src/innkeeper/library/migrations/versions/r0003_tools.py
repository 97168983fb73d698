"""Who runs a tool, with which key and settings; and an index by which the events of one thing are found."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the columns and the index; no row is changed."""
    for name in ("provider", "model", "base_url", "secret_name"):
        op.add_column("tools", sa.Column(name, sa.Text))
    op.add_column("tools", sa.Column("settings", sa.JSON, nullable=False, server_default=sa.text("'{}'")))
    op.create_index("ix_audit_events_resource", "audit_events", ["resource_type", "resource_id", "id"])
