"""The operator's policy: safe as it is made, and verifications that hold only when they are complete."""

import json
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from innkeeper.library.tier import Ceilings, Decision, ScanFindings, Tier
from innkeeper.library.tiers.detector import Detector
from innkeeper.library.tiers.evidence import ABSOLUTE
from innkeeper.library.tiers.gate import (
    AgeVerification,
    TextKind,
    Thresholds,
    TierGate,
    TierPolicy,
    account_ceiling,
    character_ceiling,
)

NOW = datetime(2026, 1, 15, tzinfo=UTC)
GOOD = AgeVerification(verified=True, method="document", expiry=NOW + timedelta(days=1), verifier="desk")


def test_the_default_policy_has_no_adult_tier() -> None:
    """Nothing above ``sfw`` exists until the operator says so."""
    assert TierPolicy().ceiling is Tier.SFW
    assert TierPolicy(adult_enabled=True).ceiling is Tier.NSFW
    assert TierPolicy(adult_enabled="yes").ceiling is Tier.SFW  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "tier"),
    [
        ({}, Tier.NSFW),
        ({"verified": False}, Tier.SFW),
        ({"verified": "true"}, Tier.SFW),
        ({"method": " "}, Tier.SFW),
        ({"verifier": ""}, Tier.SFW),
        ({"expiry": NOW}, Tier.SFW),
        ({"expiry": (NOW + timedelta(days=1)).replace(tzinfo=None)}, Tier.SFW),
        ({"since": NOW}, Tier.NSFW),
        ({"since": NOW + timedelta(seconds=1)}, Tier.SFW),
        ({"since": NOW.replace(tzinfo=None)}, Tier.SFW),
    ],
    ids=[
        "complete",
        "not verified",
        "a text",
        "no method",
        "no verifier",
        "expired",
        "no zone",
        "begun",
        "clock set back",
        "begun without a zone",
    ],
)
def test_only_a_complete_verification_holds(change: dict[str, object], tier: Tier) -> None:
    """Each part of a record is needed."""
    assert account_ceiling(msgspec.structs.replace(GOOD, **change), NOW) is tier


def test_a_clock_without_a_zone_opens_nothing() -> None:
    """A moment that is not known for certain is none."""
    assert account_ceiling(GOOD, NOW.replace(tzinfo=None)) is Tier.SFW


def test_no_verification_is_the_general_tier() -> None:
    """An account without a record is not verified."""
    assert account_ceiling(None, NOW) is Tier.SFW


@pytest.mark.parametrize(
    ("rating", "age", "tier"),
    [
        ("nsfw", 18, Tier.NSFW),
        ("nsfw", 17, Tier.SFW),
        ("nsfw", None, Tier.SFW),
        ("nsfw", True, Tier.SFW),
        ("sfw", 40, Tier.SFW),
        ("adult", 40, Tier.SFW),
    ],
)
def test_characters_need_a_declared_adult_age(rating: str, age: int | None, tier: Tier) -> None:
    """A rating alone opens nothing."""
    assert character_ceiling(rating, age) is tier


def test_thresholds_take_the_gravest() -> None:
    """Of several consequences the gravest counts; a score of 0 has none."""
    marks = Thresholds(lower=0.1, review=0.4, block=0.7)
    assert [marks.decide(score) for score in (0, 0.1, 0.4, 0.7)] == [
        Decision.ALLOW,
        Decision.LOWER,
        Decision.REVIEW,
        Decision.BLOCK,
    ]
    assert Thresholds(block=0.0).decide(0.0) is Decision.ALLOW


def test_absolute_categories_can_be_added_only() -> None:
    """A policy's own absolute categories stand beside those that are always there."""
    policy = TierPolicy(absolute=frozenset({"gore"}))
    for category in (*ABSOLUTE, "gore"):
        assert policy.judge(ScanFindings(scores={category: 0.5}), Tier.SFW).decision is Decision.BLOCK


def test_a_policy_is_data() -> None:
    """A policy survives JSON, as the database keeps it."""
    policy = TierPolicy(adult_enabled=True, nsfw={"gore": Thresholds(review=0.5)}, version="2")
    assert msgspec.json.decode(msgspec.json.encode(policy), type=TierPolicy) == policy


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
    assert (event["policy_version"], event["lexicon_version"]) == ("default", "detection-general@3")


def test_without_texts_only_ceilings_count() -> None:
    """A question without a text is not scanned, and says so."""
    decision = TierGate.of().check({}, "nsfw").decision
    assert (decision.effective, decision.scanned) == (Tier.SFW, False)
