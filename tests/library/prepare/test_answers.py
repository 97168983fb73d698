"""Answers: their reasons, whether they are degraded, and their facts."""

from __future__ import annotations

import json

import msgspec
import pytest

from innkeeper.gate.tier import Decision, Tier, TierDecision
from innkeeper.library.catalogue.resolver import Resolution, ResolveRequest, resolve
from innkeeper.library.prepare.request import (
    RenderedAnswer,
    Resolved,
    require_complete,
    resolution_facts,
    template_facts,
    tier_facts,
)
from innkeeper.library.templates.rendering import RenderedTemplate
from innkeeper.prompt.errors import StrictModeError
from tests.library.making import catalogue, made

ALLOWED = TierDecision(Tier.SFW, Tier.SFW, detector_version="1")
LOWERED = TierDecision(Tier.NSFW, Tier.SFW, reasons=("ceiling:account",), decision=Decision.LOWER)
REVIEW = TierDecision(Tier.SFW, Tier.SFW, reasons=("age",), decision=Decision.REVIEW)
SAID = TierDecision(Tier.SFW, Tier.SFW, reasons=("seen",))
VERSION = made("a", "A secret text.")


def resolution(**changes: object) -> Resolution:
    """A resolution that found its template."""
    found = resolve(ResolveRequest(use_case="enhancement"), catalogue(VERSION))
    return msgspec.structs.replace(found, **changes)


@pytest.mark.parametrize(
    ("tier", "more", "reasons"),
    [
        (ALLOWED, (), ()),
        (SAID, (), ()),
        (LOWERED, (), ("ceiling:account",)),
        (REVIEW, (), ("age",)),
        (ALLOWED, ("stale",), ("stale",)),
        (LOWERED, ("stale",), ("ceiling:account", "stale")),
    ],
    ids=["complete", "said in passing", "lowered", "review", "stale", "both"],
)
def test_an_answer_is_degraded_where_it_has_reasons(
    tier: TierDecision, more: tuple[str, ...], reasons: tuple[str, ...]
) -> None:
    """A tier that was lowered or wants a review, and what the catalogue says, are reasons; strict callers get an error."""
    found = resolution(reasons=more)
    rendered = RenderedTemplate(text="x", version_id="id-a:1")
    for answer in (Resolved(tier, found), RenderedAnswer(tier=tier, resolution=found, rendered=rendered)):
        assert (answer.reasons, answer.degraded) == (reasons, bool(reasons))
        facts = answer.to_dict()
        assert (facts["reasons"], facts["degraded"]) == (list(reasons), bool(reasons))
        if not reasons:
            require_complete(answer)
            continue
        with pytest.raises(StrictModeError) as info:
            require_complete(answer)
        assert info.value.details["reasons"] == list(reasons)


def test_facts_are_json_without_the_templates_text() -> None:
    """What is told of a resolution names the template and the way to it, and never its text."""
    facts = resolution_facts(resolution())
    assert facts["template"] == template_facts(VERSION)
    assert facts["template"]["sha256"] == VERSION.content_sha256
    assert [step["outcome"] for step in facts["trace"]][-1] == "found"
    assert "secret" not in json.dumps(facts)
    assert resolution_facts(resolution(template=None))["template"] is None


@pytest.mark.parametrize(("tier", "passed"), [(ALLOWED, True), (LOWERED, True), (REVIEW, True)])
def test_tier_facts_say_whether_it_passed(tier: TierDecision, *, passed: bool) -> None:
    """A decision as data says itself whether a model may be called."""
    facts = tier_facts(tier)
    assert (facts["passed"], facts["decision"], facts["effective"]) == (passed, tier.decision.value, "sfw")
    json.dumps(facts)


def test_a_text_may_be_rendered_without_a_resolution() -> None:
    """A version that was named needs no resolution: there is none among the facts, and no reason from one."""
    answer = RenderedAnswer(
        tier=ALLOWED, resolution=None, rendered=RenderedTemplate(text="x", version_id="id-a:1"), cached=True
    )
    assert answer.reasons == ()
    assert "resolution" not in answer.to_dict()
    assert answer.to_dict()["text"] == "x"
