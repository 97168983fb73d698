"""The rows of models, providers and negative prompts, as their stores and a catalogue hold them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from innkeeper.gate.tier import Tier
from innkeeper.library import rows
from innkeeper.library.rows import StoredRow
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.errors import FormatError, Where

R = TypeVar("R", bound=msgspec.Struct)


class CatalogueModel(StoredRow, frozen=True, kw_only=True):
    """A row of ``api_models``; a catalogue holds it without its dates."""

    id: str = ""
    provider_id: str = ""
    model_key: str
    version: str | None = None
    display_name: str = ""
    modality: str = ""
    tasks: tuple[str, ...] = ()
    priority: int = 0
    model_family: str | None = None
    endpoint_path: str | None = None
    input_defaults: FrozenDict = EMPTY
    capabilities: FrozenDict = EMPTY
    context_window: int | None = None
    tokenizer: FrozenDict | None = None
    pricing: FrozenDict = EMPTY
    tier_ceiling: Tier | None = None
    output_format: str | None = None
    avg_generation_time: float | None = None
    is_active: bool = True
    created_at: str = ""
    updated_at: str = ""
    replaced_by: str | None = None
    deprecated_at: str | None = None


class CatalogueProvider(StoredRow, frozen=True, kw_only=True):
    """A row of ``api_providers``; a catalogue holds it without its dates."""

    id: str
    name: str = ""
    display_name: str = ""
    base_url: str | None = None
    docs_url: str | None = None
    auth_scheme: str = "bearer"
    auth_header_name: str = "Authorization"
    secret_name: str | None = None
    rate_limits: FrozenDict = EMPTY
    tier_ceiling: Tier | None = None
    is_active: bool = True
    created_at: str = ""
    updated_at: str = ""


class CatalogueNegative(StoredRow, frozen=True, kw_only=True):
    """A row of ``negative_prompts``: a fragment, or several between commas, for a family, tier and mode."""

    id: str
    model_type: str
    content_mode: Tier = Tier.SFW
    generation_mode: str = "txt2img"
    negative_prompt: str
    priority: int = 1
    is_active: bool = True
    description: str = ""
    created_by: str = ""
    created_at: str = ""
    updated_at: str = ""


def read_row(row: Mapping[str, Any], kind: type[R]) -> R:
    """Return a stored row as a struct. Raises `FormatError` where a plain column holds a value of another type."""
    try:
        return rows.read_row(row, kind)
    except msgspec.ValidationError as error:
        where = Where(asset=kind.__name__, path=str(row.get("model_key") or row.get("id") or ""))
        raise FormatError(f"a row of the catalogue cannot be read: {error}", where=where) from error


DATES: Final = frozenset({"created_at", "updated_at"})
"""Columns that change nothing of an answer: a catalogue does not hold them."""

_TIERS: Final = frozenset(Tier)


def catalogue_rows(rows: Iterable[Mapping[Any, Any]], kind: type[R]) -> tuple[R, ...]:
    """Return stored rows as structs; one of an unknown tier is left out, so that it never counts as a general one.

    Raises `FormatError`, as `read_row`.
    """
    return tuple([read_row(row, kind) for row in rows if row.get("content_mode", Tier.SFW) in _TIERS])
