"""TierGate: what every way in and out asks before anything goes on, the policy it asks by, and the event that records the answer.

`TierPolicy` is what the operator of an installation allows, and who counts as a verified adult. Everything starts at ``sfw``.
The adult tier needs the operator's policy *and* a verification that a server-side verifier wrote; neither is ever read from what
a client sends (dynamic-prompting reference, S4, S5 and S8).

A request's texts are judged together: what is harmless in each may not be harmless side by side. Texts are never changed,
and the event has hashes and places, never words (dynamic-prompting reference 3.2 and S1).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import Context
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial
from itertools import pairwise
from typing import Any, Final, NamedTuple

import msgspec

from innkeeper.gate.detector import Detector, Named, default_detector
from innkeeper.gate.evidence import ABSOLUTE, FAMILY
from innkeeper.gate.limits import ADULT_AGE, MAX_SCAN_CHARS
from innkeeper.gate.rows import about_ages
from innkeeper.gate.second_reader import SecondReader, is_lifted, read_again
from innkeeper.gate.tier import (
    Ceilings,
    Decision,
    ScanFindings,
    Tier,
    TierDecision,
    combined,
    effective_tier,
    relations,
)
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.errors import LimitError, Where
from innkeeper.prompt.typed.once import once

_ABSOLUTE_SCORE: Final = 0.5
_AGE_SCORE: Final = 0.4
_UNWILLING: Final = frozenset({"non_consent:depicted", "sexual:depicted"})
"""Words of unwillingness weigh too little by themselves; beside depicted sex they do not."""

_LIFTED: Final = 0.2
"""Below this score for ``minor_sexual`` a guest classifier lifts what is held."""

_AGE_INDICATING: Final = frozenset({"age", FAMILY, "age_setting"})
"""Categories that suggest a person is under age: words and numbers of age, and places of childhood.

Children who are asleep or away suggest it of nobody who is depicted; where sex is depicted beside them, a row blocks."""


class AgeVerification(msgspec.Struct, frozen=True):
    """What a server-side verifier recorded about an account. ``expiry`` is the first moment it no longer holds.

    ``since`` is when it was recorded: a clock that was set back before then does not bring an expired one to life.
    """

    verified: bool
    method: str
    expiry: datetime
    verifier: str
    since: datetime | None = None

    def holds(self, now: datetime) -> bool:
        """Whether it is in force at an aware moment: verified, with a method and a verifier, begun and not expired."""
        complete = self.verified is True and bool(self.method.strip()) and bool(self.verifier.strip())
        moments = [now, self.expiry, *([] if self.since is None else [self.since])]
        if not complete or any(moment.tzinfo is None for moment in moments):
            return False
        return (self.since is None or self.since <= now) and now < self.expiry


class Thresholds(msgspec.Struct, frozen=True, omit_defaults=True):
    """The scores from which on a category has a consequence in one tier. None: it never has this one."""

    lower: float | None = None
    review: float | None = None
    block: float | None = None

    def decide(self, score: float) -> Decision:
        """The gravest consequence of a score; 0 has none."""
        order = ((self.block, Decision.BLOCK), (self.review, Decision.REVIEW), (self.lower, Decision.LOWER))
        return next((decision for least, decision in order if least is not None and 0 < score >= least), Decision.ALLOW)


class PolicyVerdict(msgspec.Struct, frozen=True):
    """What findings mean in one tier: the gravest consequence, the categories that have it or more, and why."""

    decision: Decision = Decision.ALLOW
    categories: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


_GRAVITY: Final = {Decision.ALLOW: 0, Decision.LOWER: 1, Decision.REVIEW: 2, Decision.HOLD: 3, Decision.BLOCK: 4}
_SFW: Final = FrozenDict({"sexual": Thresholds(review=0.4, block=0.7)})


class TierPolicy(msgspec.Struct, frozen=True, omit_defaults=True):
    """The operator's policy. As it is made without arguments, nothing above ``sfw`` exists.

    ``sfw`` and ``nsfw`` give thresholds by category; ``absolute`` adds categories that block whatever the settings.
    ``version`` names the policy in audit events.
    """

    adult_enabled: bool = False
    sfw: Mapping[str, Thresholds] = _SFW
    nsfw: Mapping[str, Thresholds] = EMPTY
    absolute: frozenset[str] = frozenset()
    version: str = "default"
    acknowledged: str = ""
    """Who answers for the adult tier of the model doors without a second reader, in the operator's own words."""

    @property
    def ceiling(self) -> Tier:
        """The highest tier this installation has at all."""
        return Tier.NSFW if self.adult_enabled is True else Tier.SFW

    def judge(self, findings: ScanFindings, tier: Tier) -> PolicyVerdict:
        """What findings mean in a tier. Absolute rules come first and read no setting.

        A failed scan means ``review``; one that did not see the whole text ``block``, since absolute rules could not be asked.
        """
        marks: list[tuple[Decision, str, str]] = []
        if findings.scores or findings.ages or findings.contexts or findings.relations:
            marks = _absolute(findings, tier, self.absolute)
            for name, limits in sorted((self.nsfw if tier is Tier.NSFW else self.sfw).items()):
                decision = limits.decide(_score(findings, name))
                if decision is not Decision.ALLOW:
                    marks.append((decision, name, f"{decision.value}:{name}"))
        if findings.failed or not findings.whole:
            decision = Decision.REVIEW if findings.whole else Decision.BLOCK
            marks.append((decision, "", f"detector:{findings.failed or 'not_whole'}"))
        gravest = max((mark[0] for mark in marks), key=_GRAVITY.__getitem__, default=Decision.ALLOW)
        return PolicyVerdict(
            gravest,
            tuple(sorted({category for _, category, _ in marks if category})),
            tuple(dict.fromkeys(reason for _, _, reason in marks)),
        )


