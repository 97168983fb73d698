"""Catalogue: the library at a glance, and its models, providers, tools, negative prompts and budgets, each with its users."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import msgspec

from innkeeper.library.templates.partials import compose
from innkeeper.library.templates.publish import worst_case
from innkeeper.library.templates.template import PRODUCTION, TemplateVersion
from innkeeper.prompt.data import thaw
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.service.inspector.library.contents import DatabaseContents, LibraryContents
from innkeeper.service.inspector.library.library_access import EmptyRequest, LibraryScope
from innkeeper.service.inspector.views.library import (
    BudgetRow,
    LibraryCounts,
    LibraryRights,
    LibraryView,
    ModelRow,
    NegativeRow,
    ProviderRow,
    ToolView,
)
from innkeeper.service.inspector.views.workspace import problem_of, view_of
from innkeeper.tokens import default_counter


def see_library(_: EmptyRequest, scope: LibraryScope) -> LibraryView:
    """Where the library is, and how much is in it."""
    contents, admin = scope.contents, scope.visitor.is_admin
    policy, rows = contents.rules.policy, contents.counts()
    problem = None if contents.problem is None else problem_of(contents.problem)
    if problem is not None and not admin:
        problem = msgspec.structs.replace(problem, where=None)
    is_database = isinstance(contents, DatabaseContents)
    return LibraryView(
        source=contents.source,
        address=contents.library.db.location if admin and isinstance(contents, DatabaseContents) else "",
        writable=is_database and admin,
        rights=LibraryRights(write=admin, oversee=admin),
        revision=contents.revision,
        ceiling=policy.ceiling,
        policy=policy.version,
        counts=LibraryCounts(
            templates=rows.get("templates", 0),
            models=rows.get("api_models", 0),
            providers=rows.get("api_providers", 0),
            tools=rows.get("tools", 0),
            negatives=rows.get("negative_prompts", 0),
            calls=rows.get("enhancement_logs", 0) if admin else 0,
            secrets=rows.get("secrets", 0) if admin else 0,
        ),
        problem=problem,
    )


def see_models(_: EmptyRequest, scope: LibraryScope) -> tuple[ModelRow, ...]:
    """The models of the catalogue."""
    tables, published, defaults = scope.contents.tables(), _published(scope), scope.contents.defaults()
    providers = {row.id: row.name for row in tables.providers}
    return tuple(
        view_of(
            ModelRow,
            row,
            provider=providers.get(row.provider_id),
            default_for=tuple(task for task, key in defaults.items() if key == row.model_key),
            used_by=tuple(sorted(one.name for one in published if _is_used(row.model_key, row.model_family, one))),
        )
        for row in tables.models
    )


def _published(scope: LibraryScope) -> tuple[TemplateVersion, ...]:
    """The versions in production of which a visitor may know."""
    rows = (row for row in scope.contents.catalogue().labelled if row.label == PRODUCTION)
    return tuple(row.version for row in rows if scope.visitor.may_see(row.version.key.content_mode))


def _is_used(key: str, family: str | None, version: TemplateVersion) -> bool:
    """Whether a template is for a model or its family, or written by it."""
    return not ({key, family} - {None}).isdisjoint({version.key.target_model, version.key.enhancer_model})


def see_providers(_: EmptyRequest, scope: LibraryScope) -> tuple[ProviderRow, ...]:
    """The providers of models; their addresses and the names of their secrets are for an administrator."""
    tables, hidden = scope.contents.tables(), {} if scope.visitor.is_admin else {"base_url": None, "secret_name": None}
    models = [(row.provider_id, row.model_key) for row in tables.models]
    return tuple(
        view_of(
            ProviderRow, row, used_by=tuple(sorted(key for provider, key in models if provider == row.id)), **hidden
        )
        for row in tables.providers
    )


def see_tools(_: EmptyRequest, scope: LibraryScope) -> tuple[ToolView, ...]:
    """The tools that models may call."""
    return tuple(view_of(ToolView, row, definition=thaw(row.definition)) for row in scope.contents.tables().tools)


def see_negatives(_: EmptyRequest, scope: LibraryScope) -> tuple[NegativeRow, ...]:
    """The fragments of negative prompts."""
    tables = scope.contents.tables()
    models = [(row.model_family, row.model_key) for row in tables.models]
    return tuple(
        view_of(NegativeRow, row, used_by=tuple(sorted(key for family, key in models if family == row.model_type)))
        for row in tables.negatives
        if scope.visitor.may_see(row.content_mode)
    )


def see_budgets(_: EmptyRequest, scope: LibraryScope) -> tuple[BudgetRow, ...]:
    """The tokens that each published template leaves."""
    published = sorted(_published(scope), key=lambda one: one.name)
    return tuple(row for version in published for row in _budget(scope.contents, version))


def _budget(contents: LibraryContents, version: TemplateVersion) -> Iterator[BudgetRow]:
    """Its room; none of one whose parts cannot be read."""
    reader = version.key.reader
    window, written = contents.window(reader), version.max_output_tokens or version.token_limit
    with suppress(InnkeeperError):
        estimate = worst_case(compose(version, contents.part), default_counter(), reader)
        yield BudgetRow(
            template=version.name,
            version=version.version,
            target=version.key.target_model,
            reader=reader,
            token_limit=version.token_limit,
            max_output_tokens=written,
            worst=estimate.total,
            unbounded=estimate.unbounded,
            window=window,
            fits=None if window is None else estimate.total + written <= window,
        )
