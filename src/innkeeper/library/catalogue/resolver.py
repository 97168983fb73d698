"""Resolve: which template a request gets, on which level it was found, and why on no earlier one (reference §2.6).

Three answers are kept apart: the *level* (how near to what was asked), the *source* (where it was read) and the *execution*
(what will run: a model, rules, or nothing).

Within a level the order is: the enhancer asked for, its family, a row for any enhancer, other enhancers; among these the job
type asked for (none: a row for any) before the rest; then ``priority`` in the template's metadata (lower first, 100 where there
is none), then the names of enhancer and job type. Keys are unique under a label, so this leaves no tie.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

from innkeeper.gate.tier import Tier
from innkeeper.library.builtins import packaged
from innkeeper.library.catalogue.catalogue import AnswerSource, Bucket, Catalogue
from innkeeper.library.errors import TemplateNotFoundError, need, need_texts
from innkeeper.library.templates.template import PRODUCTION, MatchLevel, TemplateKey, TemplateVersion, model_key


class Execution(StrEnum):
    """What runs with the answer."""

    MODEL = "model"
    RULES = "rules"
    NONE = "none"


class LevelOutcome(StrEnum):
    """What came of one level."""

    FOUND = "found"
    NOTHING = "nothing"
    SKIPPED = "skipped"


class ResolveRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a template is wanted for. ``content_mode`` is the *effective* tier; families default to those of the catalogue."""

    use_case: str
    job_type: str | None = None
    target_model: str | None = None
    target_family: str | None = None
    enhancer_model: str | None = None
    enhancer_family: str | None = None
    content_mode: Tier = Tier.SFW
    label: str = PRODUCTION
    lower_tier: bool = True
    """Whether a template of a lower tier will do where this one has none."""

    def __post_init__(self) -> None:
        """Raise `FieldError` for a field of a wrong kind."""
        need_texts(self, _NEEDED, _OPTIONAL)
        need("content_mode", self.content_mode, Tier, "a tier")
        need("lower_tier", self.lower_tier, bool, "true or false")


_NEEDED: Final = ("use_case", "label")
_OPTIONAL: Final = ("job_type", "target_model", "target_family", "enhancer_model", "enhancer_family")


class ResolutionStep(msgspec.Struct, frozen=True):
    """One level that was tried: with which key, what came of it, and why."""

    level: MatchLevel
    tried: TemplateKey | None
    outcome: LevelOutcome
    reason: str


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """The answer. ``matched`` is the level within `lower_tier` and `builtin`; elsewhere the level itself.

    ``reasons`` are words for programs: why the answer is ``degraded`` (``tier_lowered``, ``builtin``, ``passthrough``,
    ``not_found``, ``inactive_model``, and those of the catalogue); ``trace`` is for people.
    """

    request: ResolveRequest
    template: TemplateVersion | None
    level: MatchLevel
    matched: MatchLevel
    source: AnswerSource
    execution: Execution
    tier_lowered: bool = False
    degraded: bool = False
    reasons: tuple[str, ...] = ()
    trace: tuple[ResolutionStep, ...] = ()
    revision: int = 0

    @property
    def fallback_level(self) -> int:
        """The document's integer: 0 for `exact` to 7 for `unavailable`."""
        return self.level.number

    @property
    def enhanced(self) -> bool:
        """Whether a text will be changed at all; false for `passthrough`."""
        return self.template is not None

    def require(self, *, strict: bool = False) -> TemplateVersion | None:
        """The template; None for `passthrough`. With ``strict`` a degraded answer is an error too.

        Raises:
            TemplateNotFoundError: no template holds the label asked for; no other label stands in.
            TemplateNotFoundError: nothing answers the request.
        """
        if self.level is MatchLevel.UNAVAILABLE or (strict and self.degraded):
            raise _missing(self)
        return self.template


ENHANCEMENT: Final = "enhancement"
"""The use case that can do without a template: its text then stays as it is."""

_LEVELS: Final = (MatchLevel.EXACT, MatchLevel.ANY_ENHANCER, MatchLevel.FAMILY, MatchLevel.UNIVERSAL)
_MATCHED: Final = {
    MatchLevel.EXACT: "a template for this target and this enhancer",
    MatchLevel.ANY_ENHANCER: "a template for this target with another enhancer, or any",
    MatchLevel.FAMILY: "a template for the family of the target",
    MatchLevel.UNIVERSAL: "a template for every target",
}
_NOTHING: Final = {
    MatchLevel.EXACT: "no template for this target and this enhancer",
    MatchLevel.ANY_ENHANCER: "no template for this target and job type",
    MatchLevel.FAMILY: "no template for the family of the target",
    MatchLevel.UNIVERSAL: "no template for every target",
}
_NO_TARGET: Final = "no target was named"
_NO_FAMILY: Final = "the family of the target is not known"

