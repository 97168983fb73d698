"""Jobs, their events, what is to be told of them, and webhooks that were taken."""

from innkeeper.library.migrations.frozen import run_frozen

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the tables."""
    run_frozen(revision)
