"""Application: routes behind the guard. The service and `innkeeper inspect` are both made here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request as WebRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Match

from innkeeper.inference.response.views.view import ErrorFacts
from innkeeper.prompt.errors import UnknownNameError
from innkeeper.service.error_facts import PREFIX, inspector_reply, surface_reply
from innkeeper.service.exchange import HttpReply, json_reply
from innkeeper.service.guard.grants import INSPECTOR, surface_of
from innkeeper.service.guard.guard import Guard
from innkeeper.service.guard.work import Gate
from innkeeper.service.settings import Settings

if TYPE_CHECKING:
    from innkeeper.service.inspector.access import Access


def guarded_application(
    routes: Sequence[BaseRoute],
    settings: Settings,
    gate: Gate,
    *,
    lifespan: Any = None,
    access: Access | None = None,
    headers: Mapping[str, str] | None = None,
) -> Starlette:
    """Return an application whose every request passes the guard.

    Args:
        routes: what it answers.
        settings: the limits and the keys.
        gate: what all calls together may take.
        lifespan: what is begun and ended with it.
        access: who may use the inspector's pages; None where it has none.
        headers: the headers of every reply outside the inspector; those of the service where left out.
    """
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, settings=settings, gate=gate, access=access, headers=headers)],
        exception_handlers={404: missing, 405: missing},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return app


def response(reply: HttpReply) -> Response:
    """A reply as Starlette's."""
    return Response(reply.body, reply.status, dict(reply.headers), reply.media_type)


async def missing(request: WebRequest, error: Exception) -> Response:
    """The body for a path or a method that does not exist."""
    status = getattr(error, "status_code", 404)
    detail = "Method Not Allowed" if status == 405 else "Not Found"  # noqa: PLR2004 - the two it is registered for
    path = request.scope["path"]
    if surface_of(path) == INSPECTOR:
        hint = "the page of the inspector is at /inspector/"
        reply = inspector_reply(path, UnknownNameError("path", path, hint=hint))
        reply = HttpReply(status, reply.body, media_type=reply.media_type)
    elif path.startswith(PREFIX):
        code = detail.lower().replace(" ", "_")
        facts = ErrorFacts(status, "invalid_request_error", code, f"{detail}: {path:.200}")
        reply = surface_reply(path, facts)
    else:
        reply = json_reply({"detail": detail}, status)
    allowed = {"allow": ", ".join(_allowed_methods(request))} if status == 405 else {}  # noqa: PLR2004 - see above
    return response(HttpReply(reply.status, reply.body, allowed, reply.media_type))


def _allowed_methods(request: WebRequest) -> list[str]:
    """The methods of all routes that have the path of a request."""
    matching = (route for route in request.app.routes if route.matches(request.scope)[0] is Match.PARTIAL)
    return sorted({method for route in matching for method in route.methods or ()})
