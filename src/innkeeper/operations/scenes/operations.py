"""``scenes.*``: scenes are composed and made, and what is stored of them is listed and changed.

Everything is the caller's own: an id of somebody else's is not found. A scene's picture is made by a job (dynamic-prompting
reference 3.7, 3.9, 11). What needs the library's extra is imported once there is a library.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Required, TypedDict, cast

import msgspec
from msgspec import Meta

from innkeeper.gate.judgement import Judgement
from innkeeper.jobs.assets import ASSET, media_type_of
from innkeeper.library.errors import NotFoundError
from innkeeper.operations.jobs.jobs import Priority, finished
from innkeeper.operations.operation import Blob, Deleted, Operation, Row, RowList, listing_limit
from innkeeper.operations.scenes.request import SceneRequest, checked_request
from innkeeper.operations.scenes.state import edited, read_state
from innkeeper.operations.scope import Scope, TaskTerms
from innkeeper.prompt.data import thaw
from innkeeper.prompt.errors import UsageError, Where

if TYPE_CHECKING:
    from innkeeper.library.log.scenes import SceneStore, SceneTemplateStore
    from innkeeper.library.rows import SceneRow, SceneTemplateRow
    from innkeeper.operations.scenes.scenes import MadeScene, Scenes, SceneTerms


class GenerateScene(SceneRequest, frozen=True, kw_only=True):
    """A scene to generate, and how far its job may go."""

    callback_url: str | None = None
    max_cost: Annotated[float, Meta(ge=0)] | None = None
    priority: Priority = 0


class ListScenes(msgspec.Struct, frozen=True, kw_only=True):
    """Which scenes to list: so many at most, or those of one conversation."""

    conversation_id: str = ""
    limit: int = 50


class SceneId(msgspec.Struct, frozen=True, kw_only=True):
    """A scene by its id."""

    scene_id: str


class StateId(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the scene of a conversation."""

    conversation_id: str


class ChangeState(StateId, frozen=True, kw_only=True):
    """What changes in a state, or is pinned; with ``version`` only if it is still that one."""

    version: int | None = None
    edits: dict[str, Any] = {}


class ListTemplates(msgspec.Struct, frozen=True, kw_only=True):
    """How many templates to list at most."""

    limit: int = 50


class AddTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """A template of scenes by its columns."""

    columns: dict[str, Any] = {}


class TemplateId(msgspec.Struct, frozen=True, kw_only=True):
    """A template of scenes by its id."""

    template_id: str


class ChangeTemplate(TemplateId, frozen=True, kw_only=True):
    """Columns of a template that change."""

    columns: dict[str, Any] = {}


class SceneFacts(TypedDict, total=False):
    """A scene as its owner sees it."""

    id: Required[str]
    object: Literal["scene"]
    status: Required[str]
    scene_prompt: Required[str]
    scene_mode: Required[str]
    image_url: str | None
    figures: list[dict[str, Any]]
    state: dict[str, Any]


class ComposedSceneFacts(TypedDict, total=False):
    """A scene's prompt with its figures, and how it came about."""

    success: Required[bool]
    scene_prompt: Required[str]
    negative_prompt: str
    figures: Required[list[dict[str, Any]]]
    scene_mode: Required[str]
    generation_mode: str
    scene_context: dict[str, Any]
    state: dict[str, Any]
    dropped: list[dict[str, Any]]
    degraded: bool
    reasons: list[str]


class MadeSceneFacts(TypedDict, total=False):
    """A scene that is stored, and the job that makes its picture."""

    success: Required[bool]
    scene_id: Required[str]
    jobId: Required[str]
    status: Required[str]
    scene_prompt: Required[str]
    imageUrl: str | None
    figures: list[dict[str, Any]]


class SceneStateFacts(TypedDict):
    """What the scene of a conversation is like."""

    object: Literal["scene_state"]
    state: dict[str, Any]
    version: int


# ---------------------------------------------------------------------------------------------------------------- replies

_FIELDS: Final = (
    *("id", "number", "conversation_id", "character_id", "user_character_id", "template_id", "scene_name"),
    *("scene_description", "scene_text", "text_source", "scene_prompt", "scene_type", "scene_mode", "generation_mode"),
    *("previous_scene_id", "job_id", "status", "error_kind", "seed", "tier", "state", "context", "figures"),
    *("generation_metadata", "created_at", "updated_at"),
)


def _scene_facts(row: SceneRow) -> dict[str, Any]:
    """Return a stored scene as JSON-ready data, with the path of its picture."""
    columns = row.to_dict()
    fields = {name: columns[name] for name in _FIELDS}
    return {
        **fields,
        "object": "scene",
        "image_url": None if row.image_url is None else f"/v1/scenes/{row.id}/image",
        "negative_prompt": row.request.get("negative_prompt", ""),
    }


