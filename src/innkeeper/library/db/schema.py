"""The schema of a database: its revision, how it is made and upgraded, and its view and triggers.

The tables are in `innkeeper.library.db.tables`; here are the view ``prompt_templates`` of the requirement document and the
triggers that keep the promises of the tables. Who updates the view makes a new version and moves the label ``production``;
nothing is overwritten. Other triggers refuse to change what is immutable, and count every change of what requests are answered
from in ``revisions`` (on PostgreSQL with a notification on `CHANNEL`), whoever makes it.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from innkeeper.library.db.former import FIRST, FORMER, bring_to_first
from innkeeper.library.db.tables.columns import MOMENT_SQL
from innkeeper.library.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Connection


REVISIONS: Final = (*FORMER, FIRST)
"""All revisions of the schema, oldest first: those before the first release, then those of ``migrations/versions``."""

HEAD: Final = REVISIONS[-1]
"""The revision that this Innkeeper works with."""

MIGRATIONS: Final = Path(__file__).parent.with_name("migrations")
_STAMP: Final = "alembic_version"
_OURS: Final = "template_versions"
"""A table that every revision has."""

_STAMPED: Final = {
    "sqlite": (
        f"SELECT max(name = '{_STAMP}'), max(name = '{_OURS}') FROM sqlite_master "
        f"WHERE type = 'table' AND name IN ('{_STAMP}', '{_OURS}')"
    ),
    "postgresql": f"SELECT to_regclass('{_STAMP}') IS NOT NULL, to_regclass('{_OURS}') IS NOT NULL",
}
"""Asks whether the stamp is there, and our tables: SQLAlchemy's own way takes several times as long, and every start asks."""

CHAT_TABLES: Final = ("innkeeper_chats", "innkeeper_chat_lines")
"""Tables of chats that programs keep (`innkeeper.ChatDatabase`): a library may stand beside them, in either order."""

_STRANGERS: Final = {
    "sqlite": (
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
        f"AND name NOT IN {CHAT_TABLES} ORDER BY name LIMIT 3"
    ),
    "postgresql": (
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace "
        f"AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relname NOT IN {CHAT_TABLES} "
        "AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e') ORDER BY 1 LIMIT 3"
    ),
}
"""Asks what else is there: tables and views, but for those that extensions of the server brought."""


def present(connection: Connection) -> str | None:
    """The revision of a database, None for an empty one.

    Raises `SchemaError` for one that is not known here, and for a database of another program.
    """
    stamped, ours = connection.exec_driver_sql(_STAMPED[connection.dialect.name]).one()
    if not stamped:
        _require_empty(connection)
        return None
    stamp: str | None = connection.exec_driver_sql(f"SELECT version_num FROM {_STAMP}").scalar()
    if stamp in REVISIONS and not ours:
        _require_empty(connection)
    if stamp is not None and stamp not in REVISIONS:
        raise SchemaError(
            f"the schema of the database is revision {stamp!r}, and this Innkeeper knows up to {HEAD!r}",
            hint="upgrade Innkeeper; a database is not taken back to an earlier schema",
        )
    return stamp


def _require_empty(connection: Connection) -> None:
    """Refuse the tables of another program: nothing is put among them, nor read from them."""
    strangers = connection.exec_driver_sql(_STRANGERS[connection.dialect.name]).scalars().all()
    if strangers:
        raise SchemaError(
            f"the database is another program's: it holds {', '.join(map(str, strangers))}",
            hint="give the library a database of its own, or at a server a schema",
        )


def create(connection: Connection) -> None:
    """Make everything in an empty database and stamp it, without the migrations: a test proves that they give the same."""
    from innkeeper.library.db.tables.scenes import metadata

    metadata.create_all(connection)
    for statement in statements(connection.dialect.name):
        connection.exec_driver_sql(statement)
    connection.exec_driver_sql("INSERT INTO revisions (id, revision) VALUES (1, 0)")
    connection.exec_driver_sql(
        f"CREATE TABLE {_STAMP} (version_num VARCHAR(32) NOT NULL, CONSTRAINT {_STAMP}_pkc PRIMARY KEY (version_num))"
    )
    connection.exec_driver_sql(f"INSERT INTO {_STAMP} (version_num) VALUES ('{HEAD}')")


_ONE_AT_A_TIME: Final = threading.Lock()
"""Alembic keeps the connection of a migration in its module: a second thread would work on the database of the first."""