def _score(findings: ScanFindings, category: str) -> float:
    """The score of a category; that of ``age`` counts ages in families too."""
    return max(findings.score(category), findings.score(FAMILY) if category == "age" else 0.0)


def _absolute(findings: ScanFindings, tier: Tier, more: frozenset[str]) -> list[tuple[Decision, str, str]]:
    """The absolute rules: an absolute category by itself, and age-indicating content in an adult context."""
    hit = [name for name in sorted(ABSOLUTE | more) if _score(findings, name) >= _ABSOLUTE_SCORE]
    if "non_consent" not in hit and findings.contexts.keys() >= _UNWILLING:
        hit.append("non_consent")
    marks = [(Decision.BLOCK, name, f"absolute:{name}") for name in hit]
    doubtful = _lifted(findings, Decision.HOLD)
    marks += [
        (doubtful, name, f"{doubtful.value}:{name}")
        for name in sorted(ABSOLUTE.difference(hit))
        if f"{name}:doubtful" in findings.contexts
    ]
    # Age-indicating content in an adult context (S1), by the rows of `innkeeper.gate.rows`.
    aged = any(findings.score(name) >= _AGE_SCORE for name in _AGE_INDICATING)
    decision = _lifted(findings, about_ages(relations(findings), tier, aged=aged))
    if "age_ambiguous" not in hit and decision is not Decision.ALLOW:
        rule = "absolute" if decision is Decision.BLOCK else decision.value
        marks.append((decision, "age_ambiguous", f"{rule}:age_ambiguous"))
    return marks


def _lifted(findings: ScanFindings, decision: Decision) -> Decision:
    """Return the decision; one to hold is lifted to a review where a guest classifier says so."""
    lifted = decision is Decision.HOLD and findings.scores.get("minor_sexual", 1.0) < _LIFTED
    return Decision.REVIEW if lifted else decision


def account_ceiling(verification: AgeVerification | None, now: datetime) -> Tier:
    """The ceiling of an account: ``nsfw`` only while a complete verification holds."""
    return Tier.NSFW if verification is not None and verification.holds(now) else Tier.SFW


def character_ceiling(rating: object, declared_age: int | None) -> Tier:
    """The ceiling of a character: its rating, and ``sfw`` unless it declares an adult age."""
    grown = type(declared_age) is int and declared_age >= ADULT_AGE
    return Tier.of(rating) if grown else Tier.SFW


class TextKind(StrEnum):
    """Where a text enters or leaves."""

    USER_TEXT = "user_text"
    HISTORY = "history"
    SYSTEM_PROMPT = "system_prompt"
    CARD = "card"
    SCENE = "scene"
    MODEL_OUTPUT = "model_output"
    IMAGE_CAPTION = "image_caption"


_ANSWERS: Final = 4_096
_ANSWER_BYTES: Final = 32 * 1024 * 1024
_EVENT_BYTES: Final = 4_096


class Checked(NamedTuple):
    """A decision and the audit event that records it."""

    decision: TierDecision
    event: FrozenDict


