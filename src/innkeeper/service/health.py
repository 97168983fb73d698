"""Health: what is here (``/``), whether the service is there (``/health``), whether it can take calls now (``/ready``), metrics.

The first three need no key, since the programs that watch over a service send none; they tell nothing of what it serves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from time import monotonic
from typing import Any, Final, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from innkeeper import __version__
from innkeeper.inference.routing.models import ModelCard
from innkeeper.inference.routing.router import DeploymentReport, Router
from innkeeper.prompt.typed.json_schema import json_schemas
from innkeeper.service.errors import RETRY_SECONDS
from innkeeper.service.openapi.document import SERVICE, TITLE, named, operation, schemas_of, text_reply
from innkeeper.service.pages import Page, PageTable
from innkeeper.service.telemetry import CONTENT_TYPE, ServiceMetrics
from innkeeper.service.web import json_response, ticket_of


class Readiness:
    """Whether calls can be taken: every check says yes, and the service has not been told to stop.

    A surface that needs something first (a database, a model) adds a check under its name.
    """

    def __init__(self) -> None:
        self.checks: dict[str, Callable[[], bool]] = {}
        self.stopping = False

    def missing(self) -> list[str]:
        """What is waited for."""
        return [name for name, check in self.checks.items() if not check()]


ADDRESSES: Final = {
    "models": "/v1/models",
    "docs": "/docs",
    "openapi": "/openapi.json",
    "health": "/health",
    "ready": "/ready",
    "metrics": "/metrics",
}
"""Where to go from ``/``."""


def _welcome(models: Sequence[str]) -> str:
    """Return the page at ``/`` as a browser shows it."""
    asked = f"<p>Models: {escape(', '.join(models))}.</p>" if models else ""
    links = "".join(f'<li><a href="{path}">{path}</a> {escape(name)}</li>' for name, path in ADDRESSES.items())
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{TITLE}</title>'
        "<style>body{font:15px sans-serif;max-width:40em;margin:2em auto}</style>"
        f"<h1>{TITLE} {__version__}</h1><p>The service answers. Clients of OpenAI and Anthropic take this address, "
        f"OpenAI's with <code>/v1</code> after it, as their base URL.</p>{asked}<ul>{links}</ul></html>"
    )


class RouteList(msgspec.Struct, frozen=True):
    """What this service knows of the deployments that its router chooses from."""

    object: Literal["list"]
    data: list[DeploymentReport]


def health_pages(
    readiness: Readiness, metrics: ServiceMetrics, router: Router, models: Callable[[], Sequence[ModelCard]] = tuple
) -> PageTable:
    """``/``, ``/health``, ``/ready``, ``/metrics`` and ``/v1/routes``. ``models``: those that ``/`` names to anybody."""

    async def welcome(request: Request) -> Response:
        if "text/html" in request.headers.get("accept", ""):
            policy = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}
            return Response(_welcome([card.name for card in models()]), media_type="text/html", headers=policy)
        return JSONResponse(
            {"name": TITLE, "version": __version__, "model_names": [card.name for card in models()], **ADDRESSES}
        )

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(_: Request) -> Response:
        missing = readiness.missing()
        if readiness.stopping or missing:
            status = "stopping" if readiness.stopping else "starting"
            body = {"status": status, "waiting_for": missing}
            return JSONResponse(body, 503, {"retry-after": str(RETRY_SECONDS)})
        return JSONResponse({"status": "ready"})

    async def numbers(_: Request) -> Response:
        return Response(metrics.text(), headers={"content-type": CONTENT_TYPE})

    async def routes(web: Request) -> Response:
        grant = ticket_of(web).grant
        reports = [each for each in router.report(monotonic()) if grant.allows("route", each.deployment)]
        return json_response(msgspec.to_builtins(RouteList("list", reports)))

    (list_schema,), parts = json_schemas((RouteList,), "#/components/schemas/{name}")
    pages = (
        Page("GET", "/", welcome, _WELCOME),
        Page("GET POST", "/health", health, _HEALTH),
        Page("GET", "/ready", ready, _READY),
        Page("GET", "/metrics", numbers, text_reply("What Prometheus reads.", SERVICE, CONTENT_TYPE)),
        Page("GET", "/v1/routes", routes, operation(_ROUTES, SERVICE, reply=list_schema, error="OpenAIError")),
    )
    return PageTable(pages, {**schemas_of("health"), **parts})


def _probe(summary: str, reply: str) -> dict[str, Any]:
    return operation(summary, SERVICE, reply=named(reply), error="Problem", open_to_all=True)


_ROUTES: Final = (
    "What this service knows of its deployments: which rest, whose breaker is open, which are in quarantine."
)
_WELCOME: Final = _probe("What is here: name, version and addresses; a page for browsers.", "Welcome")
_WELCOME["responses"]["200"]["content"]["text/html"] = {"schema": {"type": "string"}}
_HEALTH: Final = _probe("That the service is there.", "Health")
_READY: Final = _probe("Whether it can take calls.", "Readiness")
_READY["responses"]["503"] = {
    "description": "it starts or stops",
    "content": {"application/json": {"schema": named("Readiness")}},
}
