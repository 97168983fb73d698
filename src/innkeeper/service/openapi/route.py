"""``/openapi.json`` over HTTP, and what it tells of all surfaces but the gateway, whose operations may be others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from innkeeper.prompt.once import once
from innkeeper.service.exchange import JSON, encode
from innkeeper.service.openapi.document import Description, document
from innkeeper.service.openapi.models import MODELS
from innkeeper.service.openapi.pages import PAGES, PROMPTS, RUN
from innkeeper.service.openapi.workers import WORKERS

DESCRIPTIONS: Final = (PAGES, MODELS, PROMPTS, RUN, WORKERS)
"""One a surface."""


def described(descriptions: Iterable[Description], *, keyed: bool) -> BaseRoute:
    """The route; the document is written when somebody asks for it first."""

    @once
    def text() -> bytes:
        return encode(document(descriptions, keyed=keyed))

    async def show(_: Request) -> Response:
        return Response(text(), media_type=JSON)

    return Route("/openapi.json", show, methods=["GET"])
