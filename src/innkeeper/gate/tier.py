"""Tier: which audience a request may be served for, and the one function that decides it for every way in.

The tier that counts is the lowest of what was asked for and of every ceiling. What a detector found may lower it or block
the request, and can never raise it (dynamic-prompting reference, S5, S6 and 3.1). A decision carries what was found in the
texts as categories, scores and positions, never the text itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.tier import Tier as Tier  # noqa: PLC0414 - its readers take it from here
from innkeeper.prompt.tier import TierBlockedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from innkeeper.gate.gate import TierPolicy


class Decision(StrEnum):
    """What becomes of a request. ``review`` passes only in the general tier, ``hold`` in none: see `TierDecision.passed`."""

    ALLOW = "allow"
    LOWER = "lower"
    REVIEW = "review"
    HOLD = "hold"
    """For a classifier or a person; until one of them has lifted it, it is refused."""
    BLOCK = "block"


_CERTAIN: Final = ("absolute:", "detector:")
"""What reasons begin with that no operator lifts."""


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
            return self.decision not in {Decision.HOLD, Decision.BLOCK}
        return self.scanned and self.decision in {Decision.ALLOW, Decision.LOWER}

    @property
    def is_only_doubtful(self) -> bool:
        """Whether it is of the general tier, and nothing in it is absolute: an operator may let that pass with a note."""
        certain = any(reason.startswith(_CERTAIN) for reason in self.reasons)
        return self.effective is Tier.SFW and not (self.decision is Decision.BLOCK and certain)

    def require(self) -> TierDecision:
        """The decision itself, where it `passed`.

        Raises:
            TierBlockedError: it did not; the error names categories and reasons.
        """
        if not self.passed:
            raise TierBlockedError(self.decision.value, self.effective.value, self.categories, self.reasons)
        return self


def effective_tier(
    requested: Any, ceilings: Ceilings | None = None, *, policy: TierPolicy, detection: ScanFindings | None = None
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


def _with_detection(base: TierDecision, policy: TierPolicy, findings: ScanFindings) -> TierDecision:
    """The decision with what was found: the verdict for the tier, or lowered to ``sfw`` and its verdict there."""
    verdict = policy.judge(findings, base.effective)
    effective, reasons = base.effective, (*base.reasons, *verdict.reasons)
    if verdict.decision is Decision.LOWER:
        effective = Tier.SFW
        below = policy.judge(findings, effective)
        reasons += tuple(reason for reason in below.reasons if reason not in reasons)
        verdict = below if below.decision in _GRAVE else verdict
    return msgspec.structs.replace(
        base,
        effective=effective,
        reasons=reasons,
        decision=base.decision if verdict.decision is Decision.ALLOW else verdict.decision,
        categories=verdict.categories,
        spans=findings.spans,
        detector_version=findings.detector_version,
        lexicon_version=findings.lexicon_version,
    )


_GRAVE = frozenset({Decision.REVIEW, Decision.HOLD, Decision.BLOCK})


class Span(msgspec.Struct, frozen=True, omit_defaults=True):
    """One find: ``start`` and ``end`` count characters of the text as it was given; ``entry`` is the id in its list.

    ``weight`` is the entry's, from 0 to 1. The text itself is never part of a find.
    """

    start: int
    end: int
    category: str
    entry: str
    weight: float
    source: str = ""
    """Which of several texts it is in, where they were judged together."""
    low: float = 0
    """Of an age: the lowest year of life it can mean."""
    high: float = 0
    """Of an age: the highest year of life it can mean."""
    subject: str = ""
    """Of an age: whom it is about, where that can be told: ``kin``, or the words before it (``she is``)."""


class Extent(NamedTuple):
    """From where to where something stands in a text."""

    first: int
    last: int


class Relation(NamedTuple):
    """An age and a context of one request, and how many characters lie between them at least."""

    age: str
    context: str
    state: str
    distance: int

    @classmethod
    def of(cls, age: str, context: str, distance: int) -> Relation:
        """A relation to a context written ``name:state``."""
        name, _, state = context.partition(":")
        return cls(age, name, state, distance)


class ScanFindings(msgspec.Struct, frozen=True):
    """What was found in one text: a score from 0 to 1 for each category, and where.

    ``text_sha256`` names the text without telling it. ``failed`` says why the text could not be looked at in full
    (``classifier_timeout``, ``regex_timeout`` …), and is empty where it could. ``whole`` says that the words of the lists were
    looked for in all of it.
    """

    scores: Mapping[str, float] = EMPTY
    spans: tuple[Span, ...] = ()
    detector_version: str = ""
    lexicon_version: str = ""
    text_sha256: str = ""
    failed: str = ""
    whole: bool = True
    relations: tuple[Relation, ...] | None = None
    """How ages and contexts lie to one another; None where only scores are known."""
    ages: Mapping[str, Extent] = EMPTY
    contexts: Mapping[str, Extent] = EMPTY
    length: int = 0
    """Characters of the text."""

    def score(self, category: str) -> float:
        """The score of a category, 0 where nothing was found."""
        return self.scores.get(category, 0.0)


def combined(findings: Iterable[tuple[str, ScanFindings]]) -> ScanFindings:
    """The findings of several texts of one request, by name, as one: what none of them says alone, they may say together."""
    named = list(findings)
    spans = tuple(msgspec.structs.replace(span, source=name) for name, finding in named for span in finding.spans)
    return ScanFindings(
        scores=FrozenDict(_together(finding for _, finding in named)),
        spans=spans,
        detector_version=_all_of(finding.detector_version for _, finding in named),
        lexicon_version=_all_of(finding.lexicon_version for _, finding in named),
        text_sha256=",".join(finding.text_sha256 for _, finding in named),
        failed=_all_of(finding.failed for _, finding in named),
        whole=all(finding.whole for _, finding in named),
        relations=_between(named),
        ages=FrozenDict({age: _NOWHERE for _, finding in named for age in _ages(finding)}),
        contexts=FrozenDict({context: _NOWHERE for _, finding in named for context in _contexts(finding)}),
    )


_NOWHERE: Final = Extent(0, 0)
_SPOKEN: Final = frozenset({"history", "user_text", "model_output"})
"""Texts that follow one another; all others, as cards and scenes, describe the persons of every one of them."""

_CONTEXT_SCORE: Final = 0.4
_AGE_KINDS: Final = {"age": "minor", "age_family": "family", "age_setting": "setting"}


def _ages(finding: ScanFindings) -> Mapping[str, Extent]:
    """The kinds of age in a text; where only scores are known, they are all over it."""
    if finding.relations is not None:
        return finding.ages
    whole = Extent(0, finding.length)
    return {kind: whole for name, kind in _AGE_KINDS.items() if finding.score(name) >= _CONTEXT_SCORE}


def _contexts(finding: ScanFindings) -> Mapping[str, Extent]:
    if finding.relations is not None:
        return finding.contexts
    whole = Extent(0, finding.length)
    return {f"{name}:depicted": whole for name in ("sexual", "romantic") if finding.score(name) >= _CONTEXT_SCORE}


def relations(finding: ScanFindings) -> tuple[Relation, ...]:
    """How ages and contexts lie to one another in a text; where only scores are known, they are beside one another."""
    if finding.relations is not None:
        return finding.relations
    return tuple(Relation.of(age, context, 0) for age in _ages(finding) for context in _contexts(finding))


def _between(named: list[tuple[str, ScanFindings]]) -> tuple[Relation, ...]:
    """The relations within each text and between texts, the nearest of each."""
    least: dict[tuple[str, str], int] = {}
    for _, finding in named:
        for age, name, state, distance in relations(finding):
            key = (age, f"{name}:{state}")
            least[key] = min(distance, least.get(key, distance))
    spoken = _spoken(named)
    described = [finding for name, finding in named if not _is_spoken(name)]
    contexts = tuple(_placed(_contexts, spoken))
    for age, age_at, number in _placed(_ages, spoken):
        for context, context_at, other in contexts:
            if number != other:
                distance = max(0, context_at.first - age_at.last, age_at.first - context_at.last)
                least[age, context] = min(distance, least.get((age, context), distance))
    # what describes the persons of every text is beside all of them
    everything = [finding for _, finding in named]
    for one, others in ((described, everything), (everything, described)):
        for age in {age for finding in one for age in _ages(finding)}:
            for context in {context for finding in others for context in _contexts(finding)}:
                if any(a is not b and age in _ages(a) and context in _contexts(b) for a in one for b in others):
                    least[age, context] = 0
    return tuple(Relation.of(age, context, distance) for (age, context), distance in least.items())


def _is_spoken(name: str) -> bool:
    return name.partition(":")[0] in _SPOKEN


def _spoken(named: list[tuple[str, ScanFindings]]) -> list[tuple[int, ScanFindings]]:
    """The texts that follow one another, each with where it begins if they are read as one."""
    placed, at = [], 0
    for name, finding in named:
        if _is_spoken(name):
            placed.append((at, finding))
            at += finding.length
    return placed


def _placed(
    finds: Callable[[ScanFindings], Mapping[str, Extent]], spoken: list[tuple[int, ScanFindings]]
) -> Iterator[tuple[str, Extent, int]]:
    """Each find with its extent in all texts together, and the number of its text."""
    for number, (at, finding) in enumerate(spoken):
        for name, extent in finds(finding).items():
            yield name, Extent(at + extent.first, at + extent.last), number


def _together(findings: Iterable[ScanFindings]) -> dict[str, float]:
    """The scores of all entries that were found in any text, each once: the same words in two places say no more than in one."""
    left: dict[str, float] = {}
    most: dict[str, float] = {}
    entries: set[tuple[str, str, float]] = set()
    for finding in findings:
        entries.update((span.category, span.entry, span.weight) for span in finding.spans)
        for category, score in finding.scores.items():
            most[category] = max(score, most.get(category, 0.0))
    for category, _, weight in sorted(entries):
        left[category] = left.get(category, 1.0) * (1 - weight)
    return {category: round(max(score, 1 - left.get(category, 1.0)), 6) for category, score in sorted(most.items())}


def _all_of(values: Iterable[str]) -> str:
    return ",".join(dict.fromkeys(value for value in values if value))
