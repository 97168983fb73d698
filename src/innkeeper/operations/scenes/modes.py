"""SceneMode: what a scene continues, and how closely its picture follows.

The mode follows from stored records (the previous scene, the template, a picture to change), never from a field of the request;
strength and seed follow from the mode and from the character's consistency settings (dynamic-prompting reference 3.7 step 3,
3.9, 6.7).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from innkeeper.library.errors import FieldError
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import Where


class SceneMode(StrEnum):
    """What a scene continues: the first that applies."""

    MODIFICATION = "modification"
    CONTINUATION = "continuation"
    FIRST_FROM_TEMPLATE = "first_from_template"
    NONE = "none"


class Environment(msgspec.Struct, frozen=True):
    """The mode with the picture it is based on; None in mode ``none``."""

    mode: SceneMode
    picture: str | None = None


def environment_of(
    *, changed: str | None = None, before: str | None = None, template: str | None = None, override: str = ""
) -> Environment:
    """Return the mode of a scene.

    Args:
        changed: the picture to change, if its scene was found.
        before: the picture of the previous scene, if there is one.
        template: the picture of the template.
        override: the requested change, in words.
    """
    if override.strip() and changed:
        return Environment(SceneMode.MODIFICATION, changed)
    if before:
        return Environment(SceneMode.CONTINUATION, before)
    if template:
        return Environment(SceneMode.FIRST_FROM_TEMPLATE, template)
    return Environment(SceneMode.NONE)


STRENGTHS: Final = FrozenDict(modification=0.5, continuation=0.45, first_from_template=0.7, none=0.7)
"""Default strengths by mode: how much of the base picture may change, from 0 to 1."""


class Method(StrEnum):
    """How a character is kept consistent between pictures."""

    SEED_LOCKED = "seed_locked"
    I2I_REFERENCE = "i2i_reference"
    HYBRID = "hybrid"


class Consistency(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Consistency settings of a character. A seed of 0 is a seed; ``denoise_strength`` overrides ``reference_strength``."""

    method: Method = Method.I2I_REFERENCE
    seed_value: int | None = None
    reference_strength: float | None = None
    denoise_strength: float | None = None

    def __post_init__(self) -> None:
        """Refuse strengths beyond 0 and 1, and seeds below 0. Raises `FieldError`."""
        for name in ("reference_strength", "denoise_strength"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise FieldError(f"{name} is between 0 and 1", where=Where(path=f"consistency_settings.{name}"))
        if self.seed_value is not None and not 0 <= self.seed_value < 2**63:
            raise FieldError("a seed is 0 or more", where=Where(path="consistency_settings.seed_value"))

    @property
    def sends_reference(self) -> bool:
        """Whether pictures of the persons are sent with the prompt."""
        return self.method is not Method.SEED_LOCKED

    def seed(self, *others: int | None) -> int | None:
        """Return the request's own seed, else, if the seed is locked, the first of ``others`` that is set."""
        locked = () if self.method is Method.I2I_REFERENCE else others
        return next((seed for seed in (self.seed_value, *locked) if seed is not None), None)


def strength_of(mode: SceneMode, settings: Consistency) -> float:
    """Return how much of the base picture may change."""
    if settings.denoise_strength is not None:
        return settings.denoise_strength
    if settings.reference_strength is not None:
        return round(1 - settings.reference_strength, 6)
    return float(STRENGTHS[mode.value])
