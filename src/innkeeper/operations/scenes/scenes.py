"""Scenes: compose scenes, generate their pictures by jobs, and store both.

`Scenes.compose` stores nothing. `Scenes.generate` stores the scene together with its job in one transaction, so that neither
exists without the other; whoever ends the job writes the picture to the scene. The stored scene has exactly what is sent: the
prompt, the mode, the pictures in order and the state of the scene (dynamic-prompting reference 3.7, 3.9, 9 item 3).
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
        work = await asyncio.to_thread(Composing.begin, self.library, self.jobs, request, terms)
        text = await scene_text(request, work.sources, work.environment.mode, work.context, work.narrator(self.tasks))
        return await asyncio.to_thread(work.composed, text)

    async def generate(self, request: SceneRequest, terms: SceneTerms) -> MadeScene:
        """Compose a scene, store it, and queue its picture; with a used idempotency key return the earlier scene.

        Raises what `compose` raises, and what `MediaJobs.submit` raises.
        """
        store = SceneStore(self.library.db, terms.owner)
        before = await asyncio.to_thread(store.asked, terms.idempotency_key, request.sha256)
        if before is not None and before.job_id is not None:
            return MadeScene(scene=before, job=await asyncio.to_thread(self._job, before.job_id, terms))
        composed = await self.compose(request, terms)
        return await asyncio.to_thread(self._store, store, composed, terms)

    def _job(self, job_id: str | None, terms: SceneTerms) -> Job:
        """The job that makes a scene's picture. Raises `NotFoundError`."""
        return self.jobs.get(job_id or "", tenant=terms.owner.tenant, owner=terms.owner.user)

    def _store(self, store: SceneStore, composed: ComposedScene, terms: SceneTerms) -> MadeScene:
        """Store the scene and its job together, then the conversation's new state."""
        with self.library.db.transaction():
            scene, new = store.begin(_row(composed, terms))
            if new:
                answer, money = composed.text.answer, terms.max_cost
                spent = 0.0 if answer is None else answer.cost_usd or 0.0  # by the model that described the moment
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
    """Return the columns of a scene: exactly what is sent."""
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
