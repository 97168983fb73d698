"""Pages of the library. What is read or written is worked on beside the event loop, a few calls at a time.

The modules with their operations are not loaded before somebody looks at the library.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from innkeeper.gate.judgement import Judgement
from innkeeper.operations.operation import Operation
from innkeeper.prompt import BuildLimits
from innkeeper.prompt.allowance import allowed
from innkeeper.prompt.typed.once import convert, decode
from innkeeper.service.exchange import JSON
from innkeeper.service.inspector.access import Visitor, json_bytes_of
from innkeeper.service.inspector.description import API, operation_description
from innkeeper.service.inspector.library.library_access import ChangeScope, LibraryAccess, LibraryScope
from innkeeper.service.pages import Endpoint, Page

MAX_LIBRARY_CALLS: Final = 4
"""Calls of the library that are worked on at once (no error: others wait)."""

MAX_LIBRARY_SECONDS: Final = 10.0
"""Seconds of the processor for one call of the library (`AllowanceError`)."""

_SEE_OTHERS: Final = "see what others asked"
_CHANGE: Final = "change templates"

_READING: Final = (
    ("GET", "library", "catalogue:see_library", ""),
    ("GET", "library/templates", "templates:see_templates", ""),
    ("GET", "library/changes/{name:path}", "templates:see_changes", ""),
    ("POST", "library/templates/{name:path}/render", "templates:see_rendered", ""),
    ("GET", "library/templates/{name:path}", "templates:see_template", ""),
    ("POST", "library/resolve", "answers:resolve", ""),
    ("POST", "library/tier", "answers:judge", ""),
    ("GET", "library/models", "catalogue:see_models", ""),
    ("GET", "library/providers", "catalogue:see_providers", ""),
    ("GET", "library/tools", "catalogue:see_tools", ""),
    ("GET", "library/negatives", "catalogue:see_negatives", ""),
    ("GET", "library/budgets", "catalogue:see_budgets", ""),
    ("GET", "library/log", "records:see_log", _SEE_OTHERS),
    ("GET", "library/metrics", "records:see_metrics", _SEE_OTHERS),
    ("GET", "library/vault", "records:see_vault", "see what is in the vault"),
)
"""Method, path, operation, and what only an administrator may. What is read is read again where it changed meanwhile."""

_CHANGING: Final = (
    ("POST", "library/templates/{name:path}/draft", "templates:draft", ""),
    ("POST", "library/templates/{name:path}/publish", "templates:publish", _CHANGE),
    ("POST", "library/templates/{name:path}/rollback", "templates:roll_back", _CHANGE),
)


class LibraryPages:
    """What answers below ``library``."""

    def __init__(self, library: LibraryAccess) -> None:
        self.library = library
        self._running = asyncio.Semaphore(MAX_LIBRARY_CALLS)

    def pages(self) -> list[Page]:
        """The pages; longer paths come before those that they begin with."""
        return [
            Page(method, API + path, self._answer(target, right, run), partial(_description, method, path, target))
            for table, run in ((_CHANGING, self._change), (_READING, self._read))
            for method, path, target, right in table
        ]

    async def close(self) -> None:
        """Give the database back."""
        await asyncio.to_thread(self.library.close)

    def _answer(
        self, target: str, right: str, run: Callable[[Operation[Any, Any], Any, Visitor, str], Any]
    ) -> Endpoint:
        """What answers one call; with a ``right`` only to an administrator."""

        async def answer(web: Request) -> Response:
            visitor = web.state.visitor
            if right:
                visitor.require_admin(right)
            body = await json_bytes_of(web) if web.method == "POST" else b""

            def work() -> bytes:
                operation = _operation(target)
                query = {key: value for key, value in web.query_params.items() if value}
                kind = operation.request
                request = decode(body, kind) if body else convert(query, kind, strict=False)
                with allowed(BuildLimits(seconds=MAX_LIBRARY_SECONDS)):
                    return msgspec.json.encode(run(operation, request, visitor, web.path_params.get("name", "")))

            async with self._running:
                return Response(await asyncio.to_thread(work), media_type=JSON)

        return answer

    def _read(self, operation: Operation[Any, Any], request: Any, visitor: Visitor, name: str) -> Any:
        return self.library.look(lambda contents: operation.run(request, LibraryScope(contents, visitor, name)))

    def _change(self, operation: Operation[Any, Any], request: Any, visitor: Visitor, name: str) -> Any:
        return operation.run(request, ChangeScope(self.library, visitor, name))


def _operation(target: str) -> Operation[Any, Any]:
    module, _, name = target.partition(":")
    return Operation(f"library.{name}", getattr(import_module(f"{__package__}.{module}"), name), judged=Judgement.OWN)


def _description(method: str, path: str, target: str) -> dict[str, Any]:
    return operation_description(method, path, _operation(target))
