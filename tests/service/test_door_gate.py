"""Every door stands behind the gate: by its declaration, in the words of its surface, and only stricter by a client's word."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from innkeeper.cli.mcp.workbench import TOOLS
from innkeeper.gate.judgement import Judgement
from innkeeper.inference.fake import EchoServer
from innkeeper.inference.routing.models import RouteModels
from innkeeper.inference.routing.route import Routes
from innkeeper.service.app import create_app
from innkeeper.service.gateway.operations import OPERATIONS as GATEWAY
from innkeeper.service.guard.grants import Grant, Keys
from innkeeper.service.operations.http import with_rule
from innkeeper.service.operations.paths import JOBS, SCENES, STORED, TASKS, WORKERS
from innkeeper.service.prompts.operations import OPERATIONS as PROMPTS
from innkeeper.service.settings import Settings
from tests import doors

BLOCKED = "Mia is fifteen. A romantic evening follows."
DOUBTFUL = f"A sensual evening.{' The road is long.' * 25} The classroom is empty."
"""Held in the general tier: nothing in it is certain."""
CLEAN = "The road to the sea is long."

ADULT = Keys("strict", "loose", grants={"strict": Grant(gate="on"), "loose": Grant(gate="observe")})


@pytest.fixture(scope="module")
def provider() -> Iterator[EchoServer]:
    """A provider that never runs out of answers."""
    with EchoServer(*["All right."] * 200) as echo:
        yield echo


def served(provider: EchoServer, **settings: Any) -> TestClient:
    """The service over the provider."""
    models = RouteModels(Routes.read((f"inn={provider.base_url}:big",)))
    return TestClient(create_app(Settings(workers=1, **settings), models=models), base_url="http://127.0.0.1")


@pytest.fixture(scope="module")
def client(provider: EchoServer) -> Iterator[TestClient]:
    """A service whose gate is on."""
    with served(provider) as client:
        yield client


def chat(text: str, *before: str) -> dict[str, Any]:
    """A chat completion's body."""
    said = [
        {"role": "user" if at % 2 == 0 else "assistant", "content": each} for at, each in enumerate((*before, text))
    ]
    return {"model": "inn", "messages": said}


ASKING: dict[str, Callable[[str], dict[str, Any]]] = {
    "/v1/chat/completions": chat,
    "/v1/completions": lambda text: {"model": "inn", "prompt": text},
    "/v1/responses": lambda text: {"model": "inn", "input": text},
    "/v1/messages": lambda text: {**chat(text), "max_tokens": 9},
    "/v1/prompts/build": lambda text: {"request": {"tavern": "vibe", "message": text}},
    "/v1/prompts/explain": lambda text: {"request": {"tavern": "vibe", "message": text}},
}
"""What each door is asked with a text."""


@pytest.mark.parametrize("path", ASKING)
def test_every_door_blocks(client: TestClient, provider: EchoServer, path: str) -> None:
    """Age-indicating content in a romance: no model is asked, and the error has its code; other texts pass."""
    before = len(provider.requests)
    refused = client.post(path, json=ASKING[path](BLOCKED))
    assert refused.status_code == 403
    assert "age_ambiguous" in refused.text
    assert BLOCKED not in refused.text
    assert len(provider.requests) == before
    assert client.post(path, json=ASKING[path](CLEAN)).status_code == 200


def test_two_turns_say_it_together(client: TestClient) -> None:
    """A question for an age, its answer, and a romance in one chat."""
    asked = chat("15. Now kiss me, it is our romantic night.", "Hello.", "How old are you?")
    assert client.post("/v1/chat/completions", json=asked).status_code == 403


def test_an_answer_is_judged_with_what_it_answers(client: TestClient) -> None:
    """The prompt passes by itself, and so does the answer; what the two say together does not, whole and streamed."""
    with EchoServer(*["Fifteen. And now our romantic evening begins."] * 2) as echo, served(echo) as other:
        asked = chat("How old are you?")
        assert other.post("/v1/chat/completions", json=asked).status_code == 403
        streamed = other.post("/v1/chat/completions", json={**asked, "stream": True})
        assert "age_ambiguous" in streamed.text
        assert "[DONE]" not in streamed.text.rpartition("age_ambiguous")[0]
    assert client.post("/v1/chat/completions", json={**chat(CLEAN), "stream": True}).status_code == 200
    assert client.post("/v1/chat/completions", json={**chat(BLOCKED), "stream": True}).status_code == 403


@pytest.mark.parametrize(
    ("mode", "key", "header", "status"),
    [
        ("on", None, None, 403),
        ("observe", None, None, 200),
        ("observe", None, "on", 403),
        ("on", None, "observe", 403),
        ("observe", "strict", None, 403),
        ("on", "loose", None, 200),
        ("on", "loose", "on", 403),
    ],
)
def test_doubt_follows_the_operator_and_a_client_is_only_stricter(
    provider: EchoServer, mode: Any, key: str | None, header: str | None, status: int
) -> None:
    """The key's word counts before the service's; no header makes it looser, and a block stands whatever they say."""
    headers = {
        **({"authorization": f"Bearer {key}"} if key else {}),
        **({"x-innkeeper-gate": header} if header else {}),
    }
    with served(provider, gate=mode, **({"keys": ADULT} if key else {})) as client:
        reply = client.post("/v1/chat/completions", json=chat(DOUBTFUL), headers=headers)
        assert reply.status_code == status
        if status == 200:
            assert "observes" in reply.headers["x-innkeeper-notes"]
        assert client.post("/v1/chat/completions", json=chat(BLOCKED), headers=headers).status_code == 403


def test_what_no_header_knows(client: TestClient) -> None:
    """A word that is none is an error that names the header."""
    reply = client.post("/v1/chat/completions", json=chat(CLEAN), headers={"x-innkeeper-gate": "off"})
    assert reply.status_code == 400
    assert "x-innkeeper-gate" in reply.text


def test_a_client_has_no_tier_that_its_key_has_not(client: TestClient) -> None:
    """The adult tier is asked for and not given: the text is judged in the general one."""
    reply = client.post("/v1/chat/completions", json=chat(DOUBTFUL), headers={"x-innkeeper-tier": "nsfw"})
    assert reply.status_code == 403


@pytest.mark.parametrize("path", ["smarttavern/macro/process_text"])
def test_the_gateway_blocks(client: TestClient, path: str) -> None:
    """What a macro makes is judged; the gateway's errors are in its own words."""
    name = next(name for name in GATEWAY if name.endswith("macro/process_text"))
    said = client.post(f"/api/{name}", json={"text": BLOCKED, "messages": []})
    assert BLOCKED not in json.dumps(said.json())


OPERATIONS = [
    *(
        (f"{path.method} {path.path}", path.operation)
        for path in with_rule((*TASKS, *JOBS, *SCENES, *STORED, *WORKERS))
    ),
    *((f"POST /v1/prompts/{name}", each) for name, each in PROMPTS.items()),
    *((f"/api/{name}", each.operation) for name, each in GATEWAY.items()),
    *((f"MCP {name}", each) for name, each in TOOLS.items()),
]


@pytest.mark.parametrize(("door", "operation"), OPERATIONS, ids=lambda value: value if isinstance(value, str) else "")
def test_every_operation_declares_a_judgement(door: str, operation: Any) -> None:
    """None is left to a door's memory."""
    assert isinstance(operation.judged, Judgement), door


def test_the_page_has_the_table() -> None:
    """Where it has not: ``python scripts/gate.py --write``."""
    page = Path(doors.PAGE).read_text(encoding="utf-8")
    assert page == doors.page_with_doors(page)
