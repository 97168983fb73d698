"""Tiers: the lowest ceiling decides, detection never raises, and nothing unknown is above the general tier."""

from itertools import product

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.gate.gate import Thresholds, TierPolicy
from innkeeper.gate.tier import Ceilings, Decision, ScanFindings, Tier, TierDecision, effective_tier
from innkeeper.library.errors import TierBlockedError

SIDES = Ceilings.__struct_fields__
OPEN = TierPolicy(adult_enabled=True)
ADULT = Ceilings(account=Tier.NSFW)
CLEAN = ScanFindings(detector_version="1", lexicon_version="t@1")

categories = st.sampled_from(["age", "age_setting", "romantic", "sexual", "trafficking", "violence", "other"])
levels = st.none() | st.floats(0, 1)
thresholds = st.dictionaries(categories, st.builds(Thresholds, lower=levels, review=levels, block=levels), max_size=4)
policies = st.builds(TierPolicy, adult_enabled=st.booleans(), sfw=thresholds, nsfw=thresholds)
findings = st.builds(
    ScanFindings,
    scores=st.dictionaries(categories, st.floats(0, 1), max_size=4),
    detector_version=st.sampled_from(["", "1"]),
    failed=st.sampled_from(["", "classifier_timeout"]),
)
asked = st.sampled_from([None, "sfw", "nsfw", Tier.SFW, Tier.NSFW, "NSFW", " nsfw", 1, True, ["nsfw"], "adult"])


@pytest.mark.parametrize("requested", [None, "sfw", "nsfw"])
@pytest.mark.parametrize("enabled", [True, False])
def test_every_combination_of_ceilings(requested: str | None, enabled: bool) -> None:
    """For all combinations, the effective tier is the lowest of the request, the policy and each ceiling."""
    policy = TierPolicy(adult_enabled=enabled)
    for values in product([None, Tier.SFW, Tier.NSFW], repeat=len(SIDES)):
        ceilings = Ceilings(*values)
        decision = effective_tier(requested, ceilings, policy=policy, detection=CLEAN)
        low = requested != "nsfw" or not enabled or Tier.SFW in values or ceilings.account is None
        assert decision.effective is (Tier.SFW if low else Tier.NSFW)
        assert decision.passed


@given(asked, st.lists(st.sampled_from([None, *Tier]), min_size=len(SIDES), max_size=len(SIDES)), policies, findings)
def test_detection_never_raises_a_tier(
    requested: object, values: list[Tier | None], policy: TierPolicy, found: ScanFindings
) -> None:
    """Whatever is asked, allowed and found: the tier is at most each ceiling, and at most what it is without detection."""
    ceilings = Ceilings(*values)
    without = effective_tier(requested, ceilings, policy=policy)
    decision = effective_tier(requested, ceilings, policy=policy, detection=found)
    assert decision.effective.rank <= without.effective.rank <= Tier.of(requested).rank
    for _, ceiling in ceilings.known():
        assert decision.effective.rank <= ceiling.rank
    assert decision.effective.rank <= policy.ceiling.rank


@given(policies, st.sampled_from(["age", "age_setting"]), st.sampled_from(["romantic", "sexual"]), findings)
def test_no_setting_lets_ages_pass_in_an_adult_context(
    policy: TierPolicy, age: str, context: str, found: ScanFindings
) -> None:
    """Age-indicating with sexual or romantic content is blocked in every tier, whatever the policy."""
    scores = {**found.scores, age: 0.5, context: 0.5}
    found = msgspec.structs.replace(found, scores=scores)
    for requested in Tier:
        decision = effective_tier(requested, ADULT, policy=policy, detection=found)
        assert decision.decision is Decision.BLOCK
        assert "age_ambiguous" in decision.categories
        assert not decision.passed


@given(policies, st.sampled_from(["age", "age_setting"]))
def test_no_setting_lets_ages_pass_in_the_adult_tier(policy: TierPolicy, age: str) -> None:
    """What indicates an age is blocked in the adult tier by itself."""
    found = msgspec.structs.replace(CLEAN, scores={age: 0.5})
    decision = effective_tier("nsfw", ADULT, policy=policy, detection=found)
    assert (decision.decision is Decision.BLOCK) is policy.adult_enabled or decision.effective is Tier.SFW


