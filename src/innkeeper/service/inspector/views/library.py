"""Library: what it holds at a glance, and its models, providers, tools, negative prompts and budgets."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from innkeeper.prompt.tier import Tier
from innkeeper.service.inspector.views.workspace import ProblemView


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
    address: str = msgspec.field(name="place")
    writable: bool
    rights: LibraryRights
    revision: int
    ceiling: Tier
    policy: str
    counts: LibraryCounts
    problem: ProblemView | None = None


_CATALOGUE: Final = {
    "model_key": "key",
    "model_family": "family",
    "context_window": "window",
    "display_name": "title",
    "tier_ceiling": "ceiling",
    "is_active": "active",
    "updated_at": "changed",
    "base_url": "address",
    "auth_scheme": "auth",
    "secret_name": "secret",
    "model_type": "family",
    "content_mode": "tier",
    "generation_mode": "mode",
    "negative_prompt": "text",
}
"""What the page calls the columns of the catalogue."""


class ModelRow(msgspec.Struct, frozen=True, kw_only=True, rename=_CATALOGUE):
    """A model of the catalogue. ``default_for`` are tasks, ``used_by`` templates that are for it or written by it."""

    model_key: str
    display_name: str
    provider: str | None
    modality: str
    model_family: str | None
    tasks: tuple[str, ...]
    default_for: tuple[str, ...]
    context_window: int | None
    priority: int
    tier_ceiling: Tier | None
    is_active: bool
    replaced_by: str | None
    used_by: tuple[str, ...]


class ProviderRow(msgspec.Struct, frozen=True, kw_only=True, rename=_CATALOGUE):
    """A provider of models. ``secret`` is the name of its key in the vault."""

    name: str
    display_name: str
    base_url: str | None
    auth_scheme: str
    secret_name: str | None
    tier_ceiling: Tier | None
    is_active: bool
    used_by: tuple[str, ...]


class ToolView(msgspec.Struct, frozen=True, kw_only=True, rename=_CATALOGUE):
    """A tool that models may call, with its definition."""

    name: str
    description: str
    provider: str | None
    model: str | None
    is_active: bool
    updated_at: str
    definition: Any


class NegativeRow(msgspec.Struct, frozen=True, kw_only=True, rename=_CATALOGUE):
    """A fragment of the negative prompts of a family of models. ``used_by`` are the models of the family."""

    id: str
    model_type: str
    content_mode: Tier
    generation_mode: str
    priority: int
    is_active: bool
    negative_prompt: str
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
