"""DatabaseSource: catalogues from the database, whole or only the rows that can answer one request.

`DatabaseSnapshots` are the last catalogues that were built and verified, kept in the database's own table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select

from innkeeper.library.catalogue.catalogue import AnswerSource, Catalogue
from innkeeper.library.catalogue.snapshot import Snapshot, catalogue_of, damaged, snapshot_of
from innkeeper.library.db.engine import Database
from innkeeper.library.db.rows import checked, first_row
from innkeeper.library.db.tables import prompt_cache_snapshot
from innkeeper.library.templates.partials import parts_of
from innkeeper.library.templates.template import Labelled, PartRef
from innkeeper.library.tier import Tier
from innkeeper.prompt.data import FrozenDict

if TYPE_CHECKING:
    from innkeeper.library.catalogue.resolver import ResolveRequest

__all__ = ["DatabaseSnapshots", "DatabaseSource", "SnapshotStore"]


class DatabaseSource:
    """The library in a database, as a source. ``ceiling`` is the highest tier that the operator's policy allows."""

    def __init__(self, db: Database, *, ceiling: Tier = Tier.SFW) -> None:
        from innkeeper.library.models.stores import ModelStore, NegativeStore, ProviderStore
        from innkeeper.library.templates.store import TemplateStore

        self.db = db
        self.ceiling = ceiling
        self._templates = TemplateStore(db)
        self._models = ModelStore(db)
        self._negatives = NegativeStore(db)
        self._providers = ProviderStore(db)

    def load(self) -> Catalogue:
        """Everything, of one revision. Raises `DatabaseError`."""
        with self.db.snapshot():
            return self._load(self.db.revision())

    def point(self, request: ResolveRequest) -> Catalogue:
        """The rows that can answer one request, and what they take in, of one revision. Raises `DatabaseError`."""
        with self.db.snapshot():
            return self._point(request, self.db.revision())

    def _load(self, revision: int) -> Catalogue:
        tables = {
            "negatives": self._negatives.list(is_active=True),
            "models": self._models.list(is_active=True),
            "providers": self._providers.list(is_active=True),
        }
        return self._built(self._templates.all_labelled(), tables, revision)

    def _point(self, request: ResolveRequest, revision: int) -> Catalogue:
        models = self._families((request.target_model, request.enhancer_model))
        families = [model["model_family"] for model in models]
        return self._built(self._templates.rows_for(request, families=families), {"models": models}, revision)

    def _families(self, keys: Iterable[str | None]) -> tuple[dict[str, Any], ...]:
        """The families of active models: two columns, since all of them take a millisecond longer the first time."""
        from sqlalchemy import select

        from innkeeper.library.db.tables import api_models

        wanted = sorted({key for key in keys if key})
        if not wanted:
            return ()
        table = api_models.c
        query = select(table.model_key, table.model_family).where(table.model_key.in_(wanted), table.is_active)
        with self.db.reading() as connection:
            return tuple(dict(row) for row in connection.execute(query.order_by(table.model_key)).mappings())

    def _built(self, rows: Iterable[Labelled], tables: dict[str, Any], revision: int) -> Catalogue:
        labelled = tuple(rows)
        wanted: set[PartRef] = {ref for row in labelled for ref in parts_of(row.version)}
        return Catalogue.build(
            labelled,
            pinned=self._templates.pinned(wanted) if wanted else (),
            ceiling=self.ceiling,
            tables={name: map(_without_dates, table) for name, table in tables.items()},
            revision=revision,
            source=AnswerSource.DATABASE,
        )


def _without_dates(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in {"created_at", "updated_at"}}


class DatabaseSnapshots:
    """The last verified snapshot in the database's own table ``prompt_cache_snapshot``: a source that can be written."""

    def __init__(self, db: Database, *, ceiling: Tier = Tier.SFW) -> None:

        self._store = SnapshotStore(db)
        self._ceiling = ceiling

    def load(self) -> Catalogue:
        """The newest snapshot. Raises `FormatError` where there is none or it is damaged, `DatabaseError`."""
        row = self._store.newest()
        if row is None:
            raise damaged("no snapshot was made yet")
        payload, digest = str(row["payload"]).encode(), str(row["content_sha256"])
        return catalogue_of(Snapshot(payload, digest, int(row["built_from_revision"])), ceiling=self._ceiling)

    def point(self, _request: ResolveRequest) -> Catalogue:
        """A snapshot is read whole."""
        return self.load()

    def store(self, catalogue: Catalogue) -> None:
        """Keep a catalogue. Raises `DatabaseError`."""
        made = snapshot_of(catalogue)
        self._store.put(made.payload.decode(), content_sha256=made.content_sha256, revision=made.built_from_revision)


KEPT = 5
"""How many snapshots are kept."""


class SnapshotStore:
    """The snapshots of one database; what is in them is not looked at here."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def put(self, payload: str, *, content_sha256: str, revision: int) -> None:
        """Keep a snapshot and forget all but the newest `KEPT`."""
        row = {"payload": payload, "content_sha256": content_sha256, "built_from_revision": revision}
        table = prompt_cache_snapshot
        with self.db.transaction() as connection:
            connection.execute(insert(table), checked(table, {**row, "created_at": self.db.now()}))
            newest = select(table.c.id).order_by(table.c.id.desc()).limit(KEPT)
            connection.execute(delete(table).where(table.c.id.not_in(newest)))

    def newest(self) -> FrozenDict | None:
        """The newest snapshot's row, None where there is none."""
        table = prompt_cache_snapshot
        with self.db.reading() as connection:
            return first_row(connection.execute(select(table).order_by(table.c.id.desc()).limit(1)))