def upgrade(connection: Connection, to: str = HEAD) -> None:
    """Bring a database from whatever revision it is of to ``to``, in the transaction of ``connection``. Threads take turns."""
    revision = present(connection)
    if revision in FORMER:
        bring_to_first(connection, revision)
        connection.exec_driver_sql(f"UPDATE {_STAMP} SET version_num = '{FIRST}'")
        revision = FIRST
    if revision == to:
        return
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    script = ScriptDirectory.from_config(config)

    def steps(revision: Any, _context: Any) -> Any:
        return script._upgrade_revs(to, revision)  # noqa: SLF001 - what alembic's own `upgrade` command does

    with _ONE_AT_A_TIME, EnvironmentContext(config, script, fn=steps) as environment:
        environment.configure(connection=connection)
        environment.run_migrations()


CHANNEL: Final = "innkeeper_revision"
"""The PostgreSQL channel on which each new revision is announced."""

PRODUCTION: Final = "production"
"""The label that ``is_active`` stands for."""

COUNTED: Final = (
    "template_labels",
    "negative_prompts",
    "api_providers",
    "api_models",
    "api_model_defaults",
    "tools",
    "tier_policies",
    "detection_lists",
    "settings",
)
"""Tables whose changes make a new revision."""

IMMUTABLE: Final = {
    "template_versions": ("UPDATE", "DELETE"),
    "label_events": ("UPDATE", "DELETE"),
    "audit_events": ("UPDATE", "DELETE"),
    "tier_policies": ("UPDATE OF name, version, body, content_sha256", "DELETE"),
    "detection_lists": ("UPDATE OF name, version, body, content_sha256", "DELETE"),
}
"""What each table refuses."""

_CONTENT: Final = (
    "target_model",
    "enhancer_model",
    "provider",
    "job_type",
    "use_case",
    "content_mode",
    "system_prompt",
    "token_limit",
    "metadata",
)
"""The columns of the view that are part of a version."""

_VIEW: Final = f"""
CREATE VIEW prompt_templates AS
SELECT t.id, t.name AS template_name, v.target_model, v.enhancer_model, v.provider, v.job_type, v.use_case, v.content_mode,
       v.system_prompt, v.token_limit, (l.version IS NOT NULL) AS is_active, v.version, v.metadata, t.description,
       t.created_by, t.created_at, coalesce(l.moved_at, v.created_at) AS updated_at
FROM templates t
LEFT JOIN template_labels l ON l.template_id = t.id AND l.label = '{PRODUCTION}'
JOIN template_versions v ON v.template_id = t.id AND v.version = coalesce(l.version, t.latest_version)
"""

_PUBLIC_PROVIDERS: Final = """
CREATE VIEW api_providers_public AS
SELECT id, name, display_name, docs_url, tier_ceiling, is_active, created_at, updated_at FROM api_providers
"""

_NEW_VERSION: Final = """
INSERT INTO template_versions (template_id, version, target_model, enhancer_model, provider, job_type, use_case,
  content_mode, system_prompt, syntax, variables, token_limit, max_output_tokens, partials, extends, metadata, note, author)
SELECT t.id, t.latest_version, nullif(NEW.target_model, ''), nullif(NEW.enhancer_model, ''), nullif(NEW.provider, ''),
  nullif(NEW.job_type, ''), NEW.use_case, NEW.content_mode, NEW.system_prompt, v.syntax, v.variables, NEW.token_limit,
  v.max_output_tokens, v.partials, v.extends, coalesce(NEW.metadata, '{}'), 'edited with SQL', 'sql'
FROM templates t JOIN template_versions v ON v.template_id = t.id AND v.version = OLD.version
WHERE t.id = OLD.id
"""

_FIRST_VERSION: Final = """
INSERT INTO template_versions (template_id, version, target_model, enhancer_model, provider, job_type, use_case,
  content_mode, system_prompt, token_limit, metadata, note, author)
SELECT t.id, 1, nullif(NEW.target_model, ''), nullif(NEW.enhancer_model, ''), nullif(NEW.provider, ''),
  nullif(NEW.job_type, ''), NEW.use_case, coalesce(NEW.content_mode, 'sfw'), NEW.system_prompt,
  coalesce(NEW.token_limit, 512), coalesce(NEW.metadata, '{}'), 'made with SQL', coalesce(NEW.created_by, 'sql')
FROM templates t WHERE t.name = NEW.template_name
"""


def _event(who: str, before: str, after: str) -> str:
    return f"""
INSERT INTO label_events (template_id, label, from_version, to_version, who, why)
SELECT {who}, '{PRODUCTION}', {before}, CASE WHEN NEW.is_active THEN {after} END, 'sql', 'changed with SQL'
WHERE NEW.is_active OR {before} IS NOT NULL
"""


