"""TemplateStore: templates in immutable versions, labels that move, and the history of every move."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
from sqlalchemy import delete, insert, or_, select, text, tuple_, update

from innkeeper.library.db.engine import Database
from innkeeper.library.db.rows import checked, record, upsert
from innkeeper.library.db.tables.templates import label_events, template_labels, template_versions, templates
from innkeeper.library.errors import SAME_KEY, AlreadyExistsError, ConflictError, FieldError, NotFoundError
from innkeeper.library.rows import ANSWER, LabelRow
from innkeeper.library.templates.rows import (
    label_row,
    labelled_of,
    live_labels,
    point_query,
    select_versions,
    version_of,
    version_values,
)
from innkeeper.library.templates.template import (
    PRODUCTION,
    Labelled,
    PartRef,
    TemplateDraft,
    TemplateEntry,
    TemplateVersion,
)
from innkeeper.prompt.errors import UsageError, Where

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement
    from sqlalchemy.engine import Connection

    from innkeeper.library.catalogue.resolver import ResolveRequest


LATEST: Final = "latest"
"""Not a label that moves: always the highest version."""

_LABEL: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_NAME_LENGTH: Final = 200
_BATCH: Final = 500
"""Rows or names in one statement: well below what any database takes."""


class LabelEvent(msgspec.Struct, frozen=True):
    """One move of a label. None is no version: the label came new, or went away."""

    name: str
    label: str
    from_version: int | None
    to_version: int | None
    who: str
    why: str
    at: str


Validate = Callable[[TemplateVersion], object]
"""Raises where a version may not be published."""


class TemplateStore:
    """The templates of one database. Every method is one transaction, or part of the caller's."""

    def __init__(self, db: Database) -> None:
        self.db = db

    # ---------------------------------------------------------------------------------------------------------- writing

    def create(self, draft: TemplateDraft) -> TemplateVersion:
        """Make a template with version 1, without a label.

        Raises:
            AlreadyExistsError: the name is taken.
            FieldError: a value that a database cannot hold.
        """
        check_name(draft.name)
        with self.db.publishing() as connection:
            if _template_id(connection, draft.name) is not None:
                raise AlreadyExistsError(f"there is a template {draft.name!r} already", hint="add a version to it")
            version = draft.numbered(self.db.fresh_id(), 1, self.db.now())
            values = checked(templates, _template_values(version, draft.description))
            connection.execute(insert(templates), values)
            connection.execute(insert(template_versions), version_values(version))
        return version

    def add_version(self, draft: TemplateDraft, *, base: int | None = None) -> TemplateVersion:
        """Add a version to a template. ``base``: the version that the draft was made from, where that must be the latest.

        Raises:
            NotFoundError: there is none of this name.
            ConflictError: there is a later version than ``base``.
        """
        with self.db.publishing() as connection:
            latest = self.get(draft.name)
            if base is not None and latest.version != base:
                message = f"the latest version of {draft.name!r} is {latest.version}, not {base}"
                raise ConflictError(message, latest=latest.version, base=base)
            version = draft.numbered(latest.template_id, latest.version + 1, self.db.now())
            connection.execute(insert(template_versions), version_values(version))
            counted: dict[str, Any] = {"latest_version": version.version}
            if draft.description:
                counted |= checked(templates, {"description": draft.description}, whole=False)
            connection.execute(update(templates).where(templates.c.id == version.template_id).values(counted))
        return version

    def describe(self, name: str, description: str) -> None:
        """Give a template another description. Raises `NotFoundError`."""
        with self.db.publishing() as connection:
            values = checked(templates, {"description": description}, whole=False)
            connection.execute(update(templates).where(templates.c.id == self._id(connection, name)).values(values))

    def move_label(
        self, name: str, label: str, version: int, *, who: str = "", why: str = "", validate: Validate | None = None
    ) -> LabelEvent:
        """Let a label point at a version: to publish, to roll back. The history keeps who did it and why.

        Args:
            name: the template.
            label: ``production``, ``staging``, ``draft`` or one of your own.
            version: the version that holds it from now on.
            who: who moves it.
            why: for what reason.
            validate: raises where the version may not be published; called inside the transaction, before others are made to
                wait: a version never changes.

        Raises:
            NotFoundError: there is none of this name.
            NotFoundError: it has no such version.
            AlreadyExistsError: another template holds the label with the same key.
            UsageError: a label that cannot be one.
        """
        check_label(label)
        with self.db.transaction() as connection:
            target = self.get(name, version=version)
            if validate is not None:
                validate(target)
            self.db.wait_for_publishers(connection)
            before = self._free_label(connection, target, label)
            row = label_row(target, label, who=who, at=self.db.now())
            upsert(connection, template_labels, checked(template_labels, row.to_dict()))
            return self._remember(connection, target, label, (before, version), (who, why))

    def remove_label(self, name: str, label: str, *, who: str = "", why: str = "") -> LabelEvent:
        """Take a label off a template. Raises `NotFoundError`."""
        with self.db.publishing() as connection:
            held = self.get(name, label=label)
            here = (template_labels.c.template_id == held.template_id) & (template_labels.c.label == label)
            connection.execute(delete(template_labels).where(here))
            return self._remember(connection, held, label, (held.version, None), (who, why))

    def publish(
        self,
        draft: TemplateDraft,
        *,
        label: str = PRODUCTION,
        who: str = "",
        why: str = "",
        validate: Validate | None = None,
    ) -> TemplateVersion:
        """Make the draft a version (of a new template, where there is none) and move the label to it, in one step."""
        with self.db.publishing() as connection:
            exists = _template_id(connection, draft.name) is not None
            version = self.add_version(draft) if exists else self.create(draft)
            self.move_label(draft.name, label, version.version, who=who, why=why, validate=validate)
        return version

    # ---------------------------------------------------------------------------------------------------------- reading

    def get(self, name: str, *, version: int | None = None, label: str | None = None) -> TemplateVersion:
        """One version: by number, by label (``latest`` counts as one), or the latest.

        Raises:
            NotFoundError: there is none of this name.
            NotFoundError: it has no such version.
            NotFoundError: it does not hold the label; no other stands in.
        """
        with self.db.reading() as connection:
            if label is not None and label != LATEST:
                return self._labelled(connection, name, label)
            number = templates.c.latest_version if version is None else version if 0 < version < _TOO_HIGH else 0
            query = select_versions().where(templates.c.name == name, template_versions.c.version == number)
            row = connection.execute(query).mappings().first()
            if row is None:
                self._id(connection, name)
                raise NotFoundError(f"the template {name!r} has no version {version}")
            return version_of(row)

    def versions(self, name: str) -> tuple[TemplateVersion, ...]:
        """All versions of a template, oldest first. Raises `NotFoundError`."""
        with self.db.reading() as connection:
            here = self._id(connection, name)
            query = select_versions().where(template_versions.c.template_id == here)
            rows = connection.execute(query.order_by(template_versions.c.version)).mappings()
            return tuple(map(version_of, rows))

    def list(self, *, limit: int | None = None, after: str = "", **where: str | None) -> tuple[TemplateEntry, ...]:
        """The templates by name.

        Args:
            limit: how many at most.
            after: the name of the last one of the page before.
            **where: what their shown version must have: ``use_case``, ``content_mode``, ``target_model``, ``job_type``,
                ``enhancer_model``, ``provider``; ``label``, one that they hold; ``contains``, a part of their name; ``search``,
                a part of their name, description or text, in whatever case.
        """
        more = (templates.c.description, templates.c.latest_version)
        query = select_versions(*more).where(_shown(), templates.c.name > after, *_conditions(where))
        with self.db.reading() as connection:
            rows = connection.execute(query.order_by(templates.c.name).limit(limit)).mappings().all()
            labels = self._labels_of(connection, None if limit is None else [row["template_id"] for row in rows])
            entries = [
                TemplateEntry(
                    name=row["name"],
                    description=row["description"],
                    latest_version=row["latest_version"],
                    labels=labels.get(row["template_id"], {}),
                    shown=version_of(row),
                )
                for row in rows
            ]
        return tuple(sorted(entries, key=lambda one: one.name) if limit is None else entries)

    def names(self) -> tuple[str, ...]:
        """The names of all templates, in order."""
        with self.db.reading() as connection:
            return tuple(connection.execute(select(templates.c.name).order_by(templates.c.name)).scalars())

    def description(self, name: str) -> str:
        """What a template is, for people. Raises `NotFoundError`."""
        with self.db.reading() as connection:
            here = self._id(connection, name)
            query = select(templates.c.description).where(templates.c.id == here)
            return str(connection.execute(query).scalar_one())

    def holders(self, version: TemplateVersion, label: str) -> tuple[Labelled, ...]:
        """The versions of other templates that hold a label with the key of this one: one at most, but for partials."""
        query = live_labels(
            template_labels.c.template_id != version.template_id, _same_answer(label_row(version, label))
        )
        with self.db.reading() as connection:
            return tuple(map(labelled_of, connection.execute(query).mappings()))

    def _labels_of(self, connection: Connection, ids: Sequence[str] | None) -> dict[str, dict[str, int]]:
        """The labels of templates and the versions that hold them; of all, where none are named."""
        query = select(template_labels.c.template_id, template_labels.c.label, template_labels.c.version)
        labels: dict[str, dict[str, int]] = {}
        batches = [None] if ids is None else [ids[start : start + _BATCH] for start in range(0, len(ids), _BATCH)]
        for few in batches:
            here = query if few is None else query.where(template_labels.c.template_id.in_(few))
            for template_id, label, version in connection.execute(here.order_by(template_labels.c.label)):
                labels.setdefault(template_id, {})[label] = version
        return labels

    def history(self, name: str) -> tuple[LabelEvent, ...]:
        """All moves of a template's labels in the order in which they happened. Raises `NotFoundError`."""
        with self.db.reading() as connection:
            here = self._id(connection, name)
            query = select(label_events).where(label_events.c.template_id == here).order_by(label_events.c.id)
            return tuple(
                LabelEvent(name, row.label, row.from_version, row.to_version, row.who, row.why, row.created_at)
                for row in connection.execute(query)
            )

    def labels(self, name: str) -> dict[str, int]:
        """The labels of a template and the versions that hold them. Raises `NotFoundError`."""
        with self.db.reading() as connection:
            here = self._id(connection, name)
            query = select(template_labels.c.label, template_labels.c.version)
            rows = connection.execute(query.where(template_labels.c.template_id == here))
            return dict(sorted((row.label, row.version) for row in rows))

    def all_labelled(self) -> tuple[Labelled, ...]:
        """Every version that holds a label, once for each label."""
        with self.db.reading() as connection:
            return tuple(map(labelled_of, connection.execute(live_labels()).mappings()))

    def labelled_after(self, known: Iterable[Labelled]) -> tuple[Labelled, ...]:
        """As `all_labelled`, but of versions that are known already no more than a line is read: they never change.

        A version counts as known by its content's hash, too, since a restored backup may hold another under the same number.
        """
        known_versions = {
            (one.name, one.template_id, one.version, one.content_sha256): one for one in (row.version for row in known)
        }
        rows: list[Labelled] = []
        missing: list[tuple[str, str]] = []
        with self.db.reading() as connection:
            for name, label, template_id, version, digest in connection.execute(_HEADS):
                version_known = known_versions.get((name, template_id, version, digest))
                if version_known is None:
                    missing.append((template_id, label))
                else:
                    rows.append(Labelled(label, version_known))
            for start in range(0, len(missing), _BATCH):
                here = tuple_(template_labels.c.template_id, template_labels.c.label).in_(
                    missing[start : start + _BATCH]
                )
                rows += map(labelled_of, connection.execute(live_labels(here)).mappings())
        return tuple(rows)

    def rows_for(self, request: ResolveRequest, *, families: Iterable[str | None] = ()) -> tuple[Labelled, ...]:
        """The few labelled versions that can answer one request, by one look into an index.

        ``families`` are those of the target, where the caller knows them; the request's own is looked for anyway.
        """
        targets_known = (request.target_model, request.target_family, *families)
        targets = sorted({"", *(target or "" for target in targets_known)})
        values = {f"target{number}": target for number, target in enumerate(targets)}
        values |= {"label": request.label, "use_case": request.use_case}
        with self.db.reading() as connection:
            return tuple(map(labelled_of, connection.execute(point_query(len(targets)), values).mappings()))

    def pinned(self, refs: Iterable[PartRef]) -> tuple[TemplateVersion, ...]:
        """The versions that these names and numbers pin, and those that they pin themselves; what is missing is left out."""
        versions: dict[PartRef, TemplateVersion] = {}
        missing = set(refs)
        with self.db.reading() as connection:
            while missing:
                names = sorted({name for name, _ in missing})
                batches = (names[start : start + _BATCH] for start in range(0, len(names), _BATCH))
                rows = [
                    row
                    for few in batches
                    for row in connection.execute(select_versions().where(templates.c.name.in_(few))).mappings()
                ]
                fresh = [version for version in map(version_of, rows) if version.ref in missing]
                versions |= {version.ref: version for version in fresh}
                missing = {ref for version in fresh for ref in version.pins} - versions.keys()
        return tuple(versions[ref] for ref in sorted(versions))

    # ---------------------------------------------------------------------------------------------------------- helpers

    def _id(self, connection: Connection, name: str) -> str:
        template_id = _template_id(connection, name)
        if template_id is None:
            raise NotFoundError(
                f"there is no template {name!r}", hint="`innkeeper admin template list` shows what there is"
            )
        return template_id

    def _labelled(self, connection: Connection, name: str, label: str) -> TemplateVersion:
        query = live_labels(templates.c.name == name, template_labels.c.label == label)
        row = connection.execute(query).mappings().first()
        if row is None:
            self._id(connection, name)
            held = ", ".join(self.labels(name)) or "none"
            raise NotFoundError(f"the template {name!r} does not hold the label {label!r}", hint=f"it holds: {held}")
        return version_of(row)

    def _free_label(self, connection: Connection, target: TemplateVersion, label: str) -> int | None:
        """The version of this template that holds a label, if any.

        Raises `AlreadyExistsError` saying which template is in the way; the unique index would only say that there is one.
        """
        same = _same_answer(label_row(target, label))
        others = template_labels.c.template_id != target.template_id
        joined = template_labels.join(templates, templates.c.id == template_labels.c.template_id)
        other_name = select(templates.c.name).select_from(joined).where(others, same).limit(1)
        here = (template_labels.c.template_id == target.template_id) & (template_labels.c.label == label)
        held = select(template_labels.c.version).where(here)
        before, other = connection.execute(select(held.scalar_subquery(), other_name.scalar_subquery())).one()
        if other is not None:
            message = f"{target.name!r} and {other!r} have the same key ({target.key}) under the label {label!r}"
            raise AlreadyExistsError(message, hint=SAME_KEY, other=other, label=label)
        number: int | None = before
        return number

    def _remember(
        self,
        connection: Connection,
        version: TemplateVersion,
        label: str,
        move: tuple[int | None, int | None],
        by: tuple[str, str],
    ) -> LabelEvent:
        (before, after), (who, why), at = move, by, self.db.now()
        facts = {"label": label, "from_version": before, "to_version": after, "who": who, "why": why}
        values = checked(label_events, {"template_id": version.template_id, "created_at": at, **facts})
        connection.execute(insert(label_events), values)
        state = [None if number is None else {"label": label, "version": number} for number in (before, after)]
        record(connection, at, who, "label.move", ("template", version.name), (state[0], state[1]), {"why": why})
        return LabelEvent(version.name, label, before, after, who, why, at)


