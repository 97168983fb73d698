"""Health: whether the service is there (``/health``), whether it can take calls now (``/ready``), and its metrics.

The first two need no key, since the programs that watch over a service send none; they tell nothing else.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from innkeeper.service.errors import RETRY_SECONDS
from innkeeper.service.telemetry.metrics import CONTENT_TYPE, Metrics


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


def health_routes(readiness: Readiness, metrics: Metrics) -> list[BaseRoute]:
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

    return [
        Route("/health", health, methods=["GET", "POST"]),
        Route("/ready", ready, methods=["GET"]),
        Route("/metrics", numbers, methods=["GET"]),
    ]
