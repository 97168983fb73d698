"""Pages of the library. What is read or written is worked on beside the event loop, a few calls at a time.

What they do is in `innkeeper.service.inspector.library.calls`, which is not loaded before somebody looks at the library.
"""

from __future__ import annotations

import asyncio
from functools import partial
from importlib import import_module
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from innkeeper.operations.operation import Operation
from innkeeper.prompt import BuildLimits
from innkeeper.prompt.allowance import allowed
from innkeeper.prompt.once import convert, decode
from innkeeper.service.exchange import JSON
from innkeeper.service.inspector.access import json_bytes_of
from innkeeper.service.inspector.description import API, operation_description
from innkeeper.service.inspector.library.library_access import LibraryAccess
from innkeeper.service.pages import Endpoint, Page

MAX_LIBRARY_CALLS: Final = 4
"""Calls of the library that are worked on at once (no error: others wait)."""

MAX_LIBRARY_SECONDS: Final = 10.0
"""Seconds of the processor for one call of the library (`AllowanceError`)."""

_CALLS: Final = "innkeeper.service.inspector.library.calls"

_ADMIN_CHANGES: Final = "change templates"
_ADMIN_LOOKS: Final = "see what others asked"

_CALLED: Final = (
    ("GET", "library", "see_library", ""),
    ("GET", "library/templates", "see_templates", ""),
    ("GET", "library/changes/{name:path}", "see_changes", ""),
    ("POST", "library/templates/{name:path}/draft", "draft", ""),
    ("POST", "library/templates/{name:path}/publish", "publish", _ADMIN_CHANGES),
    ("POST", "library/templates/{name:path}/rollback", "roll_back", _ADMIN_CHANGES),
    ("GET", "library/templates/{name:path}", "see_template", ""),
    ("POST", "library/resolve", "resolve", ""),
    ("POST", "library/tier", "judge", ""),
    ("GET", "library/models", "see_models", ""),
    ("GET", "library/providers", "see_providers", ""),
    ("GET", "library/tools", "see_tools", ""),
    ("GET", "library/negatives", "see_negatives", ""),
    ("GET", "library/budgets", "see_budgets", ""),
    ("GET", "library/log", "see_log", _ADMIN_LOOKS),
    ("GET", "library/metrics", "see_metrics", _ADMIN_LOOKS),
    ("GET", "library/vault", "see_vault", "see what is in the vault"),
)
"""Method, path, function, and what only an administrator may. Longer paths come before those that they begin with."""


class LibraryPages:
    """What answers below ``library``."""

    def __init__(self, library: LibraryAccess) -> None:
        self.library = library
        self._running = asyncio.Semaphore(MAX_LIBRARY_CALLS)

    def pages(self) -> list[Page]:
        """The pages."""
        return [
            Page(method, API + path, self._answer(name, right), partial(_described, method, path, name))
            for method, path, name, right in _CALLED
        ]

    async def close(self) -> None:
        """Give the database back."""
        await asyncio.to_thread(self.library.close)

    def _answer(self, name: str, right: str) -> Endpoint:
        """What answers one call; with a ``right`` only to an administrator."""

        async def answer(web: Request) -> Response:
            visitor = web.state.visitor
            if right:
                visitor.require_admin(right)
            body = await json_bytes_of(web) if web.method == "POST" else b""

            def work() -> bytes:
                calls, operation = import_module(_CALLS), _operation(name)
                query = {key: value for key, value in web.query_params.items() if value}
                kind = operation.request
                request = decode(body, kind) if body else convert(query, kind, strict=False)
                scope = calls.LibraryScope(self.library, visitor, web.path_params.get("name", ""))
                with allowed(BuildLimits(seconds=MAX_LIBRARY_SECONDS)):
                    return msgspec.json.encode(operation.run(request, scope))

            async with self._running:
                return Response(await asyncio.to_thread(work), media_type=JSON)

        return answer


def _operation(name: str) -> Operation:
    return Operation(f"library.{name}", getattr(import_module(_CALLS), name))


def _described(method: str, path: str, name: str) -> dict[str, Any]:
    return operation_description(method, path, _operation(name))
