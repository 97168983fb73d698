"""Export: what an operator maintains, of one moment, as a `Transfer`, and a report of what is not in it.

Every table of the schema is exported, or named in the report with the reason; so is what looks like a secret in a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
from sqlalchemy import func, select

from innkeeper.library.db.engine import Database
from innkeeper.library.db.tables.templates import metadata, template_labels, template_versions, templates
from innkeeper.library.models.stores import (
    ModelStore,
    NegativeStore,
    ProviderStore,
    RoutePolicyStore,
    SettingsStore,
    ToolStore,
)
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
from innkeeper.prompt.text import redact

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
            route_policies=[_row(row) for row in RoutePolicyStore(db).list()],
            tier_policies=_documents(PolicyStore(db)),
            detection_lists=_documents(DetectionListStore(db)),
            settings=_public({row.key: thaw(row.value) for row in SettingsStore(db).list()}),
        )


class LeftOut(msgspec.Struct, frozen=True):
    """A table that an export leaves out, how many rows it has, and why; or what looks like a secret in an exported row."""

    name: str
    rows: int
    why: str


def left_out(db: Database) -> tuple[LeftOut, ...]:
    """What an export of this library does not have: tables with rows, and values that look like secrets."""
    with db.snapshot(), db.reading() as connection:
        counts = {
            name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for name, table in metadata.tables.items()
            if name not in EXPORTED
        }
        stores = (ProviderStore, ModelStore, ToolStore)
        values = {
            f"{store.table.name}.{getattr(row, store.key)}": _columns(row)
            for store in stores
            for row in store(db).list()
        }
        values["settings"] = {row.key: thaw(row.value) for row in SettingsStore(db).list()}
    tables = [LeftOut(name, rows, _WHY.get(name, _DATA)) for name, rows in counts.items() if rows]
    return (*tables, *(LeftOut(path, 1, _SECRET) for name, row in values.items() for path in _secrets(name, row)))


EXPORTED: Final = frozenset(
    {
        *("templates", "template_versions", "template_labels", "negative_prompts", "api_providers", "api_models"),
        *("api_model_defaults", "tools", "route_policies", "tier_policies", "detection_lists", "settings"),
    }
)
"""The tables whose rows an export has."""

_DATA: Final = "data of people and logs: `innkeeper admin db backup` has them"
_SECRET: Final = "looks like a secret: keep it in the vault, and name it there"  # noqa: S105 - a sentence
_WHY: Final = {
    "secrets": "values of the vault are in no export: set them again with `innkeeper admin vault set`",
    "profiles": "profiles are folders: `innkeeper profile` writes them",
    "profile_files": "files of profiles",
    "label_events": "history stays where it happened",
    "audit_events": "history stays where it happened",
    "workers": "workers enrol anew, with an invitation of the other library",
    "worker_invitations": "workers enrol anew, with an invitation of the other library",
    "revisions": "counts changes of this database alone",
    "prompt_cache_snapshot": "is made anew of the rows",
}
"""Why a table is left out; of the others it is `_DATA`."""


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


def _columns(row: StoredRow) -> dict[str, Any]:
    return {name: value for name, value in row.to_dict().items() if name not in _LEFT_OUT and value is not None}


def _row(row: StoredRow) -> dict[str, Any]:
    columns: dict[str, Any] = _public(_columns(row))
    return columns


def _public(value: Any) -> Any:
    """A value without what looks like a secret."""
    if isinstance(value, Mapping):
        return {name: _public(item) for name, item in value.items() if not _is_secret(name, item)}
    return [_public(item) for item in value] if isinstance(value, (list, tuple)) else value


def _secrets(path: str, value: Any) -> Iterator[str]:
    """Where something stands that looks like a secret."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from [f"{path}.{name}"] if _is_secret(name, item) else _secrets(f"{path}.{name}", item)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _secrets(f"{path}[{index}]", item)


def _is_secret(name: str, value: Any) -> bool:
    text = f"{name}: {value}"
    return isinstance(value, str) and redact(text) != text


def _models(db: Database, providers: Mapping[str, str]) -> list[dict[str, Any]]:
    store = ModelStore(db)
    defaults: dict[str, list[str]] = {}
    for task, key in store.defaults().items():
        defaults.setdefault(key, []).append(task)
    rows = [
        {**_row(row), "provider": providers[row.provider_id], "default_for_tasks": defaults.get(row.model_key, [])}
        for row in store.list()
    ]
    return sorted(rows, key=lambda row: str(row["model_key"]))


def _documents(store: DocumentStore) -> list[TransferredDocument]:
    names = ("name", "version", "note", "author", "is_active")
    return [
        TransferredDocument(body=thaw(row.body), **{name: getattr(row, name) for name in names}) for row in store.all()
    ]
