"""Routes and descriptions of operations: both are made from the operations, by rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from starlette.routing import BaseRoute, Route

from innkeeper.operations.library.decisions import EVALUATE, RENDER, RESOLVE
from innkeeper.operations.operation import Operation
from innkeeper.service.openapi.document import Description
from innkeeper.service.tasks.calls import Endpoint, Opened, TaskCall, service
from innkeeper.service.tasks.description import service_path

OPERATIONS: Final[Mapping[str, Operation]] = {"tier": EVALUATE, "resolve": RESOLVE, "render": RENDER}
"""The operations that have routes, each by the word under which the log of calls has it."""


def operation_routes(opened: Opened) -> list[BaseRoute]:
    """A route for each operation."""
    return [Route(each.path, _endpoint(opened, word, each), methods=["POST"]) for word, each in OPERATIONS.items()]


def _endpoint(opened: Opened, word: str, operation: Operation) -> Endpoint:
    async def run(call: TaskCall) -> Mapping[str, Any]:
        reply: Mapping[str, Any] = await operation(call.body, call)
        return reply

    return service(opened, word, run)


def described(operations: Iterable[Operation]) -> Description:
    """The paths of operations and the schemas of their requests and replies, for the OpenAPI document."""
    paths, schemas = {}, dict[str, Any]()
    for each in operations:
        (body, reply), components = msgspec.json.schema_components(
            (each.request, each.reply), ref_template="#/components/schemas/{name}"
        )
        schemas |= components
        paths[each.path] = service_path(each.summary, body, reply)
    return Description(paths, schemas)
