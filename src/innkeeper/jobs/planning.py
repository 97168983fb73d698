"""Planner: what becomes of a media request before it is a job: who makes it, in which tier, with which body, for how much.

All its texts are judged together before anything else is done with them, and go on as they are: nothing is reworded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from innkeeper.gate.gate import TextKind
from innkeeper.gate.tier import Ceilings, Tier, TierDecision, effective_tier
from innkeeper.jobs.backend import WORKER
from innkeeper.jobs.backends.tiny_seed_picture import NAME
from innkeeper.jobs.media import PICTURES, BuiltBody, MediaNote, MediaRequest, MediaRequestError, build
from innkeeper.jobs.routing import NO_BOUNDS, Bounds, JobTarget, MediaRoutes
from innkeeper.library.models.facts import ModelFacts, ceilings_of, facts_of
from innkeeper.prompt.data import thaw
from innkeeper.prompt.machine import fresh_seed
from innkeeper.prompt.typed.once import convert

if TYPE_CHECKING:
    from innkeeper.jobs.job import Job
    from innkeeper.library.library import Library


class MediaPlan(msgspec.Struct, frozen=True):
    """A request as it will be carried out. ``request`` has the seed that is sent; ``estimate`` is in US dollars."""

    request: MediaRequest
    target: JobTarget
    tier: Tier
    built: BuiltBody
    estimate: float | None = None


class Planner:
    """Plans requests over the catalogue and the gate of a library, for where the router sends them."""

    def __init__(self, library: Library, routes: MediaRoutes) -> None:
        self.library = library
        self.routes = routes

    def plan(
        self,
        request: MediaRequest,
        tier: Any,
        ceilings: Ceilings,
        *,
        request_id: str = "",
        actor: str = "",
        bounds: Bounds = NO_BOUNDS,
    ) -> MediaPlan:
        """The plan of a request that was `MediaRequest.checked`: for the first target within its bounds that can be asked this.

        Raises:
            TierBlockedError: the texts do not pass.
            BudgetError: whoever can be asked costs more.
            NoRouteError: nobody may be asked, be it that nobody knows what it costs.
            MediaRequestError, UnknownNameError, ConfigError: what is wanted cannot be asked.
        """
        granted = effective_tier(tier, ceilings, policy=self.library.rules.policy).effective
        refused: MediaRequestError | None = None
        for target in self.routes.targets(request, granted, bounds):
            try:
                return self._planned(target, request, tier, ceilings, request_id=request_id, actor=actor)
            except MediaRequestError as error:
                refused = refused or error
        assert refused is not None  # noqa: S101 - no target at all is an error of the routes
        raise refused

    def judge_again(self, job: Job) -> TierDecision:
        """The decision about a job's texts as they are about to be sent, by the rules that count now.

        Raises `TierBlockedError`.
        """
        request = convert(thaw(job.request), MediaRequest)
        own = Ceilings(account=Tier.of(job.tier))
        texts = {**_texts(request), **_final_texts(job.body, _texts(request), Tier.of(job.tier))}
        return self.library.judged(texts, job.tier, own, request_id=job.id, actor=job.owner).require()

    def target(self, request: MediaRequest) -> JobTarget:
        """Where a request of the general tier goes. Raises what `MediaRoutes.targets` raises."""
        return next(self.routes.targets(request, Tier.SFW))

    def _planned(
        self, target: JobTarget, request: MediaRequest, tier: Any, ceilings: Ceilings, *, request_id: str, actor: str
    ) -> MediaPlan:
        """The plan for one target: everything is made anew for it, and judged in the form in which it is sent."""
        above = self._ceilings(target, request, ceilings)
        texts = _texts(request)
        decision = self.library.judged(texts, tier, above, request_id=request_id, actor=actor).require()
        self._require_fits(target, request)
        while True:
            built, seed = self._built(target, request, decision.effective)
            more = _final_texts(built.body, texts, decision.effective)
            if not more:
                break
            again = self.library.judged(
                {**texts, **more}, decision.effective, above, request_id=request_id, actor=actor
            )
            if again.require().effective is decision.effective:
                break
            decision = again
        sent_seed = built.body.get("seed")
        request = msgspec.structs.replace(request, seed=sent_seed if isinstance(sent_seed, int) else seed)
        price = target.deployment.price
        estimate = None if price is None else price.of_media(request.count, request.duration)
        return MediaPlan(request, target, decision.effective, built, estimate)

    def _ceilings(self, target: JobTarget, request: MediaRequest, ceilings: Ceilings) -> Ceilings:
        """With what the target allows. A model that was not named is for the tier that its row or worker says, or the general."""
        if target.backend == NAME:
            return ceilings
        above = ceilings_of(self.library.catalogue, ceilings, (target.key,)) if target.provider else ceilings
        if request.model is not None and not target.deployment.worker:
            return above
        own = target.deployment.tier
        return msgspec.structs.replace(above, model=own if above.model is None else Tier.lowest(own, above.model))

    def _built(self, target: JobTarget, request: MediaRequest, tier: Tier) -> tuple[BuiltBody, int | None]:
        negative, dropped = self._negative(target, request, tier)
        schema, seed = target.model.capabilities.get("input_schema"), request.seed
        if seed is None and (not isinstance(schema, Mapping) or "seed" in schema):
            seed = fresh_seed() % 2**31  # so that the result can be generated again
        sent = msgspec.structs.replace(request, seed=seed, negative_prompt=negative)
        built = build(sent, target.model, tier)
        workflow: dict[str, Any] = {}  # kept with the job, so that changes of the row are for the next
        if target.backend in {"comfyui", WORKER}:
            capabilities = target.model.capabilities
            workflow = {name: capabilities[name] for name in ("workflow", "inputs") if name in capabilities}
        return BuiltBody({**built.body, **workflow}, (*dropped, *built.notes)), seed

    def _require_fits(self, target: JobTarget, request: MediaRequest) -> None:
        """Refuse a prompt of which a model that reads CLIP's window would not see the end."""
        spec = self._facts(target).measured(None) if target.provider else None
        if spec is None or spec.kind != "clip" or spec.chunking == "compel":
            return
        size, allowed = spec.measure(self.library.counter).count(request.prompt), spec.limit_usable - spec.reserve
        if size > allowed:
            hint = "have it enhanced or compressed for this model first"
            raise MediaRequestError(f"the prompt has {size} tokens, and the model reads {allowed}", hint=hint)

    def _negative(self, target: JobTarget, request: MediaRequest, tier: Tier) -> tuple[str, tuple[MediaNote, ...]]:
        """The negative prompt: the rows of the model's family, then the request's own; and what of these did not fit."""
        if not target.provider or request.mode.modality != "image":
            return request.negative_prompt, ()
        facts = self._facts(target)
        mode = "i2i" if request.mode.takes_picture else "txt2img"
        joined = self.library.negatives(facts.family or "", tier, mode, facts=facts, user_text=request.negative_prompt)
        if joined.skipped:
            return request.negative_prompt, ()
        own = (one for one in joined.dropped if not one.fragment.row)
        return joined.text, tuple(MediaNote("negative_prompt", one.fragment.text, None, one.reason) for one in own)

    def _facts(self, target: JobTarget) -> ModelFacts:
        return facts_of(self.library.catalogue, target.key, job_type="image")


def _texts(request: MediaRequest) -> dict[str, str]:
    """Every text of a request that people wrote, by where it enters."""
    texts = {
        TextKind.USER_TEXT.value: request.prompt,
        f"{TextKind.USER_TEXT}:negative": request.negative_prompt,
        **{f"{TextKind.USER_TEXT}:{name}": text for name, text in _strings("extra", request.extra)},
    }
    return {name: text for name, text in texts.items() if text}


def _final_texts(body: Mapping[str, Any], texts_sent: Mapping[str, str], tier: Tier) -> dict[str, str]:
    """Every text of a body that its request did not say, by where it stands: of rows, defaults and workflows.

    In the general tier there are none: an operator's negative prompts name there what should not be seen.
    """
    if tier is Tier.SFW:
        return {}
    known, strings = {*texts_sent.values()}, _strings("sent", {k: v for k, v in body.items() if k not in PICTURES})
    new = {text: name for name, text in strings if text not in known and any(map(str.isalpha, text))}
    return {f"{TextKind.SYSTEM_PROMPT}:{name}": text for text, name in new.items()}


def _strings(path: str, value: Any) -> Iterable[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _strings(f"{path}.{name}", inner)
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            yield from _strings(f"{path}[{index}]", inner)
