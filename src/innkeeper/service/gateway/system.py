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
from innkeeper.service.gateway.operation import Operation, Operations
from innkeeper.service.gateway.state import AppState, Call

__all__ = ["SYSTEM", "gateway_info", "list_apis", "openapi", "page"]

TITLE: Final = "Innkeeper"


def health(house: AppState) -> dict[str, Any]:
    """That the service answers."""
    return {"status": "healthy", "timestamp": utc_now().isoformat()}


def info(house: AppState) -> dict[str, Any]:
    """What this service is."""
    return {
        "title": TITLE,
        "version": __version__,
        "endpoints": len(house.operations),
        "middlewares": 1,
        "services": sorted({operation.path.rpartition("/")[0] for operation in house.operations.values()}),
        "websocket_connections": house.sockets,
    }


def list_apis(call: Call) -> dict[str, Any]:
    """The operation ``api_gateway/list_apis``."""
    apis = [_entry(operation) for operation in call.house.operations.values()]
    return {"apis": apis, "total": len(apis)}


def gateway_info(call: Call, config_file: str | None = None) -> dict[str, Any]:
    """The operation ``api_gateway/info``. ``config_file`` is ignored: what a service allows is said when it starts."""
    settings = call.house.settings
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
    facts = info(call.house)
    return {name: facts[name] for name in ("endpoints", "middlewares", "websocket_connections")} | {"config": config}


def openapi(house: AppState) -> dict[str, Any]:
    """The description of all paths, in OpenAPI 3.1."""
    paths: dict[str, Any] = {f"/api/{name}": _path(operation) for name, operation in house.operations.items()}
    for page, words in (("/api/health", "That the service answers."), ("/api/info", "What this service is.")):
        paths[page] = {"get": {"summary": words, "responses": _replies({"type": "object"})}}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "version": __version__},
        "paths": paths,
    }
    if house.settings.keys:
        schemes = {"bearer": {"type": "http", "scheme": "bearer"}}
        document |= {"components": {"securitySchemes": schemes}, "security": [{"bearer": []}]}
    return document


def _entry(operation: Operation) -> dict[str, Any]:
    return {
        "name": operation.function,
        "description": operation.description,
        "path": operation.path,
        "namespace": operation.namespace,
        "input_schema": operation.input_schema,
        "output_schema": operation.output_schema,
    }


def _path(operation: Operation) -> dict[str, Any]:
    name = operation.name.replace("/", "_")
    common = {"summary": operation.description, "tags": [operation.path.rpartition("/")[0]]}
    parameters = [
        {"name": argument, "in": "query", "required": argument in operation.required, "schema": schema}
        for argument, schema in operation.arguments.items()
    ]
    body = {
        "required": bool(operation.required),
        "content": {"application/json": {"schema": operation.input_schema}},
    }
    replies = _replies(operation.output_schema)
    return {
        "get": {**common, "operationId": f"{name}_get", "parameters": parameters, "responses": replies},
        "post": {**common, "operationId": f"{name}_post", "requestBody": body, "responses": replies},
    }


def _replies(schema: Mapping[str, Any]) -> dict[str, Any]:
    words = {"400": "arguments are missing or of the wrong shape", "413": "a limit", "503": "too much at once"}
    failures = {status: {"description": text} for status, text in words.items()}
    return {
        "200": {
            "description": "the result, or an object with `error`",
            "content": {"application/json": {"schema": schema}},
        },
        **failures,
    }


SYSTEM: Final[Mapping[str, Callable[[AppState], dict[str, Any]]]] = MappingProxyType(
    {"/api/health": health, "/api/info": info, "/openapi.json": openapi}
)
"""Pages that are answered to GET, by path."""


def page(operations: Operations) -> str:
    """The page."""
    parts = "".join(_section(operation) for operation in operations.values())
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Innkeeper gateway</title>'
        "<style>body{font:15px sans-serif;max-width:60em;margin:2em auto}pre{background:#eee;padding:1em;overflow:auto}"
        f"</style><h1>Innkeeper gateway</h1><p>{len(operations)} operations, each for GET and POST. "
        f'<a href="/openapi.json">OpenAPI</a></p>{parts}</html>'
    )


def _section(operation: Operation) -> str:
    schema = escape(json.dumps(operation.input_schema, ensure_ascii=False, indent=1))
    return (
        f"<h2>/api/{escape(operation.name)}</h2><p>{escape(operation.description)}</p>"
        f"<details><summary>arguments</summary><pre>{schema}</pre></details>"
    )
