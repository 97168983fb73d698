"""Scenes: compose scenes, generate their pictures by jobs, and store both.

All texts are read and checked by the gate first; the text of a model is checked again. `Scenes.compose` stores nothing.
`Scenes.generate` stores the scene together with its job in one transaction, so that neither exists without the other; whoever
ends the job writes the picture to the scene. The stored scene has exactly what is sent: the prompt, the mode, the pictures in
order and the state of the scene (dynamic-prompting reference 3.7, 3.9, 9 item 3).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.gate.gate import TextKind
from innkeeper.gate.tier import Ceilings, Decision, Tier, TierDecision
from innkeeper.jobs.job import SCENE_KEY, Job, Mode
from innkeeper.jobs.media import MediaRequest, pictures_read
from innkeeper.jobs.media_jobs import Terms
from innkeeper.library.catalogue.rows import CatalogueModel
from innkeeper.library.db.owner import Owner
from innkeeper.library.errors import ConflictError
from innkeeper.library.log.scenes import SceneStore, SceneTemplateStore
from innkeeper.library.models.facts import Measure, ModelFacts, TokenizerSpec, facts_of
from innkeeper.library.models.json_columns import ModelCapabilities, read_json
from innkeeper.library.prepare.budget import Budget, budget_of
from innkeeper.library.prepare.request import tier_facts
from innkeeper.library.rows import SceneRow
from innkeeper.operations.scenes.composition import (
    CastMember,
    Composition,
    SceneParts,
    SceneStyle,
    clothing_of,
    compose,
    people_of,
)
from innkeeper.operations.scenes.figures import FigureCandidate, FigurePlan, FigureRole, plan_figures
from innkeeper.operations.scenes.limits import MAX_PROMPT_CHARS, MAX_SCENE_CHARS
from innkeeper.operations.scenes.modes import Consistency, Environment, Method, SceneMode, environment_of, strength_of
from innkeeper.operations.scenes.reading import SceneContext, analyse
from innkeeper.operations.scenes.request import SceneRequest
from innkeeper.operations.scenes.sources import SceneSources, persons, read_sources, scene_texts
from innkeeper.operations.scenes.state import Applied, SceneState, StateChange, apply_changes, read_state
from innkeeper.operations.scenes.text import SceneText, narrated_text, narrative_prompt, scene_text
from innkeeper.prompt.allowance import allowed
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import StrictModeError

if TYPE_CHECKING:
    from innkeeper.jobs.media_jobs import MediaJobs
    from innkeeper.library.library import Library
    from innkeeper.operations.tasks.execution import TextTasks


class SceneTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The owner of a scene and its limits. None of it comes from the request.

    ``text`` are fields of the `TextTask` that may describe the moment: ``routes``, ``money`` (US dollars).
    """

    owner: Owner
    ceilings: Ceilings = Ceilings()
    text: Mapping[str, Any] = EMPTY
    idempotency_key: str | None = None
    callback_url: str | None = None
    max_cost: float | None = None
    priority: int = 0


