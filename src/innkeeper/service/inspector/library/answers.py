"""Answers: which template answers a request, and which tier a text gets, each with the path to it. Nothing is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from innkeeper.library.catalogue.resolver import ResolveRequest as Wanted
from innkeeper.library.catalogue.resolver import resolve
from innkeeper.library.models.facts import ceilings_of
from innkeeper.library.tier import Ceilings, Tier, TierDecision, effective_tier
from innkeeper.library.tiers.evidence import ABSOLUTE
from innkeeper.library.tiers.gate import TextKind, TierPolicy, character_ceiling
from innkeeper.prompt.errors import LimitError, UnknownNameError
from innkeeper.service.inspector.library.contents import LibraryContents
from innkeeper.service.inspector.views.answers import (
    CategoryScore,
    PolicyRow,
    ResolutionRequest,
    ResolutionStepView,
    ResolutionView,
    TierCeiling,
    TierReason,
    TierRequest,
    TierSpan,
    TierView,
)

MAX_TIER_TEXT: Final = 200_000
"""Characters of a text whose tier is asked for in the inspector (`LimitError`)."""


def resolution(contents: LibraryContents, allowed: Ceilings, asked: ResolutionRequest) -> ResolutionView:
    """Which template answers, in the tier that is granted, with every level that was tried.

    ``allowed`` is what is known of whoever asks, never what they say of themselves. Raises `FieldError`.
    """
    catalogue = contents.catalogue()
    keys = (asked.target_model, asked.target_family, asked.enhancer_model, asked.enhancer_family)
    tier = effective_tier(asked.tier, ceilings_of(catalogue, allowed, keys), policy=contents.rules.policy)
    request = Wanted(
        use_case=asked.use_case,
        job_type=asked.job_type,
        target_model=asked.target_model,
        target_family=asked.target_family,
        enhancer_model=asked.enhancer_model,
        enhancer_family=asked.enhancer_family,
        content_mode=tier.effective,
        label=asked.label,
        lower_tier=asked.lower_tier,
    )
    resolution = resolve(request, catalogue)
    return ResolutionView(
        steps=tuple(
            ResolutionStepView(
                level=step.level.value,
                score=step.level.number,
                candidate=None if step.tried is None else str(step.tried),
                outcome=step.outcome.value,
                matched=step.outcome.value == "found",
                why=step.reason,
            )
            for step in resolution.trace
        ),
        name=None if resolution.template is None else resolution.template.name,
        version=None if resolution.template is None else resolution.template.version,
        level=resolution.level.value,
        source=resolution.source.value,
        execution=resolution.execution.value,
        requested=tier.requested.value,
        granted=tier.effective.value,
        tier_reasons=_reasons(tier),
        degraded=resolution.degraded,
        reasons=resolution.reasons,
    )


def tier_of(contents: LibraryContents, allowed: Ceilings, asked: TierRequest) -> TierView:
    """The tier of a text, with what was found where, and the policy that it was judged by.

    Raises:
        UnknownNameError: there is no such place where a text enters.
        LimitError: the text is too long.
    """
    if asked.entry not in set(TextKind):
        raise UnknownNameError("entry", asked.entry, list(TextKind))
    if len(asked.text) > MAX_TIER_TEXT:
        raise LimitError("the text", limit="MAX_TIER_TEXT", allowed=MAX_TIER_TEXT, found=len(asked.text))
    if asked.rating is not None:
        allowed = Ceilings(account=allowed.account, character=character_ceiling(asked.rating, asked.declared_age))
    rules = contents.rules
    decision, event = rules.gate.check({asked.entry: asked.text}, asked.tier, allowed)
    return TierView(
        requested=decision.requested.value,
        granted=decision.effective.value,
        decision=decision.decision.value,
        passed=decision.passed,
        reasons=_reasons(decision),
        spans=tuple(TierSpan(one.start, one.end, one.category, one.entry, one.weight) for one in decision.spans),
        scores=tuple(CategoryScore(name, float(score)) for name, score in sorted(event["scores"].items()) if score),
        ceilings=tuple(
            TierCeiling(side, tier.value) for side, tier in (*allowed.known(), ("policy", rules.policy.ceiling))
        ),
        policy=tuple(_policy_rows(rules.policy)),
        policy_version=rules.policy.version,
        detector=decision.detector_version,
        lexicon=decision.lexicon_version,
        entries=tuple(TextKind),
    )


def _policy_rows(policy: TierPolicy) -> Iterator[PolicyRow]:
    """Its thresholds, and what blocks in each tier whatever they are."""
    for tier, thresholds in ((Tier.SFW, policy.sfw), (Tier.NSFW, policy.nsfw)):
        for category in sorted(ABSOLUTE | policy.absolute):
            yield PolicyRow(tier.value, category, None, None, None, absolute=True)
        for category, least in sorted(thresholds.items()):
            yield PolicyRow(tier.value, category, least.lower, least.review, least.block, absolute=False)


_SIDES: Final = {
    "account": "the account that asks was not verified to be an adult's",
    "policy": "the operator has not enabled this tier",
}
_CONSEQUENCES: Final = {
    "lower": "more of {} than this tier takes: a lower one is granted",
    "review": "{} is to be looked at before it goes on above the general tier",
    "hold": "{} is held until a classifier or a person has looked at it",
    "block": "more of {} than the policy takes",
    "absolute": "{} is blocked in every tier, and no setting changes that",
}


def _reasons(decision: TierDecision) -> tuple[TierReason, ...]:
    return tuple(map(_reason, decision.reasons))


def _reason(code: str) -> TierReason:
    kind, _, about = code.partition(":")
    if kind == "ceiling":
        return TierReason(code, None, _SIDES.get(about, f"the {about} allows no higher tier"))
    if kind == "detector":
        return TierReason(code, None, f"the text could not be looked at in full ({about})")
    sentence = _CONSEQUENCES.get(kind)
    return TierReason(code, about or None, code if sentence is None else sentence.format(about.replace("_", " ")))
