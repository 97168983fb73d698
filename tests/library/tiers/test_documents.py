"""Tier policies and detection lists: immutable versions, at most one active."""

import pytest

from innkeeper.library.db.engine import Database
from innkeeper.library.errors import DatabaseCorruptError, FieldError, NotFoundError
from innkeeper.library.tiers.documents import DetectionListStore, DocumentStore, PolicyStore


@pytest.fixture(params=[PolicyStore, DetectionListStore])
def store(db: Database, request: pytest.FixtureRequest) -> DocumentStore:
    """Both kinds of documents."""
    made: DocumentStore = request.param(db)
    return made


def test_versions_and_the_active_one(store: DocumentStore) -> None:
    """Each addition is a version; activating one takes the other out; none is active until one is made so."""
    store.add("default", {"terms": ["a"]}, who="ann", note="first")
    assert store.active() == ()
    store.add("default", {"terms": ["b"]}, activate=True)
    assert [row.version for row in store.active("default")] == [2]
    store.activate("default", 1, approved_by="bob")
    assert [(row.version, row.approved_by) for row in store.active()] == [(1, "bob")]
    store.deactivate("default")
    assert store.active() == ()
    assert [row.body for row in store.all()] == [{"terms": ("a",)}, {"terms": ("b",)}]
    assert store.get("default").version == 2
    assert len(store.all()) == 2


def test_what_is_not_there(store: DocumentStore) -> None:
    """Names and versions that there are not are errors of their own."""
    with pytest.raises(NotFoundError, match="nothing called 'x'"):
        store.get("x")
    store.add("x", 1)
    with pytest.raises(NotFoundError, match="no version 2"):
        store.activate("x", 2)


def test_bodies_do_not_change(store: DocumentStore, db: Database) -> None:
    """The database refuses another body for a version, or its deletion; one that slipped through is found out."""
    table = store.table.name
    store.add("x", {"a": 1}, activate=True)
    for statement in (f"UPDATE {table} SET body = '2'", f"DELETE FROM {table}"):
        with pytest.raises(FieldError, match="immutable"), db.transaction() as connection:
            connection.exec_driver_sql(statement)
    with db.transaction() as connection:
        where = "" if db.dialect == "sqlite" else f" ON {table}"
        connection.exec_driver_sql(f"DROP TRIGGER keep_{table}{'_update' if db.dialect == 'sqlite' else ''}{where}")
        connection.exec_driver_sql(f"UPDATE {table} SET body = '2'")
    for read in (store.active, lambda: store.get("x")):
        with pytest.raises(DatabaseCorruptError, match="checksum"):
            read()
