"""Description: pages of the inspector's API, each with its part of the OpenAPI document, which is written from the views."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import msgspec

from innkeeper.operations.operation import Operation
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.typed.json_schema import json_schemas
from innkeeper.service.exchange import encode
from innkeeper.service.inspector.views.schema import VIEWS
from innkeeper.service.openapi.document import OBJECT, Schema, document, named, operation, parameter
from innkeeper.service.pages import Endpoint, Page, PageTable

API: Final = "/v1/inspector/"

BYTES: Final = "application/octet-stream"

_PATH_WORDS: Final = {"id": "the id of a file", "name": "the name of a template"}
_REF: Final = "#/components/schemas/{name}"


def api_page(
    method: str,
    path: str,
    answer: Endpoint,
    summary: str,
    reply: Any,
    *,
    body: Any = None,
    query: Mapping[str, str] = EMPTY,
) -> Page:
    """A page of the API. ``reply`` and ``body`` are types, or media types of what is no JSON; ``query`` describes its words."""
    return Page(method, API + path, answer, partial(_described, path, summary, reply, body, query))


def operation_description(method: str, path: str, declared: Operation[Any, Any]) -> dict[str, Any]:
    """The description of an operation: what is asked with GET stands in the query, else in the body."""
    if method != "GET":
        return _described(path, declared.summary, declared.reply, declared.request, EMPTY)
    fields = msgspec.inspect.type_info(declared.request).fields  # type: ignore[attr-defined]  # of a struct
    query = {field.encode_name: field.type.extra_json_schema["description"] for field in fields}
    return _described(path, declared.summary, declared.reply, None, query)


def _described(path: str, summary: str, reply: Any, body: Any, query: Mapping[str, str]) -> dict[str, Any]:
    parameters = [parameter(name, _PATH_WORDS[name]) for name in re.findall(r"{(\w+)", path)]
    parameters += [parameter(name, words, "query") for name, words in query.items()]
    described = operation(summary, "inspector", reply={}, error="Failure", parameters=parameters)
    described["responses"]["200"] = {"description": "What was asked for.", "content": _content(reply)}
    if body is not None:
        described["requestBody"] = {"required": True, "content": _content(body)}
    return described


def _content(kind: Any) -> dict[str, Any]:
    """What a body holds: JSON of a type or of a schema, or another media type."""
    if isinstance(kind, str):
        return {kind: {"schema": {"type": "string", "format": "binary"}} if kind == BYTES else {}}
    if isinstance(kind, Mapping):
        return {"application/json": {"schema": kind}}
    (schema,), _ = json_schemas((kind,), _REF)
    return {"application/json": {"schema": schema}}


REPLAY: Final[Schema] = named("ReplayBundle")
"""The schema of a replay bundle, which is read elsewhere."""


def document_bytes(table: PageTable) -> bytes:
    """The document, as JSON."""
    _, schemas = json_schemas(VIEWS, _REF)
    own = {
        "Failure": {"type": "object", "required": ["error"], "properties": {"error": named("ProblemView")}},
        "ReplayBundle": OBJECT,
    }
    return encode(document([PageTable(table.pages, {**schemas, **own}).described()], keyed=True))
