"""ModelFacts: what the catalogue knows of the model a prompt is for or by: limits, tokenizer, ceilings, negative input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from innkeeper.library.catalogue.catalogue import Catalogue
from innkeeper.library.models.measure import CLIP, TokenizerSpec
from innkeeper.library.models.negatives import NegativeRow
from innkeeper.library.tier import Ceilings, Tier
from innkeeper.prompt.data import thaw
from innkeeper.prompt.errors import InnkeeperError, UnknownNameError

__all__ = ["CLIP_FAMILIES", "ModelFacts", "ceilings_of", "facts_of", "negative_rows", "require_known"]

CLIP_FAMILIES: Final = frozenset({"sdxl", "replicate-sdxl", "rv51", "sd15", "sd21"})
"""Families that read CLIP's window, where a model's row says nothing of its tokenizer."""

_IMAGES: Final = frozenset({"image", "video"})


class ModelFacts(msgspec.Struct, frozen=True):
    """One model. ``negative`` is off where it has no input for negative prompts; ``window`` None where it is not known."""

    key: str | None = None
    family: str | None = None
    window: int | None = None
    spec: TokenizerSpec | None = None
    char_limit: int | None = None
    negative: bool = True
    visual: bool = False
    known: bool = False

    def measured(self, limit: int) -> TokenizerSpec:
        """How the model reads: its own tokenizer, CLIP for families that read it, else a count of tokens up to ``limit``."""
        if self.spec is not None:
            return self.spec
        if {self.key, self.family} & CLIP_FAMILIES:
            return CLIP
        return TokenizerSpec("bpe", self.key or "", max(limit, 1))


def facts_of(
    catalogue: Catalogue, key: str | None, family: str | None = None, job_type: str | None = None
) -> ModelFacts:
    """What is known of a model; where it has no row, its key may be the name of a family."""
    row = _row(catalogue, key)
    if row is None:
        return ModelFacts(key, family or key, visual=job_type in _IMAGES)
    capabilities = row.get("capabilities") or {}
    return ModelFacts(
        key,
        family or row.get("model_family") or key,
        row.get("context_window"),
        _spec(row.get("tokenizer")),
        _count(capabilities.get("char_limit")),
        _takes_negative(capabilities),
        row.get("modality") in _IMAGES,
        known=True,
    )


def ceilings_of(catalogue: Catalogue, given: Ceilings, keys: Iterable[str | None]) -> Ceilings:
    """The ceilings with those of models and their providers, as their rows have them; of a family, those of all its models.

    A model that a catalogue with models does not know is for the general tier: a name nobody has entered gets around no ceiling.
    """
    named = [_models(catalogue, key) for key in keys if key and key.strip()]
    models = [row for rows in named for row in rows]
    unknown = bool(catalogue.models) and not all(named)
    owners = {row.get("provider_id") for row in models}
    providers = [row for row in catalogue.providers if row.get("id") in owners]
    least = Tier.SFW if unknown else given.model
    return msgspec.structs.replace(given, model=_least(least, models), provider=_least(given.provider, providers))


def _models(catalogue: Catalogue, key: str) -> list[Mapping[str, Any]]:
    row = _row(catalogue, key)
    return [row] if row is not None else [row for row in catalogue.models if row.get("model_family") == key]


def require_known(catalogue: Catalogue, key: str | None) -> None:
    """Refuse a model that the catalogue knows nothing of: not as a model, nor as a family, nor as the target of a template.

    Raises `UnknownNameError` with near names. A catalogue without models refuses nothing.
    """
    if key is None or not catalogue.models or facts_of(catalogue, key).known:
        return
    known = {str(row[name]) for row in catalogue.models for name in ("model_key", "model_family") if row.get(name)}
    keys = [row.version.key for row in catalogue.labelled]
    known |= {name for held in keys for name in (held.target_model, held.enhancer_model) if name}
    if key not in known:
        raise UnknownNameError("model", key, known)


def negative_rows(catalogue: Catalogue) -> tuple[NegativeRow, ...]:
    """The fragments of negative prompts. A row of no known tier is left aside."""
    return tuple(
        NegativeRow(
            id=str(row["id"]),
            model_type=str(row["model_type"]),
            negative_prompt=str(row["negative_prompt"]),
            content_mode=Tier(row["content_mode"]),
            generation_mode=str(row["generation_mode"]),
            priority=int(row["priority"]),
            is_active=bool(row["is_active"]),
        )
        for row in catalogue.negatives
        if row["content_mode"] in set(Tier)
    )


def _row(catalogue: Catalogue, key: str | None) -> Mapping[str, Any] | None:
    return None if key is None else next((row for row in catalogue.models if row.get("model_key") == key), None)


def _least(given: Tier | None, rows: Iterable[Mapping[str, Any]]) -> Tier | None:
    found = [Tier.of(row["tier_ceiling"]) for row in rows if row.get("tier_ceiling") is not None]
    found += [] if given is None else [given]
    return Tier.lowest(*found) if found else None


def _spec(value: Any) -> TokenizerSpec | None:
    """A row's tokenizer; one that cannot be read is as none."""
    try:
        return None if value is None else msgspec.convert(thaw(value), TokenizerSpec)
    except (msgspec.ValidationError, InnkeeperError):
        return None


def _takes_negative(capabilities: Mapping[str, Any]) -> bool:
    if capabilities.get("negative_prompt") is False:
        return False
    schema = capabilities.get("input_schema")
    return not isinstance(schema, Mapping) or "negative_prompt" in schema


def _count(value: Any) -> int | None:
    return value if type(value) is int and value > 0 else None
