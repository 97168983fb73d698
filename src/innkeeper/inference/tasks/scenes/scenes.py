"""Scenes: a scene composed, and made: from what is known of it to the job that makes its picture, and back into its row.

`Scenes.compose` looks only: nothing is stored. `Scenes.generate` stores the scene together with its job, in one transaction, so
that none is without the other; whoever ends the job writes the picture to the scene. What is stored is what is sent: the prompt,
the mode, the pictures in their order and the state that the scene was made with (dynamic-prompting reference 3.7, 3.9, 9 item 3).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.inference.jobs.job import Job, Mode
from innkeeper.inference.jobs.media import MediaRequest, pictures_read
from innkeeper.inference.jobs.media_jobs import Terms
from innkeeper.inference.tasks.scenes.composition import (
    Composition,
    Member,
    SceneParts,
    Style,
    clothing_of,
    compose,
    people_of,
)
from innkeeper.inference.tasks.scenes.context import Person, SceneContext, analyse
from innkeeper.inference.tasks.scenes.figures import Candidate, FigurePlan, FigureRole, plan_figures
from innkeeper.inference.tasks.scenes.limits import MAX_PROMPT_CHARS, MAX_SCENE_CHARS
from innkeeper.inference.tasks.scenes.modes import (
    Consistency,
    Environment,
    Method,
    SceneMode,
    environment_of,
    strength_of,
)
from innkeeper.inference.tasks.scenes.request import SceneRequest, person_texts
from innkeeper.inference.tasks.scenes.sources import Sources, read_sources
from innkeeper.inference.tasks.scenes.state import Applied, Change, SceneState, apply_changes
from innkeeper.inference.tasks.scenes.text import Narrator, SceneText, narrator, scene_text
from innkeeper.library.db.owner import Owner
from innkeeper.library.errors import ConflictError
from innkeeper.library.log.conversations import card_texts
from innkeeper.library.log.scenes import JOB_KEY, SceneStore, SceneTemplateStore
from innkeeper.library.models.facts import Measure, ModelFacts, TokenizerSpec, facts_of
from innkeeper.library.prepare.budget import Budget, budget_of
from innkeeper.library.prepare.request import tier_facts
from innkeeper.library.tier import Ceilings, Decision, Tier, TierDecision
from innkeeper.library.tiers.gate import TextKind
from innkeeper.library.tiers.moderation import row_texts
from innkeeper.prompt.allowance import allowed
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.errors import StrictModeError

if TYPE_CHECKING:
    from innkeeper.inference.jobs.media_jobs import MediaJobs
    from innkeeper.inference.tasks.execution import TextTasks
    from innkeeper.library.library import Library

__all__ = ["ComposedScene", "MadeScene", "SceneTerms", "Scenes"]


class SceneTerms(msgspec.Struct, frozen=True, kw_only=True):
    """For whom a scene is made, and how far it may go. None of it is read from what a client says of itself.

    ``text`` are fields of the `TextTask` that may tell the moment: ``routes``, ``money`` (US dollars).
    """

    owner: Owner
    ceilings: Ceilings = Ceilings()
    text: Mapping[str, Any] = EMPTY
    idempotency_key: str | None = None
    callback_url: str | None = None
    max_cost: float | None = None


class ComposedScene(msgspec.Struct, frozen=True, kw_only=True):
    """A scene, ready to be made, and everything that was decided on the way to it."""

    request: SceneRequest
    sources: Sources
    tier: TierDecision
    ceilings: Ceilings
    environment: Environment
    context: SceneContext
    changes: Applied
    text: SceneText
    composition: Composition
    media: MediaRequest
    style: Style
    model: str
    reasons: tuple[str, ...] = ()

    @property
    def state(self) -> SceneState:
        """The state that it is made with."""
        return self.changes.state

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts, the texts among them."""
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
            "previous_scene_id": None if self.sources.before is None else self.sources.before["id"],
            **self.composition.to_dict(),
            "tier": tier_facts(self.tier),
            "degraded": bool(self.reasons),
            "reasons": list(self.reasons),
            "narrative": None if answer is None else {**answer.to_dict(), "text": None},
        }

    @property
    def name(self) -> str:
        """Its name: the request's, else that of tags or of the template."""
        return self.request.scene_name or self.text.tags.name

    @property
    def description(self) -> str:
        """Its description: the request's, else that of tags or of the template."""
        return self.request.scene_description or self.text.tags.description


