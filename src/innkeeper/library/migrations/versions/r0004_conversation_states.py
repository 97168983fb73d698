"""What conversations of clients that keep nothing are left with, by the words of their chats."""

from innkeeper.library.migrations.frozen import run_frozen

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the table."""
    run_frozen(revision)