_HEADS: Final = text(
    "SELECT t.name, l.label, l.template_id, l.version, v.content_sha256 FROM template_labels l "
    "JOIN template_versions v ON v.template_id = l.template_id AND v.version = l.version "
    "JOIN templates t ON t.id = l.template_id"
)
"""What tells a labelled version from another."""


def _same_answer(row: LabelRow) -> ColumnElement[bool]:
    """The condition that a row answers what another does."""
    return tuple_(*(template_labels.c[name] for name in ANSWER)) == row.answer


def check_name(name: str) -> None:
    """Refuse what cannot be the name of a template. Raises `FieldError`."""
    if not name.strip() or len(name) > _NAME_LENGTH or not name.isprintable():
        where = Where(asset="templates", path="name")
        hint = f"1 to {_NAME_LENGTH} printable characters"
        raise FieldError(f"{name[:_NAME_LENGTH]!r} cannot be the name of a template", where=where, hint=hint)


def check_label(label: str) -> None:
    """Refuse what cannot be a label that moves. Raises `UsageError`."""
    if label == LATEST:
        raise UsageError(f"{LATEST!r} is always the highest version and cannot be moved")
    if not _LABEL.fullmatch(label):
        hint = "small letters, digits, dots, dashes and underscores, up to 64"
        raise UsageError(f"{label[:_NAME_LENGTH]!r} cannot be a label", hint=hint)