class MadeScene(msgspec.Struct, frozen=True, kw_only=True):
    """A scene that is stored, and its job. ``composed`` is None where the request was a repeat of an earlier one."""

    scene: FrozenDict
    job: Job
    composed: ComposedScene | None = None


class Scenes:
    """Composes and makes scenes of one library. One instance belongs to one event loop.

    Args:
        library: what decides.
        jobs: what makes pictures; it is of the same library.
        tasks: what has models tell a moment; without it none is asked.
    """

    def __init__(self, library: Library, jobs: MediaJobs, tasks: TextTasks | None = None) -> None:
        self.library, self.jobs, self.tasks = library, jobs, tasks

    async def compose(self, request: SceneRequest, terms: SceneTerms) -> ComposedScene:
        """A scene's prompt with its figures; nothing is stored and nothing made.

        Raises:
            TierBlockedError: its texts do not pass.
            NotFoundError, ConflictError: what it goes on from is not there.
            UsageError: nothing says what is to be seen.
            OverBudgetError: what must stay does not fit.
            StrictModeError: with ``strict``, for less than what was asked for.
            InnkeeperError: what the planner of jobs and the text task raise.
        """
        work = await asyncio.to_thread(_Work.begun, self, request, terms)
        text = await scene_text(request, work.sources, work.environment.mode, work.context, work.narrator())
        return await asyncio.to_thread(work.composed, text)

    async def generate(self, request: SceneRequest, terms: SceneTerms) -> MadeScene:
        """Compose a scene, store it, and have its picture made; with an idempotency key that was used, the scene of then.

        Raises what `compose` raises, and what `MediaJobs.submit` raises.
        """
        store = SceneStore(self.library.db, terms.owner)
        before = await asyncio.to_thread(store.asked, terms.idempotency_key, request.sha256)
        if before is not None and before["job_id"] is not None:
            return MadeScene(scene=before, job=await asyncio.to_thread(self._job, before, terms))
        composed = await self.compose(request, terms)
        return await asyncio.to_thread(self._made, store, composed, terms)

    def _job(self, scene: FrozenDict, terms: SceneTerms) -> Job:
        return self.jobs.get(scene["job_id"], tenant=terms.owner.tenant, owner=terms.owner.user)

    def _made(self, store: SceneStore, composed: ComposedScene, terms: SceneTerms) -> MadeScene:
        """The scene and its job, stored together, and then what the scene tells of the conversation."""
        with self.library.db.transaction():
            scene, new = store.begin(_row(composed, terms))
            if new:
                asked = Terms(
                    tenant=terms.owner.tenant,
                    owner=terms.owner.user,
                    tier=composed.tier.effective.value,
                    ceilings=composed.ceilings,
                    idempotency_key=f"{JOB_KEY}{scene['id']}",
                    callback_url=terms.callback_url,
                    max_cost=_left(terms.max_cost, composed),
                )
                job = self.jobs.submit(composed.media, asked)
                scene = store.given_to(scene["id"], job.id, seed=job.request.get("seed"), tier=job.tier)
        if not new:
            return MadeScene(scene=scene, job=self._job(scene, terms))
        self.jobs.added()  # it is there for other connections from here on
        if composed.sources.template is not None:
            SceneTemplateStore(self.library.db).used(composed.sources.template["id"])
        self._tell(store, composed)
        return MadeScene(scene=scene, job=job, composed=composed)

    def _tell(self, store: SceneStore, composed: ComposedScene) -> None:
        """Store what the conversation's scene is like now. Where somebody else was quicker, their state is changed by ours."""
        sources = composed.sources
        if sources.conversation is None:
            return
        here, seen, after = sources.conversation["id"], sources.stored, composed.changes
        seq = max([seen.seq, *(row["seq"] for row in sources.messages)])
        for _ in range(_TRIES):
            moved = any(change.field == "location" for change in after.applied)
            place = after.state.location if moved else None
            try:
                store.put_state(
                    here, seen, after.state.to_dict(), seq=seq, location=None if place is None else place.value
                )
            except ConflictError:
                seen = store.state(here)
                if seen.seq >= seq:
                    return
                after = apply_changes(_state(seen.state, sources.state), composed.changes.applied)
                continue
            return


