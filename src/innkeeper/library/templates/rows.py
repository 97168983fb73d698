"""Templates as rows: from a version to the columns of its tables and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from sqlalchemy import Select, TextualSelect, select, text

from innkeeper.gate.tier import Tier
from innkeeper.library.db.rows import checked
from innkeeper.library.db.tables.templates import template_labels, template_versions, templates
from innkeeper.library.errors import DatabaseCorruptError
from innkeeper.library.rows import LabelRow
from innkeeper.library.templates.template import (
    PARTIAL,
    FlatTemplate,
    Labelled,
    TemplateKey,
    TemplateVersion,
    flat_fields,
    sealed,
)
from innkeeper.prompt.errors import Where
from innkeeper.prompt.typed.once import convert


class VersionRow(FlatTemplate, frozen=True, kw_only=True):
    """A row of ``template_versions``, with the name of its template."""

    template_id: str
    name: str
    version: int
    author: str = ""
    created_at: str
    content_sha256: str | None = None

    def opened(self) -> TemplateVersion:
        """The version with the hash of its content."""
        key = TemplateKey(
            use_case=self.use_case,
            content_mode=Tier(self.content_mode),
            target_model=self.target_model,
            enhancer_model=self.enhancer_model,
            job_type=self.job_type,
        )
        own = {name: getattr(self, name) for name in ("template_id", "name", "version", "author", "created_at")}
        return sealed(TemplateVersion(**self.content(key), **own))


def select_versions(*more: Any) -> Select[Any]:
    """A query for versions with the name of their template; add conditions to it."""
    joined = template_versions.join(templates, templates.c.id == template_versions.c.template_id)
    return select(template_versions, templates.c.name, *more).select_from(joined)


def version_values(version: TemplateVersion) -> dict[str, Any]:
    """The row of a version. Raises `FieldError` for what a database cannot hold."""
    own = {
        name: getattr(version, name) for name in ("template_id", "version", "author", "created_at", "content_sha256")
    }
    return checked(template_versions, {**msgspec.to_builtins(flat_fields(version)), **own})


def label_row(version: TemplateVersion, label: str, *, who: str = "", at: str = "") -> LabelRow:
    """The row by which a version holds a label."""
    key = version.key
    return LabelRow(
        template_id=version.template_id,
        label=label,
        version=version.version,
        use_case=key.use_case,
        target_model=key.target_model or "",
        enhancer_model=key.enhancer_model or "",
        job_type=key.job_type or "",
        content_mode=key.content_mode.value,
        partial_name=version.name if key.use_case == PARTIAL else "",
        moved_at=at,
        moved_by=who,
    )


def version_of(row: Mapping[Any, Any]) -> TemplateVersion:
    """The version in a row of `select_versions`, by `Result.mappings`. One that SQL made gets its hash here.

    Raises:
        DatabaseCorruptError: the row is not what its hash says, or no version at all.
    """
    where = Where(asset="template_versions", path=f"{row['name']}@{row['version']}")
    try:
        stored = convert({name: row[name] for name in VersionRow.__struct_fields__}, VersionRow)
    except msgspec.ValidationError as error:
        raise DatabaseCorruptError(f"a template version cannot be read: {error}", where=where) from error
    version = stored.opened()
    if stored.content_sha256 not in {None, version.content_sha256}:
        raise DatabaseCorruptError("a template version is not what its checksum says", where=where)
    return version


def labelled_of(row: Mapping[Any, Any]) -> Labelled:
    """The version in a row of `live_labels` or `point_query`, with its label."""
    return Labelled(row["label"], version_of(row))


def live_labels(*conditions: Any) -> Select[Any]:
    """A query for the versions that hold labels, each with its label."""
    same = (template_labels.c.template_id == template_versions.c.template_id) & (
        template_labels.c.version == template_versions.c.version
    )
    query = select_versions(template_labels.c.label).join(template_labels, same)
    return query.where(*conditions) if conditions else query


def point_query(targets: int) -> TextualSelect:
    """The versions under ``:label`` and ``:use_case`` for ``:target0``, ``:target1`` …, each with its label.

    It is written out because it is the first query of a process: compiling it would take longer than running it.
    """
    columns = ", ".join(f"v.{column.name}" for column in template_versions.c)
    names = ", ".join(f":target{number}" for number in range(targets))
    written = text(
        f"SELECT {columns}, t.name, l.label FROM template_labels l "  # noqa: S608 - our own names only
        "JOIN template_versions v ON v.template_id = l.template_id AND v.version = l.version "
        "JOIN templates t ON t.id = l.template_id "
        f"WHERE l.label = :label AND l.use_case = :use_case AND l.target_model IN ({names})"
    )
    return written.columns(*template_versions.c, templates.c.name, template_labels.c.label)
