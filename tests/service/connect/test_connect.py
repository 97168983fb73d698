"""Connect: the protocol's own media types, its streams, and the document's bare JSON, each with the same meaning."""

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from connectrpc.client import ConnectClient
from connectrpc.code import Code
from connectrpc.errors import ConnectError
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.protocol import ProtocolType

from innkeeper.service.connect.messages import EVENT, RESPONSE, SERVICE, read_proto, write_json, write_proto
from tests.service.connect.servers import ANSWER, Servers, running


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    """Both servers."""
    with running() as both:
        yield both


@dataclass(frozen=True)
class Case:
    body: bytes
    kind: str = "application/json"
    status: int = 200
    answer: dict[str, Any] = field(default_factory=lambda: ANSWER)
    reply_kind: str = ""


CASES = {
    "json": Case(b'{"tool_name": "t", "input": "hi"}'),
    "json_of_a_generated_client": Case(b'{"toolName": "t", "maxOutputTokens": 5}'),
    "the_document's_own": Case(
        b'{"tool_name": "t"}', "application/connect+json", reply_kind="application/connect+json"
    ),
    "no_tool_name": Case(b"{}", status=400, answer={"code": "invalid_argument", "message": "tool_name is required"}),
    "not_json": Case(b"{", status=400, answer={"code": "invalid_argument"}),
    "no_object": Case(b"[]", status=400, answer={"code": "invalid_argument"}),
    "no_such_tool": Case(
        b'{"tool_name": "none"}',
        status=404,
        answer={"code": "not_found", "message": "no tool 'none' (innkeeper admin tool list)"},
    ),
    "defect": Case(
        b'{"tool_name": "defect"}',
        status=500,
        answer={"code": "internal", "message": "internal error: RuntimeError"},
    ),
    "other_media_type": Case(b"tool_name: t", "text/yaml", status=415, answer={}),
    "protobuf_that_is_none": Case(b"\xff\xff", "application/proto", status=400, answer={"code": "invalid_argument"}),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_unary(servers: Servers, case: Case) -> None:
    """A reply has the request's media type, snake_case names, and numbers as numbers; an error has its HTTP status."""
    url = f"{servers.http}/{SERVICE}/Run"
    reply = httpx.post(url, content=case.body, headers={"content-type": case.kind})
    assert reply.status_code == case.status
    body = reply.json() if reply.content else {}
    assert case.answer.items() <= body.items()
    if case.status == 200:
        assert body == ANSWER
        assert reply.headers["content-type"] == (case.reply_kind or case.kind)


def test_other_paths_and_methods(servers: Servers) -> None:
    """Another method of the service is 404, a GET is 405."""
    assert httpx.post(f"{servers.http}/{SERVICE}/Walk", json={}).status_code == 404
    assert httpx.get(f"{servers.http}/{SERVICE}/Run").status_code == 405


def test_stream_over_http(servers: Servers) -> None:
    """Enveloped events, then the end; an error in the middle is in the end."""
    url, headers = f"{servers.http}/{SERVICE}/RunStream", {"content-type": "application/connect+json"}
    good, bad = (
        _events(httpx.post(url, content=_envelope({"tool_name": name}), headers=headers).content)
        for name in ("t", "none")
    )
    assert [event.get("text") for _, event in good[:2]] == ["Hé", " 🙂"]
    assert good[2] == (0, {"type": "completed", "response": ANSWER})
    assert good[3] == (2, {})
    assert bad[-1][0] == 2
    assert bad[-1][1]["error"]["code"] == "not_found"


def _envelope(data: dict[str, Any]) -> bytes:
    body = json.dumps(data).encode()
    return struct.pack(">BI", 0, len(body)) + body


def _events(raw: bytes) -> list[tuple[int, dict[str, Any]]]:
    events = []
    while raw:
        flags, size = struct.unpack_from(">BI", raw)
        events.append((flags, json.loads(raw[5 : 5 + size])))
        raw = raw[5 + size :]
    return events


class _Codec:
    """What a generated client would bring."""

    def __init__(self, name: str) -> None:
        self._name = name

    def name(self) -> str:
        return self._name

    def encode(self, message: Any) -> bytes:
        data = dict(message)
        return write_json(data) if self._name == "json" else write_proto(data, "prompt.v1.PromptRunRequest")

    def decode(self, data: bytes | bytearray, kind: Any) -> Any:
        if self._name == "json":
            return kind(json.loads(bytes(data)))
        return kind(read_proto(bytes(data), kind.proto))


class _Reply(dict[str, Any]):
    proto = RESPONSE


class _Event(dict[str, Any]):
    proto = EVENT


def _method(name: str, output: Any, kind: StreamType) -> Any:
    level = IdempotencyLevel.UNKNOWN
    return MethodInfo(
        name=name, service_name=SERVICE, input=dict, output=output, idempotency_level=level, stream_type=kind
    )


RUN = _method("Run", _Reply, StreamType.UNARY)
STREAM = _method("RunStream", _Event, StreamType.SERVER_STREAM)


async def _ask(servers: Servers, codec: str, protocol: ProtocolType) -> tuple[Any, list[Any], ConnectError]:
    client = ConnectClient(servers.http, codec=_Codec(codec), protocol=protocol)
    reply = await client.execute_unary(request={"tool_name": "t", "input": ["a", 1], "temperature": 0}, method=RUN)
    events = [event async for event in client.execute_server_stream(request={"tool_name": "t"}, method=STREAM)]
    with pytest.raises(ConnectError) as failed:
        await client.execute_unary(request={"tool_name": "none"}, method=RUN)
    return reply, events, failed.value


@pytest.mark.parametrize("codec", ["json", "proto"])
@pytest.mark.parametrize("protocol", [ProtocolType.CONNECT, ProtocolType.GRPC_WEB])
def test_stock_client(servers: Servers, codec: str, protocol: ProtocolType) -> None:
    """The library's own client, in both protocols and with both kinds of messages."""
    import asyncio

    reply, events, error = asyncio.run(_ask(servers, codec, protocol))
    assert reply["output"][0] == {"type": "output_text", "text": "Hé 🙂"}
    assert reply["output"][1]["tool_call"]["arguments"] == {"a": 1, "b": [True, None]}
    assert [event.get("text") for event in events[:2]] == ["Hé", " 🙂"]
    assert events[-1]["response"]["id"] == "01J"
    assert error.code is Code.NOT_FOUND
    asked = servers.runs.asked[-3]
    assert (asked["tool_name"], asked["input"], asked["temperature"]) == ("t", ["a", 1], 0)
