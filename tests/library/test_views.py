"""The requirement document's SQL runs as printed, and keeps the promises of the tables behind the view."""

import re
from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.library.engine import Database
from innkeeper.library.errors import AmbiguousTemplateError, DatabaseError, RowError
from innkeeper.library.logs import LogStore
from innkeeper.library.query import query
from innkeeper.library.store import TemplateStore
from innkeeper.library.stores import ModelStore, NegativeStore, ProviderStore
from innkeeper.prompt.errors import InnkeeperError
from tests import shared
from tests.library.drafts import draft

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
    store = TemplateStore(db)
    store.publish(draft(text="Old"))
    store.publish(draft("old_template", target_model="wan", job_type="video"))
    roleplay = {"use_case": "character_roleplay", "job_type": "chat", "content_mode": "nsfw"}
    store.publish(draft("roleplay_dolphin", target_model=DOLPHIN, **roleplay))
    store.publish(draft("roleplay_universal", target_model=None, **roleplay))
    provider = ProviderStore(db).add({"name": "openrouter"})
    model = {"model_key": DOLPHIN, "display_name": "Dolphin", "modality": "chat", "provider_id": provider["id"]}
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
    Refused("delete", "DELETE FROM prompt_templates", RowError, "not deleted"),
    Refused(
        "rename", f"UPDATE prompt_templates SET template_name = 'x' {UNIVERSAL}", RowError, "keeps its id and name"
    ),
    Refused("no such version", f"UPDATE prompt_templates SET version = 7 {UNIVERSAL}", RowError, "no such version"),
    Refused(
        "two answers",
        f"UPDATE prompt_templates SET target_model = '{DOLPHIN}' {UNIVERSAL}",
        AmbiguousTemplateError,
        "another template",
    ),
    Refused("tier", f"UPDATE prompt_templates SET content_mode = 'x' {UNIVERSAL}", RowError, "content_mode"),
    Refused("version row", "UPDATE template_versions SET note = 'x'", RowError, "immutable"),
    Refused("version gone", "DELETE FROM template_versions", RowError, "immutable"),
    Refused("history", "UPDATE label_events SET who = 'me'", RowError, "immutable"),
    Refused("history gone", "DELETE FROM label_events", RowError, "immutable"),
    Refused("audit", "UPDATE audit_events SET actor = 'me'", RowError, "immutable"),
    Refused("audit gone", "DELETE FROM audit_events", RowError, "immutable"),
    Refused("syntax", "UPDATE prompt_templates SET", DatabaseError, "failed"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.id)
def test_refused_by_the_database_itself(filled: Database, case: Refused) -> None:
    """What would lose history or make an answer ambiguous is refused whoever asks, and changes nothing."""
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
    with pytest.raises(RowError, match="set is_active = true with it"):
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
