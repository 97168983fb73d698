"""Scenes: a scene composed, and made: from what is known of it to the job that makes its picture, and back into its row.

`Scenes.compose` looks only: nothing is stored. `Scenes.generate` stores the scene together with its job, in one transaction, so
that none is without the other; whoever ends the job writes the picture to the scene. What is stored is what is sent: the prompt,
the mode, the pictures in their order and the state that the scene was made with (dynamic-prompting reference 3.7, 3.9, 9 item 3).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.jobs.job import SCENE_KEY, Job
from innkeeper.jobs.media_jobs import Terms
from innkeeper.library.errors import ConflictError
from innkeeper.library.log.scenes import SceneStore, SceneTemplateStore
from innkeeper.library.rows import SceneRow
from innkeeper.operations.scenes.request import SceneRequest
from innkeeper.operations.scenes.state import apply_changes, read_state
from innkeeper.operations.scenes.text import scene_text

if TYPE_CHECKING:
    from innkeeper.jobs.media_jobs import MediaJobs
    from innkeeper.library.library import Library
    from innkeeper.operations.tasks.execution import TextTasks

from innkeeper.operations.scenes.composing import ComposedScene, Composing, SceneTerms


class MadeScene(msgspec.Struct, frozen=True, kw_only=True):
    """A scene that is stored, and its job. ``composed`` is None where the request was a repeat of an earlier one."""

    scene: SceneRow
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
        work = await asyncio.to_thread(Composing.begun, self.library, self.jobs, request, terms)
        text = await scene_text(request, work.sources, work.environment.mode, work.context, work.narrator(self.tasks))
        return await asyncio.to_thread(work.composed, text)

    async def generate(self, request: SceneRequest, terms: SceneTerms) -> MadeScene:
        """Compose a scene, store it, and have its picture made; with an idempotency key that was used, the scene of then.

        Raises what `compose` raises, and what `MediaJobs.submit` raises.
        """
        store = SceneStore(self.library.db, terms.owner)
        before = await asyncio.to_thread(store.asked, terms.idempotency_key, request.sha256)
        if before is not None and before.job_id is not None:
            return MadeScene(scene=before, job=await asyncio.to_thread(self._job, before.job_id, terms))
        composed = await self.compose(request, terms)
        return await asyncio.to_thread(self._made, store, composed, terms)

    def _job(self, job_id: str | None, terms: SceneTerms) -> Job:
        """The job that makes a scene's picture. Raises `NotFoundError`."""
        return self.jobs.get(job_id or "", tenant=terms.owner.tenant, owner=terms.owner.user)

    def _made(self, store: SceneStore, composed: ComposedScene, terms: SceneTerms) -> MadeScene:
        """The scene and its job, stored together, and then what the scene tells of the conversation."""
        with self.library.db.transaction():
            scene, new = store.begin(_row(composed, terms))
            if new:
                answer, money = composed.text.answer, terms.max_cost
                spent = 0.0 if answer is None else answer.cost_usd or 0.0  # by the model that told the moment
                asked = Terms(
                    tenant=terms.owner.tenant,
                    owner=terms.owner.user,
                    tier=composed.tier.effective.value,
                    ceilings=composed.ceilings,
                    idempotency_key=f"{SCENE_KEY}{scene.id}",
                    callback_url=terms.callback_url,
                    max_cost=None if money is None else max(0.0, money - spent),
                )
                job = self.jobs.submit(composed.media, asked)
                scene = store.given_to(scene.id, job.id, seed=job.request.get("seed"), tier=job.tier)
        if not new:
            return MadeScene(scene=scene, job=self._job(scene.job_id, terms))
        self.jobs.added()  # it is there for other connections from here on
        if composed.sources.template is not None:
            SceneTemplateStore(self.library.db).used(composed.sources.template.id)
        self._tell(store, composed)
        return MadeScene(scene=scene, job=job, composed=composed)

    def _tell(self, store: SceneStore, composed: ComposedScene) -> None:
        """Store what the conversation's scene is like now. Where somebody else was quicker, their state is changed by ours."""
        sources = composed.sources
        if sources.conversation is None:
            return
        here, seen, after = sources.conversation.id, sources.stored, composed.changes
        seq = max([seen.seq, *(row.seq for row in sources.messages)])
        for _ in range(_TRIES):
            moved = any(change.field == "location" for change in after.applied)
            location = after.state.location if moved else None
            try:
                tier = composed.tier.effective
                location_text = None if location is None else location.value
                store.put_state(here, seen, after.state.to_dict(), seq=seq, location=location_text, tier=tier)
            except ConflictError:
                seen = store.state(here)
                if seen.seq >= seq:
                    return
                after = apply_changes(read_state(seen.state) if seen.state else sources.state, composed.changes.applied)
                continue
            return


_TRIES: Final = 8


def _row(composed: ComposedScene, terms: SceneTerms) -> dict[str, Any]:
    """The columns of a scene: what is stored is what is sent."""
    sources, media = composed.sources, composed.media
    conversation, character, persona = sources.conversation, sources.character, sources.persona
    facts = composed.to_dict()
    stored = (
        "tokens",
        "budget",
        "clothing",
        "dropped",
        "dropped_figures",
        "omitted",
        "rewrites",
        "reasons",
        "faults",
        "tier",
        "narrative",
    )
    return {
        "conversation_id": None if conversation is None else conversation.id,
        "character_id": None if character is None else character.id or None,
        "user_character_id": None if persona is None else persona.id or None,
        "template_id": None if sources.template is None else sources.template.id,
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
        "previous_scene_image_url": None if sources.before is None else sources.before.image_url,
        "seed": media.seed,
        "tier": composed.tier.effective.value,
        "state": composed.state.to_dict(),
        "context": composed.context.to_dict(),
        "figures": facts["figures"],
        "request": msgspec.to_builtins(msgspec.structs.replace(media, image=None, references=())),
        "generation_metadata": {
            **{name: facts[name] for name in stored},
            "model": composed.model,
            "strength": media.strength,
            "changes": facts["changes"],
        },
    }
