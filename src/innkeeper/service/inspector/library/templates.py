"""Templates: the list, one with its versions, two versions side by side; drafts, publications and rollbacks.

Who may change them is for the caller to have asked. What lies above a visitor's tier is, for that visitor, not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.library.errors import NotFoundError
from innkeeper.library.templates.partials import compose
from innkeeper.library.templates.publish import TemplateProblem, problems_of, worst_case
from innkeeper.library.templates.template import PRODUCTION, TemplateDraft, TemplateVersion
from innkeeper.library.tier import Tier
from innkeeper.library.transfer.format import DraftFile, draft_text
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.once import convert
from innkeeper.service.inspector.library.contents import DatabaseContents, LibraryContents, ShelfEntry
from innkeeper.service.inspector.views.templates import (
    DraftRequest,
    LabelMove,
    PublishRequest,
    RollbackRequest,
    TemplateContentView,
    TemplateFinding,
    TemplateSummary,
    TemplateVersionView,
    TemplateView,
)
from innkeeper.service.inspector.views.workspace import Changes
from innkeeper.tokens import default_counter

if TYPE_CHECKING:
    from innkeeper.library.library import Library


MAX_LISTED: Final = 2_000
"""Templates in one reply (no error: those after the last are asked for by its name)."""


def summaries(
    contents: LibraryContents, ceiling: Tier, *, search: str = "", after: str = ""
) -> tuple[TemplateSummary, ...]:
    """The templates by name, at most `MAX_LISTED` of them: those with ``search`` in name or text, after that name."""
    entries = contents.entries(search, after, MAX_LISTED)
    return tuple(_summary(one) for one in entries if _allowed(one.shown, ceiling))


def template_view(contents: LibraryContents, ceiling: Tier, name: str, version: int | None = None) -> TemplateView:
    """A template with one version, the one that its summary is of where none is named. Raises `NotFoundError`."""
    entry, versions = _versions(contents, ceiling, name)
    number = entry.shown.version if version is None else version
    chosen = _chosen(name, versions, number)
    held: dict[int, list[str]] = {}
    for label, one in entry.labels.items():
        held.setdefault(one, []).append(label)
    return TemplateView(
        summary=_summary(entry),
        versions=tuple(_version_view(one, tuple(held.get(one.version, ())), max(held, default=0)) for one in versions),
        moves=tuple(
            LabelMove(one.label, one.from_version, one.to_version, one.who, one.why, one.at)
            for one in contents.moves(name)
        ),
        version=number,
        content=content_of(chosen),
        sha256=chosen.content_sha256,
        findings=tuple(map(_finding, contents.problems(chosen))),
        tokens=longest(contents, chosen),
        window=contents.window(reader_of(chosen)),
    )


def changes(contents: LibraryContents, ceiling: Tier, name: str, before: int | None, after: int | None) -> Changes:
    """Two versions as people write them. Left out, ``after`` is the latest and ``before`` the one in production.

    Raises `NotFoundError`.
    """
    entry, versions = _versions(contents, ceiling, name)
    later = _chosen(name, versions, entry.latest if after is None else after)
    number = entry.labels.get(PRODUCTION, max(later.version - 1, 1)) if before is None else before
    return Changes(_text(_chosen(name, versions, number)), _text(later))


def _versions(contents: LibraryContents, ceiling: Tier, name: str) -> tuple[ShelfEntry, tuple[TemplateVersion, ...]]:
    """A template and its versions, oldest first; one of which a visitor may see nothing is not there."""
    entry = contents.entry(name)
    versions = tuple(one for one in contents.versions(name) if _allowed(one, ceiling))
    if not _allowed(entry.shown, ceiling):
        raise NotFoundError(f"there is no template {name!r}")
    return entry, versions


def _chosen(name: str, versions: tuple[TemplateVersion, ...], number: int) -> TemplateVersion:
    for one in versions:
        if one.version == number:
            return one
    raise NotFoundError(f"the template {name!r} has no version {number}")


def _allowed(version: TemplateVersion, ceiling: Tier) -> bool:
    return version.key.content_mode.rank <= ceiling.rank


def _summary(entry: ShelfEntry) -> TemplateSummary:
    key = entry.shown.key
    return TemplateSummary(
        name=entry.name,
        title=entry.title,
        kind=key.use_case,
        tier=key.content_mode.value,
        target=key.target_model,
        enhancer=key.enhancer_model,
        job_type=key.job_type,
        labels=dict(entry.labels),
        latest=entry.latest,
        published=entry.labels.get(PRODUCTION),
    )


def _version_view(version: TemplateVersion, labels: tuple[str, ...], newest: int) -> TemplateVersionView:
    """``newest`` is the newest that holds a label."""
    state: Any = "published" if PRODUCTION in labels else "labelled" if labels else "older"
    if version.version > newest:
        state = "draft"
    return TemplateVersionView(
        version.version, state, tuple(sorted(labels)), version.author, version.created_at, version.note
    )


def content_of(version: TemplateVersion) -> TemplateContentView:
    """What its author wrote."""
    names = TemplateContentView.__struct_fields__
    return convert(
        {name: value for name, value in msgspec.to_builtins(DraftFile.of(version)).items() if name in names},
        TemplateContentView,
    )


def _text(version: TemplateVersion) -> str:
    return draft_text(DraftFile.of(version)).decode()


def reader_of(version: TemplateVersion) -> str | None:
    """The model that reads a template's text."""
    return version.key.enhancer_model or version.key.target_model


