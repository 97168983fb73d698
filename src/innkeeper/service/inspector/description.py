"""Description: the inspector's API as an OpenAPI document, written from its views."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from innkeeper.prompt.once import once
from innkeeper.service.exchange import encode
from innkeeper.service.inspector.views.schema import VIEWS
from innkeeper.service.openapi.document import Description, document, errors, named, parameter, record

_BYTES: Final = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_EVENTS: Final = {"text/event-stream": {"schema": {"type": "string"}}}
_ASKED: Final = {
    "name": "what the file is called",
    "format": "one of those that the workspace lists for it",
    "dialect": "one of the workspace's; the plan's own where left out",
    "search": "a part of a name, a description or a text",
    "after": "the name of the last one of the page before",
    "version": "the number of a version; the one in production, else the latest, where left out",
    "a": "the number of a version; the one in production where left out",
    "b": "the number of a version; the latest where left out",
    "before": "the id of the last one of the page before",
    "template": "the name of a template",
    "status": "ok, degraded, blocked or error",
    "request": "the id of a request",
    "tier": "sfw or nsfw",
    "hours": "how many; 24 where left out",
}
_PLACES: Final = {"id": "the id of a file", "name": "the name of a template"}
_REF: Final = "#/components/schemas/{name}"


def _call(
    summary: str,
    reply: str | tuple[str] | dict[str, Any],
    *,
    body: str | None = None,
    asked: tuple[str, ...] = (),
) -> dict[str, Any]:
    content = reply if isinstance(reply, dict) else {"application/json": {"schema": _schema(reply)}}
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


def _schema(reply: str | tuple[str]) -> dict[str, Any]:
    """A view by its name, or a list of them."""
    return named(reply) if isinstance(reply, str) else {"type": "array", "items": named(reply[0])}


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
    "library": {"get": _call("Where the library is, and how much is in it.", "LibraryView")},
    "library/templates": {"get": _call("The templates by name.", ("TemplateSummary",), asked=("search", "after"))},
    "library/templates/{name}": {"get": _call("A template with one version.", "TemplateView", asked=("version",))},
    "library/changes/{name}": {"get": _call("Two versions of a template.", "Changes", asked=("a", "b"))},
    "library/templates/{name}/draft": {
        "post": _call("A new version, or what would be wrong with it.", "TemplateView", body="DraftRequest")
    },
    "library/templates/{name}/publish": {
        "post": _call("Check a version, and let a label point at it.", "TemplateView", body="PublishRequest")
    },
    "library/templates/{name}/rollback": {
        "post": _call("Let a label point at an earlier version.", "TemplateView", body="RollbackRequest")
    },
    "library/resolve": {"post": _call("Which template answers a request.", "ResolutionView", body="ResolveRequest")},
    "library/tier": {"post": _call("The tier of a text, and why.", "TierView", body="TierRequest")},
    "library/models": {"get": _call("The models of the catalogue.", ("ModelRow",))},
    "library/providers": {"get": _call("The providers of models.", ("ProviderRow",))},
    "library/tools": {"get": _call("The tools that models may call.", ("ToolRow",))},
    "library/negatives": {"get": _call("The fragments of negative prompts.", ("NegativeRow",))},
    "library/budgets": {"get": _call("The room of each published template.", ("BudgetRow",))},
    "library/log": {
        "get": _call("The newest calls.", "LogPage", asked=("before", "template", "status", "request", "tier"))
    },
    "library/metrics": {"get": _call("The calls of the last hours by time.", "MetricsView", asked=("hours",))},
    "library/vault": {"get": _call("The names in the vault.", "VaultNames")},
    "talk": {"post": _call("Send the prompt: events delta, then end or error.", _EVENTS, body="TalkRequest")},
}


@once
def document_bytes() -> bytes:
    """The document, as JSON."""
    from innkeeper.service.inspector.surface import API

    _, schemas = msgspec.json.schema_components(VIEWS, ref_template=_REF)
    schemas["Failure"] = record(("error",), error=named("Problem"))
    schemas["ReplayBundle"] = record()
    paths = {API + path: _with_places(path, item) for path, item in _PATHS.items()}
    return encode(document([Description(paths, schemas)], keyed=True))


def _with_places(path: str, item: dict[str, Any]) -> dict[str, Any]:
    places = [parameter(name, text) for name, text in _PLACES.items() if f"{{{name}}}" in path]
    return {method: {**call, "parameters": [*places, *call.get("parameters", ())]} for method, call in item.items()}
