"""Description: the inspector's API as an OpenAPI document, written from its views."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from innkeeper.prompt.once import once
from innkeeper.service.exchange import encode
from innkeeper.service.inspector.views import VIEWS
from innkeeper.service.openapi.document import Description, document, errors, named, parameter, record

__all__ = ["document_bytes"]

_BYTES: Final = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_EVENTS: Final = {"text/event-stream": {"schema": {"type": "string"}}}
_ASKED: Final = {
    "name": "what the file is called",
    "format": "one of those that the workspace lists for it",
    "dialect": "one of the workspace's; the plan's own where left out",
}
_REF: Final = "#/components/schemas/{name}"


def _call(
    summary: str,
    reply: str | dict[str, Any],
    *,
    body: str | None = None,
    asked: tuple[str, ...] = (),
) -> dict[str, Any]:
    content = {"application/json": {"schema": named(reply)}} if isinstance(reply, str) else reply
    made: dict[str, Any] = {
        "summary": summary,
        "tags": ["inspector"],
        "responses": {
            "200": {"description": "What was asked for.", "content": content},
            **errors("Failure"),
        },
    }
    if asked:
        made["parameters"] = [parameter(name, _ASKED[name], "query") for name in asked]
    if body == "bytes":
        made["requestBody"] = {"required": True, "content": _BYTES}
    elif body is not None:
        made["requestBody"] = {"required": True, "content": {"application/json": {"schema": named(body)}}}
    return made


_PATHS: Final[dict[str, dict[str, Any]]] = {
    "workspace": {"get": _call("The files, the settings, what there is to choose from.", "Workspace")},
    "inspection": {"get": _call("The prompt and why it is as it is.", "Inspection")},
    "files": {
        "post": _call(
            "One more file, in memory until it is saved.",
            "FileView",
            body="bytes",
            asked=("name",),
        )
    },
    "files/{id}": {"get": _call("A working copy.", "FileContent")},
    "files/{id}/picture": {"get": _call("A card's picture.", {"image/png": {}})},
    "files/{id}/changes": {"get": _call("What saving would change.", "Changes")},
    "files/{id}/save": {"post": _call("Save a file, and keep what was there beside it.", "Saved")},
    "files/{id}/revert": {"post": _call("Take the edits of a file back.", "FileReply")},
    "files/{id}/export": {"get": _call("A file in another format.", _BYTES, asked=("format",))},
    "wire": {
        "get": _call(
            "The request that a provider gets.",
            "Wire",
            asked=("dialect",),
        )
    },
    "compare": {"post": _call("Two variations side by side.", "Comparison", body="CompareRequest")},
    "replay": {
        "get": _call("The build as a replay bundle.", {"application/json": {}}),
        "post": _call("Open a replay bundle, which alone is used.", "Workspace", body="ReplayBundle"),
    },
    "talk": {"post": _call("Send the prompt: events delta, then end or error.", _EVENTS, body="TalkRequest")},
}


@once
def document_bytes() -> bytes:
    """The document, as JSON."""
    from innkeeper.service.inspector.surface import API

    _, schemas = msgspec.json.schema_components(VIEWS, ref_template=_REF)
    schemas["Failure"] = record(("error",), error=named("Problem"))
    schemas["ReplayBundle"] = record()
    paths = {API + path: _with_id(path, item) for path, item in _PATHS.items()}
    return encode(document([Description(paths, schemas)], keyed=True))


def _with_id(path: str, item: dict[str, Any]) -> dict[str, Any]:
    if "{id}" not in path:
        return item
    place = parameter("id", "the id of a file")
    return {method: {**call, "parameters": [place, *call.get("parameters", ())]} for method, call in item.items()}