class ComposedScene(msgspec.Struct, frozen=True, kw_only=True):
    """A composed scene, with every decision that led to it."""

    request: SceneRequest
    sources: SceneSources
    tier: TierDecision
    ceilings: Ceilings
    environment: Environment
    context: SceneContext
    changes: Applied
    text: SceneText
    composition: Composition
    media: MediaRequest
    style: SceneStyle
    model: str
    reasons: tuple[str, ...] = ()

    @property
    def state(self) -> SceneState:
        """The state after the changes of this scene."""
        return self.changes.state

    @property
    def name(self) -> str:
        """The name: the request's, else that of tags or of the template."""
        return self.request.scene_name or self.text.tags.name

    @property
    def description(self) -> str:
        """The description: the request's, else that of tags or of the template."""
        return self.request.scene_description or self.text.tags.description

    def to_dict(self) -> dict[str, Any]:
        """Return the scene as JSON-ready data, including its texts."""
        return {
            "scene_prompt": self.composition.prompt,
            "negative_prompt": self.media.negative_prompt,
            "scene_name": self.name,
            "scene_description": self.description,
            "scene_text": self.text.tags.text,
            "text_source": self.text.source,
            "scene_mode": self.environment.mode.value,
            "generation_mode": self.media.mode.value,
            "seed": self.media.seed,
            "figures": [figure.to_dict() for figure in self.composition.figures.figures],
            "scene_context": self.context.to_dict(),
            "state": self.state.to_dict(),
            "previous_scene_id": None if self.sources.before is None else self.sources.before.id,
            "degraded": bool(self.reasons),
            **self.metadata(),
        }

    def metadata(self) -> dict[str, Any]:
        """Return the part of `to_dict` that a stored scene has as its ``generation_metadata``."""
        answer = self.text.answer
        return {
            **self.composition.to_dict(),
            "reasons": list(self.reasons),
            "faults": list(self.text.faults),
            "tier": tier_facts(self.tier),
            "narrative": None if answer is None else {**answer.to_dict(), "text": None},
            "model": self.model,
            "strength": self.media.strength,
            "changes": {
                "applied": msgspec.to_builtins(self.changes.applied),
                "ignored": msgspec.to_builtins(self.changes.ignored),
            },
        }

    def columns(self) -> dict[str, Any]:
        """Return the columns of the stored scene: exactly what is sent."""
        sources, media = self.sources, self.media
        character, persona, before = sources.character, sources.persona, sources.before
        return {
            "conversation_id": None if sources.conversation is None else sources.conversation.id,
            "character_id": None if character is None else character.id or None,
            "user_character_id": None if persona is None else persona.id or None,
            "template_id": None if sources.template is None else sources.template.id,
            "request_sha256": self.request.sha256,
            "scene_name": self.name,
            "scene_description": self.description,
            "scene_text": self.text.tags.text,
            "text_source": self.text.source,
            "scene_prompt": media.prompt,
            "scene_type": self.style.value,
            "scene_mode": self.environment.mode.value,
            "generation_mode": media.mode.value,
            "previous_scene_id": None if before is None else before.id,
            "previous_scene_image_url": None if before is None else before.image_url,
            "seed": media.seed,
            "tier": self.tier.effective.value,
            "state": self.state.to_dict(),
            "context": self.context.to_dict(),
            "figures": [figure.to_dict() for figure in self.composition.figures.figures],
            "request": msgspec.to_builtins(msgspec.structs.replace(media, image=None, references=())),
            "generation_metadata": self.metadata(),
        }


class MadeScene(msgspec.Struct, frozen=True, kw_only=True):
    """A stored scene and its job. ``composed`` is None if the request repeated an earlier one."""

    scene: SceneRow
    job: Job
    composed: ComposedScene | None = None