_TRIES: Final = 8


def _left(money: float | None, composed: ComposedScene) -> float | None:
    """What the picture may cost once a model was paid for the text."""
    answer = composed.text.answer
    return None if money is None else max(0.0, money - (0.0 if answer is None else answer.cost_usd or 0.0))


def _state(stored: Mapping[str, Any], otherwise: SceneState) -> SceneState:
    from innkeeper.inference.tasks.scenes.state import read_state

    return read_state(stored) if stored else otherwise


# -------------------------------------------------------------------------------------------------------------------- work


class _Work:
    """One scene while it is composed: what is known, in which tier, what it goes on from, and who could make it."""

    def __init__(self, scenes: Scenes, request: SceneRequest, terms: SceneTerms, sources: Sources) -> None:
        self.scenes, self.request, self.terms = scenes, request, terms
        self.library, self.jobs = scenes.library, scenes.jobs
        self.read = sources
        self.ceilings = self._ceilings()
        self.tier = self._judged(_texts(request, sources)).require()
        with allowed():
            self.context, changes = self._analysed()
        self.changes = apply_changes(sources.state, changes)
        self.sources = msgspec.structs.replace(sources, state=self.changes.state)
        self.environment = environment_of(
            changed=None if sources.changed is None else sources.changed["image_url"],
            before=None if sources.before is None else sources.before["image_url"],
            template=self._preview(),
            override=request.scene_prompt_override,
        )

    @classmethod
    def begun(cls, scenes: Scenes, request: SceneRequest, terms: SceneTerms) -> _Work:
        """The work on a request, once everything that it needs is read and judged."""
        return cls(scenes, request, terms, read_sources(scenes.library, scenes.jobs, request, terms.owner))

    def narrator(self) -> Narrator | None:
        """What has a model tell the moment."""
        tasks = self.scenes.tasks
        if tasks is None:
            return None
        model = {} if self.request.enhancer_model is None else {"model": self.request.enhancer_model}
        terms = {**self.terms.text, **model, "strict": self.request.strict}
        facts = self._facts(self._pictures()[1])
        return narrator(tasks, self.request, self.sources, self.ceilings, facts, terms)

    def composed(self, text: SceneText) -> ComposedScene:
        """The scene with its text."""
        tier = self.tier
        if text.answer is not None:
            tier = self._judged(
                {**_texts(self.request, self.read), TextKind.MODEL_OUTPUT.value: text.tags.text}
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
            model=str(target_model["model_key"]),
            reasons=reasons,
        )

    # ------------------------------------------------------------------------------------------------------------ what is read

    def _ceilings(self) -> Ceilings:
        sources, given = self.read, self.terms.ceilings
        character = Tier.lowest(sources.ceiling(), *(() if given.character is None else (given.character,)))
        row = sources.template
        scene = given.scene if row is None else Tier.of(row["content_rating"])
        return msgspec.structs.replace(given, character=character, scene=scene)

    def _judged(self, texts: Mapping[str, str]) -> TierDecision:
        who = self.terms.owner.user
        return self.library.judged(texts, self.request.content_tier, self.ceilings, actor=who)

    @property
    def style(self) -> Style:
        """Who is seen, and by whom: as it is asked for, else as the template has it."""
        row = self.read.template or EMPTY
        return self.request.scene_style or (Style.POV if row.get("perspective_hint") == "pov" else Style.CHARACTER_ONLY)

    def _analysed(self) -> tuple[SceneContext, list[Change]]:
        """What the moment that is shown tells, and the changes that messages propose which were not read before.

        It is the request's message, else the newest reply, else the newest message.
        """
        sources, own = self.read, self.request.message
        said = [("assistant", own, "", True)] if own.strip() else []
        rows = reversed(sources.messages)
        said += [(row["role"], row["content"], row["id"], row["seq"] > sources.stored.seq) for row in rows]
        shown = next((one for one in said if one[0] == "assistant"), said[0] if said else None)
        changes: list[Change] = []
        moment, left = SceneContext(), MAX_SCENE_CHARS
        for one in said:
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
            Person(str(row["name"]), "character" if one is FigureRole.CHARACTER else "user", speaks=one is speaks)
            for one, row in self.read.people
        )

    def _preview(self) -> str | None:
        row = self.read.template
        return self.request.scene_preview_image_url if row is None else row["preview_image_url"]

    # ---------------------------------------------------------------------------------------------------------- what is sent

    def _consistency(self) -> Consistency:
        asked = self.request.consistency_settings
        row = self.sources.character or EMPTY
        if asked is not None:
            return asked
        method = row.get("consistency_method")
        return Consistency(method=Method(method)) if method else Consistency()

    def _candidates(self) -> Iterator[Candidate]:
        if self.environment.picture is not None:
            yield Candidate(FigureRole.ENVIRONMENT, self.environment.picture)
        if self.environment.mode is SceneMode.MODIFICATION or not self._consistency().sends_reference:
            return
        for role, row in self.sources.people:
            picture = row.get("reference_image_url") or row.get("image_url")
            seen = role is FigureRole.CHARACTER or self.style is Style.BOTH_CHARACTERS
            if picture and seen:
                yield Candidate(role, str(picture), str(row["name"]))

    def _pictures(self) -> tuple[MediaRequest, Mapping[str, Any], FigurePlan]:
        """Who makes it, and which pictures are sent there: as many as that model reads."""
        request, wanted = self.request, [*self._candidates()]
        mode = Mode.I2I if wanted else Mode.T2I
        model = request.selected_i2i_model if wanted else request.selected_image_model
        asked = MediaRequest(prompt="a scene", mode=mode, model=model, image=wanted[0].picture if wanted else None)
        target = self.jobs.planner.target(asked)
        capabilities = target.model.get("capabilities") or EMPTY
        plan = plan_figures(wanted, pictures_read(capabilities))
        several = len(plan.figures) > 1  # another model might read fewer than the text speaks of
        return msgspec.structs.replace(asked, model=target.key if several else model), target.model, plan

    def _facts(self, model: Mapping[str, Any]) -> ModelFacts:
        return facts_of(self.library.catalogue, str(model["model_key"]), job_type="image")

    def _room(self, facts: ModelFacts, model: Mapping[str, Any]) -> tuple[Budget, Measure, bool]:
        """The room for the prompt, what measures it, and whether what must not be seen is said beside it."""
        own = (model.get("capabilities") or EMPTY).get("char_limit")
        most = own if type(own) is int and own > 0 else MAX_PROMPT_CHARS
        spec = facts.measured(facts.window) or TokenizerSpec("chars", "", most)
        measure = spec.measure(self.library.counter)
        apart = spec.kind == "clip" and facts.negative
        return budget_of(spec, char_limit=most, measure=measure), measure, apart

    def _parts(self, text: SceneText, plan: FigurePlan) -> SceneParts:
        sources = self.sources
        persona = sources.persona or EMPTY
        first = self.context.actions[0] if self.context.actions else ""
        atmosphere = (sources.template or EMPTY).get("atmosphere") or EMPTY
        return SceneParts(
            text=text.tags.text,
            style=self.style,
            mode=self.environment.mode,
            plan=plan,
            people=people_of(self.style, [*self._members()]),
            viewer=str(persona.get("name") or ""),
            action=first,
            mood=self.context.mood or str(atmosphere.get("mood") or ""),
            state=self.changes.state,
            before=sources.state_before(),
        )

    def _members(self) -> Iterator[Member]:
        request, row = self.request, self.sources.template or EMPTY
        overrides = {**_worn(row.get("character_clothing_overrides")), **request.scene_clothing_overrides}
        default = request.scene_default_clothing or str(row.get("default_clothing") or "")
        for role, person in self.sources.people:
            member = Member(
                name=str(person["name"]),
                role=role,
                appearance=_tags(person.get("appearance_tags")),
                id=str(person.get("id") or ""),
            )
            worn = clothing_of(member, self.changes.state, overrides, default, _tags(person.get("clothing_tags")))
            yield msgspec.structs.replace(member, clothing=worn)

    def _media(self, asked: MediaRequest, plan: FigurePlan, composition: Composition) -> MediaRequest:
        request, consistency = self.request, self._consistency()
        known = (
            None if self.sources.character is None else self.sources.character.get("seed_locked"),
            None if self.sources.before is None else self.sources.before["seed"],
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
        if row is not None and not row["min_characters"] <= len(composition.people) <= row["max_characters"]:
            yield "persons_of_template"


_LOST: Final = frozenset({"budget", "tail", "cut"})
_NO_TEXTS: Final = frozenset(
    {"id", "user_id", "tenant", "owner", "content_rating", "role", "moderation_status", "consistency_method"}
    | {"created_at", "updated_at", "image_url", "reference_image_url", "preview_image_url"}
    | {"scene_focus", "narrative_style", "perspective_hint"}
)


def _texts(request: SceneRequest, sources: Sources) -> dict[str, str]:
    """Every text that may come to be seen, by where it enters: the request's, cards', the template's, what was said before."""
    found = {f"{TextKind.USER_TEXT}:{name}": text for name, text in request.texts().items()}
    for role, row in sources.people:
        told = card_texts(row, _NO_TEXTS) if "id" in row else {"inline": "\n".join(person_texts(row))}
        found |= {f"{TextKind.CARD}:{role}.{name}": text for name, text in told.items()}
    if sources.template is not None:
        texts = row_texts(sources.template, _NO_TEXTS)
        found |= {f"{TextKind.SCENE}:{name}": text for name, text in texts.items()}
    if sources.before is not None:
        found[f"{TextKind.IMAGE_CAPTION}:before"] = sources.before["scene_prompt"]
    state = row_texts({"state": [fact.value for fact in _facts(sources.state)]}, ())
    found |= {f"{TextKind.SCENE}:{name}": text for name, text in state.items()}
    found[TextKind.HISTORY.value] = "\n".join(row["content"] for row in sources.messages)
    return {name: text for name, text in found.items() if text.strip()}


def _facts(state: SceneState) -> Iterator[Any]:
    yield from (fact for fact in (state.location, state.time, state.camera) if fact is not None)
    yield from (*state.present, *state.props, *state.clothing.values())


def _tags(value: Any) -> tuple[str, ...]:
    return tuple(str(tag) for tag in value if str(tag).strip()) if isinstance(value, (list, tuple)) else ()


def _worn(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {}
    return {str(who): worn for who, worn in value.items() if isinstance(worn, str)}


def _row(composed: ComposedScene, terms: SceneTerms) -> dict[str, Any]:
    """The columns of a scene: what is stored is what is sent."""
    sources, media = composed.sources, composed.media
    conversation, character, persona = sources.conversation, sources.character or EMPTY, sources.persona or EMPTY
    facts = composed.to_dict()
    kept = ("tokens", "budget", "clothing", "dropped", "dropped_figures", "omitted", "rewrites", "reasons", "faults")
    return {
        "conversation_id": None if conversation is None else conversation["id"],
        "character_id": character.get("id"),
        "user_character_id": persona.get("id"),
        "template_id": None if sources.template is None else sources.template["id"],
        "idempotency_key": terms.idempotency_key,
        "request_sha256": composed.request.sha256,
        "scene_name": composed.name,
        "scene_description": composed.description,
        "scene_text": composed.text.tags.text,
        "text_source": composed.text.source,
        "scene_prompt": media.prompt,
        "scene_type": composed.style.value,
        "scene_mode": composed.environment.mode.value,
        "generation_mode": media.mode.value,
        "previous_scene_id": facts["previous_scene_id"],
        "previous_scene_image_url": None if sources.before is None else sources.before["image_url"],
        "seed": media.seed,
        "tier": composed.tier.effective.value,
        "state": composed.state.to_dict(),
        "context": composed.context.to_dict(),
        "figures": facts["figures"],
        "request": msgspec.to_builtins(msgspec.structs.replace(media, image=None, references=())),
        "generation_metadata": {
            **{name: facts[name] for name in kept},
            "model": composed.model,
            "strength": media.strength,
            "changes": facts["changes"],
        },
    }
