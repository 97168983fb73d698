"""The first schema: `innkeeper.library.db.schema.create` makes it of the tables' metadata, at once and without Alembic.

Databases of the twelve revisions before it, of which none was released, are brought here by `innkeeper.library.db.former`.
"""

from innkeeper.library.errors import SchemaError

revision = "0013"
down_revision = None


def upgrade() -> None:
    """Refuse: there is nothing before it to come from. Raises `SchemaError`."""
    raise SchemaError("the first schema is made at once, not by a migration")