def _label(who: str, version: str) -> str:
    return f"""
INSERT INTO template_labels (template_id, label, version, use_case, target_model, enhancer_model, job_type, content_mode,
  partial_name, moved_by)
SELECT v.template_id, '{PRODUCTION}', v.version, v.use_case, coalesce(v.target_model, ''), coalesce(v.enhancer_model, ''),
  coalesce(v.job_type, ''), v.content_mode, CASE WHEN v.use_case = 'partial' THEN t.name ELSE '' END, 'sql'
FROM template_versions v JOIN templates t ON t.id = v.template_id
WHERE v.template_id = {who} AND v.version = {version} AND NEW.is_active
ON CONFLICT (template_id, label) DO UPDATE SET version = excluded.version, use_case = excluded.use_case,
  target_model = excluded.target_model, enhancer_model = excluded.enhancer_model, job_type = excluded.job_type,
  content_mode = excluded.content_mode, moved_at = {{now}}, moved_by = excluded.moved_by
"""


_UNLABEL: Final = (
    f"DELETE FROM template_labels WHERE template_id = OLD.id AND label = '{PRODUCTION}' AND NOT NEW.is_active"
)
_LATEST: Final = "(SELECT latest_version FROM templates WHERE id = OLD.id)"
_THE_NEW: Final = "(SELECT id FROM templates WHERE name = NEW.template_name)"
_BEFORE: Final = f"(SELECT version FROM template_labels WHERE template_id = OLD.id AND label = '{PRODUCTION}')"
_KEEP_NAME: Final = "a template keeps its id and name: make a new one instead"
_NO_DELETE: Final = "templates are not deleted: set is_active = false"
_NO_VERSION: Final = "there is no such version of this template"
_NOT_SHOWN: Final = "a version is shown when it holds the label: set is_active = true with it"


def statements(dialect: str) -> tuple[str, ...]:
    """All views and triggers in the language of a database, in the order to make them."""
    make = {"sqlite": _sqlite, "postgresql": _postgresql}[dialect]
    return tuple(text.strip() for text in (_VIEW, _PUBLIC_PROVIDERS, *make()))


# ------------------------------------------------------------------------------------------------------------------ SQLite


def _sqlite() -> Iterator[str]:
    for table in COUNTED:
        for event in ("INSERT", "UPDATE", "DELETE"):
            yield (
                f"CREATE TRIGGER count_{table}_{event.lower()} AFTER {event} ON {table} BEGIN "
                f"UPDATE revisions SET revision = revision + 1, changed_at = {MOMENT_SQL['sqlite']}; END"
            )
    for table, events in IMMUTABLE.items():
        for event in events:
            name = f"keep_{table}_{event.partition(' ')[0].lower()}"
            yield (
                f"CREATE TRIGGER {name} BEFORE {event} ON {table} BEGIN "
                f"SELECT RAISE(ABORT, 'rows of {table} are immutable'); END"
            )
    changed = " OR ".join(f"NEW.{name} IS NOT OLD.{name}" for name in _CONTENT)
    yield _sqlite_trigger(
        "UPDATE", "refuse", "NEW.template_name IS NOT OLD.template_name OR NEW.id IS NOT OLD.id", _raise(_KEEP_NAME)
    )
    yield _sqlite_trigger("UPDATE", "describe", "NEW.description IS NOT OLD.description", _DESCRIBE)
    yield _sqlite_trigger(
        "UPDATE",
        "edit",
        changed,
        "UPDATE templates SET latest_version = latest_version + 1 WHERE id = OLD.id",
        _NEW_VERSION,
        _event("OLD.id", _BEFORE, _LATEST),
        _label("OLD.id", _LATEST),
        _UNLABEL,
    )
    yield _sqlite_trigger(
        "UPDATE",
        "move",
        f"NOT ({changed}) AND (NEW.is_active IS NOT OLD.is_active OR NEW.version IS NOT OLD.version)",
        _raise(_NOT_SHOWN, "NEW.version IS NOT OLD.version AND NOT NEW.is_active"),
        _raise(_NO_VERSION, f"NOT EXISTS ({_THAT_VERSION})"),
        _event("OLD.id", _BEFORE, "NEW.version"),
        _label("OLD.id", "NEW.version"),
        _UNLABEL,
    )
    yield _sqlite_trigger(
        "INSERT",
        "make",
        "",
        "INSERT INTO templates (id, name, description, latest_version, created_by) "
        f"SELECT coalesce(NEW.id, lower(hex(randomblob(16)))), {_MADE}",
        _FIRST_VERSION,
        _event(_THE_NEW, "NULL", "1"),
        _label(_THE_NEW, "1"),
    )
    yield _sqlite_trigger("DELETE", "keep", "", _raise(_NO_DELETE))


_DESCRIBE: Final = "UPDATE templates SET description = coalesce(NEW.description, '') WHERE id = OLD.id"
_MADE: Final = "NEW.template_name, coalesce(NEW.description, ''), 1, coalesce(NEW.created_by, 'sql')"
_THAT_VERSION: Final = "SELECT 1 FROM template_versions WHERE template_id = OLD.id AND version = NEW.version"


