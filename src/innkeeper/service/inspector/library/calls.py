"""Calls: what each route of the library does, from its path, query and body to a view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from getpass import getuser
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.library.tier import Ceilings, Tier
from innkeeper.prompt.errors import UsageError
from innkeeper.prompt.machine import utc_now
from innkeeper.prompt.once import convert, decode
from innkeeper.service.inspector.access import Visitor
from innkeeper.service.inspector.library import answers, records, rows, templates
from innkeeper.service.inspector.library.room import LibraryRoom
from innkeeper.service.inspector.views.answers import ResolutionView, ResolveRequest, TierRequest, TierView
from innkeeper.service.inspector.views.library import (
    BudgetRow,
    LibraryView,
    ModelRow,
    NegativeRow,
    ProviderRow,
    ToolRow,
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


Asked = Mapping[str, Any]


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


def _number(asked: Asked, name: str) -> int | None:
    text = asked.get(name) or None
    try:
        return convert(text, int | None, strict=False)
    except msgspec.ValidationError:
        raise UsageError(f"{name} is a number, not {str(text)[:20]!r}") from None


def see_library(room: LibraryRoom, visitor: Visitor, _: Asked, __: bytes) -> LibraryView:
    """The library at a glance."""
    return room.look(lambda shelf: rows.overview(shelf, admin=visitor.is_admin))


def see_templates(room: LibraryRoom, visitor: Visitor, asked: Asked, _: bytes) -> tuple[TemplateSummary, ...]:
    """The templates by name."""
    search, after = asked.get("search", ""), asked.get("after", "")
    return room.look(lambda shelf: templates.summaries(shelf, ceiling_of(visitor), search=search, after=after))


def see_template(room: LibraryRoom, visitor: Visitor, asked: Asked, _: bytes) -> TemplateView:
    """A template with one version."""
    tier, version = ceiling_of(visitor), _number(asked, "version")
    return room.look(lambda shelf: templates.template_view(shelf, tier, asked["name"], version))


def see_changes(room: LibraryRoom, visitor: Visitor, asked: Asked, _: bytes) -> Changes:
    """Two versions of a template."""
    tier, before, after = ceiling_of(visitor), _number(asked, "a"), _number(asked, "b")
    return room.look(lambda shelf: templates.changes(shelf, tier, asked["name"], before, after))


def draft(room: LibraryRoom, visitor: Visitor, asked: Asked, body: bytes) -> TemplateView:
    """A new version, or what would be wrong with it, which everybody may ask."""
    wanted, tier, name = decode(body, DraftRequest), ceiling_of(visitor), asked["name"]
    if wanted.check:
        return room.look(lambda shelf: templates.checked_draft(shelf, tier, name, wanted))
    visitor.require_admin("change templates")
    return _changed(
        room, tier, name, lambda library: templates.draft_version(library, tier, name, wanted, who_is(visitor))
    )


def publish(room: LibraryRoom, visitor: Visitor, asked: Asked, body: bytes) -> TemplateView:
    """Let a label point at a version."""
    wanted, tier, name = decode(body, PublishRequest), ceiling_of(visitor), asked["name"]
    return _changed(room, tier, name, lambda library: templates.publish(library, tier, name, wanted, who_is(visitor)))


def roll_back(room: LibraryRoom, visitor: Visitor, asked: Asked, body: bytes) -> TemplateView:
    """Let a label point at an earlier version."""
    wanted, tier, name = decode(body, RollbackRequest), ceiling_of(visitor), asked["name"]
    return _changed(room, tier, name, lambda library: templates.roll_back(library, tier, name, wanted, who_is(visitor)))


def _changed(room: LibraryRoom, tier: Tier, name: str, change: Callable[[Library], int]) -> TemplateView:
    """The template after a change."""
    with room.changing() as library:
        version = change(library)
    return room.look(lambda shelf: templates.template_view(shelf, tier, name, version))


# --------------------------------------------------------------------------------------------------------------- answering


def _allowed(visitor: Visitor) -> Ceilings:
    """What the operator says of a visitor; whoever started the service was verified by nobody."""
    return Ceilings() if visitor.grant is None else visitor.grant.ceilings


def resolve(room: LibraryRoom, visitor: Visitor, _: Asked, body: bytes) -> ResolutionView:
    """Which template answers a request."""
    wanted = decode(body, ResolveRequest)
    return room.look(lambda shelf: answers.resolution(shelf, _allowed(visitor), wanted))


def judge(room: LibraryRoom, visitor: Visitor, _: Asked, body: bytes) -> TierView:
    """The tier of a text."""
    wanted = decode(body, TierRequest)
    return room.look(lambda shelf: answers.tier_of(shelf, _allowed(visitor), wanted))


# --------------------------------------------------------------------------------------------------------------- catalogue


def see_models(room: LibraryRoom, visitor: Visitor, _: Asked, __: bytes) -> tuple[ModelRow, ...]:
    """The models."""
    return room.look(lambda shelf: rows.models(shelf, ceiling_of(visitor)))


def see_providers(room: LibraryRoom, visitor: Visitor, _: Asked, __: bytes) -> tuple[ProviderRow, ...]:
    """The providers."""
    return room.look(lambda shelf: rows.providers(shelf, admin=visitor.is_admin))


def see_tools(room: LibraryRoom, _: Visitor, __: Asked, ___: bytes) -> tuple[ToolRow, ...]:
    """The tools."""
    return room.look(rows.tools)


def see_negatives(room: LibraryRoom, visitor: Visitor, _: Asked, __: bytes) -> tuple[NegativeRow, ...]:
    """The fragments of negative prompts."""
    return room.look(lambda shelf: rows.negatives(shelf, ceiling_of(visitor)))


def see_budgets(room: LibraryRoom, visitor: Visitor, _: Asked, __: bytes) -> tuple[BudgetRow, ...]:
    """The room of each published template."""
    return room.look(lambda shelf: rows.budgets(shelf, ceiling_of(visitor)))


# ----------------------------------------------------------------------------------------------------------------- records

_COLUMNS: Final = {"template": "template_name", "status": "status", "request": "request_id", "tier": "effective_tier"}


def see_log(room: LibraryRoom, _: Visitor, asked: Asked, __: bytes) -> LogPage:
    """The newest calls."""
    where = {_COLUMNS[name]: value for name, value in asked.items() if name in _COLUMNS and value}
    before = _number(asked, "before")
    return room.look(lambda shelf: records.log_page(shelf, before, where))


def see_metrics(room: LibraryRoom, _: Visitor, asked: Asked, __: bytes) -> MetricsView:
    """The calls of the last hours by time."""
    hours = _number(asked, "hours")
    return room.look(lambda shelf: records.metrics(shelf, 24 if hours is None else hours, utc_now()))


def see_vault(room: LibraryRoom, _: Visitor, __: Asked, ___: bytes) -> VaultNames:
    """The names in the vault."""
    return room.look(records.vault_names)
