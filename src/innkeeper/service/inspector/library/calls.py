"""Calls: the operations of the library's rooms. Types of request and reply, and the summary, are read from each function."""

from __future__ import annotations

from collections.abc import Callable
from getpass import getuser
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from innkeeper.library.tier import Ceilings, Tier
from innkeeper.prompt.machine import utc_now
from innkeeper.service.inspector.access import Visitor
from innkeeper.service.inspector.library import answers, records, rows, templates
from innkeeper.service.inspector.library.library_access import LibraryAccess
from innkeeper.service.inspector.views.answers import ResolutionRequest, ResolutionView, TierRequest, TierView
from innkeeper.service.inspector.views.library import (
    BudgetRow,
    LibraryView,
    ModelRow,
    NegativeRow,
    ProviderRow,
    ToolView,
)
from innkeeper.service.inspector.views.records import LogPage, MetricsView, VaultNames
from innkeeper.service.inspector.views.templates import (
    DraftRequest,
    PublishRequest,
    RollbackRequest,
    TemplateSummary,
    TemplateView,
)
from innkeeper.service.inspector.views.workspace import Changes

if TYPE_CHECKING:
    from innkeeper.library.library import Library


class LibraryScope(NamedTuple):
    """The library, who asks, and the template that the path names."""

    library: LibraryAccess
    visitor: Visitor
    name: str = ""


class EmptyRequest(msgspec.Struct, frozen=True):
    """Nothing that is asked for more exactly."""


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


class LogQuery(msgspec.Struct, frozen=True):
    """Which calls are listed."""

    before: Annotated[int | None, Meta(description="the id of the last one of the page before")] = None
    template: Annotated[str, Meta(description="the name of a template")] = ""
    status: Annotated[str, Meta(description="ok, degraded, blocked or error")] = ""
    request: Annotated[str, Meta(description="the id of a request")] = ""
    tier: Annotated[str, Meta(description="sfw or nsfw")] = ""


class MetricsQuery(msgspec.Struct, frozen=True):
    """Which calls are counted."""

    hours: Annotated[int, Meta(description="how many; 24 where left out")] = 24


def ceiling_of(visitor: Visitor) -> Tier:
    """The highest tier of which a visitor sees templates: that of its key; whoever started the service sees all."""
    return Tier.NSFW if visitor.grant is None else Tier.of(visitor.grant.tier)


def who_is(visitor: Visitor) -> str:
    """Who is named in the history."""
    if visitor.name:
        return f"key {visitor.name}"
    try:
        return getuser()
    except (KeyError, OSError):  # a number without a name, as in a container
        return "somebody"


def see_library(_: EmptyRequest, scope: LibraryScope) -> LibraryView:
    """Where the library is, and how much is in it."""
    return scope.library.look(lambda contents: rows.overview(contents, admin=scope.visitor.is_admin))


def see_templates(request: TemplateSearch, scope: LibraryScope) -> tuple[TemplateSummary, ...]:
    """The templates by name."""
    tier = ceiling_of(scope.visitor)
    return scope.library.look(
        lambda contents: templates.summaries(contents, tier, search=request.search, after=request.after)
    )


def see_template(request: VersionQuery, scope: LibraryScope) -> TemplateView:
    """A template with one version."""
    tier = ceiling_of(scope.visitor)
    return scope.library.look(lambda contents: templates.template_view(contents, tier, scope.name, request.version))


def see_changes(request: VersionPair, scope: LibraryScope) -> Changes:
    """Two versions of a template."""
    tier = ceiling_of(scope.visitor)
    return scope.library.look(lambda contents: templates.changes(contents, tier, scope.name, request.a, request.b))


def draft(request: DraftRequest, scope: LibraryScope) -> TemplateView:
    """A new version, or what would be wrong with it."""
    tier, name = ceiling_of(scope.visitor), scope.name
    if request.check:
        return scope.library.look(lambda contents: templates.checked_draft(contents, tier, name, request))
    scope.visitor.require_admin("change templates")
    return _changed(scope, lambda library: templates.draft_version(library, tier, name, request, who_is(scope.visitor)))


def publish(request: PublishRequest, scope: LibraryScope) -> TemplateView:
    """Check a version, and let a label point at it."""
    tier, who = ceiling_of(scope.visitor), who_is(scope.visitor)
    return _changed(scope, lambda library: templates.publish(library, tier, scope.name, request, who))


def roll_back(request: RollbackRequest, scope: LibraryScope) -> TemplateView:
    """Let a label point at an earlier version."""
    tier, who = ceiling_of(scope.visitor), who_is(scope.visitor)
    return _changed(scope, lambda library: templates.roll_back(library, tier, scope.name, request, who))


def _changed(scope: LibraryScope, change: Callable[[Library], int]) -> TemplateView:
    """The template after a change."""
    with scope.library.changing() as library:
        version = change(library)
    return see_template(VersionQuery(version), scope)


# --------------------------------------------------------------------------------------------------------------- answering


def _allowed(visitor: Visitor) -> Ceilings:
    """What the operator says of a visitor; whoever started the service was verified by nobody."""
    return Ceilings() if visitor.grant is None else visitor.grant.ceilings


def resolve(request: ResolutionRequest, scope: LibraryScope) -> ResolutionView:
    """Which template answers a request."""
    return scope.library.look(lambda contents: answers.resolution(contents, _allowed(scope.visitor), request))


def judge(request: TierRequest, scope: LibraryScope) -> TierView:
    """The tier of a text, and why."""
    return scope.library.look(lambda contents: answers.tier_of(contents, _allowed(scope.visitor), request))


# --------------------------------------------------------------------------------------------------------------- catalogue


def see_models(_: EmptyRequest, scope: LibraryScope) -> tuple[ModelRow, ...]:
    """The models of the catalogue."""
    return scope.library.look(lambda contents: rows.models(contents, ceiling_of(scope.visitor)))


def see_providers(_: EmptyRequest, scope: LibraryScope) -> tuple[ProviderRow, ...]:
    """The providers of models."""
    return scope.library.look(lambda contents: rows.providers(contents, admin=scope.visitor.is_admin))


def see_tools(_: EmptyRequest, scope: LibraryScope) -> tuple[ToolView, ...]:
    """The tools that models may call."""
    return scope.library.look(rows.tools)


def see_negatives(_: EmptyRequest, scope: LibraryScope) -> tuple[NegativeRow, ...]:
    """The fragments of negative prompts."""
    return scope.library.look(lambda contents: rows.negatives(contents, ceiling_of(scope.visitor)))


def see_budgets(_: EmptyRequest, scope: LibraryScope) -> tuple[BudgetRow, ...]:
    """The tokens that each published template leaves."""
    return scope.library.look(lambda contents: rows.budgets(contents, ceiling_of(scope.visitor)))


# ----------------------------------------------------------------------------------------------------------------- records

_COLUMNS: Final = {"template": "template_name", "status": "status", "request": "request_id", "tier": "effective_tier"}


def see_log(request: LogQuery, scope: LibraryScope) -> LogPage:
    """The newest calls."""
    where = {column: getattr(request, name) for name, column in _COLUMNS.items() if getattr(request, name)}
    return scope.library.look(lambda contents: records.log_page(contents, request.before, where))


def see_metrics(request: MetricsQuery, scope: LibraryScope) -> MetricsView:
    """The calls of the last hours by time."""
    return scope.library.look(lambda contents: records.metrics(contents, request.hours, utc_now()))


def see_vault(_: EmptyRequest, scope: LibraryScope) -> VaultNames:
    """The names in the vault."""
    return scope.library.look(records.vault_names)