def longest(contents: LibraryContents, version: TemplateVersion) -> int | None:
    """The tokens that it can become at most; None where it cannot be read."""
    with suppress(InnkeeperError):
        return worst_case(compose(version, contents.part), default_counter(), reader_of(version)).total
    return None


def _finding(problem: TemplateProblem) -> TemplateFinding:
    where = problem.where
    line, column = (None, None) if where is None else (where.line, where.column)
    return TemplateFinding(problem.severity.value, problem.code, problem.message, problem.hint, line, column)


# ---------------------------------------------------------------------------------------------------------------- changing


def checked_draft(contents: LibraryContents, ceiling: Tier, name: str, asked: DraftRequest) -> TemplateView:
    """What a draft would be, with what is wrong with it; nothing is kept. Raises `FieldError`, `TierBlockedError`."""
    draft = _draft(name, asked, "", ceiling)
    try:
        before: TemplateView | None = template_view(contents, ceiling, name)
        latest = contents.versions(name)[-1]
        version = draft.numbered(latest.template_id, latest.version + 1, "")
    except NotFoundError:
        before, version = None, draft.numbered("draft", 1, "")
    problems = (
        contents.problems(version)
        if isinstance(contents, DatabaseContents)
        else problems_of(version, lookup=contents.part)
    )
    entry = ShelfEntry(name, asked.title, version.version, {} if before is None else before.summary.labels, version)
    return TemplateView(
        summary=_summary(entry),
        versions=() if before is None else before.versions,
        moves=() if before is None else before.moves,
        version=version.version,
        content=asked.content,
        sha256=version.content_sha256,
        findings=tuple(map(_finding, problems)),
        tokens=longest(contents, version),
        window=contents.window(reader_of(version)),
    )


def draft_version(library: Library, ceiling: Tier, name: str, asked: DraftRequest, who: str) -> int:
    """Keep a draft as a new version, of a new template where there is none; what is equal to the latest makes none.

    Raises `ConflictError` where there is a later version than the draft was made from, `FieldError`.
    """
    draft, authoring = _draft(name, asked, who, ceiling), library.authoring
    try:
        latest = authoring.store.get(name)
    except NotFoundError:
        return authoring.create(draft).version
    _refuse_hidden(latest, ceiling)
    if draft.numbered(latest.template_id, latest.version, "").content_sha256 == latest.content_sha256:
        return latest.version
    return authoring.add_version(draft, base=asked.base).version


def publish(library: Library, ceiling: Tier, name: str, asked: PublishRequest, who: str) -> int:
    """Check a version and let a label point at it. Raises as `Authoring.publish`."""
    chosen = library.authoring.get(name, version=asked.version)
    _refuse_hidden(chosen, ceiling)
    library.authoring.publish(name, chosen.version, label=asked.label, who=who, why=asked.note)
    return chosen.version


def roll_back(library: Library, ceiling: Tier, name: str, asked: RollbackRequest, who: str) -> int:
    """Let a label point at an earlier version. Raises as `Authoring.rollback`."""
    _refuse_hidden(library.authoring.get(name, label=asked.label), ceiling)
    moved = library.authoring.rollback(name, label=asked.label, to=asked.version, who=who, why=asked.note)
    return moved.to_version or 0


def _refuse_hidden(version: TemplateVersion, ceiling: Tier) -> None:
    if not _allowed(version, ceiling):
        raise NotFoundError(f"there is no template {version.name!r}")


def _draft(name: str, asked: DraftRequest, who: str, ceiling: Tier) -> TemplateDraft:
    plain: Mapping[str, Any] = msgspec.to_builtins(asked.content)
    file = convert({**plain, "name": name, "description": asked.title, "note": asked.note}, DraftFile)
    draft = file.draft(author=who)
    if draft.key.content_mode.rank > ceiling.rank:
        raise NotFoundError(f"this key writes no templates of the tier {draft.key.content_mode.value}")
    return draft
