"""Calls of tasks whose bodies are read by hand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request as WebRequest
from starlette.responses import Response

from innkeeper.prompt.errors import UsageError, Where
from innkeeper.prompt.text import scalar_text
from innkeeper.service.answers import json_body, json_response, ticket_of, with_errors
from innkeeper.service.cancelling import unless_gone
from innkeeper.service.error_facts import function_facts, service_facts
from innkeeper.service.pages import Endpoint
from innkeeper.service.scope import CallScope, Resources

if TYPE_CHECKING:
    from innkeeper.jobs.media_jobs import MediaJobs
    from innkeeper.operations.tasks.execution import TextTasks


Media = Callable[[], "MediaJobs"]
"""Gives the jobs that make pictures, opening them where need be; it may wait for the database."""

Run = Callable[[CallScope], Awaitable[Mapping[str, Any]]]
Served = Callable[[CallScope], Awaitable[Mapping[str, Any] | Response]]
"""What answers a call over HTTP: with a reply, or with one that is given as it comes."""

Opened = Callable[[], Awaitable["TextTasks"]]


def function(opened: Opened, operation: str, run: Served, media: Media | None = None) -> Endpoint:
    """A function of the document: errors as ``{success: false, error, code}``. ``media`` is for those that make pictures."""
    return with_errors(_endpoint(Resources(opened, media), operation, run), function_facts)


def service(opened: Opened, operation: str, run: Served, media: Media | None = None) -> Endpoint:
    """A service of ours: errors as OpenAI has them, with ``innkeeper.route_trace`` where a model was asked."""
    return with_errors(_endpoint(Resources(opened, media), operation, run), service_facts)


def _endpoint(resources: Resources, operation: str, run: Served) -> Endpoint:
    async def call(web: WebRequest) -> Response:
        ticket = ticket_of(web)
        ticket.record.operation = operation
        scope = CallScope(ticket, resources, web.headers, await json_body(web))
        answer = await unless_gone(web.receive, run(scope))
        if isinstance(answer, Response):  # one that is given as it comes
            return answer
        reply = json_response(answer)
        ticket.carry(len(reply.body))
        return reply

    return call


def text_of(body: Mapping[str, Any], *names: str) -> str:
    """A text under the first of these names that has one; empty where none has. Raises `UsageError`."""
    for name in names:
        value = body.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            raise UsageError(f"{name} must be a text", where=Where(path=name))
        if value:
            return scalar_text(value)
    return ""


def flag_of(body: Mapping[str, Any], name: str) -> bool:
    """A field that is true or false; false where it is missing. Raises `UsageError`."""
    value = body.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise UsageError(f"{name} must be true or false", where=Where(path=name))
    return value
