"""Answers about scenes: made and composed, and what of them is stored, to look at and change.

Whoever answers imports this once there is a library: it needs what the library needs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.requests import Request as WebRequest

from innkeeper.jobs.assets import ASSET, media_type_of
from innkeeper.library.db.owner import Owner
from innkeeper.library.errors import NotFoundError
from innkeeper.library.log.scenes import SceneStore, SceneTemplateStore
from innkeeper.operations.scenes.composing import SceneTerms
from innkeeper.operations.scenes.reply import composed_reply, made_reply, scene_facts, template_facts
from innkeeper.operations.scenes.request import SceneRequest, scene_request
from innkeeper.operations.scenes.scenes import Scenes
from innkeeper.operations.scenes.state import edited, read_state
from innkeeper.prompt.errors import UsageError, Where
from innkeeper.service.jobs.routes import seconds_to_wait, waited
from innkeeper.service.tasks.calls import TaskCall, text_of

if TYPE_CHECKING:
    from innkeeper.jobs.media_jobs import MediaJobs


_MOST: Final = 200
_USUAL: Final = 50

Answer = Callable[["MediaJobs", Owner, WebRequest, Mapping[str, Any]], Mapping[str, Any]]
"""Waits for the database, so it is called beside the event loop."""


# --------------------------------------------------------------------------------------------------------------- functions


async def made(call: TaskCall) -> Mapping[str, Any]:
    """``generate-scene``: a scene stored, with the job that makes its picture. Raises what `Scenes.generate` raises."""
    request, jobs = _request(call), await _jobs(call)
    scene = await Scenes(call.tasks.library, jobs, call.tasks).generate(request, _terms(call))
    cost = None if scene.composed is None else scene.job.cost_estimate  # one that was asked for before is paid
    call.ticket.charge_work("scene", model=scene.job.model_key, provider=scene.job.backend, cost=cost)
    job = await waited(jobs, scene.job, seconds_to_wait(call.headers))
    if job is not scene.job:
        store = SceneStore(call.tasks.library.db, _owner(call))
        row = await asyncio.to_thread(store.get, scene.scene.id)
        scene = msgspec.structs.replace(scene, scene=row, job=job)
    return made_reply(scene)


async def composed(call: TaskCall) -> Mapping[str, Any]:
    """A scene's prompt and figures; nothing is stored and nothing made. Raises what `Scenes.compose` raises."""
    request, jobs = _request(call), await _jobs(call)
    scene = await Scenes(call.tasks.library, jobs, call.tasks).compose(request, _terms(call))
    return composed_reply(scene)


_TIERS: Final = ("content_tier", "contentTier", "content_mode", "contentMode", "contentType", "contentRating")


def _request(call: TaskCall) -> SceneRequest:
    """What a body asks for, its tier and its message under all names by which clients send them."""
    tier = next((call.body[name] for name in _TIERS if call.body.get(name) is not None), None)
    said = text_of(call.body, "message", "response", "prompt")
    return scene_request({**call.body, "content_tier": tier, **({"message": said} if said else {})})


async def _jobs(call: TaskCall) -> MediaJobs:
    return await asyncio.to_thread(call.media)


def _owner(call: TaskCall) -> Owner:
    return Owner(call.owner, call.ticket.grant.tenant)


def _terms(call: TaskCall) -> SceneTerms:
    text = call.terms()
    return SceneTerms(
        owner=_owner(call),
        ceilings=call.ceilings,
        text={name: text[name] for name in ("routes", "money")},
        idempotency_key=call.headers.get("idempotency-key"),
        callback_url=text_of(call.body, "callback_url") or None,
        max_cost=call.money,
    )


# ------------------------------------------------------------------------------------------------------------- scenes


