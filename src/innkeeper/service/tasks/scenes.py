"""``/functions/v1/generate-scene``, ``/v1/scenes`` and ``/v1/scenes:compose``, and what is stored of scenes.

Everything is the caller's own: an id of somebody else's is not found. A scene's picture is made by a job; with ``Prefer:
wait=10`` the reply waits for it so many seconds at most (dynamic-prompting reference 3.7, 3.9, 11).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request as WebRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from innkeeper.library.db.owner import Owner
from innkeeper.prompt.data import EMPTY
from innkeeper.service.answers import json_body, json_response, ticket_of, with_errors
from innkeeper.service.tasks.calls import Media, Opened, TaskCall, function, service


def scene_routes(opened: Opened, media: Media) -> list[BaseRoute]:
    """The routes. ``media`` gives the jobs that make pictures."""
    one, template = "/v1/scenes/{scene_id}", "/v1/scenes/templates/{template_id}"
    states = "/v1/scenes/states/{conversation_id}"

    def page(path: str, name: str, method: str = "GET", status: int = 200) -> Route:
        return Route(path, _page(media, name, status), methods=[method])

    return [
        Route("/functions/v1/generate-scene", function(opened, "scene", made, media), methods=["POST"]),
        Route("/v1/scenes", service(opened, "scene", made, media), methods=["POST"]),
        Route("/v1/scenes:compose", service(opened, "scene", composed, media), methods=["POST"]),
        page("/v1/scenes", "scenes"),
        page("/v1/scenes/templates", "add_template", "POST", 201),
        page("/v1/scenes/templates", "templates"),
        page(template, "template"),
        page(template, "change_template", "POST"),
        page(template, "remove_template", "DELETE"),
        page(states, "state"),
        page(states, "change_state", "POST"),
        page(one, "scene"),
        Route(f"{one}/image", _image(media), methods=["GET"]),
    ]


async def made(call: TaskCall) -> Mapping[str, Any]:
    """``generate-scene``: a scene stored, with the job that makes its picture. Raises what `Scenes.generate` raises."""
    from innkeeper.service.tasks import scene_pages

    return await scene_pages.made(call)


async def composed(call: TaskCall) -> Mapping[str, Any]:
    """A scene's prompt and figures; nothing is stored and nothing made. Raises what `Scenes.compose` raises."""
    from innkeeper.service.tasks import scene_pages

    return await scene_pages.composed(call)


_Endpoint = Callable[[WebRequest], Awaitable[Response]]


def _page(media: Media, name: str, status: int) -> _Endpoint:
    """The endpoint of a page, which is asked beside the event loop."""

    def answered(web: WebRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
        jobs = media()
        from innkeeper.service.tasks.scene_pages import PAGES

        return PAGES[name](jobs, _owner(web), web, body)

    async def call(web: WebRequest) -> Response:
        body = await json_body(web) if await web.body() else EMPTY
        return json_response(await asyncio.to_thread(answered, web, body), status)

    return with_errors(call)


def _image(media: Media) -> _Endpoint:
    """The endpoint of a scene's picture."""

    def read(web: WebRequest) -> Response:
        jobs = media()
        from innkeeper.service.tasks.scene_pages import picture

        data, media_type = picture(jobs, _owner(web), web.path_params["scene_id"])
        return Response(data, media_type=media_type)

    async def call(web: WebRequest) -> Response:
        return await asyncio.to_thread(read, web)

    return with_errors(call)


def _owner(web: WebRequest) -> Owner:
    ticket = ticket_of(web)
    return Owner(ticket.owner, ticket.grant.tenant)