def _template_facts(row: SceneTemplateRow) -> dict[str, Any]:
    """Return a template as JSON-ready data."""
    hidden = {"tenant", "user_id"}
    return {**{name: value for name, value in row.to_dict().items() if name not in hidden}, "object": "scene_template"}


def _made_facts(made: MadeScene) -> MadeSceneFacts:
    """Return a scene with its job, under all names that the document's clients use; a repeated request gets the same reply."""
    row, job = made.scene, made.job
    facts = _scene_facts(row)
    metadata, context = facts.pop("generation_metadata"), facts.pop("context")
    reply = {
        **facts,
        **metadata,
        "object": "scene",
        "success": job.error_kind is None,
        "scene_id": row.id,
        "scene_context": context,
        "jobId": job.id,
        "job_id": job.id,
        "id": job.id,
        "status": _STATUS.get(job.state.value, job.state.value),
        "imageUrl": facts["image_url"],
        "model": job.model_key,
        "seed": job.request.get("seed"),
        "contentType": job.tier,
        "notes": thaw(job.notes),
        "degraded": bool(metadata.get("reasons")),
        "route_trace": job.to_dict()["route_trace"],
        "error": job.error_message,
        "statusUrl": f"/v1/scenes/{row.id}",
        "message": f"the scene's job is {job.state}",
    }
    return cast("MadeSceneFacts", reply)


_STATUS: Final = {
    "succeeded": "completed",
    "dispatched": "processing",
    "running": "processing",
    "storing": "processing",
}
"""The document's words for the states of a job."""


# ------------------------------------------------------------------------------------------------------------- generation


async def generate(request: GenerateScene, scope: Scope) -> MadeSceneFacts:
    """Have a scene's picture made."""
    scene_request, scenes = checked_request(request), await _scenes(scope)
    scene = await scenes.generate(scene_request, _terms(request, scope))
    cost = None if scene.composed is None else scene.job.cost_estimate  # one that was asked for before is paid
    scope.charge("scene", model=scene.job.model_key, provider=scene.job.backend, cost=cost)
    job = await finished(await scope.jobs(), scene.job, scope.wait_seconds)
    if job is not scene.job:
        row = await asyncio.to_thread((await _store(scope)).get, scene.scene.id)
        scene = msgspec.structs.replace(scene, scene=row, job=job)
    return _made_facts(scene)


async def compose(request: GenerateScene, scope: Scope) -> ComposedSceneFacts:
    """Compose a scene's prompt with its figures."""
    scene_request, scenes = checked_request(request), await _scenes(scope)
    composed = await scenes.compose(scene_request, _terms(request, scope))
    return cast("ComposedSceneFacts", {"success": True, **thaw(composed.to_dict())})


async def _scenes(scope: Scope) -> Scenes:
    jobs, tasks = await scope.jobs(), await scope.tasks()
    from innkeeper.operations.scenes.scenes import Scenes

    return Scenes(tasks.library, jobs, tasks)


def _terms(request: GenerateScene, scope: Scope) -> SceneTerms:
    from innkeeper.operations.scenes.scenes import SceneTerms

    terms = scope.terms(TaskTerms(strict=request.strict, max_cost=request.max_cost))
    return SceneTerms(
        owner=scope.owner,
        ceilings=scope.ceilings,
        text={name: terms[name] for name in ("routes", "money")},
        idempotency_key=scope.idempotency_key,
        callback_url=request.callback_url,
        max_cost=terms["money"],
        priority=request.priority,
    )


# ----------------------------------------------------------------------------------------------------------- what is stored


async def _store(scope: Scope) -> SceneStore:
    jobs = await scope.jobs()
    from innkeeper.library.log.scenes import SceneStore

    return SceneStore(jobs.library.db, scope.owner)


async def list_scenes(request: ListScenes, scope: Scope) -> RowList:
    """List your scenes."""
    store, here = await _store(scope), request.conversation_id or None
    if here is not None:
        await asyncio.to_thread(store.state, here)
    rows = await asyncio.to_thread(store.list, conversation_id=here, limit=listing_limit(request.limit))
    return {"object": "list", "data": [_scene_facts(row) for row in rows]}


async def show_scene(request: SceneId, scope: Scope) -> SceneFacts:
    """Show a scene."""
    store = await _store(scope)
    return cast("SceneFacts", _scene_facts(await asyncio.to_thread(store.get, request.scene_id)))


async def picture(request: SceneId, scope: Scope) -> Blob:
    """Give a scene's picture."""
    name = (await asyncio.to_thread((await _store(scope)).get, request.scene_id)).image_url
    if name is None:
        raise NotFoundError("the scene has no picture yet", hint="its status says whether there will be one")
    data = await asyncio.to_thread((await scope.jobs()).assets.get, name.removeprefix(ASSET))
    return Blob(data, media_type_of(data)[0])


