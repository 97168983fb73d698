"""Exports: what an operator maintains, of one moment, in a fixed order."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select, update

from innkeeper.library.db.engine import Database
from innkeeper.library.db.tables.templates import metadata, tools
from innkeeper.library.models.stores import NegativeStore, ToolStore
from innkeeper.library.templates.store import TemplateStore
from innkeeper.library.transfer.exporting import EXPORTED, export_library, left_out, transferred
from innkeeper.library.transfer.format import FORMAT, SCHEMA, Transfer, dumps
from tests.library.drafts import draft
from tests.library.filled import fill
from tests.library.making import made


@pytest.fixture
def dialect() -> str:
    """A file is enough: that both databases export the same is the import's own test."""
    return "sqlite"


def test_an_empty_library(db: Database) -> None:
    """Nothing in it: a file that says only what it is."""
    assert export_library(db) == Transfer(format=FORMAT, schema=SCHEMA)


def test_rows_have_no_ids_and_no_dates(db: Database) -> None:
    """Rows are named by what people call them: a model by its provider's name, none by an id; what is not set is left out."""
    found = export_library(fill(db))
    (provider,), (model,) = found.providers, found.models
    assert (provider["name"], model["provider"], model["default_for_tasks"]) == (
        "openrouter",
        "openrouter",
        ["roleplay"],
    )
    for row in (*found.providers, *found.models, *found.tools, *found.negative_prompts):
        assert not {"id", "provider_id", "created_at", "updated_at"} & row.keys()
        assert None not in row.values()


def test_templates_have_their_versions_and_labels(db: Database) -> None:
    """Templates stand in the order of their names, versions oldest first, labels with the version they hold."""
    template, header = export_library(fill(db)).templates
    assert (header.name, header.labels) == ("header", {"production": 1})
    assert [version.version for version in template.versions] == [1, 2]
    assert (template.labels, template.description) == ({"production": 1, "staging": 2}, "Rewrites.")
    assert template.versions[1].partials == (("header", 1),)


def test_every_version_of_a_document_is_told(db: Database) -> None:
    """Documents come with all their versions, and which of them counts."""
    lists = export_library(fill(db)).detection_lists
    assert [(each.version, each.is_active, each.body) for each in lists] == [
        (1, False, {"terms": ["a"]}),
        (2, True, {"terms": ["a", "b"]}),
    ]


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_the_order_of_rows_does_not_matter(db: Database, names: tuple[str, ...]) -> None:
    """Equal libraries give equal bytes, in whatever order their rows were made."""
    for name in names:
        TemplateStore(db).create(draft(name, "Hi.", job_type=name, variables=(), author="ann"))
        NegativeStore(db).add({"model_type": "sdxl", "negative_prompt": name, "priority": 1})
    found = export_library(db)
    assert [template.name for template in found.templates] == ["a", "b"]
    assert [row["negative_prompt"] for row in found.negative_prompts] == ["a", "b"]
    assert dumps(found) == dumps(export_library(db))


def test_one_template_as_it_stands_in_a_file() -> None:
    """The fields of the key stand beside the text, the name is the template's, and the hash comes along."""
    version = made("a", "Hi {{x}}.", 2, content_mode="nsfw", target_model="sdxl", variables="x")
    found = transferred([version], {"production": 2})
    (told,) = found.versions
    assert (found.name, found.labels) == ("a", {"production": 2})
    assert (told.version, told.content_mode, told.target_model) == (2, "nsfw", "sdxl")
    assert (told.key, told.content_sha256) == (version.key, version.content_sha256)


def test_every_table_is_exported_or_named_as_left_out(db: Database) -> None:
    """The tables are those of the schema: one that nobody thought of is in the report, with its rows and a reason."""
    assert {*metadata.tables} >= EXPORTED
    missing = {one.name: one for one in left_out(fill(db))}
    with db.reading() as connection:
        rows = {
            name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for name, table in metadata.tables.items()
        }
    assert {name for name, count in rows.items() if count} == EXPORTED & {n for n in rows if rows[n]} | {*missing}
    assert missing["messages"].rows == rows["messages"]
    assert all(one.why for one in missing.values())


def test_what_looks_like_a_secret_is_left_out_and_named(db: Database) -> None:
    """Also where it came into a row before addresses were looked at."""
    ToolStore(db).add(
        {"name": "leak", "settings": {"api_key": "sk-0123456789abcdef0123", "deep": [{"password": "hunter2022"}]}}
    )
    with db.transaction() as connection:
        connection.execute(update(tools).values(base_url="http://me:hunter2022@inn.lan/v1"))
    data = dumps(export_library(db))
    assert b"hunter2022" not in data
    assert b"sk-0123" not in data
    names = {one.name for one in left_out(db)}
    assert {"tools.leak.base_url", "tools.leak.settings.api_key", "tools.leak.settings.deep[0].password"} <= names
