"""The first schema, as it was: every table, view and trigger of it stands in ``sql/0001.*.sql``."""

from innkeeper.library.migrations.frozen import run_frozen

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the first schema."""
    run_frozen(revision)
