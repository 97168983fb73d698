"""Templates as rows, and the versions that come back out of them."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update

from innkeeper.library.db.engine import Database
from innkeeper.library.db.tables.templates import template_labels, template_versions
from innkeeper.library.errors import DatabaseCorruptError, FieldError
from innkeeper.library.templates.rows import (
    label_row,
    live_labels,
    point_query,
    select_versions,
    version_of,
    version_values,
)
from innkeeper.library.templates.store import TemplateStore
from innkeeper.library.templates.template import PARTIAL, PRODUCTION, TemplateVersion
from tests.library.drafts import draft
from tests.library.making import made


@pytest.fixture
def dialect() -> str:
    """A file is enough: that both databases hold the same is the stores' own test."""
    return "sqlite"


FULL = made(
    "full",
    "{{a}} {{b}}",
    3,
    target_model="sdxl",
    enhancer_model="e",
    job_type="image",
    content_mode="nsfw",
    variables="a b?",
    partials=(("header", 1),),
    extends=("base", 2),
    metadata={"x": [1, {"y": None}]},
    note="n",
    author="ann",
    created_at="2026-01-15T00:00:00.000000Z",
)


@pytest.mark.parametrize("version", [made(created_at="2026-01-15T00:00:00.000000Z"), FULL], ids=["plain", "full"])
def test_there_and_back(version: TemplateVersion) -> None:
    """A version is the same after it was a row, its hash included."""
    row: dict[str, Any] = {**version_values(version), "name": version.name}
    assert version_of(row) == version
    assert version_of({**row, "content_sha256": None}) == version


@pytest.mark.parametrize(
    "changes",
    [
        {"system_prompt": "another"},
        {"content_sha256": "0" * 64},
        {"content_mode": "none"},
        {"variables": [{"colour": 1}]},
        {"partials": ["header"]},
        {"extends": 7},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_row_that_is_not_its_version_is_refused(changes: dict[str, Any]) -> None:
    """A row that its hash does not fit, or that is not a version, raises `DatabaseCorruptError` that names it."""
    with pytest.raises(DatabaseCorruptError) as info:
        version_of({**version_values(FULL), "name": "full", **changes})
    assert info.value.where is not None
    assert info.value.where.path == "full@3"


def test_what_a_database_cannot_hold_is_refused() -> None:
    """A text with a NUL character raises `FieldError` before it is written."""
    with pytest.raises(FieldError, match="NUL"):
        version_values(made(text="a\0b", created_at="2026-01-15T00:00:00.000000Z"))


def test_a_label_repeats_the_key() -> None:
    """The row of a label has the key of its version, empty texts for what it leaves open, and a partial's name."""
    row = label_row(FULL, PRODUCTION, who="ann", at="now")
    assert (row.target_model, row.enhancer_model, row.content_mode, row.partial_name) == ("sdxl", "e", "nsfw", "")
    open_row = label_row(made("p", use_case=PARTIAL), PRODUCTION)
    assert (open_row.target_model, open_row.job_type, open_row.partial_name) == ("", "", "p")


def test_every_query_gives_rows_of_versions(db: Database) -> None:
    """All versions, those with labels, and those for some targets are read by the same function."""
    store = TemplateStore(db)
    store.publish(draft(text="one {{subject}}"))
    store.add_version(draft(text="two {{subject}}"))
    with db.reading() as connection:
        every = [version_of(row) for row in connection.execute(select_versions()).mappings()]
        live = connection.execute(live_labels(template_labels.c.label == PRODUCTION)).mappings().all()
        asked = {"label": PRODUCTION, "use_case": "enhancement", "target0": "sdxl", "target1": ""}
        points = connection.execute(point_query(2), asked).mappings().all()
    assert {version.system_prompt for version in every} == {"one {{subject}}", "two {{subject}}"}
    assert [version_of(row).version for row in live] == [version_of(row).version for row in points] == [1]
    assert [row["label"] for row in (*live, *points)] == [PRODUCTION, PRODUCTION]


def test_a_row_that_was_changed_by_hand_is_noticed(db: Database) -> None:
    """A text that SQL changed in a version is not what the hash says."""
    TemplateStore(db).publish(draft())
    with db.transaction() as connection:
        for (trigger,) in connection.exec_driver_sql(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'template_versions'"
        ).all():
            connection.exec_driver_sql(f"DROP TRIGGER {trigger}")
        connection.execute(update(template_versions).values(system_prompt="changed"))
        row = connection.execute(select_versions()).mappings().one()
    with pytest.raises(DatabaseCorruptError, match="checksum"):
        version_of(row)
