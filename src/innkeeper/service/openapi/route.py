"""``/openapi.json`` over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from innkeeper.prompt.once import once
from innkeeper.service.exchange import JSON, encode
from innkeeper.service.openapi.document import OBJECT, SERVICE, Description, document, operation
from innkeeper.service.pages import Page, PageTable


def described_routes(tables: Sequence[PageTable], others: Iterable[Description], *, keyed: bool) -> list[BaseRoute]:
    """Return the routes of all pages, and that of the document, which describes them and what else the application has.

    The document is written when somebody asks for it first.
    """

    @once
    def text() -> bytes:
        return encode(document([*others, *(table.described() for table in (*tables, own))], keyed=keyed))

    async def show(_: Request) -> Response:
        return Response(text(), media_type=JSON)

    description = operation("This document.", SERVICE, reply=OBJECT, error="Problem")
    own = PageTable([Page("GET", "/openapi.json", show, description)])
    return [route for table in (*tables, own) for route in table.routes()]
