"""The schema: made at once or step by step it is the same, and upgrades keep what is there."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from innkeeper.library.db import schema
from innkeeper.library.db.engine import Database
from innkeeper.library.db.former import FORMER
from innkeeper.library.db.queries import query
from innkeeper.library.errors import AlreadyExistsError, DatabaseError, DatabaseMissingError, FieldError, SchemaError
from innkeeper.library.log.logs import LogStore
from innkeeper.library.models.stores import ModelStore, NegativeStore, ProviderStore
from innkeeper.library.templates.store import TemplateStore
from innkeeper.prompt.errors import InnkeeperError
from tests import shared
from tests.library.conftest import Fresh
from tests.library.drafts import draft
from tests.library.former import make_former

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
    """The URL of a database of an earlier revision, by the statements of the migrations up to it."""
    url = fresh(bare=True)
    with Database.open(url, check=False) as db:
        make_former(db, revision)
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


@pytest.mark.parametrize("revision", [FIRST, "0007", schema.HEAD])
def test_made_at_once_or_upgraded(fresh: Fresh, revision: str) -> None:
    """A fresh database is what an upgrade makes of an earlier one, and what the migrations before the release made."""
    stepped = made_at(fresh, revision)
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
        assert ProviderStore(db).get("openrouter").id == "p"


def rows_of(db: Database) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables that have some, but for the stamp."""
    with db.reading() as connection:
        names = [name for name in inspect(connection).get_table_names() if name != "alembic_version"]
        found = {name: connection.execute(text(f"SELECT * FROM {name}")).mappings().all() for name in names}
    return {name: [dict(row) for row in rows] for name, rows in found.items() if rows}


@pytest.mark.parametrize("revision", [FORMER[0], FORMER[-1]])
def test_a_file_is_copied_before_an_upgrade(tmp_path: Path, revision: str) -> None:
    """The copy beside it is the database as it was, with every row, and a second opening leaves it alone."""
    path = tmp_path / "library.db"
    with Database.open(path, check=False) as db:
        make_former(db, revision)
        with db.transaction() as connection:
            for statement in ROWS:
                connection.exec_driver_sql(statement)
        before = rows_of(db)
    copy = path.with_name(f"library.db.{revision}")
    for _ in range(2):
        Database.open(path).close()
        with Database.open(copy, create=False, upgrade=False, check=False) as former:
            assert rows_of(former) == before
            with former.reading() as connection:
                assert schema.present(connection) == revision
    assert sorted(tmp_path.glob(f"*.{revision}")) == [copy]


def test_revisions_are_those_of_the_migrations() -> None:
    """The list in the code is the chain of the files, so that no import of alembic is needed to know the newest."""
    script = ScriptDirectory(str(schema.MIGRATIONS))
    chain = tuple(reversed([revision.revision for revision in script.walk_revisions()]))
    assert (*FORMER, *chain) == schema.REVISIONS
    assert script.get_heads() == [schema.HEAD]


def test_outdated_and_newer(fresh: Fresh) -> None:
    """An older database says how to upgrade it where that is not to happen by itself; a newer one is refused."""
    url = made_at(fresh, FIRST)
    with pytest.raises(SchemaError, match="revision '0001', not") as caught:
        Database.open(url, upgrade=False)
    assert caught.value.hint == "`innkeeper admin db upgrade`"
    with pytest.raises(SchemaError):
        Database.open(url, read_only=True)
    with Database.open(url) as db, db.transaction() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(SchemaError, match="'9999'"):
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


def test_threads_upgrade_databases_of_their_own(fresh: Fresh) -> None:
    """Upgrades that begin together each work on their own database."""
    urls, together = [made_at(fresh, FIRST) for _ in range(4)], Barrier(4)

    def upgraded(url: str) -> tuple[str | None, str]:
        with Database.open(url, check=False) as db:
            together.wait()
            return db.upgrade()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(upgraded, urls)) == [(FIRST, schema.HEAD)] * 4
    for url in urls:
        with Database.open(url, upgrade=False) as db, db.reading() as connection:
            assert "replaced_by" in {column["name"] for column in inspect(connection).get_columns("api_models")}


DOLPHIN = "cognitivecomputations/dolphin-mistral-24b-venice-edition:free"
SHAPE = "columns that the document names"
SQL = re.compile(r"```sql\n(.*?)```", re.DOTALL)


def run(db: Database, statement: str) -> list[tuple[Any, ...]]:
    """Run a statement that changes something, or reads."""
    with db.transaction() as connection:
        result = connection.exec_driver_sql(statement)
        return [tuple(row) for row in result] if result.returns_rows else []


@pytest.fixture
def filled(db: Database) -> Database:
    """A library with what the document's examples ask for."""
    return fill(db)


