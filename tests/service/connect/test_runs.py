"""The service whole: tools of a library are run over HTTP and over gRPC, and what fails is the same on both."""

import json
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import grpc
import pytest
from starlette.testclient import TestClient

from innkeeper.inference import EchoServer
from innkeeper.library.db.engine import Database
from innkeeper.library.models.stores import ToolStore
from innkeeper.library.prompts.tool_config import LOCAL_TOOL
from innkeeper.prompt.errors import ConfigError
from innkeeper.service import Settings, create_app
from innkeeper.service.connect.runs import Runs

RUN = "/prompt.v1.PromptService/Run"


class Service:
    """The application behind its lifespan: what it answers over HTTP, and over gRPC."""

    def __init__(self, client: TestClient, port: str) -> None:
        self._client, self._port = client, port

    def http(self, request: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body."""
        reply = self._client.post(RUN, json=request)
        return reply.status_code, reply.json()

    def grpc(self, request: Mapping[str, Any]) -> tuple[grpc.StatusCode, dict[str, Any]]:
        """Status and body."""
        with grpc.insecure_channel(self._port) as channel:
            call: Any = channel.unary_unary(RUN)
            try:
                return grpc.StatusCode.OK, json.loads(call(json.dumps(request).encode(), timeout=120))
            except grpc.RpcError as error:
                return error.code(), {"message": error.details()}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Over a library with a tool that echoes and one whose provider is not there."""
    path, ports = tmp_path_factory.mktemp("library") / "library.db", list[str]()
    with EchoServer() as echo, Database.open(path) as db:
        for name, address in (("echo", echo.base_url), ("gone", "http://127.0.0.1:1")):
            settings = {"provider": "vllm", "model": "m", "base_url": address}
            ToolStore(db).put({"name": name, "settings": settings})
        app = create_app(Settings(database=str(path), grpc_port=0), grpc_ready=ports.append)
        with TestClient(app, base_url="http://127.0.0.1") as client:
            yield Service(client, ports[0])


def test_answers(service: Service) -> None:
    """The same, but for what is new each time."""
    request = {"tool_name": "echo", "input": "Hé"}
    (status, first), (code, second) = service.http(request), service.grpc(request)
    assert (status, code) == (200, grpc.StatusCode.OK)
    assert first["output"] == second["output"] == [{"type": "output_text", "text": "Hé"}]
    assert first.keys() == second.keys()


@pytest.mark.parametrize(
    ("tool", "status", "code"),
    [
        ("none", 404, grpc.StatusCode.NOT_FOUND),
        ("", 400, grpc.StatusCode.INVALID_ARGUMENT),
        ("gone", 503, grpc.StatusCode.UNAVAILABLE),
    ],
)
def test_failures(service: Service, tool: str, status: int, code: grpc.StatusCode) -> None:
    """One meaning on both."""
    request = {"tool_name": tool, "input": "hi"}
    assert service.http(request)[0] == status
    assert service.grpc(request)[0] is code


def test_an_address_is_the_operators(service: Service) -> None:
    """A provider that cannot be reached is called by its tool."""
    request = {"tool_name": "gone", "input": "hi"}
    for _, said in (service.http(request), service.grpc(request)):
        assert "'gone'" in said["message"]
        assert "127.0.0.1" not in said["message"]


def test_a_port_that_is_taken() -> None:
    """Is said to be, with what to do."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        app = create_app(Settings(grpc_port=door.getsockname()[1]))
        with pytest.raises(ConfigError, match="for gRPC"), TestClient(app):
            pass


def test_without_a_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The tool of the model on this machine is there, and no database is made."""
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path))
    monkeypatch.delenv("INNKEEPER_DATABASE_URL", raising=False)
    tools, _ = Runs(Settings())._ports()
    assert tools.get_tool_by_name("local") is LOCAL_TOOL
    assert not list(tmp_path.iterdir())