_Trace = list[ResolutionStep]
_Hit = tuple[TemplateVersion, MatchLevel]


class _Asked(msgspec.Struct, frozen=True):
    """A request with its families looked up."""

    request: ResolveRequest
    target: str | None
    family: str | None
    enhancer: str | None
    enhancer_family: str | None

    @classmethod
    def of(cls, request: ResolveRequest, catalogue: Catalogue) -> _Asked:
        target, enhancer = model_key(request.target_model), model_key(request.enhancer_model)
        family = model_key(request.target_family) or catalogue.family_of(target)
        return cls(
            request, target, family, enhancer, model_key(request.enhancer_family) or catalogue.family_of(enhancer)
        )

    def key(self, level: MatchLevel, tier: Tier) -> TemplateKey:
        """The key that a level looks for."""
        return TemplateKey(
            use_case=self.request.use_case,
            content_mode=tier,
            target_model=self.target_on(level),
            enhancer_model=None if level is MatchLevel.ANY_ENHANCER else self.enhancer,
            job_type=self.request.job_type,
        )

    def target_on(self, level: MatchLevel) -> str | None:
        """The target that a level looks for."""
        if level is MatchLevel.UNIVERSAL:
            return None
        return self.family if level is MatchLevel.FAMILY else self.target

    def pick(self, level: MatchLevel, bucket: Bucket) -> TemplateVersion | None:
        """The best template of a bucket on a level."""
        job = self.request.job_type
        if level is not MatchLevel.ANY_ENHANCER:
            version = bucket.pick(self.enhancer, job)
            if version is None and self.enhancer_family is not None:
                version = bucket.pick(self.enhancer_family, job)
            if version is not None or level is MatchLevel.EXACT:
                return version
        return bucket.pick(None, job) or bucket.pick_other(job)


def resolve(request: ResolveRequest, catalogue: Catalogue, builtins: Catalogue | None = None) -> Resolution:
    """The template for a request, from one catalogue and what comes with Innkeeper. Pure; raises nothing of its own.

    Templates of a higher tier than ``request.content_mode`` are never looked at. A request for another label than
    ``production`` is answered by templates with that label or not at all. Call `Resolution.require` to have an error where
    there is no answer.
    """
    trace: _Trace = []
    asked = _Asked.of(request, catalogue)
    hit = _search(asked, catalogue, request.content_mode, trace)
    if hit is not None:
        return _answer(asked, catalogue, trace, hit, hit[1])
    hit = _search_lower(asked, catalogue, trace)
    if hit is not None:
        return _answer(asked, catalogue, trace, hit, MatchLevel.LOWER_TIER)
    shipped = packaged() if builtins is None else builtins
    hit = _search_builtin(asked, shipped, trace)
    if hit is not None:
        return _answer(asked, catalogue, trace, hit, MatchLevel.BUILTIN)
    return _without(asked, catalogue, trace)


def _search(
    asked: _Asked, catalogue: Catalogue, tier: Tier, trace: _Trace, under: MatchLevel | None = None
) -> _Hit | None:
    """The four levels of one tier. ``under`` is the level that repeats them, if one does."""
    buckets = catalogue.candidates(asked.request.label, asked.request.use_case, tier)
    for level in _LEVELS:
        target = asked.target_on(level)
        if target is None and level is not MatchLevel.UNIVERSAL:
            reason = _NO_FAMILY if level is MatchLevel.FAMILY and asked.target is not None else _NO_TARGET
            trace.append(_step(level, under, None, LevelOutcome.SKIPPED, reason))
            continue
        bucket = buckets.get(target)
        version = None if bucket is None else asked.pick(level, bucket)
        if version is not None:
            trace.append(_step(level, under, asked.key(level, tier), LevelOutcome.FOUND, _MATCHED[level]))
            return version, level
        trace.append(_step(level, under, asked.key(level, tier), LevelOutcome.NOTHING, _NOTHING[level]))
    return None


def _step(
    level: MatchLevel, under: MatchLevel | None, tried: TemplateKey | None, outcome: LevelOutcome, reason: str
) -> ResolutionStep:
    if under is None:
        return ResolutionStep(level, tried, outcome, reason)
    return ResolutionStep(under, tried, outcome, f"{level.value}: {reason}")


