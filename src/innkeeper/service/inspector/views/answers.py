"""Answers: which template answers a request, and which tier a text gets."""

from __future__ import annotations

from typing import Literal

import msgspec

from innkeeper.prompt.tier import Tier


class ResolutionRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a template is wanted for. ``tier`` is what is asked for; what is granted depends on the operator."""

    use_case: str
    tier: Tier = Tier.SFW
    job_type: str | None = None
    target_model: str | None = None
    target_family: str | None = None
    enhancer_model: str | None = None
    enhancer_family: str | None = None
    label: str = "production"
    lower_tier: bool = True


class ResolutionStepView(msgspec.Struct, frozen=True, rename={"reason": "why"}):
    """A level that was tried: the key that it looks for, what came of it, and why. ``score``: 0 is nearest to the request."""

    level: str
    score: int
    candidate: str | None
    outcome: Literal["found", "nothing", "skipped"]
    matched: bool
    reason: str


class ResolutionView(msgspec.Struct, frozen=True, kw_only=True):
    """Which template answers, and the path to it. ``reasons`` say why an answer is a makeshift."""

    steps: tuple[ResolutionStepView, ...]
    name: str | None
    version: int | None
    level: str
    source: str
    execution: str
    requested: Tier
    granted: Tier
    tier_reasons: tuple[TierReason, ...]
    degraded: bool
    reasons: tuple[str, ...]


class TierRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A text to be judged: where it enters, the tier asked for, and what is known of the character that speaks."""

    text: str
    entry: str = "user_text"
    tier: Tier = Tier.SFW
    rating: str | None = None
    declared_age: int | None = None


class TierReason(msgspec.Struct, frozen=True):
    """Why a tier was granted or not: a code such as ``ceiling:account``, what it is about, and a sentence."""

    code: str
    category: str | None
    message: str


class TierSpan(msgspec.Struct, frozen=True):
    """Characters of the text that count for a category, by an entry of a list, with its weight from 0 to 1."""

    start: int
    end: int
    category: str
    entry: str
    weight: float


class CategoryScore(msgspec.Struct, frozen=True):
    """How much of a category is in the text, from 0 to 1."""

    category: str
    score: float


class TierCeiling(msgspec.Struct, frozen=True):
    """The highest tier that one side allows."""

    side: str
    tier: Tier


class PolicyRow(msgspec.Struct, frozen=True):
    """The scores from which on a category has a consequence in a tier. ``absolute``: it blocks, and no setting changes that."""

    tier: Tier
    category: str
    lower: float | None
    review: float | None
    block: float | None
    absolute: bool


class TierView(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={"effective": "granted", "detector_version": "detector", "lexicon_version": "lexicon"},
):
    """The tier that is granted a text, and why. ``entries`` are the places where a text may enter."""

    requested: Tier
    effective: Tier
    decision: str
    passed: bool
    reasons: tuple[TierReason, ...]
    spans: tuple[TierSpan, ...]
    scores: tuple[CategoryScore, ...]
    ceilings: tuple[TierCeiling, ...]
    policy: tuple[PolicyRow, ...]
    policy_version: str
    detector_version: str
    lexicon_version: str
    entries: tuple[str, ...]
