"""Health: whether the service is there (``/health``), whether it can take calls now (``/ready``), and its metrics.

The first two need no key, since the programs that watch over a service send none; they tell nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from innkeeper.service.errors import RETRY_SECONDS
from innkeeper.service.openapi.document import SERVICE, named, operation, schemas_of, text_reply
from innkeeper.service.pages import Page, PageTable
from innkeeper.service.telemetry import CONTENT_TYPE, ServiceMetrics


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


def health_pages(readiness: Readiness, metrics: ServiceMetrics) -> PageTable:
    """``/health``, ``/ready`` and ``/metrics``."""

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

    pages = (
        Page("GET POST", "/health", health, _HEALTH),
        Page("GET", "/ready", ready, _READY),
        Page("GET", "/metrics", numbers, text_reply("What Prometheus reads.", SERVICE, CONTENT_TYPE)),
    )
    return PageTable(pages, schemas_of("health"))


def _probe(summary: str, reply: str) -> dict[str, Any]:
    return operation(summary, SERVICE, reply=named(reply), error="Problem", open_to_all=True)


_HEALTH: Final = _probe("That the service is there.", "Health")
_READY: Final = _probe("Whether it can take calls.", "Readiness")
_READY["responses"]["503"] = {
    "description": "it starts or stops",
    "content": {"application/json": {"schema": named("Readiness")}},
}
