"""Export: what an operator maintains, of one moment, as a `Transfer`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sqlalchemy import select

from innkeeper.library.db.engine import Database
from innkeeper.library.db.tables import template_labels, template_versions, templates
from innkeeper.library.models.stores import ModelStore, NegativeStore, ProviderStore, SettingsStore, ToolStore
from innkeeper.library.rows import StoredRow
from innkeeper.library.templates.rows import select_versions, version_of
from innkeeper.library.templates.template import TemplateVersion, flat_fields
from innkeeper.library.tiers.documents import DetectionListStore, DocumentStore, PolicyStore
from innkeeper.library.transfer.format import (
    FORMAT,
    SCHEMA,
    Transfer,
    TransferredDocument,
    TransferredTemplate,
    TransferredVersion,
)
from innkeeper.prompt.data import thaw

_NEGATIVE_ORDER: Final = ("model_type", "content_mode", "generation_mode", "priority", "negative_prompt")
_LEFT_OUT: Final = frozenset({"id", "provider_id", "created_at", "updated_at"})


def export_library(db: Database) -> Transfer:
    """Everything that an import takes, in a fixed order. Raises `DatabaseError`."""
    with db.snapshot():
        providers = {row.id: row.name for row in ProviderStore(db).list()}
        return Transfer(
            format=FORMAT,
            schema=SCHEMA,
            templates=_templates(db),
            negative_prompts=sorted(
                map(_row, NegativeStore(db).list()), key=lambda row: [row[name] for name in _NEGATIVE_ORDER]
            ),
            providers=[_row(row) for row in ProviderStore(db).list()],
            models=_models(db, providers),
            tools=[_row(row) for row in ToolStore(db).list()],
            tier_policies=_documents(PolicyStore(db)),
            detection_lists=_documents(DetectionListStore(db)),
            settings={row.key: thaw(row.value) for row in SettingsStore(db).list()},
        )


def _templates(db: Database) -> list[TransferredTemplate]:
    versions: dict[str, list[TransferredVersion]] = {}
    labels: dict[str, dict[str, int]] = {}
    with db.reading() as connection:
        for version in connection.execute(select_versions().order_by(template_versions.c.version)).mappings():
            versions.setdefault(version["template_id"], []).append(_version(version_of(version)))
        for row in connection.execute(select(template_labels)):
            labels.setdefault(row.template_id, {})[row.label] = row.version
        rows = connection.execute(select(templates.c.id, templates.c.name, templates.c.description)).all()
    return [
        TransferredTemplate(
            name=row.name, description=row.description, versions=versions[row.id], labels=labels.get(row.id, {})
        )
        for row in sorted(rows, key=lambda row: row.name)
    ]


def transferred(versions: Iterable[TemplateVersion], labels: Mapping[str, int]) -> TransferredTemplate:
    """One template as it stands in a file; its versions are in the order in which they were made."""
    selected = list(versions)
    return TransferredTemplate(name=selected[0].name, versions=[_version(one) for one in selected], labels=dict(labels))


def _version(version: TemplateVersion) -> TransferredVersion:
    own = {name: getattr(version, name) for name in ("version", "author", "created_at", "content_sha256")}
    return TransferredVersion(**flat_fields(version), **own)


def _row(row: StoredRow) -> dict[str, Any]:
    return {name: value for name, value in row.to_dict().items() if name not in _LEFT_OUT and value is not None}


def _models(db: Database, providers: Mapping[str, str]) -> list[dict[str, Any]]:
    store = ModelStore(db)
    defaults: dict[str, list[str]] = {}
    for task, key in store.defaults().items():
        defaults.setdefault(key, []).append(task)
    rows = [
        {
            **_row(row),
            "provider": providers[row.provider_id],
            "default_for_tasks": defaults.get(row.model_key, []),
        }
        for row in store.list()
    ]
    return sorted(rows, key=lambda row: str(row["model_key"]))


def _documents(store: DocumentStore) -> list[TransferredDocument]:
    names = ("name", "version", "note", "author", "is_active")
    return [
        TransferredDocument(body=thaw(row.body), **{name: getattr(row, name) for name in names}) for row in store.all()
    ]