async def show_state(request: StateId, scope: Scope) -> SceneStateFacts:
    """Show what the scene of a conversation is like."""
    stored = await asyncio.to_thread((await _store(scope)).state, request.conversation_id)
    return _state_facts(stored)


async def change_state(request: ChangeState, scope: Scope) -> SceneStateFacts:
    """Change or pin what the scene of a conversation is like."""
    return await asyncio.to_thread(_changed, await _store(scope), request)


def _changed(store: SceneStore, request: ChangeState) -> SceneStateFacts:
    seen = store.state(request.conversation_id)
    if request.version is not None:
        seen = msgspec.structs.replace(seen, version=min(max(request.version, 0), _LARGEST))
    after = edited(read_state(seen.state), request.edits)
    location = (after.location.value if after.location else "") if "location" in request.edits else None
    return _state_facts(
        store.put_state(request.conversation_id, seen, after.to_dict(), seq=seen.seq, location=location)
    )


_LARGEST: Final = 2**31 - 2


def _state_facts(stored: Any) -> SceneStateFacts:
    state = read_state(stored.state).to_dict() if stored.state else {}
    return {"object": "scene_state", "state": state, "version": stored.version}


# ---------------------------------------------------------------------------------------------------------------- templates


async def _templates(scope: Scope) -> SceneTemplateStore:
    jobs = await scope.jobs()
    from innkeeper.library.log.scenes import SceneTemplateStore

    return SceneTemplateStore(jobs.library.db)


async def list_templates(request: ListTemplates, scope: Scope) -> RowList:
    """List the templates of scenes that you see."""
    store = await _templates(scope)
    rows = await asyncio.to_thread(store.all_seen_by, scope.owner, listing_limit(request.limit))
    return {"object": "list", "data": [_template_facts(row) for row in rows]}


async def show_template(request: TemplateId, scope: Scope) -> Row:
    """Show a template of scenes."""
    store = await _templates(scope)
    return _template_facts(await asyncio.to_thread(store.seen_by, scope.owner, request.template_id))


async def add_template(request: AddTemplate, scope: Scope) -> Row:
    """Make a template of scenes."""
    store, values = await _templates(scope), {**_own(request.columns), **scope.owner.columns()}
    return _template_facts(await asyncio.to_thread(store.add, values, who=scope.owner.user))


async def change_template(request: ChangeTemplate, scope: Scope) -> Row:
    """Change a template of scenes."""
    store = await _templates(scope)
    key = (await asyncio.to_thread(store.owned, scope.owner, request.template_id)).id
    values = _own(request.columns)
    return _template_facts(await asyncio.to_thread(store.update, key, values, who=scope.owner.user))


async def remove_template(request: TemplateId, scope: Scope) -> Deleted:
    """Take out a template of scenes."""
    store = await _templates(scope)
    key = (await asyncio.to_thread(store.owned, scope.owner, request.template_id)).id
    row = await asyncio.to_thread(store.remove, key, who=scope.owner.user)
    return {"id": row.id, "deleted": True}


_OPERATORS: Final = frozenset({"id", "user_id", "tenant", "usage_count", "created_at", "updated_at"})


def _own(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a template. Raises `UsageError` for one that is not its owner's to write."""
    wrong = sorted(columns.keys() & _OPERATORS)
    if wrong:
        raise UsageError(f"{wrong[0]} is not yours to set", where=Where(path=wrong[0]))
    return dict(columns)


_SPELLINGS: Final = {
    "content_tier": ("contentTier", "content_mode", "contentMode", "contentType", "contentRating"),
    "message": ("response", "prompt"),
}

GENERATE: Final = Operation("scenes.generate", generate, _SPELLINGS, judged=Judgement.TASK)
COMPOSE: Final = Operation("scenes.compose", compose, _SPELLINGS, judged=Judgement.TASK)
LIST: Final = Operation("scenes.list", list_scenes, judged=Judgement.STORED)
SHOW: Final = Operation("scenes.show", show_scene, judged=Judgement.STORED)
PICTURE: Final = Operation("scenes.picture", picture, judged=Judgement.STORED)
STATE: Final = Operation("scenes.state", show_state, judged=Judgement.STORED)
CHANGE_STATE: Final = Operation("scenes.change_state", change_state, whole="edits", judged=Judgement.SAVED)
TEMPLATES: Final = Operation("scenes.templates", list_templates, judged=Judgement.STORED)
TEMPLATE: Final = Operation("scenes.template", show_template, judged=Judgement.STORED)
ADD_TEMPLATE: Final = Operation("scenes.add_template", add_template, whole="columns", judged=Judgement.SAVED)
CHANGE_TEMPLATE: Final = Operation("scenes.change_template", change_template, whole="columns", judged=Judgement.SAVED)
REMOVE_TEMPLATE: Final = Operation("scenes.remove_template", remove_template, judged=Judgement.NONE)
