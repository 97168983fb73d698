"""Routes and descriptions of operations: both are made from the operations, by rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from starlette.routing import BaseRoute, Route

from innkeeper.operations.library.decisions import EVALUATE, RENDER, RESOLVE
from innkeeper.operations.operation import Operation
from innkeeper.operations.tasks.character import SUGGEST
from innkeeper.service.openapi.document import Description
from innkeeper.service.tasks.calls import Opened, Run, TaskCall, function, service
from innkeeper.service.tasks.description import function_path, service_path

OPERATIONS: Final[Mapping[str, Operation]] = {
    "tier": EVALUATE,
    "resolve": RESOLVE,
    "render": RENDER,
    "suggest": SUGGEST,
}
"""The operations that have routes, each by the word under which the log of calls has it."""

FUNCTIONS: Final[Mapping[str, str]] = {"/functions/v1/character-suggestions": "suggest"}
"""Paths of the requirement document's functions for them: the same bodies and replies, errors in the document's shape."""


def operation_routes(opened: Opened) -> list[BaseRoute]:
    """A route for each operation."""
    endpoints = {each.path: service(opened, word, runner(each)) for word, each in OPERATIONS.items()}
    for path, word in FUNCTIONS.items():
        endpoints[path] = function(opened, word, runner(OPERATIONS[word]))
    return [Route(path, endpoint, methods=["POST"]) for path, endpoint in endpoints.items()]


def runner(operation: Operation) -> Run:
    """What answers a call with this operation."""

    async def run(call: TaskCall) -> Mapping[str, Any]:
        reply: Mapping[str, Any] = await operation(call.body, call)
        return reply

    return run


def described(operations: Iterable[Operation]) -> Description:
    """The paths of operations and the schemas of their requests and replies, for the OpenAPI document."""
    functions = {OPERATIONS[word].name: path for path, word in FUNCTIONS.items()}
    paths, schemas = {}, dict[str, Any]()
    for each in operations:
        (body, reply), components = msgspec.json.schema_components(
            (each.request, each.reply), ref_template="#/components/schemas/{name}"
        )
        schemas |= components
        paths[each.path] = service_path(each.summary, body, reply)
        if each.name in functions:
            paths[functions[each.name]] = function_path(each.summary, body, reply)
    return Description(paths, schemas)
