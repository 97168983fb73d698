"""Answers: which template answers a request, and which tier a text gets, each with the path to it. Nothing is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from innkeeper.gate.evidence import ABSOLUTE
from innkeeper.gate.gate import TextKind, TierPolicy, character_ceiling
from innkeeper.gate.tier import Ceilings, Tier, TierDecision, effective_tier
from innkeeper.library.catalogue import resolver
from innkeeper.library.models.facts import ceilings_of
from innkeeper.prompt.errors import LimitError, UnknownNameError
from innkeeper.service.inspector.access import Visitor
from innkeeper.service.inspector.library.library_access import LibraryScope
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
from innkeeper.service.inspector.views.workspace import view_of

MAX_TIER_TEXT: Final = 200_000
"""Characters of a text whose tier is asked for in the inspector (`LimitError`)."""


def resolve(request: ResolutionRequest, scope: LibraryScope) -> ResolutionView:
    """Which template answers a request."""
    catalogue = scope.contents.catalogue()
    keys = (request.target_model, request.target_family, request.enhancer_model, request.enhancer_family)
    ceilings = ceilings_of(catalogue, _ceilings(scope.visitor), keys)
    tier = effective_tier(request.tier, ceilings, policy=scope.contents.rules.policy)
    fields = {name: value for name, value in msgspec.structs.asdict(request).items() if name != "tier"}
    resolution = resolver.resolve(resolver.ResolveRequest(**fields, content_mode=tier.effective), catalogue)
    template = resolution.template
    return view_of(
        ResolutionView,
        resolution,
        steps=tuple(
            ResolutionStepView(
                level=step.level,
                score=step.level.number,
                candidate=None if step.tried is None else str(step.tried),
                outcome=step.outcome.value,
                matched=step.outcome is resolver.LevelOutcome.FOUND,
                reason=step.reason,
            )
            for step in resolution.trace
        ),
        name=None if template is None else template.name,
        version=None if template is None else template.version,
        requested=tier.requested,
        granted=tier.effective,
        tier_reasons=_reasons(tier),
    )


def _ceilings(visitor: Visitor) -> Ceilings:
    """What the operator says of a visitor, never what it says of itself; whoever started the service was verified by nobody."""
    return Ceilings() if visitor.grant is None else visitor.grant.ceilings


def judge(request: TierRequest, scope: LibraryScope) -> TierView:
    """The tier of a text, and why."""
    if request.entry not in set(TextKind):
        raise UnknownNameError("entry", request.entry, list(TextKind))
    if len(request.text) > MAX_TIER_TEXT:
        raise LimitError("the text", limit="MAX_TIER_TEXT", allowed=MAX_TIER_TEXT, found=len(request.text))
    ceilings = _ceilings(scope.visitor)
    if request.rating is not None:
        character = character_ceiling(request.rating, request.declared_age)
        ceilings = Ceilings(account=ceilings.account, character=character)
    rules = scope.contents.rules
    decision, event = rules.gate.check({request.entry: request.text}, request.tier, ceilings)
    return view_of(
        TierView,
        decision,
        reasons=_reasons(decision),
        spans=tuple(view_of(TierSpan, span) for span in decision.spans),
        scores=tuple(CategoryScore(name, float(score)) for name, score in sorted(event["scores"].items()) if score),
        ceilings=tuple(TierCeiling(side, tier) for side, tier in (*ceilings.known(), ("policy", rules.policy.ceiling))),
        policy=tuple(_policy_rows(rules.policy)),
        policy_version=rules.policy.version,
        entries=tuple(TextKind),
    )


def _policy_rows(policy: TierPolicy) -> Iterator[PolicyRow]:
    """Its thresholds, and what blocks in each tier whatever they are."""
    for tier, thresholds in ((Tier.SFW, policy.sfw), (Tier.NSFW, policy.nsfw)):
        for category in sorted(ABSOLUTE | policy.absolute):
            yield PolicyRow(tier, category, None, None, None, absolute=True)
        for category, least in sorted(thresholds.items()):
            yield view_of(PolicyRow, least, tier=tier, category=category, absolute=False)


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
    """A reason with a sentence; its code is a kind and what it is about."""
    kind, _, about = code.partition(":")
    if kind == "ceiling":
        return TierReason(code, None, _SIDES.get(about, f"the {about} allows no higher tier"))
    if kind == "detector":
        return TierReason(code, None, f"the text could not be looked at in full ({about})")
    sentence = _CONSEQUENCES.get(kind)
    return TierReason(code, about or None, code if sentence is None else sentence.format(about.replace("_", " ")))
