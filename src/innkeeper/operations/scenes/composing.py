"""Compose a scene: from a request to a prompt with figures, and to the request for its picture.

All texts are read and checked by the gate first; the text of a model is checked again. Nothing is stored here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.jobs.job import Mode
from innkeeper.jobs.media import MediaRequest, pictures_read
from innkeeper.library.catalogue.rows import CatalogueModel
from innkeeper.library.db.owner import Owner
from innkeeper.library.models.facts import Measure, ModelFacts, TokenizerSpec, facts_of
from innkeeper.library.models.json_columns import ModelCapabilities, read_json
from innkeeper.library.prepare.budget import Budget, budget_of
from innkeeper.library.prepare.request import tier_facts
from innkeeper.library.tier import Ceilings, Decision, Tier, TierDecision
from innkeeper.library.tiers.gate import TextKind
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
from innkeeper.operations.scenes.modes import (
    Consistency,
    Environment,
    Method,
    SceneMode,
    environment_of,
    strength_of,
)
from innkeeper.operations.scenes.reading.context import Person, SceneContext, analyse
from innkeeper.operations.scenes.request import SceneRequest
from innkeeper.operations.scenes.sources import SceneSources, read_sources, scene_texts
from innkeeper.operations.scenes.state import Applied, SceneState, StateChange, apply_changes
from innkeeper.operations.scenes.text import Narrator, SceneText, narrator
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

    def to_dict(self) -> dict[str, Any]:
        """Return the scene as JSON-ready data, including its texts."""
        answer = self.text.answer
        return {
            "scene_prompt": self.composition.prompt,
            "negative_prompt": self.media.negative_prompt,
            "scene_name": self.name,
            "scene_description": self.description,
            "scene_text": self.text.tags.text,
            "text_source": self.text.source,
            "faults": list(self.text.faults),
            "scene_mode": self.environment.mode.value,
            "generation_mode": self.media.mode.value,
            "model": self.model,
            "seed": self.media.seed,
            "strength": self.media.strength,
            "figures": [figure.to_dict() for figure in self.composition.figures.figures],
            "scene_context": self.context.to_dict(),
            "state": self.state.to_dict(),
            "changes": {
                "applied": msgspec.to_builtins(self.changes.applied),
                "ignored": msgspec.to_builtins(self.changes.ignored),
            },
            "previous_scene_id": None if self.sources.before is None else self.sources.before.id,
            **self.composition.to_dict(),
            "tier": tier_facts(self.tier),
            "degraded": bool(self.reasons),
            "reasons": list(self.reasons),
            "narrative": None if answer is None else {**answer.to_dict(), "text": None},
        }

    @property
    def name(self) -> str:
        """The name: the request's, else that of tags or of the template."""
        return self.request.scene_name or self.text.tags.name

    @property
    def description(self) -> str:
        """The description: the request's, else that of tags or of the template."""
        return self.request.scene_description or self.text.tags.description


