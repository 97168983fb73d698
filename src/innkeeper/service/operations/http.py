"""Operations over HTTP: routes, and their part of the OpenAPI document, are made from a table of paths."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Final, NamedTuple

from starlette.requests import Request as WebRequest
from starlette.responses import Response
from starlette.routing import BaseRoute

from innkeeper.inference.response.views.view import ServerEvent
from innkeeper.operations.operation import Blob, Operation, plain
from innkeeper.operations.refusals import function_facts
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.typed.json_schema import json_schemas
from innkeeper.service.error_facts import FUNCTIONS, service_facts
from innkeeper.service.guard.guard import lower_headers
from innkeeper.service.openapi.document import Description, operation, schemas_of
from innkeeper.service.operations.scope import CallScope, Resources
from innkeeper.service.pages import Endpoint, Page, PageTable
from innkeeper.service.web import EventStream, Stop, json_body, json_response, ticket_of, unless_gone, with_errors


class HttpPath(NamedTuple):
    """A path over HTTP, and the operation that answers there.

    Parts of the path in braces are fields of the request, as are the query of a GET and the body of a POST. ``log`` is the word
    under which the log of calls has it. ``status`` is that of a reply; ``pending`` of one for which ``is_done`` is false. A path
    that is ``signed`` needs no key: its request has the bytes of the body, and the headers that sign them.
    """

    operation: Operation[Any, Any]
    path: str
    method: str = "POST"
    log: str = ""
    tag: str = "tasks"
    errors: Mapping[str, str] = EMPTY
    status: int = 200
    pending: int = 0
    is_done: Callable[[Any], bool] = bool
    signed: bool = False

    @property
    def is_function(self) -> bool:
        """Whether it is a function of the requirement document, whose errors have the document's shape."""
        return self.path.startswith(FUNCTIONS)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the request that stand in the path."""
        return tuple(re.findall(r"{(\w+)", self.path))


def with_rule(paths: Iterable[HttpPath]) -> list[HttpPath]:
    """The paths of a table, and the path by rule of each operation, where the whole request is the body of a POST."""
    table = list(paths)
    rules = {path.operation.path: path for path in reversed(table) if not path.signed}
    for path in table:
        rules.pop(path.path, None)
    return [*table, *(path._replace(path=rule, method="POST") for rule, path in reversed(rules.items()))]


def routes(paths: Iterable[HttpPath], resources: Resources) -> list[BaseRoute]:
    """The routes of a table of paths, and of the paths by rule."""
    return PageTable([Page(path.method, path.path, _endpoint(path, resources)) for path in with_rule(paths)]).routes()


def _endpoint(path: HttpPath, resources: Resources) -> Endpoint:
    write = function_facts if path.is_function else service_facts

    async def call(web: WebRequest) -> Response:
        ticket = ticket_of(web)
        ticket.record.operation = path.log or ticket.record.operation
        request = path.operation.read(await _values(path, web), lax=path.method != "POST")
        answer = await unless_gone(web.receive, path.operation.run(request, CallScope(ticket, resources, web.headers)))
        if isinstance(answer, AsyncGenerator):
            return EventStream(_encoded(answer), {}, Stop(), _over)
        reply = _reply(path, answer)
        ticket.carry(len(reply.body))
        return reply

    return with_errors(call, write)


async def _values(path: HttpPath, web: WebRequest) -> Mapping[str, Any]:
    """The fields of a request by their names. An empty body is an empty object."""
    if path.method != "POST":
        return {**web.query_params, **web.path_params}
    if path.signed:
        return {"content": await web.body(), "headers": lower_headers(web.scope), **web.path_params}
    return {**(await json_body(web) if await web.body() else EMPTY), **web.path_params}


def _reply(path: HttpPath, answer: Any) -> Response:
    if isinstance(answer, Blob):
        headers = {"etag": f'"{answer.sha256}"'} if answer.sha256 else {}
        return Response(answer.data, media_type=answer.media_type, headers=headers)
    body = plain(answer)
    return json_response(body, path.pending if path.pending and not path.is_done(body) else path.status)


async def _encoded(events: AsyncGenerator[ServerEvent | None]) -> AsyncGenerator[bytes]:
    """The bytes of events; a comment, which keeps the connection, where there is none. An error is the last."""
    try:
        async with aclosing(events):
            async for event in events:
                yield b": still here\n\n" if event is None else event.encode()
    except InnkeeperError as error:
        yield ServerEvent(function_facts(error), "error").encode()


async def _over() -> None:
    """A stream of events leaves nothing to be done."""


# ----------------------------------------------------------------------------------------------------------------- OpenAPI


def described(paths: Iterable[HttpPath]) -> Description:
    """The part of the OpenAPI document that a table of paths has, those by rule among them."""
    items: dict[str, dict[str, Any]] = {}
    schemas: dict[str, Any] = {**schemas_of("functions")}
    for path in with_rule(paths):
        item = items.setdefault(re.sub(r":\w+}", "}", path.path), {})
        item[path.method.lower()] = _described(path, schemas)
    return Description(items, schemas)


_REFERENCE: Final = "#/components/schemas/{name}"
_BYTES: Final = {kind: {"schema": {"type": "string"}} for kind in ("application/octet-stream", "image/*", "video/*")}


def _described(path: HttpPath, schemas: dict[str, Any]) -> dict[str, Any]:
    """The description of a path; the schemas that it names are added to ``schemas``."""
    asked, name = path.operation, path.operation.request.__name__
    types = (asked.request, None if asked.reply is Blob else asked.reply)
    (request, reply), parts = json_schemas(types, _REFERENCE)
    body = parts.pop(name)
    properties, in_path = body["properties"], path.fields
    properties.pop(asked.whole, None)
    parameters = [*_parameters(path, properties)]
    for field, schema in properties.items():
        properties[field] = _accepted(schema, needed=field in body["required"])
    takes_body = path.method == "POST" and not path.signed and bool(properties.keys() - {*in_path} or asked.whole)
    if takes_body and not in_path:
        parts[name] = body
    elif takes_body:
        left = {field: schema for field, schema in properties.items() if field not in in_path}
        request = body = {**body, "properties": left, "required": [each for each in body["required"] if each in left]}
    schemas |= parts
    made = operation(
        asked.summary,
        path.tag,
        body=request if takes_body else None,
        reply=reply,
        streams=asked.streams,
        error="FunctionRefusal" if path.is_function else "OpenAIError",
        parameters=parameters,
        open_to_all=path.signed,
    )
    if takes_body:
        made["requestBody"]["required"] = bool(body["required"])
    if asked.examples:
        content = made["requestBody"]["content"]["application/json"]
        content["examples"] = {str(number): {"value": each} for number, each in enumerate(asked.examples)}
    refusals = {status: {"description": words} for status, words in path.errors.items()}
    reply = made["responses"].pop("200")
    made["responses"] = {**refusals, **made["responses"], **_replies(path, reply)}
    return made


def _accepted(schema: dict[str, Any], *, needed: bool) -> dict[str, Any]:
    """Return the schema of a field as `read_body` reads it: null is left out, and an empty text counts as absent."""
    if not needed:
        bare = {name: value for name, value in schema.items() if name != "default"}
        default = {"default": schema["default"]} if "default" in schema else {}
        return {"anyOf": [bare, {"type": "null"}], **default} if bare and "anyOf" not in bare else schema
    return {**schema, "minLength": max(1, schema.get("minLength", 0))} if schema.get("type") == "string" else schema


def _replies(path: HttpPath, reply: dict[str, Any]) -> dict[str, Any]:
    """The replies that are no errors, by status."""
    if path.operation.reply in (None, Blob):
        reply["content"] = _BYTES if path.operation.reply is Blob else {"text/event-stream": {}}
    pending = {str(path.pending): {**reply, "description": "it is accepted"}} if path.pending else {}
    return {str(path.status): reply, **pending}


def _parameters(path: HttpPath, properties: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What stands in the path, and in the query of a GET."""
    for name, schema in properties.items():
        if name in path.fields:
            least = {"minLength": 1} if schema.get("type") == "string" else {"minimum": 0}
            yield {"name": name, "in": "path", "required": True, "schema": {**schema, **least}}
        elif path.method == "GET":
            yield {"name": name, "in": "query", "required": False, "schema": schema}
