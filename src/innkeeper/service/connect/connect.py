"""Connect: ``POST /prompt.v1.PromptService/Run`` and ``RunStream``, for stock Connect clients, gRPC-Web and plain ``curl``.

``application/json`` and ``application/proto`` are the protocol's own, enveloped ``application/connect+json`` its streams. A bare
JSON object under ``application/connect+json`` is what the document's server takes, and is answered in the same way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, Protocol

from starlette.routing import Mount

from innkeeper.prompt.errors import InnkeeperError
from innkeeper.service.connect.messages import (
    EVENT,
    RESPONSE,
    SERVICE,
    read_json,
    read_proto,
    status_of,
    write_json,
    write_proto,
)
from innkeeper.service.guard.work import current_ticket
from innkeeper.service.openapi.document import Description, named, operation, schemas_of
from innkeeper.service.settings import Settings

_DESCRIPTION: Final = operation(
    "Run a tool's prompt.", "run", body=named("RunRequest"), reply=named("RunResponse"), error="ConnectError"
)
_DESCRIPTION["responses"]["415"] = {"description": "a type of body that Connect has not"}

RUN: Final = Description({f"/{SERVICE}/Run": {"post": _DESCRIPTION}}, schemas_of("run"))
"""The prompt service over Connect, in JSON; its streams, and protobuf, are described by ``prompt.proto``."""


class PromptRuns(Protocol):
    """What answers: `innkeeper.library.prompts` behind the service's own ways of waiting."""

    async def run(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer, as the document draws it. Raises `InnkeeperError`."""
        ...

    def stream(self, request: Mapping[str, Any]) -> AsyncIterator[Mapping[str, Any]]:
        """The answer as events. Raises `InnkeeperError`."""
        ...


class ConnectRequest(dict[str, Any]):
    """A request as data."""


class ConnectReply(dict[str, Any]):
    """An answer as data."""

    proto: str = RESPONSE


class ConnectEvent(ConnectReply):
    """One event of a stream as data."""

    proto: str = EVENT


class _Json:
    """JSON under the name that Connect gives it, or under the document's."""

    def __init__(self, name: str, max_bytes: int) -> None:
        self._name, self._max_bytes = name, max_bytes

    def name(self) -> str:
        return self._name

    def encode(self, message: Any) -> bytes:
        return write_json(message)

    def decode(self, data: bytes | bytearray, _kind: Any) -> Any:
        return _read(lambda: read_json(bytes(data), max_bytes=self._max_bytes))


class _Proto:
    """Protobuf."""

    def name(self) -> str:
        return "proto"

    def encode(self, message: Any) -> bytes:
        return write_proto(message, message.proto)

    def decode(self, data: bytes | bytearray, _kind: Any) -> Any:
        return _read(lambda: read_proto(bytes(data)))


def _read(read: Any) -> ConnectRequest:
    try:
        return ConnectRequest(read())
    except InnkeeperError as error:
        raise _connect_error(error) from error


def connect_app(runs: PromptRuns, settings: Settings) -> Any:
    """The ASGI application to mount at ``/prompt.v1.PromptService``. Needs the extra ``serve``."""
    from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
    from connectrpc.server import ConnectASGIApplication, Endpoint

    async def run(request: ConnectRequest, _context: Any) -> ConnectReply:
        try:
            return ConnectReply(await runs.run(request))
        except Exception as error:
            raise _connect_error(error) from error

    async def stream(request: ConnectRequest, _context: Any) -> AsyncIterator[ConnectEvent]:
        try:
            async for event in runs.stream(request):
                yield ConnectEvent(event)
        except Exception as error:
            raise _connect_error(error) from error

    def method(name: str, output: type[ConnectReply], kind: StreamType) -> MethodInfo[ConnectRequest, Any]:
        level = IdempotencyLevel.UNKNOWN
        return MethodInfo(
            name=name,
            service_name=SERVICE,
            input=ConnectRequest,
            output=output,
            idempotency_level=level,
            stream_type=kind,
        )

    class App(ConnectASGIApplication[None]):
        path = f"/{SERVICE}"

    endpoints: dict[str, Any] = {
        f"/{SERVICE}/Run": Endpoint.unary(method("Run", ConnectReply, StreamType.UNARY), run),
        f"/{SERVICE}/RunStream": Endpoint.server_stream(
            method("RunStream", ConnectEvent, StreamType.SERVER_STREAM), stream
        ),
    }
    size = settings.max_body
    return App(
        service=None,
        endpoints=lambda _: endpoints,
        codecs=[_Json("json", size), _Json("connect+json", size), _Proto()],
        read_max_bytes=size,
    )


def connect_mount(runs: PromptRuns, settings: Settings) -> Mount:
    """The route of all that is below ``/prompt.v1.PromptService``."""
    return Mount(f"/{SERVICE}", connect_app(runs, settings))


def _connect_error(error: Exception) -> Exception:
    """An error as Connect has it, in the record of the call, too."""
    from connectrpc.code import Code
    from connectrpc.errors import ConnectError

    if isinstance(error, ConnectError):
        return error
    ticket = current_ticket()
    if isinstance(error, InnkeeperError) and ticket is not None:
        ticket.record.failed(error)
    code, text = status_of(error)
    return ConnectError(Code(code), text)
