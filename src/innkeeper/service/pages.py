"""Pages: paths of the service over HTTP, each declared once: what answers there, and its part of the OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from starlette.requests import Request as WebRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from innkeeper.gate.judgement import Judgement
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.typed.once import once
from innkeeper.service.exchange import JSON, encode
from innkeeper.service.openapi.document import OBJECT, SERVICE, Description, Schema, document, operation

Endpoint = Callable[[WebRequest], Awaitable[Response]]


class Page(NamedTuple):
    """A path, its method (or several, with blanks between them), what answers, and an operation of the OpenAPI document.

    Parts of the path in braces are as Starlette has them. Without a description it is left out of the document; one
    that takes long to write is made when it is asked for. ``judged`` says when the texts that pass it are judged.
    """

    method: str
    path: str
    answer: Endpoint
    description: Mapping[str, Any] | Callable[[], Mapping[str, Any]] = EMPTY
    judged: Judgement = Judgement.NONE


class PageTable(NamedTuple):
    """The pages of one surface, and the schemas that their descriptions name."""

    pages: Sequence[Page]
    schemas: Mapping[str, Schema] = EMPTY

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        return [Route(page.path, page.answer, methods=page.method.split()) for page in self.pages]

    def described(self) -> Description:
        """Return their part of the OpenAPI document."""
        paths: dict[str, dict[str, Any]] = {}
        for page in self.pages:
            if page.description:
                description = page.description() if callable(page.description) else page.description
                item = paths.setdefault(re.sub(r":\w+}", "}", page.path), {})
                item.update(dict.fromkeys(page.method.lower().split(), description))
        return Description(paths, self.schemas)


def described_routes(tables: Sequence[PageTable], others: Iterable[Description], *, keyed: bool) -> list[BaseRoute]:
    """Return the routes of all pages, and of ``/openapi.json``, which describes them and what else the application has.

    The document is written when somebody asks for it first.
    """

    @once
    def text() -> bytes:
        return encode(document([*others, *(table.described() for table in (*tables, own))], keyed=keyed))

    async def show(_: WebRequest) -> Response:
        return Response(text(), media_type=JSON)

    description = operation("This document.", SERVICE, reply=OBJECT, error="Problem")
    own = PageTable([Page("GET", "/openapi.json", show, description)])
    return [route for table in (*tables, own) for route in table.routes()]
