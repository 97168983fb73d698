"""gRPC: the prompt service on a port of its own, with JSON and protobuf messages, reflection and the health service.

The library does not show which of the two a client announced, so it is seen by the message: JSON begins with a brace, which no
request in protobuf does. The answer is written as the request was. Keys, sizes and how much is done at once are as over HTTP.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

from innkeeper.prompt.errors import ConfigError, FormatError
from innkeeper.service.connect.connect import PromptRuns
from innkeeper.service.connect.messages import (
    EVENT,
    RESPONSE,
    SERVICE,
    pool,
    read_json,
    read_proto,
    status_of,
    write_json,
    write_proto,
)
from innkeeper.service.errors import STOP_SECONDS
from innkeeper.service.guard.work import CallRecord, Gate
from innkeeper.service.settings import Settings

SURFACE: Final = "run"
"""What keys call this surface, over HTTP too."""

_MOST_STREAMS: Final = 1_000


class _GrpcMessage(NamedTuple):
    """A request as data, and whether it came as JSON."""

    data: dict[str, Any]
    is_json: bool

    @classmethod
    def read(cls, body: bytes, max_bytes: int) -> _GrpcMessage:
        """Raises `FormatError`, `LimitError`."""
        if body.startswith(b"{"):
            return cls(read_json(body, max_bytes=max_bytes), is_json=True)
        try:
            return cls(read_proto(body), is_json=False)
        except FormatError:
            if not body.lstrip().startswith((b"{", b"[", b'"')):
                raise
            return cls(read_json(body, max_bytes=max_bytes), is_json=True)

    def write(self, data: Mapping[str, Any], proto: str) -> bytes:
        return write_json(data) if self.is_json else write_proto(data, proto)


class GrpcServer:
    """The server. It belongs to the event loop in which it is started."""

    def __init__(self, runs: PromptRuns, settings: Settings, gate: Gate) -> None:
        self._runs, self._settings, self._gate = runs, settings, gate
        self._server: Any = None

    async def start(self, address: str) -> int:
        """Listen on ``host:port`` (port 0: any free one) and return the port. Raises `RuntimeError` where it is taken."""
        from grpc import aio
        from grpc_health.v1 import health, health_pb2, health_pb2_grpc
        from grpc_reflection.v1alpha import reflection

        size = self._settings.max_body
        options = [("grpc.max_receive_message_length", size), ("grpc.so_reuseport", 0)]
        self._server = aio.server(options=options, maximum_concurrent_rpcs=_MOST_STREAMS)
        self._server.add_generic_rpc_handlers((self._handlers(),))
        names = (SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server, pool=_all_descriptors(health_pb2))
        healthy = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(healthy, self._server)
        for name in ("", SERVICE):
            await healthy.set(name, health_pb2.HealthCheckResponse.SERVING)
        port: int = self._server.add_insecure_port(address)
        await self._server.start()
        return port

    async def stop(self, seconds: float) -> None:
        """Take no more calls, and end those under way after so many seconds."""
        if self._server is not None:
            await self._server.stop(seconds)

    def _handlers(self) -> Any:
        import grpc

        methods: dict[str, Any] = {
            "Run": grpc.unary_unary_rpc_method_handler(self._run),
            "RunStream": grpc.unary_stream_rpc_method_handler(self._stream),
        }
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    async def _run(self, body: bytes, context: Any) -> bytes:
        try:
            async with self._entered(body, context) as message:
                return message.write(await self._runs.run(message.data), RESPONSE)
        except Exception as error:
            await _abort(context, error)
            raise

    async def _stream(self, body: bytes, context: Any) -> AsyncIterator[bytes]:
        try:
            async with self._entered(body, context) as message:
                async for event in self._runs.stream(message.data):
                    yield message.write(event, EVENT)
        except Exception as error:  # noqa: BLE001
            await _abort(context, error)

    @asynccontextmanager
    async def _entered(self, body: bytes, context: Any) -> AsyncIterator[_GrpcMessage]:
        """The request of a caller who may call now. Raises what the guard raises, and `FormatError`."""
        headers = {
            name.lower(): value if isinstance(value, str) else value.decode("latin-1")
            for name, value in context.invocation_metadata() or ()
        }
        record = CallRecord(method="gRPC", path=f"/{SERVICE}", surface=SURFACE, trace=headers.get("traceparent", ""))
        with self._gate.recorded(record):
            peer = context.peer()  # ipv4:127.0.0.1:5, ipv6:%5B::1%5D:5
            kind, _, rest = peer.partition(":")
            host = rest.rpartition(":")[0].replace("%5B", "").replace("%5D", "").strip("[]")
            record.caller = self._gate.throttle.caller(headers, host if kind in {"ipv4", "ipv6"} else peer)
            self._gate.lag.check()
            with self._gate.ticket(record.caller, record) as ticket:
                ticket.carry(len(body))
                await ticket.afford()
                ticket.enter(SURFACE)
                yield _GrpcMessage.read(body, self._settings.max_body)


@asynccontextmanager
async def grpc_served(
    runs: PromptRuns, settings: Settings, gate: Gate, ready: Callable[[str], object]
) -> AsyncIterator[None]:
    """Answer gRPC during the block, where the settings name a port for it; ``ready`` is called with the address.

    Raises:
        ConfigError: the port is taken.
    """
    if settings.grpc_port is None:
        yield
        return
    server, host = GrpcServer(runs, settings, gate), settings.host.strip("[]")
    shown = f"[{host}]" if ":" in host else host
    try:
        port = await server.start(f"{shown}:{settings.grpc_port}")
    except RuntimeError as error:
        hint = "choose another --grpc-port, or --no-grpc"
        raise ConfigError(f"cannot listen on {shown}:{settings.grpc_port} for gRPC", hint=hint) from error
    ready(f"{shown}:{port}")
    try:
        yield
    finally:
        await server.stop(STOP_SECONDS)


def _all_descriptors(health: Any) -> Any:
    """A pool with our messages and those of the health service, for reflection."""
    from google.protobuf import descriptor_pb2

    ours, file = pool(), descriptor_pb2.FileDescriptorProto()
    health.DESCRIPTOR.CopyToProto(file)
    ours.Add(file)
    return ours


async def _abort(context: Any, error: Exception) -> None:
    """End a call with the status of an error."""
    import grpc

    if isinstance(error, grpc.RpcError | grpc.aio.AbortError):
        raise error
    code, text = status_of(error)
    await context.abort(getattr(grpc.StatusCode, _GRPC.get(code, code.upper())), text)


_GRPC: Final[Mapping[str, str]] = {"canceled": "CANCELLED"}
"""Words that gRPC spells in another way."""
