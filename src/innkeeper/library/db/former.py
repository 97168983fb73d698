"""The schemas before the first release: a database of one of them is brought to `FIRST` by adding what it has not.

Those revisions only added tables, columns and indexes, so that no row changes. What each of them added is listed here by
name; how it is made is read from today's tables. A later migration that changes one of these columns has
to write down here what it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.engine import Connection


FIRST: Final = "0013"
"""The schema of the first release; migrations lead on from it."""

_ADDED: Final[Mapping[str, tuple[tuple[str, ...], Mapping[str, tuple[str, ...]]]]] = {
    "0001": ((), {}),
    "0002": (("enhancement_contents",), {"api_models": ("replaced_by", "deprecated_at")}),
    "0003": ((), {"tools": ("provider", "model", "base_url", "secret_name", "settings"), "audit_events": ()}),
    "0004": (("conversation_states",), {}),
    "0005": (("route_policies", "worker_invitations", "workers"), {}),
    "0006": (("jobs", "job_events", "job_deliveries", "webhook_receipts"), {}),
    "0007": (("stored_responses",), {}),
    "0008": (
        ("memories",),
        {
            "characters": ("tenant",),
            "conversations": ("tenant",),
            "messages": ("pinned", "reply_to", "original", "post_processing"),
        },
    ),
    "0009": (("spendings",), {}),
    "0010": (("scenes", "character_scenes", "scene_states"), {}),
    "0011": (("profiles", "profile_files"), {}),
    "0012": ((), {"jobs": ("route",)}),
    FIRST: (("job_turns",), {"jobs": ("priority",)}),
}
"""By revision: the tables that it added, and the columns that it added to others, whose indexes are made anew."""

FORMER: Final = tuple(revision for revision in _ADDED if revision < FIRST)
"""The revisions before the first, oldest first."""


def bring_to_first(connection: Connection, revision_before: str) -> None:
    """Add what a database of the former revision ``found`` has not, in the transaction of ``connection``; the stamp stays."""
    from innkeeper.library.db.tables.scenes import metadata

    made: set[str] = set()
    extended: dict[str, tuple[str, ...]] = {}
    for revision, (tables, columns) in _ADDED.items():
        if revision <= revision_before:
            continue
        for name in tables:
            metadata.tables[name].create(connection, checkfirst=False)
            made.add(name)
        for name, added in columns.items():
            if name not in made:  # a table that was made here has all its columns
                extended[name] = (*extended.get(name, ()), *added)
    for name, added in extended.items():
        _extend(connection, metadata.tables[name], added)


def _extend(connection: Connection, table: Table, columns: tuple[str, ...]) -> None:
    from sqlalchemy import inspect
    from sqlalchemy.schema import CreateColumn

    existing = {index["name"] for index in inspect(connection).get_indexes(table.name)}
    for name in columns:
        column = CreateColumn(table.c[name]).compile(dialect=connection.dialect)
        connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {column}")
    for index in table.indexes:
        if index.name in existing:
            index.drop(connection)
        index.create(connection)
