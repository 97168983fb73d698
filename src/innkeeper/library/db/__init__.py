"""The database: opening it, its schema and rows, audit events, backups and read-only queries."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.library.db.backup import Backup as Backup
    from innkeeper.library.db.backup import back_up as back_up
    from innkeeper.library.db.backup import restore as restore
    from innkeeper.library.db.backup import verify as verify
    from innkeeper.library.db.connection import URL_VARIABLE as URL_VARIABLE
    from innkeeper.library.db.connection import DatabaseTarget as DatabaseTarget
    from innkeeper.library.db.connection import find_target as find_target
    from innkeeper.library.db.engine import Database as Database
    from innkeeper.library.db.engine import Status as Status
    from innkeeper.library.db.engine import status_of as status_of
    from innkeeper.library.db.queries import QueryResult as QueryResult
    from innkeeper.library.db.queries import query as query
    from innkeeper.library.db.rows import AuditStore as AuditStore

_HOMES: Final = {
    "AuditStore": "rows",
    "Backup": "backup",
    "Database": "engine",
    "QueryResult": "queries",
    "Status": "engine",
    "DatabaseTarget": "connection",
    "URL_VARIABLE": "connection",
    "back_up": "backup",
    "find_target": "connection",
    "query": "queries",
    "restore": "backup",
    "status_of": "engine",
    "verify": "backup",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