@dataclass(frozen=True, slots=True)
class TierGate:
    """The operator's policy and a detector. `check` and `check_saved` raise nothing: `require` does."""

    policy: TierPolicy
    detector: Detector
    reader: SecondReader | None = None
    """Who is asked where the grammar is in doubt; see `innkeeper.gate.second_reader`."""
    always: bool = False
    """Whether the reader is asked about every text."""
    seen: BoundedCache[Any, Checked] = field(
        default_factory=partial(BoundedCache, items=_ANSWERS, size=_ANSWER_BYTES), compare=False, repr=False
    )
    """Answers by what was asked."""

    @classmethod
    def of(cls, policy: TierPolicy | None = None, detector: Detector | None = None) -> TierGate:
        """A gate with the defaults where nothing is given: general tier, packaged list."""
        return cls(policy or TierPolicy(), detector or default_detector())

    def check(
        self, texts: Mapping[str, str] | Mapping[TextKind, str], requested: Any = None, ceilings: Ceilings | None = None
    ) -> Checked:
        """The decision about the texts of one request, named by their `Entry` (or a name that begins with it)."""
        key = (Tier.of(requested), ceilings, tuple(texts.items()))
        try:
            known = self.seen.get(key)
        except TypeError:  # ceilings that are no tiers: they count, but cannot be looked up
            return self._check(texts, requested, ceilings)
        if known is None:
            known = self._check(texts, requested, ceilings)
            if not known.event["failed"]:
                self.seen.put(key, known, _EVENT_BYTES + sum(map(len, texts.values())))
        return known

    def require(
        self,
        texts: Mapping[str, str] | Mapping[TextKind, str],
        requested: Any = None,
        ceilings: Ceilings | None = None,
        *,
        observe: bool = False,
    ) -> TierDecision:
        """The decision, where the texts may pass. With ``observe`` what is only doubtful passes in the general tier.

        Raises `TierBlockedError`, and `LimitError` for a text longer than `MAX_SCAN_CHARS`.
        """
        for name, text in texts.items():
            if isinstance(text, str) and len(text) > MAX_SCAN_CHARS:
                what, where = "a text that the gate reads", Where(path=str(name))
                raise LimitError(what, limit="MAX_SCAN_CHARS", allowed=MAX_SCAN_CHARS, found=len(text), where=where)
        # in a context of its own: what a call may take is for its work, and is not spent on the gate
        checked = Context().run(self.check, texts, requested, ceilings)
        decision = checked.decision
        if self.reader is not None:
            decision = read_again(
                self.reader, checked, {str(name): text for name, text in texts.items()}, always=self.always
            )
        return decision if observe and decision.is_only_doubtful else decision.require()

    def _check(
        self, texts: Mapping[str, str] | Mapping[TextKind, str], requested: Any, ceilings: Ceilings | None
    ) -> Checked:
        findings = self._scan(texts)
        decision = effective_tier(requested, ceilings, policy=self.policy, detection=findings if texts else None)
        return Checked(decision, tier_event(decision, findings, self.policy, tuple(map(str, texts))))

    def check_saved(self, texts: Mapping[str, str] | Mapping[TextKind, str], tier: Any) -> Checked:
        """The decision about what is to be stored for a tier, judged in that tier whether the installation has it or not."""
        own = Tier.of(tier)
        findings = self._scan(texts)
        policy = msgspec.structs.replace(self.policy, adult_enabled=own is not Tier.SFW)
        decision = effective_tier(own, Ceilings(account=own), policy=policy, detection=findings)
        return Checked(decision, tier_event(decision, findings, self.policy, tuple(map(str, texts))))

    def _scan(self, texts: Mapping[str, str] | Mapping[TextKind, str]) -> ScanFindings:
        """The findings of all texts together, and of where one that was said follows another."""
        named = sorted(((str(name), text) for name, text in texts.items()), key=lambda each: _order_of(each[0]))
        return self.detector.scan_request(tuple(named), self._scan_named)

    def _scan_named(self, named: Named) -> ScanFindings:
        scans = [(name, self.detector.scan(text)) for name, text in named]
        user_texts = [(name, text) for name, text in named if _order_of(name)]
        for (_, before), (name, after) in pairwise(user_texts):
            if (seam := self.detector.seam(before, after)) is not None:
                scans.append((name, seam))
        return combined(scans)


_ORDER: Final = {TextKind.HISTORY.value: 1, TextKind.USER_TEXT.value: 2, TextKind.MODEL_OUTPUT.value: 3}
"""What is said, in the order in which a model gets it."""


def _order_of(name: str) -> int:
    """The place of a text among those that are said, whatever number stands behind its kind; 0 of any other."""
    return _ORDER.get(name.partition(":")[0], 0)


@once
def default_gate() -> TierGate:
    """The gate of the packaged lists and of no operator: what stands at every door."""
    return TierGate.of()


def tier_event(
    decision: TierDecision, findings: ScanFindings, policy: TierPolicy, entries: tuple[str, ...]
) -> FrozenDict:
    """A decision as an audit event keeps it: JSON-ready, without a word of the texts."""
    facts = msgspec.to_builtins(decision)
    more = {
        "entries": entries,
        "text_sha256": findings.text_sha256,
        "failed": findings.failed,
        "policy_version": policy.version,
    }
    return FrozenDict({**facts, **more, "passed": decision.passed, "scores": dict(findings.scores)})


def block(texts: Mapping[str, str]) -> None:
    """Raise `TierBlockedError` where age-indicating content is in a sexual context; whatever is only doubtful passes."""
    if not is_lifted(texts):
        default_gate().require(texts, observe=True)


def warm_gate() -> None:
    """Make what the first plain text would wait for: the words of all languages."""
    default_gate().check({TextKind.USER_TEXT: "The road to the sea is long."})