def fill(db: Database) -> Database:
    """Put in what the document's examples ask for."""
    store = TemplateStore(db)
    store.publish(draft(text="Old"))
    store.publish(draft("old_template", target_model="wan", job_type="video"))
    roleplay = {"use_case": "character_roleplay", "job_type": "chat", "content_mode": "nsfw"}
    store.publish(draft("roleplay_dolphin", target_model=DOLPHIN, **roleplay))
    store.publish(draft("roleplay_universal", target_model=None, **roleplay))
    provider = ProviderStore(db).add({"name": "openrouter"})
    model = {"model_key": DOLPHIN, "display_name": "Dolphin", "modality": "chat", "provider_id": provider.id}
    ModelStore(db).add(model)
    for number, fragment in enumerate(("blurry", "low quality")):
        NegativeStore(db).add(
            {"model_type": "sdxl", "content_mode": "nsfw", "negative_prompt": fragment, "priority": number}
        )
    log = {"template_name": "enhancement_sdxl_sfw", "execution_time_ms": 200.0, "fallback_level": 1}
    LogStore(db).add(log, log | {"execution_time_ms": 100.0, "fallback_level": 0})
    LogStore(db).add(log | {"created_at": "2020-01-01T00:00:00Z", "execution_time_ms": 9_000.0})
    return db


def examples() -> list[str]:
    """Every statement of the document's SQL blocks, as printed."""
    place = shared.find("spec/requirements/4-dynamic-prompting.md")
    if place is None:
        return []
    blocks = SQL.findall(place.read_text(encoding="utf-8"))
    bare = "\n".join(re.sub(r"--[^\n]*", "", block) for block in blocks)
    return [statement.strip() for statement in bare.split(";") if statement.strip()]


def test_every_statement_of_the_document_runs(filled: Database) -> None:
    """All SQL of the requirement document, in its order, on both databases: reading and updating."""
    shared.need("spec/requirements/4-dynamic-prompting.md")
    found = examples()
    assert len(found) >= 10
    assert {statement.split()[0] for statement in found} == {"SELECT", "UPDATE"}
    for statement in found:
        if statement.startswith("SELECT"):
            assert query(filled, statement).columns
        else:
            run(filled, statement)
    store = TemplateStore(filled)
    assert store.get("enhancement_sdxl_sfw", label="production").system_prompt == "New system prompt"
    assert store.labels("old_template") == {}


def test_log_analysis_as_printed(filled: Database) -> None:
    """The monitoring query counts the last 24 hours only, with averages as numbers."""
    filled.outside.moment = filled.outside.moment.replace(hour=20)  # type: ignore[attr-defined]
    text = (
        "SELECT template_name, AVG(execution_time_ms) as avg_time, COUNT(*) as usage_count, "
        "AVG(fallback_level) as avg_fallback FROM enhancement_logs "
        "WHERE created_at > NOW() - INTERVAL '24 hours' GROUP BY template_name;"
    )
    if filled.dialect == "postgresql":  # its clock is its own
        run(filled, "UPDATE enhancement_logs SET created_at = now() WHERE created_at > '2021-01-01'")
    found = query(filled, text)
    assert found.columns == ("template_name", "avg_time", "usage_count", "avg_fallback")
    assert found.rows == (("enhancement_sdxl_sfw", 150.0, 2, 0.5),)


def test_model_specific_and_universal_templates(filled: Database) -> None:
    """The examples that look for a template find the one for the model and the one for every model."""
    where = "use_case = 'character_roleplay' AND content_mode = 'nsfw' AND is_active = true"
    own = query(filled, f"SELECT template_name FROM prompt_templates WHERE target_model = '{DOLPHIN}' AND {where}")
    every = query(filled, f"SELECT template_name FROM prompt_templates WHERE target_model IS NULL AND {where}")
    assert (own.rows, every.rows) == ((("roleplay_dolphin",),), (("roleplay_universal",),))


def test_view_has_the_columns_of_the_document(filled: Database) -> None:
    """The view shows the document's table, column by column."""
    assert query(filled, "SELECT * FROM prompt_templates").columns == (
        "id", "template_name", "target_model", "enhancer_model", "provider", "job_type", "use_case", "content_mode",
        "system_prompt", "token_limit", "is_active", "version", "metadata", "description", "created_by", "created_at",
        "updated_at",
    )  # fmt: skip


def test_update_makes_a_version_and_moves_the_label(filled: Database) -> None:
    """An UPDATE keeps what was there: version 1 stays, 2 is new, the label has moved, the history says by what."""
    before = filled.revision()
    run(filled, "UPDATE prompt_templates SET token_limit = 75 WHERE template_name = 'enhancement_sdxl_sfw'")
    store = TemplateStore(filled)
    first, second = store.versions("enhancement_sdxl_sfw")
    assert (first.token_limit, second.token_limit, second.system_prompt) == (512, 75, "Old")
    assert second.variables == first.variables
    assert second.content_sha256 not in {"", first.content_sha256}
    assert store.labels("enhancement_sdxl_sfw") == {"production": 2}
    assert [(event.to_version, event.who) for event in store.history("enhancement_sdxl_sfw")] == [(1, ""), (2, "sql")]
    assert filled.revision() > before


def test_update_of_a_draft_publishes_nothing(db: Database) -> None:
    """A template without the label gets a new version and stays without it."""
    store = TemplateStore(db)
    store.create(draft())
    run(db, "UPDATE prompt_templates SET system_prompt = 'x', description = 'told'")
    assert store.list()[0].labels == {}
    assert (store.list()[0].latest_version, store.list()[0].description) == (2, "told")


