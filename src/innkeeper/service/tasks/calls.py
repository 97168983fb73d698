"""Calls of tasks: what every route of this surface does with a request: who asks, how far it may go, what it costs, and errors.

Who a body says it is counts for nothing: the owner is the key that calls. A tier is only asked for; what a key may have is the
operator's word.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.requests import Request as WebRequest
from starlette.responses import Response

from innkeeper.inference.response.views.chat import envelope
from innkeeper.library.tier import Ceilings
from innkeeper.operations.operation import read_body
from innkeeper.operations.scope import TaskTerms
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import InnkeeperError, UnavailableError, UsageError, Where
from innkeeper.prompt.text import scalar_text
from innkeeper.service.answers import json_body, json_response, ticket_of
from innkeeper.service.cancelling import unless_gone
from innkeeper.service.error_facts import TOLD, error_headers, facts_of, function_facts

if TYPE_CHECKING:
    from innkeeper.jobs.media_jobs import MediaJobs
    from innkeeper.operations.tasks.execution import TextTasks
    from innkeeper.service.guard.work import Ticket


Endpoint = Callable[[WebRequest], Awaitable[Response]]
Media = Callable[[], "MediaJobs"]
"""Gives the jobs that make pictures, opening them where need be; it may wait for the database."""


class TaskCall(NamedTuple):
    """One call: its body, whose it is, and what carries tasks out."""

    body: Mapping[str, Any]
    ticket: Ticket
    tasks: TextTasks
    number: str
    headers: Mapping[str, str] = EMPTY
    jobs: Media | None = None

    def media(self) -> MediaJobs:
        """The jobs that make pictures. Raises `UnavailableError` where there are none."""
        if self.jobs is None:
            raise UnavailableError("nothing here makes pictures")
        return self.jobs()

    @property
    def owner(self) -> str:
        """Who owns what the call stores."""
        return self.ticket.owner

    @property
    def ceilings(self) -> Ceilings:
        """What lies above the tier that is asked for: what the operator grants the key, else the general tier."""
        return self.ticket.grant.ceilings

    @property
    def money(self) -> float | None:
        """US dollars that the call may cost: what is left to its key, and what the body allows. Raises `UsageError`."""
        return self._bound(read_body(TaskTerms, self.body))

    def terms(self, request: TaskTerms | None = None) -> dict[str, Any]:
        """The fields of a `TextTask` that follow from who calls and from the body. Raises `UsageError`."""
        request = request or read_body(TaskTerms, self.body)
        return {"routes": self.ticket.grant.route, "money": self._bound(request), "strict": request.strict}

    def _bound(self, request: TaskTerms) -> float | None:
        return min((bound for bound in (self.ticket.money, request.max_cost) if bound is not None), default=None)


Run = Callable[[TaskCall], Awaitable[Mapping[str, Any]]]
Served = Callable[[TaskCall], Awaitable[Mapping[str, Any] | Response]]
"""What answers a call over HTTP: with a reply, or with one that is given as it comes."""

Opened = Callable[[], Awaitable["TextTasks"]]


def function(opened: Opened, operation: str, run: Served, media: Media | None = None) -> Endpoint:
    """A function of the document: errors as ``{success: false, error, code}``. ``media`` is for those that make pictures."""
    return _endpoint(opened, operation, run, function_facts, media)


def service(opened: Opened, operation: str, run: Served, media: Media | None = None) -> Endpoint:
    """A service of ours: errors as OpenAI has them, with ``innkeeper.route_trace`` where a model was asked."""
    return _endpoint(opened, operation, run, _error, media)


def _endpoint(
    opened: Opened,
    operation: str,
    run: Served,
    told: Callable[[InnkeeperError], dict[str, Any]],
    media: Media | None,
) -> Endpoint:
    async def call(web: WebRequest) -> Response:
        ticket = ticket_of(web)
        ticket.record.operation = operation
        try:
            body = await json_body(web)
            made = TaskCall(body, ticket, await opened(), ticket.record.number, web.headers, media)
            answer = await unless_gone(web.receive, run(made))
            if isinstance(answer, Response):  # one that is given as it comes
                return answer
            reply = json_response(answer)
            ticket.carry(len(reply.body))
        except InnkeeperError as error:
            ticket.record.error = error.kind
            return json_response(told(error), facts_of(error).status, error_headers(error))
        return reply

    return call


def _error(error: InnkeeperError) -> dict[str, Any]:
    body = envelope(facts_of(error))
    details = error.to_dict().get("details", {})
    told = {name: details[name] for name in TOLD if name in details}
    return {**body, "innkeeper": told} if told else body


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
