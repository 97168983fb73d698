"""The schema of a database: which revision it is of, how it is made, how it is brought up to date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from innkeeper.library.errors import SchemaNewerError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

__all__ = ["HEAD", "REVISIONS", "create", "present", "upgrade"]

REVISIONS: Final = ("0001", "0002")
"""All revisions of the schema, oldest first, as in ``migrations/versions``."""

HEAD: Final = REVISIONS[-1]
"""The revision that this Innkeeper works with."""

MIGRATIONS: Final = Path(__file__).with_name("migrations")
_STAMP: Final = "alembic_version"
_STAMPED: Final = {
    "sqlite": f"SELECT name FROM sqlite_master WHERE type = 'table' AND name = '{_STAMP}'",
    "postgresql": f"SELECT to_regclass('{_STAMP}')::text",
}
"""Asks whether the stamp is there: SQLAlchemy's own way takes several times as long, and every start asks."""


def present(connection: Connection) -> str | None:
    """The revision of a database, None for an empty one. Raises `SchemaNewerError` for one that is not known here."""
    if connection.exec_driver_sql(_STAMPED[connection.dialect.name]).scalar() is None:
        return None
    found: str | None = connection.exec_driver_sql(f"SELECT version_num FROM {_STAMP}").scalar()
    if found is not None and found not in REVISIONS:
        raise SchemaNewerError(
            f"the schema of the database is revision {found!r}, and this Innkeeper knows up to {HEAD!r}"
        )
    return found


def create(connection: Connection) -> None:
    """Make everything in an empty database and stamp it, without the migrations: a test proves that they give the same."""
    from innkeeper.library.tables import metadata
    from innkeeper.library.views import statements

    metadata.create_all(connection)
    for statement in statements(connection.dialect.name):
        connection.exec_driver_sql(statement)
    connection.exec_driver_sql("INSERT INTO revisions (id, revision) VALUES (1, 0)")
    connection.exec_driver_sql(
        f"CREATE TABLE {_STAMP} (version_num VARCHAR(32) NOT NULL, CONSTRAINT {_STAMP}_pkc PRIMARY KEY (version_num))"
    )
    connection.exec_driver_sql(f"INSERT INTO {_STAMP} (version_num) VALUES ('{HEAD}')")


def upgrade(connection: Connection, to: str = HEAD) -> None:
    """Bring a database from whatever revision it is of to ``to``, in the transaction of ``connection``."""
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    script = ScriptDirectory.from_config(config)

    def steps(revision: Any, _context: Any) -> Any:
        return script._upgrade_revs(to, revision)  # noqa: SLF001 - what alembic's own `upgrade` command does

    with EnvironmentContext(config, script, fn=steps) as environment:
        environment.configure(connection=connection)
        environment.run_migrations()
