"""Resolve: which template a request gets, on which level it was found, and why on no earlier one (reference §2.6).

Three answers are kept apart: the *level* (how near to what was asked), the *source* (where it was read) and the *execution*
(what will run: a model, rules, or nothing).
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from innkeeper.library.catalogue import Catalogue, Source
from innkeeper.library.key import Level, TemplateKey
from innkeeper.library.template import PRODUCTION, TemplateVersion
from innkeeper.library.tier import Tier

__all__ = ["Execution", "Outcome", "Resolution", "ResolveRequest", "Source", "TraceStep", "resolve"]


class Execution(StrEnum):
    """What runs with the answer."""

    MODEL = "model"
    RULES = "rules"
    NONE = "none"


class Outcome(StrEnum):
    """What came of one level."""

    FOUND = "found"
    NOTHING = "nothing"
    SKIPPED = "skipped"


class ResolveRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a template is wanted for. ``content_mode`` is the *effective* tier; families default to those of the catalogue."""

    use_case: str
    job_type: str | None = None
    target_model: str | None = None
    target_family: str | None = None
    enhancer_model: str | None = None
    enhancer_family: str | None = None
    content_mode: Tier = Tier.SFW
    label: str = PRODUCTION
    lower_tier: bool = True
    """Whether a template of a lower tier will do where this one has none."""


class TraceStep(msgspec.Struct, frozen=True):
    """One level that was tried: with which key, what came of it, and why."""

    level: Level
    tried: TemplateKey | None
    outcome: Outcome
    reason: str


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """The answer. ``matched`` is the level within `lower_tier` and `builtin`; elsewhere the level itself."""

    template: TemplateVersion | None
    level: Level
    matched: Level
    source: Source
    execution: Execution
    tier_lowered: bool = False
    degraded: bool = False
    reasons: tuple[str, ...] = ()
    trace: tuple[TraceStep, ...] = ()
    revision: int = 0

    @property
    def fallback_level(self) -> int:
        """The document's integer: 0 for `exact` to 7 for `unavailable`."""
        return self.level.number

    @property
    def enhanced(self) -> bool:
        """Whether a text will be changed at all; false for `passthrough`."""
        return self.template is not None


def resolve(request: ResolveRequest, catalogue: Catalogue, builtins: Catalogue | None = None) -> Resolution:
    """The template for a request."""
    raise NotImplementedError
