"""The page ``/docs``: all operations, in plain HTML without scripts."""

from __future__ import annotations

import json
from html import escape

from innkeeper.service.gateway.operation import Operation, Operations

__all__ = ["page"]


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
