"""TemplateKey: what a template is for, the five parts by which one is chosen; and the levels on which they are matched."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from innkeeper.library.errors import RowError
from innkeeper.library.tier import Tier
from innkeeper.prompt.canonical import to_json

__all__ = ["PARTIAL", "Level", "TemplateKey", "model_key"]

PARTIAL: Final = "partial"
"""The use case of a template that only others include."""


class Level(StrEnum):
    """On which level a template was found; tried from the first to the last (reference §2.6)."""

    EXACT = "exact"
    """The target's own key, and the enhancer asked for (its key, then its family)."""
    ANY_ENHANCER = "any_enhancer"
    """The target's own key; a row for any enhancer, then one for another."""
    FAMILY = "family"
    """The target's family."""
    UNIVERSAL = "universal"
    """No target: for every model."""
    LOWER_TIER = "lower_tier"
    """The four above again, in a lower tier; never in a higher one."""
    BUILTIN = "builtin"
    """A template that comes with Innkeeper."""
    PASSTHROUGH = "passthrough"
    """No template: the text stays as it is, and says so. Only for `enhancement`."""
    UNAVAILABLE = "unavailable"
    """No template: an error."""

    @property
    def number(self) -> int:
        """The document's integer fallback level: 0 for `exact` to 7 for `unavailable`."""
        return _NUMBERS[self]


_NUMBERS: Final = {level: number for number, level in enumerate(Level)}


class TemplateKey(msgspec.Struct, frozen=True, kw_only=True):
    """The selection key. None in a part means *any*; an empty text is None (`TemplateKey.of`)."""

    use_case: str
    content_mode: Tier = Tier.SFW
    target_model: str | None = None
    """The model that consumes the text: its key, a family, or None, universal."""
    enhancer_model: str | None = None
    """The model that writes the text: its key, a family, or None for any."""
    job_type: str | None = None

    @classmethod
    def of(
        cls,
        use_case: str,
        content_mode: object = Tier.SFW,
        target_model: str | None = None,
        enhancer_model: str | None = None,
        job_type: str | None = None,
    ) -> TemplateKey:
        """A key from outside data: blanks are None.

        Raises `RowError` for an unknown tier: a template of one must not pass for a general one.
        """
        try:
            tier = Tier(str(content_mode))
        except ValueError:
            known = ", ".join(Tier)
            raise RowError(f"content_mode is one of {known}, not {content_mode!r}") from None
        return cls(
            use_case=use_case.strip(),
            content_mode=tier,
            target_model=model_key(target_model),
            enhancer_model=model_key(enhancer_model),
            job_type=model_key(job_type),
        )

    @property
    def text(self) -> str:
        """The key as one text, different for different keys: what a unique index can hold."""
        parts = (self.use_case, self.content_mode.value, self.target_model, self.enhancer_model, self.job_type)
        return to_json(parts).decode()

    def __str__(self) -> str:
        """For people: ``enhancement / image / sdxl / any / sfw``."""
        parts = (self.use_case, self.job_type, self.target_model, self.enhancer_model)
        return " / ".join([*(part or "any" for part in parts), self.content_mode.value])


def model_key(value: str | None) -> str | None:
    """A part of a key without surrounding blanks; None for an empty one."""
    return (value or "").strip() or None
