"""Import: a `Transfer` into a library, all of it or nothing.

What is there already and equal is left alone; what is there under the same version with another content is refused; labels
move to where the file has them. Whoever reads meanwhile sees the library as it was, or as it is afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import msgspec
from sqlalchemy import delete, select, update

from innkeeper.library.db.engine import Database
from innkeeper.library.db.rows import checked, insert_many, record, typed_rows
from innkeeper.library.db.tables.templates import (
    label_events,
    negative_prompts,
    template_labels,
    template_versions,
    templates,
)
from innkeeper.library.errors import SAME_KEY, AlreadyExistsError, ConflictError, TransferError
from innkeeper.library.models.stores import (
    ModelStore,
    NegativeStore,
    ProviderStore,
    RoutePolicyStore,
    RowStore,
    SettingsStore,
    ToolStore,
)
from innkeeper.library.rows import DocumentRow, LabelRow
from innkeeper.library.templates.rows import label_row, select_versions, version_of, version_values
from innkeeper.library.templates.store import Validate, check_label, check_name
from innkeeper.library.templates.template import TemplateDraft, TemplateVersion
from innkeeper.library.tiers.documents import DetectionListStore, DocumentStore, PolicyStore
from innkeeper.library.transfer.format import Parsed, TransferredDocument, TransferredTemplate, TransferredVersion
from innkeeper.prompt.data import freeze
from innkeeper.prompt.errors import InnkeeperError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection


Progress = Callable[[int], object]
Path = tuple[str | int, ...]


class Imported(msgspec.Struct, frozen=True):
    """What an import changed: how many of each; ``dry_run`` says that nothing was."""

    templates: int = 0
    versions: int = 0
    labels: int = 0
    rows: int = 0
    unchanged: int = 0
    dry_run: bool = False


class _Undo(Exception):  # noqa: N818 - it carries the answer of a dry run out of its transaction
    """Nothing is wrong: what was done is to be undone."""


def items_of(parsed: Parsed) -> int:
    """How many items an import of this file counts in its progress."""
    transfer = parsed.transfer
    rows = (transfer.negative_prompts, transfer.providers, transfer.models, transfer.tools, transfer.route_policies)
    return (
        len(transfer.templates)
        + sum(map(len, rows))
        + len(transfer.tier_policies)
        + len(transfer.detection_lists)
        + len(transfer.settings)
    )


def import_library(
    db: Database,
    parsed: Parsed,
    *,
    who: str = "",
    dry_run: bool = False,
    progress: Progress = lambda _: None,
    validate: Validate | None = None,
) -> Imported:
    """Import a file that was read.

    Args:
        db: the library.
        parsed: what `innkeeper.library.transfer.format.parse` gave.
        who: who imports, for the history.
        dry_run: find out what would happen, and leave everything as it is.
        progress: is told how many more items are done.
        validate: raises where a version may not hold a label; called inside the transaction, for labels that move.

    Raises:
        TransferError: something in the file cannot be; with its line.
        ConflictError: a version is there already with another content.
        AlreadyExistsError: two templates would answer the same request.
        FieldError: a value that the database cannot hold.
    """
    work: _Import | None = None
    try:
        with db.publishing() as connection:
            work = _Import(db, connection, parsed, who, progress)
            work.validate = validate
            work.run()
            if dry_run:
                raise _Undo  # noqa: TRY301 - to leave the transaction is the point
    except _Undo:
        pass
    assert work is not None  # noqa: S101 - it was made, or an error has left this function
    return msgspec.structs.replace(work.done, dry_run=dry_run)


class _StoredTemplate(msgspec.Struct):
    """A template that is there: its id, its latest version, the hash of each version."""

    id: str
    latest: int
    hashes: dict[int, str | None]


class _Import:
    """One import, in the transaction of its connection."""

    def __init__(self, db: Database, connection: Connection, parsed: Parsed, who: str, progress: Progress) -> None:
        self.db = db
        self.connection = connection
        self.transfer, self.locate = parsed
        self.who = who
        self.progress = progress
        self.validate: Validate | None = None
        self.now = db.now()
        self.done = Imported()
        self.known = _known_templates(connection)
        labels = typed_rows(connection.execute(select(template_labels)), LabelRow)
        self.held = {(row.template_id, row.label): row for row in labels}

    def run(self) -> None:
        """Everything, in an order in which what is referred to comes first."""
        self._templates()
        self._put_all("providers", self.transfer.providers, ProviderStore(self.db))
        self._models()
        self._negatives()
        self._put_all("tools", self.transfer.tools, ToolStore(self.db))
        self._put_all("route_policies", self.transfer.route_policies, RoutePolicyStore(self.db))
        self._documents("tier_policies", self.transfer.tier_policies, PolicyStore(self.db))
        self._documents("detection_lists", self.transfer.detection_lists, DetectionListStore(self.db))
        self._settings()
        counts = msgspec.structs.asdict(self.done)
        record(self.connection, self.now, self.who, "library.import", ("library", ""), details=counts)

    # -------------------------------------------------------------------------------------------------------- templates

    def _templates(self) -> None:
        fresh: list[dict[str, Any]] = []
        versions: list[dict[str, Any]] = []
        moves: list[tuple[TemplateVersion, str, Path]] = []
        seen: set[str] = set()
        for index, template in enumerate(self.transfer.templates):
            path: Path = ("templates", index)
            with self._at((*path, "name")):
                check_name(template.name)
                if template.name in seen:
                    raise TransferError(f"the template {template.name!r} stands here twice")
                seen.add(template.name)
            made = self._versions(template, path)
            known = self.known.get(template.name)
            new = [version for version in made.values() if known is None or version.version not in known.hashes]
            versions += [version_values(version) for version in new]
            fresh += self._template_row(template, new, path)
            moves += self._moves(template, made, path)
            self._count(versions=len(new), unchanged=not new)
            self.progress(1)
        insert_many(self.connection, templates, fresh)
        insert_many(self.connection, template_versions, versions)
        self._move(moves)

    def _versions(self, template: TransferredTemplate, path: Path) -> dict[int, TemplateVersion]:
        """The versions of a template by number, old ones compared with what is there."""
        known = self.known.get(template.name)
        template_id = self.db.fresh_id() if known is None else known.id
        made: dict[int, TemplateVersion] = {}
        if not template.versions:
            raise TransferError("a template without a version", where=self.locate(path))
        for index, transferred in enumerate(template.versions):
            with self._at((*path, "versions", index)):
                if transferred.version <= max(made, default=0):
                    raise TransferError(f"version {transferred.version} does not come after the one before")
                draft = TemplateDraft(name=template.name, author=transferred.author, **transferred.content())
                version = draft.numbered(template_id, transferred.version, transferred.created_at or self.now)
                made[transferred.version] = version
                version_values(version)
                self._compare(version, transferred, known)
        return made

    def _compare(
        self, version: TemplateVersion, transferred: TransferredVersion, known: _StoredTemplate | None
    ) -> None:
        if transferred.content_sha256 and transferred.content_sha256 != version.content_sha256:
            raise TransferError(f"version {version.version} is not what its content_sha256 says")
        if known is None or version.version > known.latest:
            return
        if version.version not in known.hashes:
            raise ConflictError(
                f"version {version.version} of {version.name!r} would come before the latest, {known.latest}"
            )
        if (known.hashes[version.version] or self._hash(version)) != version.content_sha256:
            message = f"version {version.version} of {version.name!r} is there already with another content"
            raise ConflictError(message, hint="give it the number after the latest version")

    def _hash(self, version: TemplateVersion) -> str:
        """The hash of a version that SQL made, which has none in its row."""
        here = (template_versions.c.template_id == version.template_id) & (
            template_versions.c.version == version.version
        )
        return version_of(self.connection.execute(select_versions().where(here)).mappings().one()).content_sha256

    def _template_row(
        self, template: TransferredTemplate, new: list[TemplateVersion], path: Path
    ) -> list[dict[str, Any]]:
        """The row of a template that is new; one that is there is brought up to date."""
        known = self.known.get(template.name)
        latest = max((version.version for version in new), default=0)
        values: dict[str, Any] = {"description": template.description}
        with self._at((*path, "description")):
            if known is not None:
                changes = checked(templates, values | ({"latest_version": latest} if latest else {}), whole=False)
                self.connection.execute(update(templates).where(templates.c.id == known.id).values(changes))
                return []
            values |= {"id": new[0].template_id, "name": template.name, "latest_version": latest}
            self._count(templates=1)
            return [checked(templates, values | {"created_at": self.now, "created_by": self.who})]

    # ----------------------------------------------------------------------------------------------------------- labels

    def _moves(
        self, template: TransferredTemplate, made: Mapping[int, TemplateVersion], path: Path
    ) -> Iterator[tuple[TemplateVersion, str, Path]]:
        for label, number in template.labels.items():
            here = (*path, "labels", label)
            with self._at(here):
                check_label(label)
                if number not in made:
                    raise TransferError(f"the label {label!r} points at version {number}, which is not in the file")
            before = self.held.get((made[number].template_id, label))
            if before is None or before.version != number:
                yield made[number], label, here

    def _move(self, moves: list[tuple[TemplateVersion, str, Path]]) -> None:
        moved = {(version.template_id, label) for version, label, _ in moves}
        for template_id, label in moved & self.held.keys():  # so that two templates can change places
            here = (template_labels.c.template_id == template_id) & (template_labels.c.label == label)
            self.connection.execute(delete(template_labels).where(here))
        answers = {row.answer: key for key, row in self.held.items() if key not in moved}
        rows, events = [], []
        for version, label, path in moves:
            if self.validate is not None:
                with self._at(path):
                    self.validate(version)
            row = label_row(version, label, who=self.who, at=self.now)
            if row.answer in answers:
                message = f"another template answers what {version.name!r} answers under the label {label!r}"
                raise AlreadyExistsError(message, where=self.locate(path), hint=SAME_KEY)
            answers[row.answer] = (version.template_id, label)
            rows.append(checked(template_labels, row.to_dict()))
            events.append(self._event(version, label))
        insert_many(self.connection, template_labels, rows)
        insert_many(self.connection, label_events, events)
        self._count(labels=len(rows))

    def _event(self, version: TemplateVersion, label: str) -> dict[str, Any]:
        before = self.held.get((version.template_id, label))
        facts: dict[str, Any] = {"template_id": version.template_id, "label": label, "who": self.who, "why": "import"}
        facts |= {"from_version": None if before is None else before.version, "to_version": version.version}
        return checked(label_events, facts | {"created_at": self.now})

    # ------------------------------------------------------------------------------------------------------------- rows

    def _put_all(self, name: str, rows: Iterable[Mapping[str, Any]], store: RowStore[Any]) -> None:
        for index, row in enumerate(rows):
            with self._at((name, index)):
                self._put(store, row)
            self.progress(1)

    def _put(self, store: RowStore[Any], row: Mapping[str, Any]) -> None:
        """Add or change a row, unless it is as it should be."""
        if store.key not in row:
            raise TransferError(f"{store.key} is needed")
        checked(store.table, row, whole=False)
        there = next(iter(store.list(**{store.key: row[store.key]})), None)
        if there is not None and all(getattr(there, name) == freeze(value) for name, value in row.items()):
            self._count(unchanged=1)
            return
        store.put(row, who=self.who)
        self._count(rows=1)

    def _models(self) -> None:
        store, providers = ModelStore(self.db), {row.name: row.id for row in ProviderStore(self.db).list()}
        for index, transferred in enumerate(self.transfer.models):
            row = dict(transferred)
            with self._at(("models", index)):
                provider, tasks = row.pop("provider", None), row.pop("default_for_tasks", [])
                if not isinstance(provider, str) or provider not in providers:
                    raise TransferError(f"there is no provider {str(provider)[:80]!r}")
                if not isinstance(tasks, list) or not all(isinstance(task, str) for task in tasks):
                    raise TransferError("default_for_tasks is a list of tasks")
                self._put(store, {**row, "provider_id": providers[provider]})
                for task in tasks:
                    if store.defaults().get(task) != row["model_key"]:
                        store.set_default(task, row["model_key"])
            self.progress(1)

    def _negatives(self) -> None:
        store, table = NegativeStore(self.db), negative_prompts
        for index, transferred in enumerate(self.transfer.negative_prompts):
            with self._at(("negative_prompts", index)):
                row = {"content_mode": "sfw", "generation_mode": "txt2img", **transferred}
                checked(table, {"id": "", **row})
                same = [table.c[name] == row[name] for name in _FRAGMENT]
                row_id = self.connection.execute(select(table.c.id).where(*same)).scalar()
                self._put(store, {**row, "id": row_id or self.db.fresh_id()})
            self.progress(1)

    def _documents(self, name: str, documents: Iterable[TransferredDocument], store: DocumentStore) -> None:
        there = {(row.name, row.version): row for row in store.all()}
        for index, transferred in enumerate(documents):
            with self._at((name, index)):
                row = there.get((transferred.name, transferred.version)) or self._document(store, transferred)
                if row.body != freeze(transferred.body):
                    raise ConflictError(
                        f"version {transferred.version} of {transferred.name!r} is there already with another body"
                    )
                if transferred.is_active and not row.is_active:
                    store.activate(transferred.name, transferred.version, who=self.who)
            self.progress(1)

    def _document(self, store: DocumentStore, transferred: TransferredDocument) -> DocumentRow:
        row = store.add(
            transferred.name, transferred.body, who=self.who, author=transferred.author, note=transferred.note
        )
        if row.version != transferred.version:
            raise TransferError(f"version {transferred.version} of {transferred.name!r} does not come after the latest")
        self._count(rows=1)
        return row

    def _settings(self) -> None:
        store = SettingsStore(self.db)
        for key, value in self.transfer.settings.items():
            with self._at(("settings", key)):
                if store.value(key, _UNSET) != freeze(value):
                    store.set(key, value, who=self.who)
                    self._count(rows=1)
            self.progress(1)

    # ---------------------------------------------------------------------------------------------------------- helpers

    @contextmanager
    def _at(self, path: Path) -> Iterator[None]:
        """Errors inside are those of this place in the file."""
        try:
            yield
        except InnkeeperError as error:
            where = error.where
            if where is None or where.line is None:
                error.where = self.locate(path)
            raise

    def _count(self, **more: int) -> None:
        now = {name: getattr(self.done, name) + number for name, number in more.items()}
        self.done = msgspec.structs.replace(self.done, **now)


_UNSET: Final = object()
_FRAGMENT: Final = ("model_type", "content_mode", "generation_mode", "negative_prompt")


def _known_templates(connection: Connection) -> dict[str, _StoredTemplate]:
    query = select(templates.c.id, templates.c.name, templates.c.latest_version)
    known = {row.id: (row.name, _StoredTemplate(row.id, row.latest_version, {})) for row in connection.execute(query)}
    version = template_versions.c
    for row in connection.execute(select(version.template_id, version.version, version.content_sha256)):
        known[row.template_id][1].hashes[row.version] = row.content_sha256
    return dict(known.values())
