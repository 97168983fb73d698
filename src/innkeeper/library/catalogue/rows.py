"""The rows of models, providers and negative prompts as a catalogue holds them: a struct a table, read once, at its edge.

What is saved was checked (`innkeeper.library.db.rows.checked`); what other programs wrote, or an older snapshot holds, is read
tolerantly: NULL is the default, and JSON of another kind than its column's counts as empty. An unknown tier is the general one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from innkeeper.library.tier import Tier
from innkeeper.prompt.data import EMPTY, FrozenDict, freeze
from innkeeper.prompt.errors import FormatError, Where
from innkeeper.prompt.once import convert

R = TypeVar("R", bound=msgspec.Struct)


class CatalogueModel(msgspec.Struct, frozen=True, kw_only=True):
    """A row of ``api_models``, without its dates."""

    model_key: str
    id: str = ""
    provider_id: str = ""
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
    replaced_by: str | None = None
    deprecated_at: str | None = None


class CatalogueProvider(msgspec.Struct, frozen=True, kw_only=True):
    """A row of ``api_providers``, without its dates."""

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


class CatalogueNegative(msgspec.Struct, frozen=True):
    """A row of ``negative_prompts``, without its dates: a fragment, or several between commas, for a family, tier and mode."""

    id: str
    model_type: str
    negative_prompt: str
    content_mode: Tier = Tier.SFW
    generation_mode: str = "txt2img"
    priority: int = 1
    is_active: bool = True
    description: str = ""
    created_by: str = ""


_OBJECTS: Final = ("input_defaults", "capabilities", "tokenizer", "pricing", "rate_limits")


def read_row(row: Mapping[str, Any], kind: type[R]) -> R:
    """Return a stored row as a struct. Raises `FormatError` where a plain column holds a value of another type."""
    values = {name: freeze(row[name]) for name in kind.__struct_fields__ if row.get(name) is not None}
    for name in _OBJECTS:
        if not isinstance(values.get(name, EMPTY), Mapping):
            del values[name]
    if "tasks" in values:
        tasks = values["tasks"]
        values["tasks"] = tuple(map(str, tasks)) if isinstance(tasks, tuple) else ()
    if "tier_ceiling" in values:
        values["tier_ceiling"] = Tier.of(values["tier_ceiling"])
    try:
        return convert(values, kind)
    except msgspec.ValidationError as error:
        where = Where(asset=kind.__name__, path=str(row.get("model_key") or row.get("id") or ""))
        raise FormatError(f"a row of the catalogue cannot be read: {error}", where=where) from error
