"""Tier: the audience of a request or of a model, and the error of a request that does not pass in its tier."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from innkeeper.prompt.errors import InnkeeperError


class Tier(StrEnum):
    """An audience: ``sfw`` for everyone, ``nsfw`` for verified adults where the operator allows it."""

    SFW = "sfw"
    NSFW = "nsfw"

    @property
    def rank(self) -> int:
        """Its place in the order: a lower number is a wider audience."""
        return int(self == "nsfw")  # enumeration members are slow to hash

    @classmethod
    def of(cls, value: Any) -> Tier:
        """The tier a value names exactly. Whatever else it is (missing, unknown, malformed) is ``sfw``."""
        return cls.NSFW if isinstance(value, str) and value == "nsfw" else cls.SFW

    @classmethod
    def lowest(cls, *tiers: Tier) -> Tier:
        """Return the lowest tier, ``sfw`` without any."""
        return min(tiers, key=lambda tier: tier.rank, default=cls.SFW)


class TierBlockedError(InnkeeperError):
    """A request that may not go on. ``decision`` is ``block`` or ``review``; the text is never part of the error."""

    exit_code = 65
    http_status = 403
    HINT = "no setting lifts an absolute block; what waits for review is for the operator to decide"

    def __init__(
        self, decision: str, tier: str, categories: Iterable[str] = (), reasons: Iterable[str] = (), **kwargs: Any
    ) -> None:
        self.decision, self.tier = decision, tier
        self.categories, self.reasons = tuple(categories), tuple(reasons)
        what = ", ".join(self.categories) or ", ".join(self.reasons) or "not scanned"
        facts: dict[str, Any] = {
            "decision": decision,
            "tier": tier,
            "categories": self.categories,
            "reasons": self.reasons,
        }
        super().__init__(f"the request does not pass in the {tier} tier ({decision}: {what})", **facts, **kwargs)
