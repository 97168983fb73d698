"""Templates: the list, one with its versions, two versions side by side; drafts, publications and rollbacks.

Whether a visitor may change them is checked before. What lies above a visitor's tier is, for that visitor, not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta

from innkeeper.library.errors import NotFoundError
from innkeeper.library.templates.partials import compose
from innkeeper.library.templates.publish import TemplateProblem, worst_case
from innkeeper.library.templates.rendering import render
from innkeeper.library.templates.template import PRODUCTION, TemplateDraft, TemplateEntry, TemplateVersion
from innkeeper.library.transfer.format import DraftFile, draft_text
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.typed.once import convert
from innkeeper.service.inspector.access import Visitor
from innkeeper.service.inspector.library.contents import LibraryContents
from innkeeper.service.inspector.library.library_access import ChangeScope, LibraryScope
from innkeeper.service.inspector.views.templates import (
    DraftRequest,
    LabelMove,
    PublishRequest,
    RenderedView,
    RenderRequest,
    RollbackRequest,
    TemplateContentView,
    TemplateFinding,
    TemplateSummary,
    TemplateVersionView,
    TemplateView,
)
from innkeeper.service.inspector.views.workspace import Changes, view_of
from innkeeper.tokens import default_counter

if TYPE_CHECKING:
    from innkeeper.library.library import Library


MAX_LISTED: Final = 2_000
"""Templates in one reply (no error: those after the last are asked for by its name)."""


class TemplateSearch(msgspec.Struct, frozen=True):
    """Which templates are listed."""

    search: Annotated[str, Meta(description="a part of a name, a description or a text")] = ""
    after: Annotated[str, Meta(description="the name of the last one of the page before")] = ""


class VersionQuery(msgspec.Struct, frozen=True):
    """Which version is shown."""

    version: Annotated[
        int | None, Meta(description="the number of a version; the one in production, else the latest, where left out")
    ] = None


class VersionPair(msgspec.Struct, frozen=True):
    """Which versions are compared."""

    a: Annotated[int | None, Meta(description="the number of a version; the one in production where left out")] = None
    b: Annotated[int | None, Meta(description="the number of a version; the latest where left out")] = None


def see_templates(request: TemplateSearch, scope: LibraryScope) -> tuple[TemplateSummary, ...]:
    """The templates by name."""
    entries = scope.contents.entries(request.search, request.after, MAX_LISTED)
    return tuple(_summary(entry) for entry in entries if scope.visitor.may_see(entry.shown.key.content_mode))


def see_template(request: VersionQuery, scope: LibraryScope) -> TemplateView:
    """A template with one version."""
    contents, (entry, versions) = scope.contents, _visible(scope)
    version = _numbered(versions, entry, entry.shown.version if request.version is None else request.version)
    labels: dict[int, list[str]] = {}
    for label, number in entry.labels.items():
        labels.setdefault(number, []).append(label)
    newest = max(labels, default=0)
    return TemplateView(
        summary=_summary(entry),
        versions=tuple(_version_view(one, sorted(labels.get(one.version, ())), newest) for one in versions),
        moves=tuple(view_of(LabelMove, move) for move in contents.moves(entry.name)),
        version=version.version,
        content=_content(version),
        sha256=version.content_sha256,
        findings=tuple(map(_finding, contents.problems(version))),
        tokens=_longest(contents, version),
        window=contents.window(version.key.reader),
    )


def see_changes(request: VersionPair, scope: LibraryScope) -> Changes:
    """Two versions of a template."""
    entry, versions = _visible(scope)
    later = _numbered(versions, entry, entry.latest_version if request.b is None else request.b)
    number = entry.labels.get(PRODUCTION, max(later.version - 1, 1)) if request.a is None else request.a
    earlier = _numbered(versions, entry, number)
    return Changes(*(draft_text(DraftFile.of(version)).decode() for version in (earlier, later)))


def see_rendered(request: RenderRequest, scope: LibraryScope) -> RenderedView:
    """A version with values in it. Raises what rendering raises."""
    entry, versions = _visible(scope)
    version = _numbered(versions, entry, entry.shown.version if request.version is None else request.version)
    made = render(version, request.values, lookup=scope.contents.part, counter=default_counter(), ranges=True)
    ranges = tuple((run.end, run.variable) for run in made.ranges)
    lost = {report.name: report.lost_chars for report in made.variables if report.cut}
    return view_of(RenderedView, made, ranges=ranges, lost=lost)


def _visible(scope: LibraryScope) -> tuple[TemplateEntry, tuple[TemplateVersion, ...]]:
    """A template and its versions, oldest first; one of which a visitor may see nothing is not there."""
    entry = scope.contents.entry(scope.name)
    versions = scope.contents.versions(scope.name)
    _refuse_hidden(entry.shown, scope.visitor)
    return entry, tuple(one for one in versions if scope.visitor.may_see(one.key.content_mode))


def _refuse_hidden(version: TemplateVersion, visitor: Visitor) -> None:
    if not visitor.may_see(version.key.content_mode):
        raise NotFoundError(f"there is no template {version.name!r}")


def _numbered(versions: tuple[TemplateVersion, ...], entry: TemplateEntry, number: int) -> TemplateVersion:
    version = next((one for one in versions if one.version == number), None)
    if version is None:
        raise NotFoundError(f"the template {entry.name!r} has no version {number}")
    return version


def _summary(entry: TemplateEntry) -> TemplateSummary:
    key = entry.shown.key
    return TemplateSummary(
        name=entry.name,
        # What comes with Innkeeper has its description among its metadata.
        title=entry.description or str(entry.shown.metadata.get("description") or ""),
        kind=key.use_case,
        tier=key.content_mode,
        target=key.target_model,
        enhancer=key.enhancer_model,
        job_type=key.job_type,
        labels=entry.labels,
        latest=entry.latest_version,
        published=entry.labels.get(PRODUCTION),
    )


def _version_view(version: TemplateVersion, labels: list[str], newest: int) -> TemplateVersionView:
    """``newest`` is the newest that holds a label."""
    state = "published" if PRODUCTION in labels else "labelled" if labels else "older"
    if version.version > newest:
        state = "draft"
    return view_of(TemplateVersionView, version, state=state, labels=tuple(labels))


def _content(version: TemplateVersion) -> TemplateContentView:
    """What its author wrote."""
    plain = msgspec.to_builtins(DraftFile.of(version))
    names = TemplateContentView.__struct_fields__
    return convert({name: value for name, value in plain.items() if name in names}, TemplateContentView)


def _longest(contents: LibraryContents, version: TemplateVersion) -> int | None:
    """The tokens that it can become at most; None where it cannot be read."""
    with suppress(InnkeeperError):
        return worst_case(compose(version, contents.part), default_counter(), version.key.reader).total
    return None


def _finding(problem: TemplateProblem) -> TemplateFinding:
    where = problem.where
    line, column = (None, None) if where is None else (where.line, where.column)
    return TemplateFinding(problem.severity.value, problem.code, problem.message, problem.hint, line, column)


# ---------------------------------------------------------------------------------------------------------------- changing


def draft(request: DraftRequest, scope: ChangeScope) -> TemplateView:
    """A new version, or what would be wrong with it."""
    if request.check:
        return scope.library.look(
            lambda contents: _checked_draft(LibraryScope(contents, scope.visitor, scope.name), request)
        )
    scope.visitor.require_admin("change templates")
    with scope.library.changing() as library:
        version = _draft_version(library, scope, request)
    return _changed(scope, version)


def publish(request: PublishRequest, scope: ChangeScope) -> TemplateView:
    """Check a version, and let a label point at it."""
    with scope.library.changing() as library:
        version = library.authoring.get(scope.name, version=request.version)
        _refuse_hidden(version, scope.visitor)
        library.authoring.publish(
            scope.name, version.version, label=request.label, who=scope.visitor.actor, why=request.note
        )
    return _changed(scope, version.version)


def roll_back(request: RollbackRequest, scope: ChangeScope) -> TemplateView:
    """Let a label point at an earlier version."""
    with scope.library.changing() as library:
        _refuse_hidden(library.authoring.get(scope.name, label=request.label), scope.visitor)
        moved = library.authoring.rollback(
            scope.name, label=request.label, to=request.version, who=scope.visitor.actor, why=request.note
        )
    return _changed(scope, moved.to_version or 0)


def _changed(scope: ChangeScope, version: int) -> TemplateView:
    """The template after a change."""
    return scope.library.look(
        lambda contents: see_template(VersionQuery(version), LibraryScope(contents, scope.visitor, scope.name))
    )


def _checked_draft(scope: LibraryScope, request: DraftRequest) -> TemplateView:
    """What a draft would be, with what is wrong with it; nothing is kept. Raises `FieldError`, `TierBlockedError`."""
    draft, contents = _read_draft(request, scope.name, scope.visitor), scope.contents
    try:
        before: TemplateView | None = see_template(VersionQuery(), scope)
        latest = contents.versions(scope.name)[-1]
        version = draft.numbered(latest.template_id, latest.version + 1, "")
    except NotFoundError:
        before, version = None, draft.numbered("draft", 1, "")
    labels = {} if before is None else before.summary.labels
    return TemplateView(
        summary=_summary(TemplateEntry(scope.name, request.title, version.version, labels, version)),
        versions=() if before is None else before.versions,
        moves=() if before is None else before.moves,
        version=version.version,
        content=request.content,
        sha256=version.content_sha256,
        findings=tuple(map(_finding, contents.problems(version))),
        tokens=_longest(contents, version),
        window=contents.window(version.key.reader),
    )


def _draft_version(library: Library, scope: ChangeScope, request: DraftRequest) -> int:
    """Keep a draft as a new version, of a new template where there is none; what is equal to the latest makes none.

    Raises `ConflictError` where there is a later version than the draft was made from, `FieldError`.
    """
    draft, authoring = _read_draft(request, scope.name, scope.visitor), library.authoring
    try:
        latest = authoring.store.get(scope.name)
    except NotFoundError:
        return authoring.create(draft).version
    _refuse_hidden(latest, scope.visitor)
    if draft.numbered(latest.template_id, latest.version, "").content_sha256 == latest.content_sha256:
        return latest.version
    return authoring.add_version(draft, base=request.base).version


def _read_draft(request: DraftRequest, name: str, visitor: Visitor) -> TemplateDraft:
    plain: Mapping[str, Any] = msgspec.to_builtins(request.content)
    file = convert({**plain, "name": name, "description": request.title, "note": request.note}, DraftFile)
    draft = file.draft(author=visitor.actor)
    if not visitor.may_see(draft.key.content_mode):
        raise NotFoundError(f"this key writes no templates of the tier {draft.key.content_mode.value}")
    return draft
