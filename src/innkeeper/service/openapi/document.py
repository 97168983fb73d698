"""The document: one place where surfaces register their paths and schemas.

A surface is a `Description`: its paths, each with what it takes and answers, and the schemas that they name. Every path of the
application stands in one of them; a test holds the two against each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any, Final, NamedTuple

from innkeeper import __version__
from innkeeper.prompt.typed.once import once

TITLE: Final = "Innkeeper"

SERVICE: Final = "service"
"""The tag of pages about the service itself."""

Schema = Mapping[str, Any]

OBJECT: Final[dict[str, Any]] = {"type": "object"}


@once
def _foreign() -> dict[str, dict[str, Schema]]:
    read: dict[str, dict[str, Schema]] = json.loads(files(__package__).joinpath("schemas.json").read_bytes())
    return read


def schemas_of(surface: str) -> Mapping[str, Schema]:
    """Return the schemas of a surface whose shapes are others' protocols, or errors that no type of ours describes."""
    return _foreign()[surface]


class Description(NamedTuple):
    """What a surface registers: operations by path and method, and schemas by name."""

    paths: Mapping[str, Mapping[str, Any]]
    schemas: Mapping[str, Schema] = {}


def document(descriptions: Iterable[Description], *, keyed: bool) -> dict[str, Any]:
    """All of them in one. ``keyed``: callers need a key."""
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for one in descriptions:
        schemas |= one.schemas
        for path, item in one.paths.items():
            paths.setdefault(path, {}).update(item)
    made: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "version": __version__},
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if keyed:
        made["components"]["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer"},
            "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        }
        made["security"] = [{"bearer": []}, {"key": []}]
    return made


def operation(  # noqa: PLR0913 - one argument a part of the description
    summary: str,
    tag: str,
    *,
    reply: Schema,
    error: str | None = None,
    body: Schema | None = None,
    streams: bool = False,
    parameters: Iterable[Schema] = (),
    open_to_all: bool = False,
) -> dict[str, Any]:
    """One operation. ``reply`` is what it answers where all is well, ``error`` the name of the schema of its errors.

    ``streams``: the reply may be an event stream. ``open_to_all``: no key is needed.
    """
    content: dict[str, Any] = {"application/json": {"schema": reply}}
    if streams:
        content["text/event-stream"] = {}
    made: dict[str, Any] = {
        "summary": summary,
        "tags": [tag],
        "responses": {"200": {"description": "the answer", "content": content}, **errors(error)},
    }
    if body is not None:
        made["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    if parameters:
        made["parameters"] = [*parameters]
    if open_to_all:
        made["security"] = []
    return made


def text_reply(summary: str, tag: str, media_type: str) -> dict[str, Any]:
    """An operation that answers with a text of this type."""
    content = {media_type: {"schema": {"type": "string"}}}
    ok = {"description": "the page", "content": content}
    return {"summary": summary, "tags": [tag], "responses": {"200": ok, **errors("Problem")}}


_WORDS: Final = {
    "400": "the request does not fit",
    "401": "a key is needed",
    "403": "the key, or a page of another origin, may not do this",
    "404": "there is no such thing",
    "413": "more than a limit allows",
    "429": "more than this key may; `Retry-After` says when to come back",
    "503": "too much at once, or something is missing; `Retry-After` says when to come back",
}


def errors(name: str | None) -> dict[str, Any]:
    """Replies that are errors, whose schema has this name; none where there is no name."""
    if name is None:
        return {}
    content = {"application/json": {"schema": named(name)}}
    replies = {status: {"description": words, "content": content} for status, words in _WORDS.items()}
    return {**replies, "default": {"description": "any other error", "content": content}}


def named(name: str) -> dict[str, Any]:
    """A schema of the document, by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def parameter(name: str, words: str, within: str = "path") -> dict[str, Any]:
    """A text in the path, which has to be there, or in the query or the headers."""
    schema = {"type": "string", **({"minLength": 1} if within == "path" else {})}
    return {"name": name, "in": within, "required": within == "path", "description": words, "schema": schema}
