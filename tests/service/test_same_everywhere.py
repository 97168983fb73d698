"""The same case through library, command line, HTTP, Connect and gRPC: a provider gets the same bytes each time."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from starlette.testclient import TestClient

from innkeeper.cli.app.root import main
from innkeeper.inference import EchoServer
from innkeeper.library.db.engine import Database
from innkeeper.library.models.stores import ToolStore
from innkeeper.library.prompts.prompt_service import PromptService
from innkeeper.library.prompts.tool_config import Secrets, Tools
from innkeeper.prompt import BuildRequest, ReplayBundle
from innkeeper.service import Settings, create_app
from innkeeper.service.connect.messages import REQUEST, RESPONSE, read_proto, write_proto
from innkeeper.taverns import build, replay

RUN = "/prompt.v1.PromptService/Run"
TOOLS = [{"type": "function", "function": {"name": "sum", "description": "Adds.", "parameters": {"type": "object"}}}]
CASE: dict[str, Any] = {
    "tool_name": "t",
    "input": "Zwölf 🙂\n",
    "temperature": 0,
    "max_output_tokens": 12,
    "tools": TOOLS,
}


class Everywhere:
    """A library with one tool, whose provider keeps what it gets."""

    def __init__(self, echo: EchoServer, database: Path, client: TestClient, port: str) -> None:
        self._echo, self._database, self._client, self._port = echo, database, client, port

    def library(self) -> dict[str, Any]:
        """As a program calls it."""
        from innkeeper.inference.response.views import legacy

        with Database.open(self._database) as db, PromptService(Tools(db=db), Secrets()) as service:
            return legacy.whole(service.run(CASE).response)

    def command(self, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
        """As a person types it."""
        tools = self._database.with_name("tools.json")
        tools.write_text(json.dumps(TOOLS))
        words = ["--tool-name", "t", "--input", CASE["input"], "--temperature=0", "--max-output-tokens", "12"]
        code = main(
            ["admin", "prompt", "run", *words, "--tools", str(tools), "--json", "--database", str(self._database)]
        )
        assert code == 0
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        return answer

    def http(self, kind: str) -> dict[str, Any]:
        """As ``curl`` and stock Connect clients post it."""
        body = write_proto(CASE, REQUEST) if kind.endswith("proto") else json.dumps(CASE).encode()
        reply = self._client.post(RUN, content=body, headers={"content-type": kind})
        assert reply.status_code == 200, reply.text
        return read_proto(reply.content, RESPONSE) if kind.endswith("proto") else reply.json()

    def grpc(self, *, proto: bool) -> dict[str, Any]:
        """As gRPC clients send it."""
        with grpc.insecure_channel(self._port) as channel:
            call: Any = channel.unary_unary(RUN)
            reply = call(write_proto(CASE, REQUEST) if proto else json.dumps(CASE).encode(), timeout=120)
        answer: dict[str, Any] = read_proto(reply, RESPONSE) if proto else json.loads(reply)
        return answer

    def plan(self, asked: dict[str, Any]) -> dict[str, Any]:
        """What ``/v1/prompts/build`` makes."""
        reply = self._client.post("/v1/prompts/build", json=asked)
        assert reply.status_code == 200, reply.text
        made: dict[str, Any] = reply.json()
        return made

    def sent(self, ask: Callable[[], dict[str, Any]]) -> tuple[bytes, list[Any]]:
        """What the provider got, and the blocks that came back."""
        before = len(self._echo.requests)
        answer = ask()
        (received,) = self._echo.requests[before:]
        return received.raw, answer["output"]


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Everywhere]:
    """Everything that answers."""
    path, ports = tmp_path_factory.mktemp("library") / "library.db", list[str]()
    with EchoServer() as echo:
        with Database.open(path) as db:
            settings = {"provider": "openrouter", "model": "m", "base_url": echo.base_url, "top_p": 0.5}
            ToolStore(db).put({"name": "t", "settings": settings})
        app = create_app(Settings(database=str(path), grpc_port=0), grpc_ready=ports.append)
        with TestClient(app, base_url="http://127.0.0.1") as client:
            yield Everywhere(echo, path, client, ports[0])


def test_the_prompt_service(everywhere: Everywhere, capsys: pytest.CaptureFixture[str]) -> None:
    """The bytes of the body, and the blocks of the answer."""
    ways = (
        everywhere.library,
        lambda: everywhere.command(capsys),
        lambda: everywhere.http("application/json"),
        lambda: everywhere.http("application/connect+json"),
        lambda: everywhere.http("application/proto"),
        lambda: everywhere.grpc(proto=False),
        lambda: everywhere.grpc(proto=True),
    )
    first, *others = [everywhere.sent(way) for way in ways]
    assert json.loads(first[0])["max_tokens"] == 12
    for other in others:
        assert other == first


PLAN: dict[str, Any] = {
    "tavern": "silly",
    "character": {
        "spec": "chara_card_v2",
        "spec_version": "2.0",
        "data": {"name": "Wénna", "description": "{{char}} keeps the {{random::light::bell}}."},
    },
    "history": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "*waves* 🙂"}],
    "message": "Is the reef safe at {{time}}?",
    "model": "gpt-4o",
    "options": {"temperature": 0, "max_tokens": 9},
    "context_window": 8192,
    "now": "2026-01-15T18:00:00Z",
    "seed": 7,
}


def test_plans(everywhere: Everywhere, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Library, command line, HTTP and a replay make the same plan and the same body, byte by byte."""
    plan = build(BuildRequest.of(PLAN))
    file, bundle = tmp_path / "request.json", tmp_path / "turn.json"
    file.write_text(json.dumps(PLAN))
    assert main(["build", str(file), "--json", "--replay-out", str(bundle)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert main(["build", str(file), "--dialect", "anthropic"]) == 0
    body = json.loads(capsys.readouterr().out)
    again = replay(ReplayBundle.from_json(bundle.read_bytes()))
    served = everywhere.plan({"request": PLAN, "dialect": "anthropic"})
    assert printed["fingerprint"] == plan.fingerprint() == again.fingerprint()
    assert served["fingerprint"] == plan.fingerprint()
    wanted = json.dumps(plan.to_request("anthropic").body)
    assert json.dumps(body) == wanted
    assert json.dumps(served["body"]) == wanted
