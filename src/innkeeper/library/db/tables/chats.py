"""Tables of chats that programs keep (`innkeeper.ChatDatabase`); a library may stand beside them, in either order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import Column, ForeignKey, MetaData, String, Table, Text

from innkeeper.library.db.schema import CHAT_TABLES
from innkeeper.library.db.tables.columns import BIG

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

MAX_NAME: Final = 512
"""Characters of a chat's name (`UsageError`)."""

_MAKING: Final = 0x636861
"""The number of the lock under which the tables are made in PostgreSQL."""

metadata: Final = MetaData()

CHATS: Final = Table(
    CHAT_TABLES[0],
    metadata,
    Column("name", String(MAX_NAME), primary_key=True),
    Column("header", Text, nullable=False),
    Column("changes", BIG, nullable=False),  # counts up with every change
)

LINES: Final = Table(
    CHAT_TABLES[1],
    metadata,
    Column("chat", String(MAX_NAME), ForeignKey(f"{CHAT_TABLES[0]}.name", ondelete="CASCADE"), primary_key=True),
    Column("number", BIG, primary_key=True, autoincrement=False),
    Column("line", Text, nullable=False),
)


def make_chat_tables(connection: Connection) -> None:
    """Make the tables where they are missing."""
    if connection.dialect.name == "postgresql":  # another process may make them just now
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MAKING})")
    metadata.create_all(connection)
