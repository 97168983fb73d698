"""Library: what it holds at a glance, and its models, providers, tools, negative prompts and budgets."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from innkeeper.service.inspector.views.workspace import ProblemView

TierName = Literal["sfw", "nsfw"]


class LibraryCounts(msgspec.Struct, frozen=True):
    """How many rows there are."""

    templates: int = 0
    models: int = 0
    providers: int = 0
    tools: int = 0
    negatives: int = 0
    calls: int = 0
    secrets: int = 0


class LibraryRights(msgspec.Struct, frozen=True):
    """What whoever looks may do: change templates (``write``), see the log and the names in the vault (``oversee``)."""

    write: bool
    oversee: bool


class LibraryView(msgspec.Struct, frozen=True):
    """Where the library is. Without a database, its snapshot or what comes with Innkeeper is shown; ``problem`` says why.

    ``writable``: whether publishing works here, for whoever looks. ``ceiling`` is the highest tier that the operator allows.
    """

    source: Literal["database", "snapshot", "builtin"]
    place: str
    writable: bool
    rights: LibraryRights
    revision: int
    ceiling: TierName
    policy: str
    counts: LibraryCounts
    problem: ProblemView | None = None


class ModelRow(msgspec.Struct, frozen=True, kw_only=True):
    """A model of the catalogue. ``default_for`` are tasks, ``used_by`` templates that are for it or written by it."""

    key: str
    title: str
    provider: str | None
    modality: str
    family: str | None
    tasks: tuple[str, ...]
    default_for: tuple[str, ...]
    window: int | None
    priority: int
    ceiling: TierName | None
    active: bool
    replaced_by: str | None
    used_by: tuple[str, ...]


class ProviderRow(msgspec.Struct, frozen=True, kw_only=True):
    """A provider of models. ``secret`` is the name of its key in the vault."""

    name: str
    title: str
    address: str | None
    auth: str
    secret: str | None
    ceiling: TierName | None
    active: bool
    used_by: tuple[str, ...]


class ToolView(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that models may call, with its definition."""

    name: str
    description: str
    provider: str | None
    model: str | None
    active: bool
    changed: str
    definition: Any


class NegativeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A fragment of the negative prompts of a family of models. ``used_by`` are the models of the family."""

    id: str
    family: str
    tier: TierName
    mode: str
    priority: int
    active: bool
    text: str
    used_by: tuple[str, ...]


class BudgetRow(msgspec.Struct, frozen=True, kw_only=True):
    """The room of a published template: what is made with it, what its reader writes, and how long its own text can become.

    ``worst`` counts variables at their caps; those of ``unbounded`` have none. ``fits`` is null where no window is known.
    """

    template: str
    version: int
    target: str | None
    reader: str | None
    token_limit: int
    max_output_tokens: int
    worst: int
    unbounded: tuple[str, ...]
    window: int | None
    fits: bool | None
