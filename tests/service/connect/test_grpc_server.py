"""gRPC: JSON and protobuf over one port, with keys, reflection and health, each error as its status."""

import json
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from innkeeper.service.connect.messages import REQUEST, RESPONSE, SERVICE, read_proto, write_proto
from innkeeper.service.guard.grants import Keys
from innkeeper.service.settings import Settings
from tests.service.connect.servers import ANSWER, Servers, running


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    """Both servers."""
    with running() as both:
        yield both


def call(target: str, body: bytes, metadata: Any = None) -> bytes:
    """One answer, as bytes."""
    with grpc.insecure_channel(target) as channel:
        ask: Any = channel.unary_unary(f"/{SERVICE}/Run")
        reply: bytes = ask(body, metadata=metadata, timeout=120)
        return reply


def test_json(servers: Servers) -> None:
    """JSON in, JSON out, also with white space in front."""
    for body in (b'{"tool_name": "t"}', b'\n {"toolName": "t"}'):
        assert json.loads(call(servers.grpc, body)) == ANSWER


def test_protobuf(servers: Servers) -> None:
    """Protobuf in, protobuf out; numbers that count as given, a Value's integers as integers."""
    sent = {"tool_name": "t", "input": [{"n": 1.0}], "temperature": 0.7, "max_output_tokens": 0}
    reply = read_proto(call(servers.grpc, write_proto(sent, REQUEST)), RESPONSE)
    assert reply["output"][0]["text"] == "Hé 🙂"
    assert servers.runs.asked[-1] == {**sent, "input": [{"n": 1}]}


def test_stream(servers: Servers) -> None:
    """The events as they come."""
    with grpc.insecure_channel(servers.grpc) as channel:
        stream: Any = channel.unary_stream(f"/{SERVICE}/RunStream")
        events = [json.loads(raw) for raw in stream(b'{"tool_name": "t"}')]
    assert [event["type"] for event in events] == ["output_text.delta", "output_text.delta", "completed"]
    assert events[-1]["response"] == ANSWER


ERRORS = {
    "no_tool_name": (b"{}", grpc.StatusCode.INVALID_ARGUMENT, "tool_name is required"),
    "empty_protobuf": (b"", grpc.StatusCode.INVALID_ARGUMENT, "tool_name is required"),
    "no_such_tool": (
        b'{"tool_name": "none"}',
        grpc.StatusCode.NOT_FOUND,
        "no tool 'none' (innkeeper admin tool list)",
    ),
    "not_json": (b"{", grpc.StatusCode.INVALID_ARGUMENT, "the request is not JSON"),
    "neither": (b"\xff\xff\xff", grpc.StatusCode.INVALID_ARGUMENT, "the message is not a prompt.v1.PromptRunRequest"),
    "defect": (b'{"tool_name": "defect"}', grpc.StatusCode.INTERNAL, "internal error: RuntimeError"),
}


@pytest.mark.parametrize(("body", "status", "words"), ERRORS.values(), ids=ERRORS)
def test_errors(servers: Servers, body: bytes, status: grpc.StatusCode, words: str) -> None:
    """A status and a sentence; a defect of ours quotes nothing."""
    with pytest.raises(grpc.RpcError) as failed:
        call(servers.grpc, body)
    assert failed.value.code() is status
    assert str(failed.value.details()).startswith(words)


def test_reflection_and_health(servers: Servers) -> None:
    """A client that knows nothing can list the service, read its messages and ask whether it is there."""
    with grpc.insecure_channel(servers.grpc) as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        assert SERVICE in database.get_services()
        service = DescriptorPool(database).FindServiceByName(SERVICE)
        assert [method.name for method in service.methods] == ["Run", "RunStream"]
        for name in ("", SERVICE):
            stub: Any = health_pb2_grpc.HealthStub(channel)
            reply = stub.Check(health_pb2.HealthCheckRequest(service=name))
            assert reply.status == health_pb2.HealthCheckResponse.SERVING


def test_keys() -> None:
    """Without a key that is accepted nothing is answered; a bearer token or x-api-key brings it."""
    with running(Settings(keys=Keys("right"))) as servers:
        for metadata in (None, [("authorization", "Bearer wrong")]):
            with pytest.raises(grpc.RpcError) as failed:
                call(servers.grpc, b'{"tool_name": "t"}', metadata)
            assert failed.value.code() is grpc.StatusCode.UNAUTHENTICATED
        for metadata in ([("authorization", "Bearer right")], [("x-api-key", "right")]):
            assert json.loads(call(servers.grpc, b'{"tool_name": "t"}', metadata)) == ANSWER
