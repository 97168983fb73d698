"""Where jobs go, and indexes of those alone that have not ended."""

from innkeeper.library.migrations.frozen import run_frozen

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add the column, and make the indexes anew."""
    run_frozen(revision)
