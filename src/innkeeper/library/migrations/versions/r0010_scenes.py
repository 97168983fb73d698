"""Scenes: templates, what was made, and what the scene of a conversation is like."""

from innkeeper.library.migrations.frozen import run_frozen

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Make the tables."""
    run_frozen(revision)
