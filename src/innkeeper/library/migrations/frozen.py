"""Statements of a revision that are kept as text, one file a database, so that later changes of the code leave them alone."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from alembic import op

_NEXT: Final = "\n-- next\n"


def run_frozen(revision: str) -> None:
    """Run the statements of a revision for the database at hand."""
    connection = op.get_bind()
    name = f"{revision}.{connection.dialect.name}.sql"
    text = (files("innkeeper.library.migrations") / "sql" / name).read_text(encoding="utf-8")
    for statement in text.split(_NEXT):
        connection.exec_driver_sql(statement)
