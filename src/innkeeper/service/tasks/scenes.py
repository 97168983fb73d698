"""``/functions/v1/generate-scene``, ``/v1/scenes`` and ``/v1/scenes:compose``, and what is stored of scenes.

Everything is the caller's own: an id of somebody else's is not found. A scene's picture is made by a job; with ``Prefer:
wait=10`` the reply waits for it so many seconds at most (dynamic-prompting reference 3.7, 3.9, 11).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.requests import Request as WebRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from innkeeper.inference.response.views.chat import envelope
from innkeeper.inference.tasks.scenes.reply import composed_reply, made_reply, scene_facts, template_facts
from innkeeper.inference.tasks.scenes.request import SceneRequest, scene_request
from innkeeper.inference.tasks.scenes.scenes import Scenes, SceneTerms
from innkeeper.inference.tasks.scenes.sources import ASSET
from innkeeper.inference.tasks.scenes.state import edited, read_state
from innkeeper.library.db.owner import Owner
from innkeeper.library.errors import NotFoundError
from innkeeper.library.log.scenes import SceneStore, SceneTemplateStore
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import InnkeeperError, UsageError, Where
from innkeeper.service.answers import failure, json_body, json_response, ticket_of
from innkeeper.service.jobs.routes import seconds_to_wait, waited
from innkeeper.service.tasks.calls import Media, Opened, TaskCall, function, service, text_of

if TYPE_CHECKING:
    from innkeeper.inference.jobs.media_jobs import MediaJobs

__all__ = ["composed", "made", "scene_routes"]

_MOST: Final = 200
_USUAL: Final = 50


def scene_routes(opened: Opened, media: Media) -> list[BaseRoute]:
    """The routes. ``media`` gives the jobs that make pictures."""
    pages = _Pages(media)
    one, template = "/v1/scenes/{scene_id}", "/v1/scenes/templates/{template_id}"
    states = "/v1/scenes/states/{conversation_id}"
    return [
        Route("/functions/v1/generate-scene", function(opened, "scene", made, media), methods=["POST"]),
        Route("/v1/scenes", service(opened, "scene", made, media), methods=["POST"]),
        Route("/v1/scenes:compose", service(opened, "scene", composed, media), methods=["POST"]),
        Route("/v1/scenes", pages.told(pages.scenes), methods=["GET"]),
        Route("/v1/scenes/templates", pages.told(pages.add_template, status=201), methods=["POST"]),
        Route("/v1/scenes/templates", pages.told(pages.templates), methods=["GET"]),
        Route(template, pages.told(pages.template), methods=["GET"]),
        Route(template, pages.told(pages.change_template), methods=["POST"]),
        Route(template, pages.told(pages.remove_template), methods=["DELETE"]),
        Route(states, pages.told(pages.state), methods=["GET"]),
        Route(states, pages.told(pages.change_state), methods=["POST"]),
        Route(one, pages.told(pages.scene), methods=["GET"]),
        Route(f"{one}/image", pages.image, methods=["GET"]),
    ]


# --------------------------------------------------------------------------------------------------------------- functions


async def made(call: TaskCall) -> Mapping[str, Any]:
    """``generate-scene``: a scene stored, with the job that makes its picture. Raises what `Scenes.generate` raises."""
    request, jobs = _request(call), await _jobs(call)
    scene = await Scenes(call.tasks.library, jobs, call.tasks).generate(request, _terms(call))
    record = call.ticket.record
    record.asks(operation="scene", model=scene.job.model_key, provider=scene.job.backend)
    if scene.composed is not None:
        record.cost += scene.job.cost_estimate or 0.0
        if scene.composed.text.answer is not None:
            call.charge(scene.composed.text.answer)
    job = await waited(jobs, scene.job, seconds_to_wait(call.headers))
    if job is not scene.job:
        store = SceneStore(call.tasks.library.db, _owner(call))
        row = await asyncio.to_thread(store.get, scene.scene["id"])
        scene = msgspec.structs.replace(scene, scene=row, job=job)
    return made_reply(scene)


async def composed(call: TaskCall) -> Mapping[str, Any]:
    """A scene's prompt and figures; nothing is stored and nothing made. Raises what `Scenes.compose` raises."""
    request, jobs = _request(call), await _jobs(call)
    scene = await Scenes(call.tasks.library, jobs, call.tasks).compose(request, _terms(call))
    if scene.text.answer is not None:
        call.charge(scene.text.answer)
    return composed_reply(scene)


_TIERS: Final = ("content_tier", "contentTier", "content_mode", "contentMode", "contentType", "contentRating")


