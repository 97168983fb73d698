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
from innkeeper.service import Keys, Settings, create_app
from innkeeper.service.connect.runs import Runs
from innkeeper.service.guard.grants import Grant

RUN = "/prompt.v1.PromptService/Run"


class Service:
    """The application behind its lifespan: what it answers over HTTP, and over gRPC."""

    def __init__(self, client: TestClient, port: str) -> None:
        self._client, self._port = client, port

    def http(self, request: Mapping[str, Any], key: str = "") -> tuple[int, dict[str, Any]]:
        """Status and body."""
        reply = self._client.post(RUN, json=request, headers={"x-api-key": key} if key else {})
        return reply.status_code, reply.json()

    def grpc(self, request: Mapping[str, Any], key: str = "") -> tuple[grpc.StatusCode, dict[str, Any]]:
        """Status and body."""
        with grpc.insecure_channel(self._port) as channel:
            call: Any = channel.unary_unary(RUN)
            try:
                return grpc.StatusCode.OK, json.loads(
                    call(json.dumps(request).encode(), timeout=120, metadata=_metadata(key))
                )
            except grpc.RpcError as error:
                return error.code(), {"message": error.details()}


def _metadata(key: str) -> tuple[tuple[str, str], ...]:
    return (("x-api-key", key),) if key else ()


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


@pytest.mark.parametrize("surface", ["http", "grpc"])
def test_a_tool_is_charged_and_granted_as_a_route(tmp_path: Path, surface: str) -> None:
    """What a tool's answer costs is the key's money, by the price of its name; a key of other routes may not ask it."""
    other, poor, ports, path = "key-of-other-routes", "key-of-the-poor", list[str](), tmp_path / "library.db"
    grants = {other: Grant(route=("inn",)), poor: Grant(spend=0.5)}
    keys, prices = Keys(other, poor, grants=grants), ("echo=1000000,1000000",)
    with EchoServer() as echo, Database.open(path) as db:
        settings = {"provider": "vllm", "model": "m", "base_url": echo.base_url}
        ToolStore(db).put({"name": "echo", "settings": settings})
        app = create_app(
            Settings(database=str(path), grpc_port=0, keys=keys, prices=prices, allow_hosts=("127.0.0.1",)),
            grpc_ready=ports.append,
        )
        with TestClient(app, base_url="http://127.0.0.1") as client:
            ask = getattr(Service(client, ports[0]), surface)
            request = {"tool_name": "echo", "input": "Hello there"}
            statuses = [ask(request, key)[0] for key in (other, poor, poor)]
        assert statuses in (
            [403, 200, 429],
            [grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.OK, grpc.StatusCode.RESOURCE_EXHAUSTED],
        )
        assert len(echo.requests) == 1


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
