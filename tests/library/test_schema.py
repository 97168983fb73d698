"""The schema: made at once or step by step it is the same, and upgrades keep what is there."""

import re
from pathlib import Path
from typing import Any

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from innkeeper.library import schema
from innkeeper.library.engine import Database
from innkeeper.library.errors import DatabaseMissingError, SchemaNewerError, SchemaOutdatedError
from innkeeper.library.store import TemplateStore
from innkeeper.library.stores import ProviderStore
from tests.library.conftest import Fresh

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
FIRST = schema.REVISIONS[0]
ROWS = (
    "INSERT INTO api_providers (id, name) VALUES ('p', 'openrouter')",
    "INSERT INTO api_models (id, provider_id, model_key, modality) VALUES ('m', 'p', 'maker/one', 'chat')",
    "INSERT INTO prompt_templates (template_name, use_case, system_prompt, is_active) VALUES ('a', 'chat', 'Hi', true)",
    "UPDATE prompt_templates SET system_prompt = 'Hello'",
    "INSERT INTO enhancement_logs (template_name, execution_time_ms) VALUES ('a', 12.5)",
    "INSERT INTO secrets (name, ciphertext) VALUES ('K', 'x')",
    "INSERT INTO characters (id, name) VALUES ('c', 'Wren')",
    "INSERT INTO conversations (id, character_id) VALUES ('v', 'c')",
    "INSERT INTO messages (id, conversation_id, seq, role, content) VALUES ('s', 'v', 1, 'user', 'Hello')",
    "INSERT INTO audit_events (action) VALUES ('test')",
    "INSERT INTO tier_policies (name, version, body, content_sha256) VALUES ('t', 1, '{}', 'x')",
)


def made_at(fresh: Fresh, revision: str) -> str:
    """The URL of a database of an earlier revision, by the migrations up to it."""
    url = fresh(bare=True)
    with Database.open(url, check=False) as db:
        db.upgrade(revision)
    return url


def shape(connection: Connection) -> dict[str, Any]:
    """Everything that a database tells about its tables, views and triggers."""
    found = inspect(connection)
    facts: dict[str, Any] = {}
    for table in sorted(found.get_table_names()):
        columns = [(c["name"], str(c["type"]), c["nullable"], c["default"]) for c in found.get_columns(table)]
        facts[table] = {
            "columns": columns,
            "key": found.get_pk_constraint(table),
            "foreign": sorted(map(repr, found.get_foreign_keys(table))),
            "unique": sorted(map(repr, found.get_unique_constraints(table))),
            "checks": sorted(map(repr, found.get_check_constraints(table))),
            "indexes": sorted(_ADDRESS.sub("", repr(index)) for index in found.get_indexes(table)),
        }
    facts["views"] = {name: found.get_view_definition(name) for name in sorted(found.get_view_names())}
    query = {
        "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name",
        "postgresql": "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2",
    }[connection.dialect.name]
    facts["triggers"] = [(name, " ".join(code.split())) for name, code in connection.execute(text(query))]
    if connection.dialect.name == "postgresql":
        functions = text("SELECT proname, prosrc FROM pg_proc WHERE proname LIKE 'innkeeper%' ORDER BY 1")
        facts["functions"] = [(name, " ".join(code.split())) for name, code in connection.execute(functions)]
    return facts


def test_made_at_once_or_by_migrations(fresh: Fresh) -> None:
    """A fresh database, made without the migrations, is what all migrations make of an empty one."""
    stepped = made_at(fresh, FIRST)
    with Database.open(fresh()) as once, Database.open(stepped) as steps:
        with once.reading() as left, steps.reading() as right:
            first, second = shape(left), shape(right)
        assert first.keys() == second.keys()
        for name in first:
            assert first[name] == second[name], name
        assert once.revision() == steps.revision() == 0


@pytest.mark.parametrize("revision", schema.REVISIONS[:-1])
def test_upgrade_from_every_earlier_revision_keeps_the_data(fresh: Fresh, revision: str) -> None:
    """Rows of each table survive the way from each earlier revision, and the library works afterwards."""
    url = made_at(fresh, revision)
    with Database.open(url, check=False) as old:
        with old.transaction() as connection:
            for statement in ROWS:
                connection.exec_driver_sql(statement)
        before = rows_of(old)
    with Database.open(url) as db:
        with db.reading() as connection:
            assert schema.present(connection) == schema.HEAD
        after = rows_of(db)
        for table, rows in before.items():
            assert [{name: row[name] for name in rows[0]} for row in after[table]] == rows, table
        assert TemplateStore(db).get("a", label="production").system_prompt == "Hello"
        assert ProviderStore(db).get("openrouter")["id"] == "p"


def rows_of(db: Database) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables that have some, but for the stamp."""
    with db.reading() as connection:
        names = [name for name in inspect(connection).get_table_names() if name != "alembic_version"]
        found = {name: connection.execute(text(f"SELECT * FROM {name}")).mappings().all() for name in names}
    return {name: [dict(row) for row in rows] for name, rows in found.items() if rows}


def test_revisions_are_those_of_the_migrations() -> None:
    """The list in the code is the chain of the files, so that no import of alembic is needed to know the newest."""
    script = ScriptDirectory(str(Path(schema.__file__).with_name("migrations")))
    assert tuple(reversed([revision.revision for revision in script.walk_revisions()])) == schema.REVISIONS
    assert script.get_heads() == [schema.HEAD]


def test_outdated_and_newer(fresh: Fresh) -> None:
    """An older database says how to upgrade it where that is not to happen by itself; a newer one is refused."""
    url = made_at(fresh, FIRST)
    with pytest.raises(SchemaOutdatedError, match="revision '0001', not") as caught:
        Database.open(url, upgrade=False)
    assert caught.value.hint == "`innkeeper db upgrade`"
    with pytest.raises(SchemaOutdatedError):
        Database.open(url, read_only=True)
    with Database.open(url) as db, db.transaction() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(SchemaNewerError, match="'9999'"):
        Database.open(url)


def test_nothing_is_made_unasked(fresh: Fresh) -> None:
    """Without ``create`` an empty database stays empty."""
    url = fresh(bare=True)
    with pytest.raises(DatabaseMissingError):
        Database.open(url, create=False)
    with Database.open(url, check=False) as db, db.reading() as connection:
        assert schema.present(connection) is None


def test_an_upgrade_that_fails_changes_nothing(fresh: Fresh) -> None:
    """A migration is one transaction: where its last step fails, the first has not happened either."""
    url = made_at(fresh, FIRST)
    with Database.open(url, check=False) as db:
        with db.transaction() as connection:
            connection.exec_driver_sql("CREATE TABLE enhancement_contents (in_the_way INTEGER)")
        with pytest.raises(Exception, match="enhancement_contents"):
            db.upgrade()
        with db.reading() as connection:
            assert schema.present(connection) == FIRST
            assert "replaced_by" not in {column["name"] for column in inspect(connection).get_columns("api_models")}