def _request(call: TaskCall) -> SceneRequest:
    """What a body asks for; ``consistency_method`` and the like of older clients are read beside their new names."""
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


# ------------------------------------------------------------------------------------------------------------ what is stored

Answer = Callable[["MediaJobs", Owner, WebRequest, Mapping[str, Any]], Mapping[str, Any]]
"""Waits for the database, so it is called beside the event loop."""


class _Pages:
    """Scenes, templates and states of whoever calls."""

    def __init__(self, media: Media) -> None:
        self._media = media

    def told(self, answer: Answer, *, status: int = 200) -> Callable[[WebRequest], Awaitable[Response]]:
        """The endpoint of an answer."""

        async def call(web: WebRequest) -> Response:
            try:
                body = await json_body(web) if await web.body() else EMPTY
                return json_response(await asyncio.to_thread(self._answered, answer, web, body), status)
            except InnkeeperError as error:
                return failure(error, envelope)

        return call

    def _answered(self, answer: Answer, web: WebRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
        ticket = ticket_of(web)
        return answer(self._media(), Owner(ticket.owner, ticket.grant.tenant), web, body)

    async def image(self, web: WebRequest) -> Response:
        """A scene's picture."""
        ticket = ticket_of(web)
        owner = Owner(ticket.owner, ticket.grant.tenant)

        def read() -> Response:
            from innkeeper.inference.jobs.assets import media_type_of

            jobs = self._media()
            name = SceneStore(jobs.library.db, owner).get(web.path_params["scene_id"])["image_url"]
            if name is None:
                raise NotFoundError("the scene has no picture yet", hint="its status says whether there will be one")
            data = jobs.assets.get(name.removeprefix(ASSET))
            return Response(data, media_type=media_type_of(data)[0])

        try:
            return await asyncio.to_thread(read)
        except InnkeeperError as error:
            return failure(error, envelope)

    # ----------------------------------------------------------------------------------------------------------- scenes

    def scenes(self, jobs: MediaJobs, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
        """The newest scenes, or those of one conversation."""
        here = web.query_params.get("conversation_id")
        store = SceneStore(jobs.library.db, owner)
        if here is not None:
            store.state(here)
        return _listed([scene_facts(row) for row in store.list(conversation_id=here, limit=_limit(web))])

    def scene(self, jobs: MediaJobs, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
        """One scene."""
        return scene_facts(SceneStore(jobs.library.db, owner).get(web.path_params["scene_id"]))

    # ------------------------------------------------------------------------------------------------------------ states

    def state(self, jobs: MediaJobs, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
        """What the scene of a conversation is like."""
        stored = SceneStore(jobs.library.db, owner).state(web.path_params["conversation_id"])
        return {"object": "scene_state", "state": _plain(stored.state), "version": stored.version}

    def change_state(self, jobs: MediaJobs, owner: Owner, web: WebRequest, body: Mapping[str, Any]) -> dict[str, Any]:
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

    # --------------------------------------------------------------------------------------------------------- templates

    def templates(self, jobs: MediaJobs, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
        """The templates that the caller sees."""
        rows = SceneTemplateStore(jobs.library.db).all_seen_by(owner, _limit(web))
        return _listed([template_facts(row) for row in rows])

    def template(self, jobs: MediaJobs, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
        """One template."""
        return template_facts(SceneTemplateStore(jobs.library.db).seen_by(owner, web.path_params["template_id"]))

    def add_template(self, jobs: MediaJobs, owner: Owner, _web: WebRequest, body: Mapping[str, Any]) -> dict[str, Any]:
        """A new template."""
        values = {**_own(body), **owner.columns()}
        return template_facts(SceneTemplateStore(jobs.library.db).add(values, who=owner.user))

    def change_template(
        self, jobs: MediaJobs, owner: Owner, web: WebRequest, body: Mapping[str, Any]
    ) -> dict[str, Any]:
        """A template of the caller's, changed."""
        store = SceneTemplateStore(jobs.library.db)
        key = store.owned(owner, web.path_params["template_id"])["id"]
        return template_facts(store.update(key, _own(body), who=owner.user))

    def remove_template(
        self, jobs: MediaJobs, owner: Owner, web: WebRequest, _body: Mapping[str, Any]
    ) -> dict[str, Any]:
        """A template of the caller's, taken out."""
        store = SceneTemplateStore(jobs.library.db)
        key = store.owned(owner, web.path_params["template_id"])["id"]
        return {"id": store.remove(key, who=owner.user)["id"], "deleted": True}


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