def _raise(message: str, condition: str = "true") -> str:
    return f"SELECT RAISE(ABORT, '{message}') WHERE {condition}"


def _sqlite_trigger(event: str, name: str, when: str, *body: str) -> str:
    lines = ";\n".join(text.strip().replace("{now}", MOMENT_SQL["sqlite"]) for text in body)
    condition = f"WHEN {when} " if when else ""
    return (
        f"CREATE TRIGGER prompt_templates_{name} INSTEAD OF {event} ON prompt_templates {condition}BEGIN\n{lines};\nEND"
    )


# -------------------------------------------------------------------------------------------------------------- PostgreSQL


def _postgresql() -> Iterator[str]:
    yield _function(
        "innkeeper_count",
        "UPDATE revisions SET revision = revision + 1, changed_at = now();\n"
        f"PERFORM pg_notify('{CHANNEL}', (SELECT revision::text FROM revisions));\nRETURN NULL;",
    )
    yield _function(
        "innkeeper_keep",
        "RAISE EXCEPTION 'rows of % are immutable', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';",
    )
    for table in COUNTED:
        yield (
            f"CREATE TRIGGER count_{table} AFTER INSERT OR UPDATE OR DELETE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION innkeeper_count()"
        )
    for table, events in IMMUTABLE.items():
        yield (
            f"CREATE TRIGGER keep_{table} BEFORE {' OR '.join(events)} ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION innkeeper_keep()"
        )
    for event, body in (("UPDATE", _PG_UPDATE), ("INSERT", _PG_INSERT), ("DELETE", _pg_raise(_NO_DELETE))):
        function = f"innkeeper_template_{event.lower()}"
        yield _function(function, body.replace("{now}", "now()"))
        yield (
            f"CREATE TRIGGER prompt_templates_{event.lower()} INSTEAD OF {event} ON prompt_templates "
            f"FOR EACH ROW EXECUTE FUNCTION {function}()"
        )


def _function(name: str, body: str) -> str:
    return f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $body$\nBEGIN\n{body.strip()}\nEND\n$body$"


def _pg_raise(message: str, code: str = "restrict_violation") -> str:
    return f"RAISE EXCEPTION '{message}' USING ERRCODE = '{code}';"


_PG_CHANGED: Final = " OR ".join(
    f"NEW.{name}::text IS DISTINCT FROM OLD.{name}::text"
    if name == "metadata"
    else f"NEW.{name} IS DISTINCT FROM OLD.{name}"
    for name in _CONTENT
)
_PG_SHOWN: Final = f"coalesce({_BEFORE}, {_LATEST})"

# The row of `revisions` is locked first by everyone who changes templates: one order of locks, so no deadlock. What the
# statement saw may be older than the lock, hence the look at the version.
_PG_UPDATE: Final = f"""
PERFORM revision FROM revisions FOR UPDATE;
IF {_PG_SHOWN} <> OLD.version THEN
{_pg_raise("the template was changed meanwhile: repeat the statement", "serialization_failure")}
END IF;
IF NEW.template_name IS DISTINCT FROM OLD.template_name OR NEW.id IS DISTINCT FROM OLD.id THEN
{_pg_raise(_KEEP_NAME)}
END IF;
{_DESCRIBE};
IF {_PG_CHANGED} THEN
UPDATE templates SET latest_version = latest_version + 1 WHERE id = OLD.id;
{_NEW_VERSION};
{_event("OLD.id", _BEFORE, _LATEST)};
{_label("OLD.id", _LATEST)};
{_UNLABEL};
ELSIF NEW.is_active IS DISTINCT FROM OLD.is_active OR NEW.version IS DISTINCT FROM OLD.version THEN
IF NEW.version IS DISTINCT FROM OLD.version AND NOT NEW.is_active THEN
{_pg_raise(_NOT_SHOWN)}
END IF;
IF NOT EXISTS ({_THAT_VERSION}) THEN
{_pg_raise(_NO_VERSION)}
END IF;
{_event("OLD.id", _BEFORE, "NEW.version")};
{_label("OLD.id", "NEW.version")};
{_UNLABEL};
END IF;
RETURN NEW;
"""

_PG_INSERT: Final = f"""
PERFORM revision FROM revisions FOR UPDATE;
INSERT INTO templates (id, name, description, latest_version, created_by)
SELECT coalesce(NEW.id, replace(gen_random_uuid()::text, '-', '')), {_MADE};
{_FIRST_VERSION};
{_event(_THE_NEW, "NULL::int", "1")};
{_label(_THE_NEW, "1")};
RETURN NEW;
"""
