"""Workers, by whose leases requests are routed, the invitations with which they enrol, and the policies of routes."""

import sqlalchemy as sa
from alembic import op

from innkeeper.library.db.columns import Moment, fresh_id, moment_now

revision = "0005"
down_revision = "0004"

_TIERS = "tier_ceiling IN ('sfw', 'nsfw')"


def _json(name: str, default: str) -> sa.Column[object]:
    return sa.Column(name, sa.JSON, nullable=False, server_default=sa.text(f"'{default}'"))


def _tier() -> sa.Column[str]:
    return sa.Column("tier_ceiling", sa.String, nullable=False, server_default="sfw")


def _made(name: str = "created_at") -> sa.Column[str]:
    return sa.Column(name, Moment, nullable=False, server_default=moment_now())


def upgrade() -> None:
    """Add the three tables; no row is changed."""
    op.create_table(
        "route_policies",
        sa.Column("name", sa.String, nullable=False),
        sa.Column("modality", sa.Text),
        sa.Column("task", sa.Text),
        _json("criteria", "[]"),
        *(sa.Column(name, sa.Integer) for name in ("attempts", "strikes")),
        *(sa.Column(name, sa.Numeric(12, 3)) for name in ("seconds", "first_seconds", "open_seconds")),
        sa.Column("money", sa.Numeric(12, 6)),
        sa.Column("lower_tier", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("is_active", sa.Boolean, nullable=False, server_default=sa.true()),
        _made(),
        _made("updated_at"),
        sa.PrimaryKeyConstraint("name", name="pk_route_policies"),
    )
    op.create_table(
        "worker_invitations",
        sa.Column("token_sha256", sa.String, nullable=False),
        _json("hosts", "[]"),
        _tier(),
        sa.Column("priority", sa.Integer, nullable=False, server_default="0"),
        sa.Column("created_by", sa.Text, nullable=False, server_default=""),
        _made(),
        sa.Column("expires_at", Moment, nullable=False),
        sa.Column("used_at", Moment),
        sa.Column("used_by", sa.Text),
        sa.CheckConstraint(_TIERS, name="ck_worker_invitations_tier_ceiling_known"),
        sa.PrimaryKeyConstraint("token_sha256", name="pk_worker_invitations"),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.String, nullable=False, server_default=fresh_id()),
        sa.Column("kind", sa.String, nullable=False, server_default="chat"),
        sa.Column("url", sa.String, nullable=False),
        _json("hosts", "[]"),
        sa.Column("state", sa.String, nullable=False, server_default="starting"),
        sa.Column("reason", sa.Text, nullable=False, server_default=""),
        _json("capabilities", "{}"),
        sa.Column("slots", sa.Integer, nullable=False, server_default="1"),
        sa.Column("priority", sa.Integer, nullable=False, server_default="0"),
        _tier(),
        sa.Column("token_sha256", sa.String, nullable=False),
        sa.Column("lease_until", Moment, nullable=False),
        _made("beat_at"),
        _made(),
        sa.CheckConstraint("kind IN ('chat', 'image', 'video')", name="ck_workers_kind_known"),
        sa.CheckConstraint(
            "state IN ('starting', 'ready', 'degraded', 'draining', 'dead', 'quarantined')",
            name="ck_workers_state_known",
        ),
        sa.CheckConstraint(_TIERS, name="ck_workers_tier_ceiling_known"),
        sa.PrimaryKeyConstraint("id", name="pk_workers"),
        sa.UniqueConstraint("token_sha256", name="uq_workers_token_sha256"),
    )
    op.create_index("ix_workers_alive", "workers", ["kind", "lease_until"])
