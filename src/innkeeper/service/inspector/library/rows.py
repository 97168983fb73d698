"""Rows: the library at a glance, and its models, providers, tools, negative prompts and budgets, each with where it is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

import msgspec

from innkeeper.library.catalogue.rows import CatalogueModel
from innkeeper.library.templates.partials import compose
from innkeeper.library.templates.publish import worst_case
from innkeeper.library.templates.template import PRODUCTION, TemplateVersion
from innkeeper.library.tier import Tier
from innkeeper.prompt.data import thaw
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.service.inspector.library.contents import DatabaseContents, LibraryContents
from innkeeper.service.inspector.library.templates import reader_of
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
from innkeeper.service.inspector.views.workspace import problem_of
from innkeeper.tokens import default_counter


def overview(contents: LibraryContents, *, admin: bool) -> LibraryView:
    """The library at a glance; only an administrator is told where it is, and how much others did."""
    there = isinstance(contents, DatabaseContents)
    policy, rows = contents.rules.policy, contents.counts()
    problem = None if contents.problem is None else problem_of(contents.problem)
    if problem is not None and not admin:
        problem = msgspec.structs.replace(problem, where=None)
    return LibraryView(
        source=contents.source,
        place=contents.library.db.place if admin and isinstance(contents, DatabaseContents) else "",
        writable=there and admin,
        rights=LibraryRights(write=admin, oversee=admin),
        revision=contents.revision,
        ceiling=policy.ceiling.value,
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


def _published(contents: LibraryContents, ceiling: Tier) -> tuple[TemplateVersion, ...]:
    """The versions in production of which a visitor may know."""
    rows = (row for row in contents.catalogue().labelled if row.label == PRODUCTION)
    return tuple(row.version for row in rows if row.version.key.content_mode.rank <= ceiling.rank)


def models(contents: LibraryContents, ceiling: Tier) -> tuple[ModelRow, ...]:
    """The models in their order."""
    tables = contents.tables()
    providers = {row.id: row.name for row in tables.providers}
    defaults = _defaults(contents)
    published = _published(contents, ceiling)
    return tuple(_model(row, providers.get(row.provider_id), defaults, published) for row in tables.models)


def _defaults(contents: LibraryContents) -> Mapping[str, str]:
    if not isinstance(contents, DatabaseContents):
        return {}
    from innkeeper.library.models.stores import ModelStore

    return ModelStore(contents.library.db).defaults()


def _model(
    row: CatalogueModel, provider: str | None, defaults: Mapping[str, str], published: tuple[TemplateVersion, ...]
) -> ModelRow:
    names = {row.model_key, row.model_family} - {None}
    return ModelRow(
        key=row.model_key,
        title=row.display_name,
        provider=provider,
        modality=row.modality,
        family=row.model_family,
        tasks=row.tasks,
        default_for=tuple(task for task, key in defaults.items() if key == row.model_key),
        window=row.context_window,
        priority=row.priority,
        ceiling=None if row.tier_ceiling is None else row.tier_ceiling.value,
        active=row.is_active,
        replaced_by=row.replaced_by,
        used_by=tuple(sorted(one.name for one in published if names & {one.key.target_model, one.key.enhancer_model})),
    )


def providers(contents: LibraryContents, *, admin: bool) -> tuple[ProviderRow, ...]:
    """The providers by name; their addresses and the names of their secrets are for an administrator."""
    users: dict[str, list[str]] = {}
    tables = contents.tables()
    for row in tables.models:
        users.setdefault(row.provider_id, []).append(row.model_key)
    return tuple(
        ProviderRow(
            name=row.name,
            title=row.display_name,
            address=row.base_url if admin else None,
            auth=row.auth_scheme,
            secret=row.secret_name if admin else None,
            ceiling=None if row.tier_ceiling is None else row.tier_ceiling.value,
            active=row.is_active,
            used_by=tuple(sorted(users.get(row.id, ()))),
        )
        for row in tables.providers
    )


def tools(contents: LibraryContents) -> tuple[ToolView, ...]:
    """The tools by name."""
    return tuple(
        ToolView(
            name=row.name,
            description=row.description,
            provider=row.provider,
            model=row.model,
            active=row.is_active,
            changed=row.updated_at,
            definition=thaw(row.definition),
        )
        for row in contents.tables().tools
    )


def negatives(contents: LibraryContents, ceiling: Tier) -> tuple[NegativeRow, ...]:
    """The fragments of negative prompts in their order."""
    users: dict[str, list[str]] = {}
    tables = contents.tables()
    for row in tables.models:
        users.setdefault(row.model_family or "", []).append(row.model_key)
    return tuple(
        NegativeRow(
            id=row.id,
            family=row.model_type,
            tier=row.content_mode.value,
            mode=row.generation_mode,
            priority=row.priority,
            active=row.is_active,
            text=row.negative_prompt,
            used_by=tuple(sorted(users.get(row.model_type, ()))),
        )
        for row in tables.negatives
        if row.content_mode.rank <= ceiling.rank
    )


def budgets(contents: LibraryContents, ceiling: Tier) -> tuple[BudgetRow, ...]:
    """The room of each published template, by name."""
    published = sorted(_published(contents, ceiling), key=lambda one: one.name)
    return tuple(row for version in published for row in _budget(contents, version))


def _budget(contents: LibraryContents, version: TemplateVersion) -> Iterator[BudgetRow]:
    """Its room; none of one whose parts cannot be read."""
    reader = reader_of(version)
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