class Composing:
    """One scene while it is composed: sources, tier, mode and changes, and from there the prompt and its request."""

    def __init__(
        self, library: Library, jobs: MediaJobs, request: SceneRequest, terms: SceneTerms, sources: SceneSources
    ) -> None:
        self.library, self.jobs, self.request, self.terms = library, jobs, request, terms
        self.read = sources
        self.ceilings = self._ceilings()
        self.tier = self._check_tier(scene_texts(request, sources)).require()
        with allowed():
            self.context, changes = self._analyse()
        self.changes = apply_changes(sources.state, changes)
        self.sources = msgspec.structs.replace(sources, state=self.changes.state)
        row = self.read.template
        self.environment = environment_of(
            changed=None if sources.changed is None else sources.changed.image_url,
            before=None if sources.before is None else sources.before.image_url,
            template=self.request.scene_preview_image_url if row is None else row.preview_image_url,
            override=request.scene_prompt_override,
        )

    @classmethod
    def begin(cls, library: Library, jobs: MediaJobs, request: SceneRequest, terms: SceneTerms) -> Composing:
        """Read and check everything that a request needs."""
        return cls(library, jobs, request, terms, read_sources(library, jobs, request, terms.owner))

    def narrator(self, tasks: TextTasks | None) -> Narrator | None:
        """Return the function that lets a model describe the moment; None without ``tasks``."""
        if tasks is None:
            return None
        model = {} if self.request.enhancer_model is None else {"model": self.request.enhancer_model}
        terms = {**self.terms.text, **model, "strict": self.request.strict}
        facts = self._facts(self._pictures()[1])
        return narrator(tasks, self.request, self.sources, self.ceilings, facts, terms)

    def composed(self, text: SceneText) -> ComposedScene:
        """Compose the scene with its text. Raises `StrictModeError` for a degraded scene where the request is strict."""
        tier = self.tier
        if text.answer is not None:
            tier = self._check_tier(
                {**scene_texts(self.request, self.read), TextKind.MODEL_OUTPUT.value: text.tags.text}
            ).require()
        asked, target_model, plan = self._pictures()
        budget, measure, apart = self._room(self._facts(target_model), target_model)
        composition = compose(self._parts(text, plan), budget, measure, apart=apart)
        media = self._media(asked, plan, composition)
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
            media=media,
            style=self.style,
            model=target_model.model_key,
            reasons=reasons,
        )

    # ------------------------------------------------------------------------------------------------------------ what is read

    def _ceilings(self) -> Ceilings:
        sources, ceilings = self.read, self.terms.ceilings
        character = Tier.lowest(sources.ceiling(), *(() if ceilings.character is None else (ceilings.character,)))
        row = sources.template
        scene = ceilings.scene if row is None else row.content_rating
        return msgspec.structs.replace(ceilings, character=character, scene=scene)

    def _check_tier(self, texts: Mapping[str, str]) -> TierDecision:
        who = self.terms.owner.user
        return self.library.judged(texts, self.request.content_tier, self.ceilings, actor=who)

    @property
    def style(self) -> SceneStyle:
        """Persons and point of view: the request's, else the template's."""
        row = self.read.template
        own = SceneStyle.POV if row is not None and row.perspective_hint == "pov" else SceneStyle.CHARACTER_ONLY
        return self.request.scene_style or own

    def _analyse(self) -> tuple[SceneContext, list[StateChange]]:
        """Return the context of the moment to show, and the changes that unread messages propose.

        The moment is the request's message, else the newest reply, else the newest message.
        """
        sources, own = self.read, self.request.message
        messages = [("assistant", own, "", True)] if own.strip() else []
        rows = reversed(sources.messages)
        messages += [(row.role, row.content, row.id, row.seq > sources.stored.seq) for row in rows]
        shown = next((one for one in messages if one[0] == "assistant"), messages[0] if messages else None)
        changes: list[StateChange] = []
        moment, left = SceneContext(), MAX_SCENE_CHARS
        for one in messages:
            role, content, message, is_new = one
            if one is not shown and not (is_new and left > 0):
                continue
            size = MAX_SCENE_CHARS if one is shown else left
            context = analyse(content[-size:], self._persons(role), message=message)
            moment = context if one is shown else moment
            changes[:0] = context.changes if is_new else ()
            left -= len(content)
        return moment, changes

    def _persons(self, role: str) -> tuple[Person, ...]:
        speaks = {"assistant": FigureRole.CHARACTER, "user": FigureRole.USER}.get(role)
        return tuple(
            Person(row.name, "character" if one is FigureRole.CHARACTER else "user", speaks=one is speaks)
            for one, row in self.read.people
        )

    # ---------------------------------------------------------------------------------------------------------- what is sent

    def _consistency(self) -> Consistency:
        asked, row = self.request.consistency_settings, self.sources.character
        if asked is not None:
            return asked
        return Consistency() if row is None else Consistency(method=Method(row.consistency_method))

    def _candidates(self) -> Iterator[FigureCandidate]:
        if self.environment.picture is not None:
            yield FigureCandidate(FigureRole.ENVIRONMENT, self.environment.picture)
        if self.environment.mode is SceneMode.MODIFICATION or not self._consistency().sends_reference:
            return
        for role, row in self.sources.people:
            picture = row.reference_image_url or row.image_url
            seen = role is FigureRole.CHARACTER or self.style is SceneStyle.BOTH_CHARACTERS
            if picture and seen:
                yield FigureCandidate(role, picture, row.name)

    def _pictures(self) -> tuple[MediaRequest, CatalogueModel, FigurePlan]:
        """Return the media request, its model, and the pictures to send: as many as that model reads."""
        request, candidates = self.request, [*self._candidates()]
        mode = Mode.I2I if candidates else Mode.T2I
        model = request.selected_i2i_model if candidates else request.selected_image_model
        asked = MediaRequest(
            prompt="a scene", mode=mode, model=model, image=candidates[0].picture if candidates else None
        )
        target = self.jobs.planner.target(asked)
        plan = plan_figures(candidates, pictures_read(target.model.capabilities))
        several = len(plan.figures) > 1  # another model might read fewer than the text speaks of
        return msgspec.structs.replace(asked, model=target.key if several else model), target.model, plan

    def _facts(self, model: CatalogueModel) -> ModelFacts:
        return facts_of(self.library.catalogue, model.model_key, job_type="image")

    def _room(self, facts: ModelFacts, model: CatalogueModel) -> tuple[Budget, Measure, bool]:
        """Return the prompt's budget, its measure, and whether the model takes a negative prompt."""
        most = read_json(model.capabilities, ModelCapabilities).char_limit or MAX_PROMPT_CHARS
        spec = facts.measured(facts.window) or TokenizerSpec("chars", "", most)
        measure = spec.measure(self.library.counter)
        apart = spec.kind == "clip" and facts.negative
        return budget_of(spec, char_limit=most, measure=measure), measure, apart

    def _parts(self, text: SceneText, plan: FigurePlan) -> SceneParts:
        sources = self.sources
        template, persona = sources.template, sources.persona
        first = self.context.actions[0] if self.context.actions else ""
        mood = "" if template is None else template.atmosphere.get("mood")
        return SceneParts(
            text=text.tags.text,
            style=self.style,
            mode=self.environment.mode,
            plan=plan,
            people=people_of(self.style, [*self._members()]),
            viewer="" if persona is None else persona.name,
            action=first,
            mood=self.context.mood or str(mood or ""),
            state=self.changes.state,
            before=sources.state_before(),
        )

    def _members(self) -> Iterator[CastMember]:
        request, row = self.request, self.sources.template
        worn_there = {} if row is None else row.character_clothing_overrides
        own = {who: worn for who, worn in worn_there.items() if isinstance(worn, str)}
        overrides = {**own, **request.scene_clothing_overrides}
        default = request.scene_default_clothing or (row and row.default_clothing) or ""
        for role, person in self.sources.people:
            member = CastMember(
                name=person.name,
                role=role,
                appearance=_written(person.appearance_tags),
                id=person.id,
            )
            worn = clothing_of(member, self.changes.state, overrides, default, _written(person.clothing_tags))
            yield msgspec.structs.replace(member, clothing=worn)

    def _media(self, asked: MediaRequest, plan: FigurePlan, composition: Composition) -> MediaRequest:
        request, consistency = self.request, self._consistency()
        known = (
            None if self.sources.character is None else self.sources.character.seed_locked,
            None if self.sources.before is None else self.sources.before.seed,
        )
        negative = ", ".join(part for part in (request.negative_prompt.strip(), composition.negative) if part)
        pictures = plan.pictures
        return msgspec.structs.replace(
            asked,
            prompt=composition.prompt,
            negative_prompt=negative,
            seed=consistency.seed(*known),
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
        if any(one.reason in _LOST for one in composition.dropped):
            yield "shortened"
        if any(one.reason == "model_limit" for one in composition.figures.dropped):
            yield "figure_not_sent"
        row = self.sources.template
        if row is not None and not row.min_characters <= len(composition.people) <= row.max_characters:
            yield "persons_of_template"


_LOST: Final = frozenset({"budget", "tail", "cut"})


def _written(tags: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(tag for tag in tags if tag.strip())