class Scenes:
    """Composes and generates scenes of one library. One instance belongs to one event loop.

    Args:
        library: the library.
        jobs: generates pictures; it belongs to the same library.
        tasks: lets models describe a moment; without it no model is asked.
    """

    def __init__(self, library: Library, jobs: MediaJobs, tasks: TextTasks | None = None) -> None:
        self.library, self.jobs, self.tasks = library, jobs, tasks

    async def compose(self, request: SceneRequest, terms: SceneTerms) -> ComposedScene:
        """Compose a scene's prompt with its figures; nothing is stored or generated.

        Raises:
            TierBlockedError: its texts do not pass the gate.
            NotFoundError, ConflictError: the scene to continue does not exist or has no picture.
            UsageError: the request does not say what to show.
            OverBudgetError: the parts that must stay do not fit.
            StrictModeError: with ``strict``, the scene would be degraded.
            InnkeeperError: raised by the planner of jobs or the text task.
        """
        draft = await asyncio.to_thread(_SceneDraft, self.library, self.jobs, request, terms)
        mode, context, tasks = draft.environment.mode, draft.context, self.tasks
        narrate = None if tasks is None else lambda: draft.narrated(tasks)
        text = await scene_text(request, draft.sources, mode, context, narrate)
        return await asyncio.to_thread(draft.composed, text)

    async def generate(self, request: SceneRequest, terms: SceneTerms) -> MadeScene:
        """Compose a scene, store it, and queue its picture; with a used idempotency key return the earlier scene.

        Raises what `compose` raises, and what `MediaJobs.submit` raises.
        """
        store = SceneStore(self.library.db, terms.owner)
        earlier = await asyncio.to_thread(store.requested, terms.idempotency_key, request.sha256)
        if earlier is not None and earlier.job_id is not None:
            return MadeScene(scene=earlier, job=await asyncio.to_thread(self._job, earlier.job_id, terms))
        composed = await self.compose(request, terms)
        return await asyncio.to_thread(self._store, store, composed, terms)

    def _job(self, job_id: str | None, terms: SceneTerms) -> Job:
        """The job that makes a scene's picture. Raises `NotFoundError`."""
        return self.jobs.get(job_id or "", tenant=terms.owner.tenant, owner=terms.owner.user)

    def _store(self, store: SceneStore, composed: ComposedScene, terms: SceneTerms) -> MadeScene:
        """Store the scene and its job together, then the conversation's new state."""
        with self.library.db.transaction():
            scene, new = store.begin({**composed.columns(), "idempotency_key": terms.idempotency_key})
            if new:
                answer, money = composed.text.answer, terms.max_cost
                spent = 0.0 if answer is None else answer.cost_usd or 0.0  # by the model that described the moment
                job_terms = Terms(
                    tenant=terms.owner.tenant,
                    owner=terms.owner.user,
                    tier=composed.tier.effective.value,
                    ceilings=composed.ceilings,
                    idempotency_key=f"{SCENE_KEY}{scene.id}",
                    callback_url=terms.callback_url,
                    max_cost=None if money is None else max(0.0, money - spent),
                    routes=terms.text.get("routes"),
                    priority=terms.priority,
                )
                job = self.jobs.submit(composed.media, job_terms)
                scene = store.assign_job(scene.id, job.id, seed=job.request.get("seed"), tier=job.tier)
        if not new:
            return MadeScene(scene=scene, job=self._job(scene.job_id, terms))
        self.jobs.added()  # it is there for other connections from here on
        if composed.sources.template is not None:
            SceneTemplateStore(self.library.db).used(composed.sources.template.id)
        self._store_state(store, composed)
        return MadeScene(scene=scene, job=job, composed=composed)

    def _store_state(self, store: SceneStore, composed: ComposedScene) -> None:
        """Store the conversation's new state. If another request was faster, apply this one's changes to its state."""
        sources = composed.sources
        if sources.conversation is None:
            return
        here, seen, after = sources.conversation.id, sources.stored, composed.changes
        seq = max([seen.seq, *(row.seq for row in sources.messages)])
        for _ in range(_TRIES):
            moved = after.state.location is not None and any(change.field == "location" for change in after.applied)
            location, tier = after.state.location_text if moved else None, composed.tier.effective
            try:
                store.put_state(here, seen, after.state.to_dict(), seq=seq, location=location, tier=tier)
            except ConflictError:
                seen = store.state(here)
                if seen.seq >= seq:
                    return
                after = apply_changes(read_state(seen.state) if seen.state else sources.state, composed.changes.applied)
            else:
                return


_TRIES: Final = 8
_LOST: Final = frozenset({"budget", "tail", "cut"})
"""Reasons of `Composition.dropped` that shorten a prompt."""


