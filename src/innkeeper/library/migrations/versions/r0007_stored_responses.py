"""Responses that clients go back to by their ids."""

from innkeeper.library.migrations.frozen import run_frozen

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Make the table."""
    run_frozen(revision)
