"""SceneMode: what a scene goes on from, and how the picture of it keeps to what there is.

The mode follows from what is known here (the scene before, the template, a picture that is to be changed), never from what a
client says that it is; strength and seed follow from the mode and from how the character stays the same (dynamic-prompting
reference 3.7 step 3, 3.9, 6.7).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from innkeeper.library.errors import FieldError
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import Where


class SceneMode(StrEnum):
    """What a scene goes on from, the first that there is."""

    MODIFICATION = "modification"
    CONTINUATION = "continuation"
    FIRST_FROM_TEMPLATE = "first_from_template"
    NONE = "none"


class Environment(msgspec.Struct, frozen=True):
    """The mode with the one picture that it stands on; none in mode ``none``."""

    mode: SceneMode
    picture: str | None = None


def environment_of(
    *, changed: str | None = None, before: str | None = None, template: str | None = None, override: str = ""
) -> Environment:
    """The mode of a scene.

    Args:
        changed: the picture that is to be changed, where its scene was looked up.
        before: the picture of the scene before, where that was looked up.
        template: the picture of the template.
        override: what is to be changed, in words.
    """
    if override.strip() and changed:
        return Environment(SceneMode.MODIFICATION, changed)
    if before:
        return Environment(SceneMode.CONTINUATION, before)
    if template:
        return Environment(SceneMode.FIRST_FROM_TEMPLATE, template)
    return Environment(SceneMode.NONE)


STRENGTHS: Final = FrozenDict(
    {
        SceneMode.MODIFICATION.value: 0.5,
        SceneMode.CONTINUATION.value: 0.45,
        SceneMode.FIRST_FROM_TEMPLATE.value: 0.7,
        SceneMode.NONE.value: 0.7,
    }
)
"""How much of the picture that is started from may change, from 0 to 1, unless a request says otherwise."""


class Method(StrEnum):
    """How a character stays the same from picture to picture."""

    SEED_LOCKED = "seed_locked"
    I2I_REFERENCE = "i2i_reference"
    HYBRID = "hybrid"


class Consistency(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a character stays the same. A seed of 0 is a seed; ``denoise_strength`` goes before ``reference_strength``."""

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
    def locks_seed(self) -> bool:
        """Whether the seed is used again."""
        return self.method is not Method.I2I_REFERENCE

    @property
    def sends_reference(self) -> bool:
        """Whether pictures of the persons go with the prompt."""
        return self.method is not Method.SEED_LOCKED

    def seed(self, *others: int | None) -> int | None:
        """The seed: the request's own, else, where the seed is locked, the first of ``others`` that there is."""
        known = (self.seed_value, *(others if self.locks_seed else ()))
        return next((seed for seed in known if seed is not None), None)


def strength_of(mode: SceneMode, asked: Consistency) -> float:
    """How much may change."""
    if asked.denoise_strength is not None:
        return asked.denoise_strength
    if asked.reference_strength is not None:
        return round(1 - asked.reference_strength, 6)
    return float(STRENGTHS[mode.value])