_TOO_HIGH: Final = 2**31


def _template_values(version: TemplateVersion, description: str) -> dict[str, Any]:
    return {
        "id": version.template_id,
        "name": version.name,
        "description": description,
        "latest_version": version.version,
        "created_at": version.created_at,
        "created_by": version.author,
    }


def _template_id(connection: Connection, name: str) -> str | None:
    template_id: str | None = connection.execute(select(templates.c.id).where(templates.c.name == name)).scalar()
    return template_id


def _shown() -> Any:
    """The condition that a version is the one with ``production``, else the latest."""
    held = select(template_labels.c.version).where(
        template_labels.c.template_id == templates.c.id, template_labels.c.label == PRODUCTION
    )
    from sqlalchemy import func

    return template_versions.c.version == func.coalesce(held.scalar_subquery(), templates.c.latest_version)


_FILTERS: Final = frozenset({"use_case", "content_mode", "target_model", "job_type", "enhancer_model", "provider"})


def _conditions(where: dict[str, str | None]) -> list[Any]:
    unknown = where.keys() - _FILTERS - {"label", "contains", "search"}
    if unknown:
        raise UsageError(f"templates are not listed by {min(unknown)!r}", hint=f"by: {', '.join(sorted(_FILTERS))}")
    conditions = [
        template_versions.c[name] == value for name, value in where.items() if name in _FILTERS and value is not None
    ]
    if label := where.get("label"):
        holds = (template_labels.c.template_id == templates.c.id) & (template_labels.c.label == label)
        conditions.append(select(template_labels.c.label).where(holds).exists())
    if contains := where.get("contains"):
        conditions.append(templates.c.name.contains(contains, autoescape=True))
    if search := where.get("search"):
        texts = (templates.c.name, templates.c.description, template_versions.c.system_prompt)
        conditions.append(or_(*(text.icontains(search, autoescape=True) for text in texts)))
    return conditions
