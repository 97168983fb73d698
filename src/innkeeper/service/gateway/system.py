"""System pages and the operations about the gateway itself: health, info, the list of operations, OpenAPI, ``/docs``.

The page ``/docs`` shows all operations in plain HTML without scripts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from html import escape
from types import MappingProxyType
from typing import Any, Final

from innkeeper import __version__
from innkeeper.prompt.machine import utc_now
from innkeeper.prompt.typed.json_schema import json_schema, schema_and_parts
from innkeeper.service.gateway.operation import GatewayPath, Operations
from innkeeper.service.gateway.state import AppState, GatewayCall
from innkeeper.service.openapi.document import SERVICE, Description, document, errors, named, schemas_of

TITLE: Final = "Innkeeper"


def health(state: AppState) -> dict[str, Any]:
    """That the service answers."""
    return {"status": "healthy", "timestamp": utc_now().isoformat()}


def info(state: AppState) -> dict[str, Any]:
    """What this service is."""
    return {
        "title": TITLE,
        "version": __version__,
        "endpoints": len(state.operations),
        "middlewares": 1,
        "services": sorted({entry.path.rpartition("/")[0] for entry in state.operations.values()}),
        "websocket_connections": state.sockets,
    }


def list_apis(call: GatewayCall) -> dict[str, Any]:
    """The operation ``api_gateway/list_apis``."""
    apis = [_entry(entry) for entry in call.state.operations.values()]
    return {"apis": apis, "total": len(apis)}


def gateway_info(call: GatewayCall, config_file: str | None = None) -> dict[str, Any]:
    """The operation ``api_gateway/info``. ``config_file`` is ignored: what a service allows is said when it starts."""
    settings = call.state.settings
    config = {
        "profile": settings.profile,
        "python": settings.python,
        "data": settings.data is not None,
        "key": bool(settings.keys),
        "max_body": settings.max_body,
        "max_depth": settings.max_depth,
        "max_calls": settings.max_calls,
        "time_budget": settings.time_budget,
    }
    facts = info(call.state)
    return {name: facts[name] for name in ("endpoints", "middlewares", "websocket_connections")} | {"config": config}


def openapi(state: AppState) -> dict[str, Any]:
    """The description of the gateway's paths, in OpenAPI 3.1."""
    return document([gateway_description(state)], keyed=bool(state.settings.keys))


def gateway_description(state: AppState) -> Description:
    """What the gateway registers for the document of the whole service."""
    schemas: dict[str, Any] = {}
    paths = {f"/api/{name}": _path(entry, schemas) for name, entry in state.operations.items()}
    for page, words in (("/api/health", "That the service answers."), ("/api/info", "What this service is.")):
        paths[page] = {"get": {"summary": words, "tags": [SERVICE], "responses": _replies({"type": "object"})}}
    return Description(paths, {**schemas, **schemas_of("service")})


def _entry(entry: GatewayPath) -> dict[str, Any]:
    return {
        "name": entry.function,
        "description": entry.operation.summary,
        "path": entry.path,
        "namespace": entry.namespace,
        "input_schema": entry.operation.schema,
        "output_schema": json_schema(entry.operation.reply),
    }


def _path(entry: GatewayPath, schemas: dict[str, Any]) -> dict[str, Any]:
    """The description of an operation's path; what its schemas refer to is added to ``schemas``."""
    arguments, inner = schema_and_parts(entry.operation.request, "#/components/schemas/{name}")
    reply, outer = schema_and_parts(entry.operation.reply, "#/components/schemas/{name}")
    schemas |= inner | outer
    name, replies = entry.name.replace("/", "_"), _replies(reply)
    common = {"summary": entry.operation.summary, "tags": [entry.path.rpartition("/")[0]]}
    parameters = [
        {"name": argument, "in": "query", "required": argument in entry.required, **_in_query(schema)}
        for argument, schema in arguments.get("properties", {}).items()
    ]
    # What is no object gives no arguments, as the original has it.
    taken = arguments if entry.required else {"anyOf": [arguments, {"not": {"type": "object"}}]}
    body = {"required": bool(entry.required), "content": {"application/json": {"schema": taken}}}
    return {
        "get": {**common, "operationId": f"{name}_get", "parameters": parameters, "responses": replies},
        "post": {**common, "operationId": f"{name}_post", "requestBody": body, "responses": replies},
    }


def _in_query(schema: Mapping[str, Any]) -> dict[str, Any]:
    """How an argument stands in a query: a text as it is, or ``null`` where it may be that; all else as JSON."""
    forms = schema.get("anyOf", (schema,))
    absent = ["null"] if {"type": "null"} in forms else []
    texts = [{**each, "enum": [*each["enum"], *absent]} if "enum" in each else each for each in forms]
    texts = [each for each in texts if each.get("type") == "string" or "enum" in each]
    return {"schema": texts[0]} if texts else {"content": {"application/json": {"schema": schema}}}


def _replies(schema: Mapping[str, Any]) -> dict[str, Any]:
    result = {
        "description": "the result, or an object with `error`",
        "content": {"application/json": {"schema": {"anyOf": [schema, named("Refusal")]}}},
    }
    return {"200": result, **errors("Problem")}


SYSTEM: Final[Mapping[str, Callable[[AppState], dict[str, Any]]]] = MappingProxyType(
    {"/api/health": health, "/api/info": info, "/openapi.json": openapi}
)
"""Pages that are answered to GET, by path."""


def page(operations: Operations) -> str:
    """The page ``/docs``."""
    parts = "".join(_section(entry) for entry in operations.values())
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Innkeeper gateway</title>'
        "<style>body{font:15px sans-serif;max-width:60em;margin:2em auto}pre{background:#eee;padding:1em;overflow:auto}"
        f"</style><h1>Innkeeper gateway</h1><p>{len(operations)} operations, each for GET and POST. "
        f'<a href="/openapi.json">OpenAPI</a></p>{parts}</html>'
    )


def _section(entry: GatewayPath) -> str:
    schema = escape(json.dumps(entry.operation.schema, ensure_ascii=False, indent=1))
    return (
        f"<h2>/api/{escape(entry.name)}</h2><p>{escape(entry.operation.summary)}</p>"
        f"<details><summary>arguments</summary><pre>{schema}</pre></details>"
    )
