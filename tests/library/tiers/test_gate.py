"""The gate: one question for every way in and out, texts judged together and recorded without their words."""

import json

import pytest

from innkeeper.library.tier import Ceilings, Decision, Tier
from innkeeper.library.tiers.detector import Detector
from innkeeper.library.tiers.gate import TextKind, TierGate
from innkeeper.library.tiers.policy import TierPolicy

BAD = "a nude child"


@pytest.mark.parametrize("entry", TextKind)
@pytest.mark.parametrize("tier", ["sfw", "nsfw"])
def test_every_way_in_and_out_is_blocked(entry: TextKind, tier: str) -> None:
    """What is an absolute block is one for each kind of text, in each tier, and is recorded."""
    gate = TierGate.of(TierPolicy(adult_enabled=True))
    checked = gate.check({entry: BAD}, tier, Ceilings(account=Tier.NSFW))
    assert checked.decision.decision is Decision.BLOCK
    assert checked.event["entries"] == (entry,)
    assert checked.event["passed"] is False


def test_texts_of_one_request_are_judged_together() -> None:
    """A card and a message that pass alone are blocked together."""
    gate = TierGate.of()
    card, message = {TextKind.CARD: "She is 16 years old."}, {TextKind.USER_TEXT: "A romantic evening."}
    assert gate.check(card).decision.passed
    assert gate.check(message).decision.passed
    assert not gate.check({**card, **message}).decision.passed


def test_the_event_is_json_without_words() -> None:
    """Hashes, places, versions and reasons; none of the text."""
    text = "Marigold Ashby is nude"
    event = TierGate.of(None, Detector()).check({TextKind.USER_TEXT: text}).event
    told = json.dumps(event)
    assert not any(word in told for word in ("Marigold", "Ashby"))
    assert event["decision"] == "review"
    assert event["spans"][0] | {"entry": "", "category": ""} == {
        "start": 18,
        "end": 22,
        "weight": 0.5,
        "source": "user_text",
        "entry": "",
        "category": "",
    }
    assert (event["policy_version"], event["lexicon_version"]) == ("default", "detection-general@2")


def test_without_texts_only_ceilings_count() -> None:
    """A question without a text is not scanned, and says so."""
    decision = TierGate.of().check({}, "nsfw").decision
    assert (decision.effective, decision.scanned) == (Tier.SFW, False)