@given(findings, policies)
def test_absolute_categories_block(found: ScanFindings, policy: TierPolicy) -> None:
    """An absolute category blocks in both tiers whatever the other scores."""
    found = msgspec.structs.replace(found, scores={**found.scores, "non_consent": 0.6})
    assert all(effective_tier(tier, ADULT, policy=policy, detection=found).decision is Decision.BLOCK for tier in Tier)


@pytest.mark.parametrize("value", [None, "", "NSFW", " nsfw", "adult", 1, True, ["nsfw"], b"nsfw", object()])
def test_what_names_no_tier_is_the_general_one(value: object) -> None:
    """Missing, malformed and unknown values are ``sfw``."""
    assert Tier.of(value) is Tier.SFW


def test_a_failed_scan_closes_the_adult_tier_only() -> None:
    """What could not be scanned needs review: the general tier goes on, the adult tier does not."""
    failed = ScanFindings(detector_version="1", failed="classifier_timeout")
    low = effective_tier("sfw", ADULT, policy=OPEN, detection=failed)
    high = effective_tier("nsfw", ADULT, policy=OPEN, detection=failed)
    assert (low.decision, low.passed, low.reasons) == (Decision.REVIEW, True, ("detector:classifier_timeout",))
    assert (high.decision, high.passed, high.effective) == (Decision.REVIEW, False, Tier.NSFW)


def test_without_a_scan_the_adult_tier_does_not_pass() -> None:
    """Ceilings alone choose a template; a model is called only after a scan."""
    decision = effective_tier("nsfw", ADULT, policy=OPEN)
    assert decision.effective is Tier.NSFW
    with pytest.raises(TierBlockedError, match="not scanned"):
        decision.require()


def test_detection_lowers_where_the_policy_says_so() -> None:
    """A category with a threshold for lowering serves the request in the general tier, where it is judged again."""
    policy = TierPolicy(adult_enabled=True, nsfw={"violence": Thresholds(lower=0.3)})
    mild = msgspec.structs.replace(CLEAN, scores={"violence": 0.4})
    decision = effective_tier("nsfw", ADULT, policy=policy, detection=mild)
    assert (decision.effective, decision.decision, decision.categories) == (Tier.SFW, Decision.LOWER, ("violence",))
    assert decision.require() is decision
    both = msgspec.structs.replace(CLEAN, scores={"violence": 0.4, "sexual": 0.9})
    blocked = effective_tier("nsfw", ADULT, policy=policy, detection=both)
    assert (blocked.effective, blocked.decision) == (Tier.SFW, Decision.BLOCK)


def test_the_error_names_categories_and_no_text() -> None:
    """A block is a typed error with its facts."""
    found = msgspec.structs.replace(CLEAN, scores={"age": 0.8, "sexual": 0.5})
    with pytest.raises(TierBlockedError) as caught:
        effective_tier("sfw", policy=TierPolicy(), detection=found).require()
    assert caught.value.http_status == 403
    assert caught.value.to_dict()["details"]["categories"] == ["age_ambiguous", "sexual"]
    assert caught.value.reasons[0] == "absolute:age_ambiguous"


def test_reasons_name_the_ceilings() -> None:
    """Every side that lowered a request is named."""
    decision = effective_tier("nsfw", Ceilings(model=Tier.SFW), policy=TierPolicy())
    assert decision.reasons == ("ceiling:account", "ceiling:model", "ceiling:policy")
    assert decision.decision is Decision.LOWER


def test_a_decision_is_data() -> None:
    """A decision survives JSON."""
    decision = effective_tier("nsfw", ADULT, policy=OPEN, detection=CLEAN)
    assert msgspec.json.decode(msgspec.json.encode(decision), type=TierDecision) == decision


def test_the_lowest_of_nothing_is_the_general_tier() -> None:
    """Without any tier there is only the general one."""
    assert Tier.lowest() is Tier.SFW