def _scenes(jobs: MediaJobs, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
    """The newest scenes, or those of one conversation."""
    here = web.query_params.get("conversation_id")
    store = SceneStore(jobs.library.db, owner)
    if here is not None:
        store.state(here)
    return _listed([scene_facts(row) for row in store.list(conversation_id=here, limit=_limit(web))])


def _scene(jobs: MediaJobs, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
    """One scene."""
    return scene_facts(SceneStore(jobs.library.db, owner).get(web.path_params["scene_id"]))


# ------------------------------------------------------------------------------------------------------------- states


def _state(jobs: MediaJobs, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
    """What the scene of a conversation is like."""
    stored = SceneStore(jobs.library.db, owner).state(web.path_params["conversation_id"])
    return {"object": "scene_state", "state": _plain(stored.state), "version": stored.version}


def _change_state(jobs: MediaJobs, owner: Owner, web: WebRequest, body: Mapping[str, Any]) -> dict[str, Any]:
    """Change or pin what the scene is like; with ``version``, only if it is still that one."""
    store, here = SceneStore(jobs.library.db, owner), web.path_params["conversation_id"]
    edits = dict(body)
    version = edits.pop("version", None)
    if version is not None and type(version) is not int:
        raise UsageError("version is a number", where=Where(path="version"))
    seen = store.state(here)
    if version is not None:
        seen = msgspec.structs.replace(seen, version=min(max(version, 0), _LARGEST))
    after = edited(read_state(seen.state), edits)
    place = (after.location.value if after.location else "") if "location" in edits else None
    stored = store.put_state(here, seen, after.to_dict(), seq=seen.seq, location=place)
    return {"object": "scene_state", "state": _plain(stored.state), "version": stored.version}


# ---------------------------------------------------------------------------------------------------------- templates


def _templates(jobs: MediaJobs, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
    """The templates that the caller sees."""
    rows = SceneTemplateStore(jobs.library.db).all_seen_by(owner, _limit(web))
    return _listed([template_facts(row) for row in rows])


def _template(jobs: MediaJobs, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
    """One template."""
    return template_facts(SceneTemplateStore(jobs.library.db).seen_by(owner, web.path_params["template_id"]))


def _add_template(jobs: MediaJobs, owner: Owner, _web: WebRequest, body: Mapping[str, Any]) -> dict[str, Any]:
    """A new template."""
    values = {**_own(body), **owner.columns()}
    return template_facts(SceneTemplateStore(jobs.library.db).add(values, who=owner.user))


def _change_template(jobs: MediaJobs, owner: Owner, web: WebRequest, body: Mapping[str, Any]) -> dict[str, Any]:
    """A template of the caller's, changed."""
    store = SceneTemplateStore(jobs.library.db)
    key = store.owned(owner, web.path_params["template_id"]).id
    return template_facts(store.update(key, _own(body), who=owner.user))


def _remove_template(jobs: MediaJobs, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
    """A template of the caller's, taken out."""
    store = SceneTemplateStore(jobs.library.db)
    key = store.owned(owner, web.path_params["template_id"]).id
    return {"id": store.remove(key, who=owner.user).id, "deleted": True}


def picture(jobs: MediaJobs, owner: Owner, scene_id: str) -> tuple[bytes, str]:
    """A scene's picture and its media type. Raises `NotFoundError`, also while there is none."""
    name = SceneStore(jobs.library.db, owner).get(scene_id).image_url
    if name is None:
        raise NotFoundError("the scene has no picture yet", hint="its status says whether there will be one")
    data = jobs.assets.get(name.removeprefix(ASSET))
    return data, media_type_of(data)[0]


_LARGEST: Final = 2**31 - 2
_OPERATORS: Final = frozenset({"id", "user_id", "tenant", "usage_count", "created_at", "updated_at"})


def _own(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a body says of a template. Raises `UsageError` for a column that is not its owner's to write."""
    wrong = sorted(body.keys() & _OPERATORS)
    if wrong:
        raise UsageError(f"{wrong[0]} is not yours to set", where=Where(path=wrong[0]))
    return dict(body)


def _plain(state: Mapping[str, Any]) -> dict[str, Any]:
    return read_state(state).to_dict() if state else {}


def _listed(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"object": "list", "data": rows}


def _limit(web: WebRequest) -> int:
    try:
        return min(_MOST, max(1, int(web.query_params.get("limit", _USUAL))))
    except ValueError:
        raise UsageError("limit is a number", where=Where(path="limit")) from None


PAGES: Final[Mapping[str, Answer]] = MappingProxyType(
    {
        "scenes": _scenes,
        "scene": _scene,
        "state": _state,
        "change_state": _change_state,
        "templates": _templates,
        "template": _template,
        "add_template": _add_template,
        "change_template": _change_template,
        "remove_template": _remove_template,
    }
)
"""The answers by name."""
