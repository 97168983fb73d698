"""Preparation: from a request to a prompt that is ready to be sent: tier, template, values, budget, negative prompt.

A request's own texts are judged before anything is looked up, so that a blocked one renders nothing; the rendered system prompt
is judged with them afterwards. Where that lowers the tier, a template of the lower tier is taken instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.budget import Costing, Evicted, TrimReport, framing_of
from innkeeper.gate.gate import TextKind
from innkeeper.gate.tier import Tier, TierDecision
from innkeeper.library.builtins import packaged
from innkeeper.library.catalogue.catalogue import AnswerSource
from innkeeper.library.catalogue.resolver import Resolution
from innkeeper.library.errors import NotFoundError
from innkeeper.library.models.facts import ModelFacts, TokenizerSpec, facts_of
from innkeeper.library.prepare.budget import Budget, Fitted, budget_of, chat_budget, fit_text
from innkeeper.library.prepare.parts import (
    LEAVING,
    MEMORY_SHARE,
    PromptPart,
    optional,
    placed,
    shortened,
    variable_values,
)
from innkeeper.library.prepare.request import PreparedPrompt, PrepareRequest, texts_of
from innkeeper.library.prepare.segments import compress
from innkeeper.library.templates.cache import key_of
from innkeeper.library.templates.partials import Lookup
from innkeeper.library.templates.rendering import PROGRAMS, RenderedTemplate, render
from innkeeper.library.templates.template import OPERATOR, TemplateVersion
from innkeeper.prompt.data import freeze
from innkeeper.prompt.errors import MaxTokensExceededError
from innkeeper.prompt.plan import Plan
from innkeeper.prompt.request import BuildRequest
from innkeeper.prompt.run.state import TokenCounter
from innkeeper.taverns.template import TAVERN

if TYPE_CHECKING:
    from innkeeper.library.library import Library


UNBOUNDED: Final = 2**31 - 1
"""The room of a target of which nobody knows a limit, in tokens: nothing is shortened for it."""


def values_for(version: TemplateVersion, values: Mapping[str, Any], operator: Mapping[str, Any]) -> dict[str, Any]:
    """The values for a template: those of the operator for variables that are the operator's, the caller's for all others."""
    own = {variable.name for variable in version.variables if variable.source == OPERATOR}
    return {name: value for name, value in values.items() if name not in own} | {
        name: operator[name] for name in sorted(own) if name in operator
    }


def rendered_version(
    library: Library, version: TemplateVersion, source: AnswerSource, values: Mapping[str, Any], tier: Tier
) -> tuple[RenderedTemplate, bool]:
    """A version with values, from the cache of texts where it is there; and whether it was."""
    values = values_for(version, values, library.rules.operator_values)
    moment = library.outside.now() if version.syntax == "liquid" else None
    lookup = _lookup(library, source)
    key = key_of(PROGRAMS.get(version, lookup), values, tier, moment)
    cached = None if key is None else library.texts.get(key)
    if cached is not None:
        return cached, True
    made = render(version, values, lookup=lookup, counter=library.counter, clock=moment, ranges=True)
    if key is not None:
        library.texts.put(key, made)
    return made, False


def _lookup(library: Library, source: AnswerSource) -> Lookup:
    """Finds parts where the template came from: a name may mean another template in what comes with Innkeeper."""
    if source is AnswerSource.BUILTIN:
        return packaged().version

    def lookup(name: str, version: int) -> TemplateVersion | None:
        memory = None if source is AnswerSource.DATABASE else library.catalogue.version(name, version)
        return memory or _stored(library, name, version)

    return lookup


def _stored(library: Library, name: str, version: int) -> TemplateVersion | None:
    from innkeeper.library.templates.store import TemplateStore

    try:
        return TemplateStore(library.db).get(name, version=version)
    except NotFoundError:
        return None


@dataclass(slots=True)
class Preparation:
    """One call while it is worked on: what is known so far, for its answer or for the row of its failure."""

    library: Library
    request: PrepareRequest
    request_id: str
    strict: bool
    clock: Callable[[], float] = time.perf_counter
    latency: dict[str, float] = field(default_factory=dict)
    tier: TierDecision | None = None
    resolution: Resolution | None = None
    began: float = 0.0
    left_out: tuple[Evicted, ...] = ()
    parts: tuple[PromptPart, ...] | None = None

    def __post_init__(self) -> None:
        """Start the clock."""
        self.began = self.clock()

    def run(self) -> PreparedPrompt:
        """The prompt. Raises what stands in its way; `tier` and `resolution` say how far it came."""
        tier, resolution, rendered, cached = self.rendering()
        while (done := self._attempt(tier, resolution, rendered, cached=cached)) is None:
            resolution, rendered, cached = self._template(tier.effective)
        return done

    def _attempt(
        self, tier: TierDecision, resolution: Resolution, rendered: RenderedTemplate | None, *, cached: bool
    ) -> PreparedPrompt | None:
        """The prompt; None where it is to be rendered anew, without the part that went for it. Raises as `run`."""
        try:
            done = self._finished(tier, resolution, rendered, cached=cached)
        except MaxTokensExceededError:
            if not self._leave_out(resolution.template, LEAVING):
                raise
            return None
        if not self.request.parts:
            return done
        gone = [LEAVING.index(one.reason) for one in done.evicted if one.reason in LEAVING]
        earlier = LEAVING[: max(gone, default=0)]
        return None if self._leave_out(resolution.template, earlier) else done

    def _leave_out(self, template: TemplateVersion | None, kinds: Iterable[str]) -> bool:
        """Do without the first part of these kinds that the template has a variable for; whether there is one."""
        for part in sorted(self._parts(), key=lambda each: each.kind):
            if template is not None and part.kind in kinds and optional(template, part):
                tokens = self.library.counter.count(part.text, self.request.target_model)
                self.left_out = (*self.left_out, Evicted(0, part.kind, tokens))
                return True
        return False

    def _parts(self) -> tuple[PromptPart, ...]:
        """The parts that are there still."""
        if self.request.parts and self.parts is None:
            self.parts = tuple([self._in_room(part) for part in self.request.parts])
        gone = {each.reason for each in self.left_out}
        return tuple([part for part in self.parts or () if part.kind not in gone or part.kind not in LEAVING])

    def _in_room(self, part: PromptPart) -> PromptPart:
        """A part as long as it may be: of what is remembered, so much as the window has room for."""
        window = self._reader().window
        if part.kind in LEAVING or window is None:
            return part
        part_left, gone = shortened(part, window // MEMORY_SHARE, lambda text: self.library.counter.count(text, None))
        if gone:
            self.left_out = (*self.left_out, Evicted(0, part.kind, gone))
        return part_left

    def _reader(self) -> ModelFacts:
        """The model that gets the messages."""
        request, catalogue = self.request, self.library.sources.current()
        known = facts_of(catalogue, request.enhancer_model or request.target_model, job_type=request.job_type)
        window = request.context_window
        return known if window is None else msgspec.structs.replace(known, window=window)

    def rendering(self) -> tuple[TierDecision, Resolution, RenderedTemplate | None, bool]:
        """Tier, template and its text (None where there is no template), and whether the text was kept from before."""
        tier = self.judge({})
        resolution, rendered, cached = self._template(tier.effective)
        if rendered is not None:
            tier = self.judge({TextKind.SYSTEM_PROMPT.value: rendered.text})
            if tier.effective.rank < resolution.request.content_mode.rank:
                resolution, rendered, cached = self._template(tier.effective)
        return tier, resolution, rendered, cached

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the time of a step, in milliseconds."""
        start = self.clock()
        try:
            yield
        finally:
            self.latency[name] = round(self.latency.get(name, 0.0) + (self.clock() - start) * 1000, 3)

    def total(self) -> dict[str, float]:
        """The times with their total so far."""
        return {**self.latency, "total": round((self.clock() - self.began) * 1000, 3)}

    # ------------------------------------------------------------------------------------------------------------- steps

    def judge(self, more: Mapping[str, str]) -> TierDecision:
        """The decision about all texts of the request. Raises `TierBlockedError`, after the block was recorded."""
        with self.timed("tier"):
            request, texts = self.request, {**texts_of(self.request), **more}
            ceilings = self.library.ceilings(request)
            who = request.user_id or ""
            self.tier = self.library.judged(
                texts, request.content_mode, ceilings, request_id=self.request_id, actor=who
            )
            return self.tier.require() if texts else self.tier

    def _template(self, tier: Tier) -> tuple[Resolution, RenderedTemplate | None, bool]:
        with self.timed("resolve"):
            self.resolution = resolution = self.library.sources.resolve(self.request.asked(tier))
            version = resolution.require(strict=self.strict)
        if version is None:
            return resolution, None, False
        if self.request.system is not None:
            own = RenderedTemplate(text=self.request.system, version_id=version.version_id)
            return resolution, own, False
        with self.timed("render"):
            filled = variable_values(version, self._parts())
            values = {**self.request.values, **filled} if filled else self.request.values
            rendered, cached = rendered_version(self.library, version, resolution.source, values, tier)
        return resolution, rendered, cached

    def _finished(
        self, tier: TierDecision, resolution: Resolution, rendered: RenderedTemplate | None, *, cached: bool
    ) -> PreparedPrompt:
        with self.timed("budget"):
            catalogue = self.library.sources.current()
            request, template = self.request, resolution.template
            target = facts_of(catalogue, request.target_model, request.target_family, request.job_type)
            reader = self._reader()
            budget, fitted = self._fitted(target, template)
            limit = None
            if template is not None and reader.window is not None:
                limit = chat_budget(reader.window, _answer_tokens(template))
            unknown = template is not None and bool(request.history) and reader.window is None
            plan = self._plan(reader, template, rendered, fitted)
            mode, text = request.generation_mode, request.negative
            negative = (
                self.library.negatives("", tier.effective, mode, facts=target, user_text=text)
                if target.visual
                else None
            )
        return PreparedPrompt(
            request=request,
            request_id=self.request_id,
            tier=tier,
            resolution=resolution,
            rendered=rendered,
            plan=plan,
            fitted=fitted,
            budget=budget,
            input_tokens=self._tokens(plan),
            window_limit=limit,
            negative=negative,
            cached=cached,
            latency_ms=self.total(),
            notes=(*self.library.rules.problems, *(("window_unknown",) if unknown else ())),
            cache_age_s=self.library.cache_age(),
            left_out=self.left_out,
        )

    def _fitted(self, target: ModelFacts, template: TemplateVersion | None) -> tuple[Budget | None, Fitted | None]:
        """The room of what the target reads, where anybody knows it; where no template stands between, the text made to fit."""
        request = self.request
        limits = (template.token_limit if template else target.window, request.target_budget)
        spec = target.measured(max((limit for limit in limits if limit is not None), default=None))
        if spec is None:
            return None, None if template is not None else _whole(request, self.library.counter)
        measure = spec.measure(self.library.counter)
        budget = budget_of(
            spec,
            overlays=request.overlays,
            target_budget=request.target_budget or (template.token_limit if template else None),
            max_output_tokens=_answer_tokens(template) if template else None,
            char_limit=target.char_limit,
            measure=measure,
        )
        if template is not None:
            return budget, None
        if not request.segments:
            return budget, fit_text(request.text, budget, measure, spec.overflow)
        done = compress(request.segments, budget, measure)
        return budget, Fitted(done.text, done.tokens, dropped=done.dropped)

    def _plan(
        self,
        reader: ModelFacts,
        template: TemplateVersion | None,
        rendered: RenderedTemplate | None,
        fitted: Fitted | None,
    ) -> Plan:
        """What the model gets: the system prompt, the newest turns that fit, what the user wrote, once.

        Where no template stands between, it is the text for the target, as it was made to fit.
        """
        request, ports = self.request, self.library.ports
        now = self.library.outside.now().now.isoformat()
        if template is None or rendered is None:
            text = request.text if fitted is None else fitted.text
            build = BuildRequest(message=text, model=request.target_model, dialect=request.dialect, now=now)
            return TAVERN.build(build, ports)
        parts = placed(template, self._parts())
        settings = {"ranges": rendered.ranges, "client_msg_id": request.client_msg_id or ""}
        build = BuildRequest(
            system=rendered.text,
            history=request.history,
            message=request.text,
            settings=freeze({**settings, "parts": parts} if parts else settings),
            model=reader.key,
            dialect=request.dialect,
            context_window=reader.window,
            reserved_tokens=0 if reader.window is None else _answer_tokens(template),
            now=now,
        )
        return TAVERN.build(build, ports)

    def _tokens(self, plan: Plan) -> int:
        """What the prompt costs, with the framing of its dialect; as the trimming counted it, where there is a window."""
        if plan.trim_report is not None:
            report: TrimReport = plan.trim_report
            return report.final_tokens if report.sent_tokens is None else report.sent_tokens
        costing = Costing(counter=self.library.counter, model=plan.model, framing=framing_of(plan.dialect))
        return costing.total(plan.enabled_blocks)


def _whole(request: PrepareRequest, counter: TokenCounter) -> Fitted:
    """The text for a target of which nobody knows a limit, as it is; of segments all that say anything new."""
    measure = TokenizerSpec("bpe", request.target_model or "", UNBOUNDED).measure(counter)
    if not request.segments:
        return Fitted(request.text, measure.count(request.text))
    done = compress(request.segments, UNBOUNDED, measure)
    return Fitted(done.text, done.tokens, dropped=done.dropped)


def _answer_tokens(template: TemplateVersion) -> int:
    return template.max_output_tokens or template.token_limit


def with_note(prepared: PreparedPrompt, note: str) -> PreparedPrompt:
    """The answer with a further reason why it is a makeshift, where there is one."""
    return msgspec.structs.replace(prepared, notes=(*prepared.notes, note)) if note else prepared
