"""Tier: which audience a request may be served for, and the one function that decides it for every way in.

The tier that counts is the lowest of what was asked for and of every ceiling. What a detector found may lower it or block
the request, and can never raise it (dynamic-prompting reference, S5, S6 and 3.1).
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from innkeeper.library.errors import TierBlockedError
from innkeeper.library.findings import Findings, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from innkeeper.library.tier_policy import TierPolicy

__all__ = ["Ceilings", "Decision", "Tier", "TierDecision", "effective_tier"]


class Tier(StrEnum):
    """An audience: ``sfw`` for everyone, ``nsfw`` for verified adults where the operator allows it."""

    SFW = "sfw"
    NSFW = "nsfw"

    @property
    def rank(self) -> int:
        """Its place in the order: a lower number is a wider audience."""
        return _RANKS[self]

    @classmethod
    def of(cls, value: Any) -> Tier:
        """The tier a value names exactly. Whatever else it is (missing, unknown, malformed) is ``sfw``."""
        return cls.NSFW if isinstance(value, str) and value == "nsfw" else cls.SFW

    @classmethod
    def lowest(cls, *tiers: Tier) -> Tier:
        """The lowest of several, ``sfw`` where there are none."""
        return min(tiers, key=lambda tier: tier.rank, default=cls.SFW)


_RANKS = {Tier.SFW: 0, Tier.NSFW: 1}


class Decision(StrEnum):
    """What becomes of a request. ``review`` passes only in the general tier: see `TierDecision.passed`."""

    ALLOW = "allow"
    LOWER = "lower"
    REVIEW = "review"
    BLOCK = "block"


class Ceilings(msgspec.Struct, frozen=True, omit_defaults=True):
    """The highest tier each side allows. None: that side says nothing, except ``account``, where it means not verified."""

    account: Tier | None = None
    workspace: Tier | None = None
    character: Tier | None = None
    scene: Tier | None = None
    model: Tier | None = None
    provider: Tier | None = None
    region: Tier | None = None

    def known(self) -> Iterator[tuple[str, Tier]]:
        """The ceilings that count, with the names of their sides. Values that name no tier are ``sfw``."""
        for side in self.__struct_fields__:
            value = getattr(self, side)
            if value is not None or side == "account":
                yield side, Tier.of(value)


class TierDecision(msgspec.Struct, frozen=True):
    """Which tier a request gets, whether it may go on, and why. It never holds the text it is about."""

    requested: Tier
    effective: Tier
    ceilings: Ceilings = Ceilings()
    reasons: tuple[str, ...] = ()
    decision: Decision = Decision.ALLOW
    categories: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    detector_version: str = ""
    lexicon_version: str = ""

    @property
    def scanned(self) -> bool:
        """Whether a detector has seen the text."""
        return bool(self.detector_version)

    @property
    def passed(self) -> bool:
        """Whether a model may be called: above ``sfw`` only what was scanned and needs no review."""
        if self.effective is Tier.SFW:
            return self.decision is not Decision.BLOCK
        return self.scanned and self.decision in {Decision.ALLOW, Decision.LOWER}

    def require(self) -> TierDecision:
        """The decision itself, where it `passed`.

        Raises:
            TierBlockedError: it did not; the error names categories and reasons.
        """
        if not self.passed:
            raise TierBlockedError(self.decision.value, self.effective.value, self.categories, self.reasons)
        return self


def effective_tier(
    requested: Any, ceilings: Ceilings | None = None, *, policy: TierPolicy, detection: Findings | None = None
) -> TierDecision:
    """The tier of a request and what becomes of it. Raises nothing: a block is part of the decision.

    ``requested`` may be anything; what names no tier is ``sfw``. Without ``detection`` only ceilings are applied, and an
    adult decision does not pass until the text is scanned.
    """
    asked, limits = Tier.of(requested), ceilings or Ceilings()
    known = (*limits.known(), ("policy", policy.ceiling))
    allowed = Tier.lowest(asked, *(tier for _, tier in known))
    reasons = tuple(f"ceiling:{side}" for side, tier in known if tier.rank < asked.rank)
    base = TierDecision(
        asked, allowed, limits, reasons, Decision.LOWER if allowed.rank < asked.rank else Decision.ALLOW
    )
    return base if detection is None else _with_detection(base, policy, detection)


def _with_detection(base: TierDecision, policy: TierPolicy, found: Findings) -> TierDecision:
    """The decision with what was found: the verdict for the tier, or lowered to ``sfw`` and its verdict there."""
    verdict = policy.judge(found, base.effective)
    effective, reasons = base.effective, (*base.reasons, *verdict.reasons)
    if verdict.decision is Decision.LOWER:
        effective = Tier.SFW
        below = policy.judge(found, effective)
        reasons += tuple(reason for reason in below.reasons if reason not in reasons)
        verdict = below if below.decision in {Decision.REVIEW, Decision.BLOCK} else verdict
    return msgspec.structs.replace(
        base,
        effective=effective,
        reasons=reasons,
        decision=base.decision if verdict.decision is Decision.ALLOW else verdict.decision,
        categories=verdict.categories,
        spans=found.spans,
        detector_version=found.detector_version,
        lexicon_version=found.lexicon_version,
    )