def _search_lower(asked: _Asked, catalogue: Catalogue, trace: _Trace) -> _Hit | None:
    tiers = [below for below in reversed(Tier) if below.rank < asked.request.content_mode.rank]
    if not tiers or not asked.request.lower_tier:
        reason = "a lower tier was not wanted" if tiers else "there is no lower tier"
        trace.append(ResolutionStep(MatchLevel.LOWER_TIER, None, LevelOutcome.SKIPPED, reason))
        return None
    hits = (_search(asked, catalogue, tier, trace, MatchLevel.LOWER_TIER) for tier in tiers)
    return next((hit for hit in hits if hit is not None), None)


def _search_builtin(asked: _Asked, shipped: Catalogue, trace: _Trace) -> _Hit | None:
    request = asked.request
    if request.label != PRODUCTION:
        reason = f"what comes with Innkeeper is labelled {PRODUCTION}, never {request.label}"
        trace.append(ResolutionStep(MatchLevel.BUILTIN, None, LevelOutcome.SKIPPED, reason))
        return None
    if request.content_mode is not Tier.SFW and not request.lower_tier:
        reason = "what comes with Innkeeper is of the general tier, and a lower tier was not wanted"
        trace.append(ResolutionStep(MatchLevel.BUILTIN, None, LevelOutcome.SKIPPED, reason))
        return None
    return _search(asked, shipped, Tier.SFW, trace, MatchLevel.BUILTIN)


def _answer(asked: _Asked, catalogue: Catalogue, trace: _Trace, hit: _Hit, level: MatchLevel) -> Resolution:
    template, matched = hit
    lowered = template.key.content_mode is not asked.request.content_mode
    builtin = level is MatchLevel.BUILTIN
    makeshift = (*(("tier_lowered",) if lowered else ()), *(("builtin",) if builtin else ()))
    reasons = (*catalogue.degraded, *_retired(asked, catalogue), *makeshift)
    return Resolution(
        request=asked.request,
        template=template,
        level=level,
        matched=matched,
        source=AnswerSource.BUILTIN if builtin else catalogue.source,
        execution=Execution.MODEL,
        tier_lowered=lowered,
        degraded=bool(reasons),
        reasons=reasons,
        trace=tuple(trace),
        revision=catalogue.revision,
    )


def _without(asked: _Asked, catalogue: Catalogue, trace: _Trace) -> Resolution:
    """The answer where there is no template: the text as it is, or none."""
    request = asked.request
    passes = request.use_case == ENHANCEMENT and request.label == PRODUCTION
    level, reason = (MatchLevel.PASSTHROUGH, "passthrough") if passes else (MatchLevel.UNAVAILABLE, "not_found")
    if passes:
        trace.append(ResolutionStep(MatchLevel.PASSTHROUGH, None, LevelOutcome.FOUND, "the text stays as it is"))
    else:
        why = f"only {ENHANCEMENT} can do without a template"
        if request.use_case == ENHANCEMENT:
            why = f"a request for the label {request.label} is answered by that label or not at all"
        trace.append(ResolutionStep(MatchLevel.PASSTHROUGH, None, LevelOutcome.SKIPPED, why))
        trace.append(
            ResolutionStep(MatchLevel.UNAVAILABLE, None, LevelOutcome.NOTHING, "no template answers the request")
        )
    return Resolution(
        request=request,
        template=None,
        level=level,
        matched=level,
        source=catalogue.source,
        execution=Execution.NONE,
        degraded=True,
        reasons=(*catalogue.degraded, *_retired(asked, catalogue), reason),
        trace=tuple(trace),
        revision=catalogue.revision,
    )


def _retired(asked: _Asked, catalogue: Catalogue) -> tuple[str, ...]:
    """A model that the operator has taken out of use is answered for, so that nothing stops, and the answer says so."""
    retired = catalogue.retired
    return ("inactive_model",) if retired and (asked.target in retired or asked.enhancer in retired) else ()


def _missing(resolution: Resolution) -> TemplateNotFoundError:
    request = resolution.request
    what = f"{request.use_case} ({request.content_mode.value})"
    facts: dict[str, Any] = {
        "level": resolution.level.value,
        "reasons": list(resolution.reasons),
        "trace": [msgspec.to_builtins(step) for step in resolution.trace],
    }
    if request.label != PRODUCTION:
        hint = "publish a template under this label, or ask for another"
        return TemplateNotFoundError(f"no template for {what} holds the label {request.label!r}", hint=hint, **facts)
    if resolution.level is MatchLevel.UNAVAILABLE:
        return TemplateNotFoundError(f"no template for {what}", **facts)
    hint = "leave strict out to take what there is"
    reasons = ", ".join(resolution.reasons)
    return TemplateNotFoundError(f"only a makeshift answers {what}: {reasons}", hint=hint, **facts)