class _SceneDraft:
    """One scene while it is composed: sources, tier, mode and changes, and from there the prompt and its request."""

    def __init__(self, library: Library, jobs: MediaJobs, request: SceneRequest, terms: SceneTerms) -> None:
        self.library, self.jobs, self.request, self.terms = library, jobs, request, terms
        read = read_sources(library, jobs, request, terms.owner)
        self.template = row = read.template
        self.ceilings = self._ceilings(read)
        self.texts = scene_texts(request, read)
        self.tier = self._check_tier()
        with allowed():
            self.context, changes = self._analyse(read)
        self.changes = apply_changes(read.state, changes)
        self.sources = msgspec.structs.replace(read, state=self.changes.state)
        self.environment = environment_of(
            changed=None if read.changed is None else read.changed.image_url,
            before=None if read.before is None else read.before.image_url,
            template=request.scene_preview_image_url if row is None else row.preview_image_url,
            override=request.scene_prompt_override,
        )
        is_pov = row is not None and row.perspective_hint == "pov"
        self.style = request.scene_style or (SceneStyle.POV if is_pov else SceneStyle.CHARACTER_ONLY)

    async def narrated(self, tasks: TextTasks) -> SceneText:
        """Let a model describe the moment."""
        request, facts = self.request, self._facts(self._pictures[1])
        mode, context = self.environment.mode, self.context
        prompt = narrative_prompt(tasks, request, self.sources, self.ceilings, mode, context, facts)
        model = {} if request.enhancer_model is None else {"model": request.enhancer_model}
        return await narrated_text(tasks, prompt, self.sources, {**self.terms.text, **model, "strict": request.strict})

    def composed(self, text: SceneText) -> ComposedScene:
        """Compose the scene with its text. Raises `StrictModeError` for a degraded scene where the request is strict."""
        written = {} if text.answer is None else {TextKind.MODEL_OUTPUT.value: text.tags.text}
        tier = self._check_tier(**written) if written else self.tier
        draft, model, plan = self._pictures
        budget, measure, apart = self._room(model)
        composition = compose(self._parts(text, plan), budget, measure, apart=apart)
        reasons = tuple(dict.fromkeys(self._reasons(text, composition, tier)))
        if self.request.strict and reasons:
            hint = "leave strict out to take what there is"
            raise StrictModeError(f"only a makeshift answers: {', '.join(reasons)}", hint=hint, reasons=list(reasons))
        return ComposedScene(
            request=self.request,
            sources=self.sources,
            tier=tier,
            ceilings=self.ceilings,
            environment=self.environment,
            context=self.context,
            changes=self.changes,
            text=text,
            composition=composition,
            media=self._media(draft, plan, composition),
            style=self.style,
            model=model.model_key,
            reasons=reasons,
        )

    # ------------------------------------------------------------------------------------------------------------ what is read

    def _ceilings(self, sources: SceneSources) -> Ceilings:
        ceilings, row = self.terms.ceilings, sources.template
        character = Tier.lowest(sources.ceiling(), *(() if ceilings.character is None else (ceilings.character,)))
        scene = ceilings.scene if row is None else row.content_rating
        return msgspec.structs.replace(ceilings, character=character, scene=scene)

    def _check_tier(self, **more: str) -> TierDecision:
        texts, tier, actor = {**self.texts, **more}, self.request.content_tier, self.terms.owner.user
        return self.library.judged(texts, tier, self.ceilings, actor=actor).require()

    def _analyse(self, sources: SceneSources) -> tuple[SceneContext, list[StateChange]]:
        """Return the context of the moment to show, and the changes that unread messages propose.

        The moment is the request's message, else the newest reply, else the newest message.
        """
        text = self.request.message
        messages = [("assistant", text, "", True)] if text.strip() else []
        rows = reversed(sources.messages)
        messages += [(row.role, row.content, row.id, row.seq > sources.stored.seq) for row in rows]
        moment = next((message for message in messages if message[0] == "assistant"), None)
        moment = messages[0] if moment is None and messages else moment
        changes: list[StateChange] = []
        context, left = SceneContext(), MAX_SCENE_CHARS
        for message in messages:
            role, content, message_id, is_new = message
            if message is not moment and not (is_new and left > 0):
                continue
            size = MAX_SCENE_CHARS if message is moment else left
            read = analyse(content[-size:], persons(sources, role), message=message_id)
            context = read if message is moment else context
            changes[:0] = read.changes if is_new else ()
            left -= len(content)
        return context, changes

    # ---------------------------------------------------------------------------------------------------------- what is sent

    @cached_property
    def _consistency(self) -> Consistency:
        row = self.sources.character
        default = Consistency() if row is None else Consistency(method=Method(row.consistency_method))
        return self.request.consistency_settings or default

    def _candidates(self) -> Iterator[FigureCandidate]:
        if self.environment.picture is not None:
            yield FigureCandidate(FigureRole.ENVIRONMENT, self.environment.picture)
        if self.environment.mode is SceneMode.MODIFICATION or not self._consistency.sends_reference:
            return
        for role, row in self.sources.people:
            picture = row.reference_image_url or row.image_url
            visible = role is FigureRole.CHARACTER or self.style is SceneStyle.BOTH_CHARACTERS
            if picture and visible:
                yield FigureCandidate(role, picture, row.name)

    @cached_property
    def _pictures(self) -> tuple[MediaRequest, CatalogueModel, FigurePlan]:
        """The media request, its model, and the pictures to send: as many as that model reads."""
        request, candidates = self.request, [*self._candidates()]
        model = request.selected_i2i_model if candidates else request.selected_image_model
        image = candidates[0].picture if candidates else None
        media = MediaRequest(prompt="a scene", mode=Mode.I2I if image else Mode.T2I, model=model, image=image)
        target = self.jobs.planner.target(media)
        plan = plan_figures(candidates, pictures_read(target.model.capabilities))
        if len(plan.figures) > 1:  # another model might read fewer than the text speaks of
            media = msgspec.structs.replace(media, model=target.key)
        return media, target.model, plan

    def _facts(self, model: CatalogueModel) -> ModelFacts:
        return facts_of(self.library.catalogue, model.model_key, job_type="image")

    def _room(self, model: CatalogueModel) -> tuple[Budget, Measure, bool]:
        """Return the prompt's budget, its measure, and whether the model takes a negative prompt."""
        facts = self._facts(model)
        char_limit = read_json(model.capabilities, ModelCapabilities).char_limit or MAX_PROMPT_CHARS
        spec = facts.measured(facts.window) or TokenizerSpec("chars", "", char_limit)
        measure = spec.measure(self.library.counter)
        return budget_of(spec, char_limit=char_limit, measure=measure), measure, spec.kind == "clip" and facts.negative

    def _parts(self, text: SceneText, plan: FigurePlan) -> SceneParts:
        sources, persona = self.sources, self.sources.persona
        mood = "" if self.template is None else self.template.atmosphere.get("mood")
        return SceneParts(
            text=text.tags.text,
            style=self.style,
            mode=self.environment.mode,
            plan=plan,
            people=people_of(self.style, [*self._members()]),
            viewer="" if persona is None else persona.name,
            action=next(iter(self.context.actions), ""),
            mood=self.context.mood or str(mood or ""),
            state=self.changes.state,
            before=sources.state_before(),
        )

    def _members(self) -> Iterator[CastMember]:
        request, row = self.request, self.template
        overrides: dict[str, str] = {}
        if row is not None:
            items = row.character_clothing_overrides.items()
            overrides |= {name: clothes for name, clothes in items if isinstance(clothes, str)}
        overrides |= request.scene_clothing_overrides
        default = request.scene_default_clothing or (row and row.default_clothing) or ""
        for role, person in self.sources.people:
            appearance = tuple(tag for tag in person.appearance_tags if tag.strip())
            member = CastMember(name=person.name, role=role, appearance=appearance, id=person.id)
            clothing = clothing_of(member, self.changes.state, overrides, default, person.clothing_tags)
            yield msgspec.structs.replace(member, clothing=clothing)

    def _media(self, draft: MediaRequest, plan: FigurePlan, composition: Composition) -> MediaRequest:
        request, consistency, pictures = self.request, self._consistency, plan.pictures
        character, before = self.sources.character, self.sources.before
        seeds = (None if character is None else character.seed_locked, None if before is None else before.seed)
        negative = (request.negative_prompt.strip(), composition.negative)
        return msgspec.structs.replace(
            draft,
            prompt=composition.prompt,
            negative_prompt=", ".join(part for part in negative if part),
            seed=consistency.seed(*seeds),
            strength=strength_of(self.environment.mode, consistency) if len(pictures) == 1 else None,
            image=pictures[0] if pictures else None,
            references=pictures[1:],
            mode=Mode.I2I if pictures else Mode.T2I,
            width=request.width,
            height=request.height,
            aspect_ratio=request.aspect_ratio,
        )

    def _reasons(self, text: SceneText, composition: Composition, tier: TierDecision) -> Iterator[str]:
        yield from self.sources.reasons
        yield from text.reasons
        if tier.effective.rank < tier.requested.rank or tier.decision is Decision.REVIEW:
            yield from tier.reasons
        if any(part.reason in _LOST for part in composition.dropped):
            yield "shortened"
        if any(figure.reason == "model_limit" for figure in composition.figures.dropped):
            yield "figure_not_sent"
        row = self.template
        if row is not None and not row.min_characters <= len(composition.people) <= row.max_characters:
            yield "persons_of_template"
