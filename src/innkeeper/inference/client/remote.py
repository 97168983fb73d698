"""Operations of a service, asked from outside: what is sent, and how replies, events and errors are read."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from innkeeper.inference.adapters.decoding import EventParser
from innkeeper.inference.client.endpoint import encoded, public_headers, raise_for_status
from innkeeper.inference.client.transport import Send
from innkeeper.inference.errors import HttpError
from innkeeper.inference.response.views.view import ServerEvent
from innkeeper.prompt.data import parse_json
from innkeeper.prompt.errors import InnkeeperError, ProviderError, Where
from innkeeper.prompt.typed.once import once

if TYPE_CHECKING:
    from innkeeper.inference.client.endpoint import Endpoint
    from innkeeper.inference.client.transport import ProviderCall

STREAM: Final = "text/event-stream"

Request = TypeVar("Request")
Reply = TypeVar("Reply")
RequestT_contra = TypeVar("RequestT_contra", contravariant=True)
ReplyT_co = TypeVar("ReplyT_co", covariant=True)


class RemoteOperation(Protocol[RequestT_contra, ReplyT_co]):
    """What a client needs of an `innkeeper.operations.Operation`."""

    @property
    def path(self) -> str:
        """The path by rule."""

    @property
    def run(
        self,
    ) -> Callable[[RequestT_contra, Any], Coroutine[Any, Any, ReplyT_co | AsyncGenerator[ServerEvent | None]]]:
        """What the service runs; its types are those of the call."""

    def body(self, request: RequestT_contra) -> Mapping[str, Any]:
        """Return the request as JSON data."""

    def read_reply(self, content: bytes, media_type: str) -> Any:
        """Return the reply in a body."""


async def send_operation(
    call: ProviderCall, endpoint: Endpoint, operation: RemoteOperation[Request, Any], request: Request
) -> None:
    """Send a request for an operation; its reply begins. Raises the service's error, `ProviderError` and its kin."""
    content = encoded(operation.body(request))
    await call.send(Send.raw(endpoint, endpoint.base_url + operation.path, content, streams=True))
    if call.status in range(200, 300):
        return
    raw, headers = await call.read_all(), public_headers(call.headers, endpoint)
    try:
        raise_for_status(call.status, headers, raw, endpoint)
    except HttpError as error:
        raise service_error(error.body, headers.get("retry-after")) or error from None


def media_type(call: ProviderCall) -> str:
    """Return the type of the reply that has begun."""
    return str(call.headers.get("content-type", "")).partition(";")[0].strip().lower()


async def server_events(call: ProviderCall) -> AsyncGenerator[ServerEvent]:
    """Give the events of the reply that has begun; one that is whole is the event ``done``. Raises the service's error."""
    if media_type(call) != STREAM:
        yield ServerEvent(parse_json(await call.read_all(), asset="reply"), "done")
        return
    parser = EventParser()
    while piece := await call.read():
        for event in parser.feed(piece):
            data = parse_json(event.data, asset="event")
            if event.type == "error":
                raise service_error(data) or ProviderError("the stream of the service ended with an error")
            yield ServerEvent(data, event.type, int(event.id) if event.id.isdecimal() else None)


_RENAMED: Final = {"invalid_value": "usage", "invalid_json": "format"}
"""Codes of OpenAI's that stand for kinds of our errors."""

_HOMES: Final = ("service.errors", "library.errors", "inference.errors", "jobs.job", "jobs.backend")
"""Where the errors of a service are declared, below ``innkeeper``. A package that is not installed has none."""


def service_error(body: Any, retry_after: str | None = None) -> InnkeeperError | None:
    """Return the error in the body of a reply, of the class that the service raised; None for any other body."""
    if not isinstance(body, Mapping):
        return None
    facts, details = body.get("error"), body.get("innkeeper")
    if isinstance(facts, str):  # a stream tells errors as the document's functions do
        facts = {"message": facts, "code": body.get("code"), "hint": body.get("hint")}
    if not isinstance(facts, Mapping):
        return None
    code, path, hint = str(facts.get("code")), facts.get("param"), facts.get("hint")
    kind = _kinds().get(_RENAMED.get(code, code))
    if kind is None:
        return None
    message = str(facts.get("message"))
    error = kind.__new__(kind, message)
    where = Where(path=path) if isinstance(path, str) else None
    InnkeeperError.__init__(error, message, where=where, hint=hint if isinstance(hint, str) else None)
    error.details = {**details} if isinstance(details, Mapping) else {}
    if retry_after is not None:
        error.details["retry_after"] = retry_after
    vars(error).update({name: error.details.get(name, value) for name, value in _UNTOLD.items()})
    return error


_UNTOLD: Final = {"limit": "", "allowed": 0, "found": None, "name": "", "known": (), "step": None, "problems": ()}
"""Attributes of errors that the body of a reply may lack."""


@once
def _kinds() -> Mapping[str, type[InnkeeperError]]:
    """The classes of the tree by their kind, without those that tell of a provider's own answer."""
    for home in _HOMES:
        with suppress(ModuleNotFoundError):
            import_module(f"innkeeper.{home}")
    ours = (kind for kind in _subclasses(InnkeeperError) if not issubclass(kind, ProviderError))
    return {kind.__new__(kind).kind: kind for kind in ours}


def _subclasses(kind: type[InnkeeperError]) -> Iterator[type[InnkeeperError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)
