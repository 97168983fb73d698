"""TierGate: what every way in and out asks before anything goes on, and the event that records the answer.

A request's texts are judged together: what is harmless in each may not be harmless side by side. Texts are never changed,
and the event has hashes and places, never words (dynamic-prompting reference 3.2 and S1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from innkeeper.library.tier import Ceilings, ScanFindings, Tier, TierDecision, combined, effective_tier
from innkeeper.library.tiers.detector import Detector, default_detector
from innkeeper.library.tiers.policy import TierPolicy
from innkeeper.prompt.data import FrozenDict

__all__ = ["Checked", "TextKind", "TierGate", "tier_event"]


class TextKind(StrEnum):
    """Where a text enters or leaves."""

    USER_TEXT = "user_text"
    HISTORY = "history"
    SYSTEM_PROMPT = "system_prompt"
    CARD = "card"
    SCENE = "scene"
    MODEL_OUTPUT = "model_output"
    IMAGE_CAPTION = "image_caption"


class Checked(NamedTuple):
    """A decision and the audit event that records it."""

    decision: TierDecision
    event: FrozenDict


@dataclass(frozen=True, slots=True)
class TierGate:
    """The operator's policy and a detector. Its answers raise nothing: `TierDecision.require` does."""

    policy: TierPolicy
    detector: Detector

    @classmethod
    def of(cls, policy: TierPolicy | None = None, detector: Detector | None = None) -> TierGate:
        """A gate with the defaults where nothing is given: general tier, packaged list."""
        return cls(policy or TierPolicy(), detector or default_detector())

    def check(
        self,
        texts: Mapping[str, str] | Mapping[TextKind, str],
        requested: Any = None,
        ceilings: Ceilings | None = None,
    ) -> Checked:
        """The decision about the texts of one request, named by their `Entry` (or a name that begins with it)."""
        found = combined((str(name), self.detector.scan(text)) for name, text in texts.items())
        decision = effective_tier(requested, ceilings, policy=self.policy, detection=found if texts else None)
        return Checked(decision, tier_event(decision, found, self.policy, tuple(map(str, texts))))

    def check_saved(self, texts: Mapping[str, str] | Mapping[TextKind, str], tier: Any) -> Checked:
        """The decision about what is to be stored for a tier, judged in that tier whether the installation has it or not."""
        own = Tier.of(tier)
        found = combined((str(name), self.detector.scan(text)) for name, text in texts.items())
        policy = msgspec.structs.replace(self.policy, adult_enabled=own is not Tier.SFW)
        decision = effective_tier(own, Ceilings(account=own), policy=policy, detection=found)
        return Checked(decision, tier_event(decision, found, self.policy, tuple(map(str, texts))))


def tier_event(decision: TierDecision, found: ScanFindings, policy: TierPolicy, entries: tuple[str, ...]) -> FrozenDict:
    """A decision as an audit event keeps it: JSON-ready, without a word of the texts."""
    facts = msgspec.to_builtins(decision)
    more = {
        "entries": entries,
        "text_sha256": found.text_sha256,
        "failed": found.failed,
        "policy_version": policy.version,
    }
    return FrozenDict({**facts, **more, "passed": decision.passed, "scores": dict(found.scores)})