def test_deactivate_activate_and_roll_back(filled: Database) -> None:
    """``is_active`` takes the label off and puts it back; a version with it chooses which."""
    store, name = TemplateStore(filled), "enhancement_sdxl_sfw"
    store.add_version(draft(text="New"))
    here = f"WHERE template_name = '{name}'"
    run(filled, f"UPDATE prompt_templates SET is_active = false {here}")
    assert store.labels(name) == {}
    run(filled, f"UPDATE prompt_templates SET is_active = true {here}")
    assert store.labels(name) == {"production": 2}
    run(filled, f"UPDATE prompt_templates SET version = 1 {here}")
    assert store.labels(name) == {"production": 1}
    assert [event.to_version for event in store.history(name)] == [1, None, 2, 1]


def test_insert_makes_a_template(db: Database) -> None:
    """A row that is inserted is a template with version 1, of the general tier, inactive unless said otherwise."""
    run(db, "INSERT INTO prompt_templates (template_name, use_case, system_prompt) VALUES ('a', 'chat', 'Hello')")
    run(
        db,
        "INSERT INTO prompt_templates (template_name, use_case, system_prompt, is_active, target_model, metadata) "
        "VALUES ('b', 'chat', 'Hello', true, '', '{\"x\": 1}')",
    )
    store = TemplateStore(db)
    first, second = store.get("a"), store.get("b", label="production")
    assert (first.key.content_mode, first.token_limit, store.labels("a")) == ("sfw", 512, {})
    assert (second.key.target_model, second.metadata) == (None, {"x": 1})


@dataclass(frozen=True)
class Refused:
    id: str
    statement: str
    error: type[InnkeeperError]
    says: str


UNIVERSAL = "WHERE template_name = 'roleplay_universal'"
REFUSED = [
    Refused("delete", "DELETE FROM prompt_templates", FieldError, "not deleted"),
    Refused(
        "rename", f"UPDATE prompt_templates SET template_name = 'x' {UNIVERSAL}", FieldError, "keeps its id and name"
    ),
    Refused("no such version", f"UPDATE prompt_templates SET version = 7 {UNIVERSAL}", FieldError, "no such version"),
    Refused(
        "two answers",
        f"UPDATE prompt_templates SET target_model = '{DOLPHIN}' {UNIVERSAL}",
        AlreadyExistsError,
        "another template",
    ),
    Refused("tier", f"UPDATE prompt_templates SET content_mode = 'x' {UNIVERSAL}", FieldError, "content_mode"),
    Refused("version row", "UPDATE template_versions SET note = 'x'", FieldError, "immutable"),
    Refused("version gone", "DELETE FROM template_versions", FieldError, "immutable"),
    Refused("history", "UPDATE label_events SET who = 'me'", FieldError, "immutable"),
    Refused("history gone", "DELETE FROM label_events", FieldError, "immutable"),
    Refused("audit", "UPDATE audit_events SET actor = 'me'", FieldError, "immutable"),
    Refused("audit gone", "DELETE FROM audit_events", FieldError, "immutable"),
    Refused("syntax", "UPDATE prompt_templates SET", DatabaseError, "failed"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.id)
def test_refused_by_the_database_itself(common_db: Database, case: Refused) -> None:
    """What would lose history or make an answer ambiguous is refused whoever asks, and changes nothing."""
    filled = common_db if TemplateStore(common_db).list() else fill(common_db)
    dump = [
        query(filled, f"SELECT * FROM {table}") for table in ("prompt_templates", "template_versions", "label_events")
    ]
    with pytest.raises(case.error, match=case.says):
        run(filled, case.statement)
    assert dump == [
        query(filled, f"SELECT * FROM {table}") for table in ("prompt_templates", "template_versions", "label_events")
    ]


def test_a_version_that_is_not_shown(db: Database) -> None:
    """Choosing a version of a template that is not active says what is missing."""
    TemplateStore(db).create(draft())
    TemplateStore(db).add_version(draft(text="x"))
    with pytest.raises(FieldError, match="set is_active = true with it"):
        run(db, "UPDATE prompt_templates SET version = 1")


def test_providers_without_their_secret(filled: Database) -> None:
    """What is shown of providers in public does not even name their secret."""
    found = query(filled, "SELECT * FROM api_providers_public")
    assert "secret_name" not in found.columns
    assert "base_url" not in found.columns


def test_every_change_counts(filled: Database) -> None:
    """The revision grows with each change of what requests are answered from, and with nothing else."""
    at = filled.revision()
    LogStore(filled).add({"template_name": "x"})
    TemplateStore(filled).create(draft("not published"))
    assert filled.revision() == at
    for statement in (
        "UPDATE negative_prompts SET priority = 3",
        "INSERT INTO settings (key, value) VALUES ('a', '1')",
        "DELETE FROM negative_prompts",
        "UPDATE prompt_templates SET is_active = false WHERE template_name = 'old_template'",
    ):
        run(filled, statement)
        before, at = at, filled.revision()
        assert at > before
