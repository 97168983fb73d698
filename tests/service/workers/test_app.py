"""The worker's own service: the document's endpoints, and what it refuses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import httpx
import pytest

from innkeeper.inference.fake import EchoServer, FakeReply, Fault
from innkeeper.inference.requests.worker_protocol import messages_sha256
from innkeeper.inference.routing.models import RouteModels
from innkeeper.inference.routing.route import Route, Routes
from innkeeper.jobs.worker.engine import WorkerEngine
from innkeeper.service.guard.grants import Keys
from innkeeper.service.settings import Settings
from innkeeper.service.workers.app import worker_app

HELLO = [{"role": "system", "content": "Test"}, {"role": "user", "content": "Hello"}]
ASKED = {"messages": HELLO, "max_tokens": 100}
Use = Callable[[httpx.AsyncClient, WorkerEngine], Coroutine[Any, Any, Any]]


def served(use: Use, *script: Any, keys: Keys | None = None) -> Any:
    """What a function gives that calls a worker whose backend answers so."""

    async def run(server: EchoServer) -> Any:
        route = Route(name="big", model="real", base_url=server.base_url, provider="own")
        engine = WorkerEngine({"big": route}, RouteModels(Routes()))
        app = worker_app(engine, Settings(keys=keys or Keys()))
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1")
        async with app.router.lifespan_context(app), client:
            return await use(client, engine)

    with EchoServer(*script) as server:
        return asyncio.run(run(server))


def asked(path: str, body: Any, *script: Any) -> httpx.Response:
    """The reply to one call."""

    async def use(client: httpx.AsyncClient, _: WorkerEngine) -> httpx.Response:
        return await (client.get(path) if body is None else client.post(path, json=body))

    reply: httpx.Response = served(use, *script)
    return reply


@pytest.mark.parametrize(
    ("path", "name"), [("/chat", "response"), ("/enhance", "enhanced_prompt"), ("/generate", "response")]
)
def test_endpoints(path: str, name: str) -> None:
    """*Debug Commands* of the document, as written: its fields, and those of the protocol with the hash."""
    body = asked(path, ASKED, "A reply.").json()
    assert (body["success"], body[name], body["output"]) == (True, "A reply.", "A reply.")
    assert body["prompt_sha256"] == messages_sha256(HELLO)
    assert (body["finish_reason"], body["usage"]) == ("stop", {"prompt_tokens": 2, "completion_tokens": 2})
    assert path == "/chat" or (body["tokens_generated"] == 2 and body["generation_time"] >= 0)


def test_legacy_generate() -> None:
    """The video worker's format of before."""
    body = asked("/generate", {"inputs": "A fox", "parameters": {"max_new_tokens": 9}}, "A red fox.").json()
    assert body["generated_text"] == "A red fox."
    assert body["prompt_sha256"] == messages_sha256([{"role": "user", "content": "A fox"}])


def test_refused() -> None:
    """What the protocol does not have is refused before a model is asked, and named."""
    reply = asked("/chat", {**ASKED, "nsfw_enforce": True})
    assert reply.status_code == 400
    assert (reply.json()["success"], "nsfw_enforce" in reply.json()["error"]["message"]) == (False, True)
    assert asked("/chat", {**ASKED, "model": "other"}).status_code == 404
    assert asked("/memory/unload", {"which": "all"}).status_code == 404


def test_pages() -> None:
    """*Worker System*: health and what the worker is, as the document has them: no prompts of its own, and nothing changed."""
    health, info = asked("/health", None).json(), asked("/worker/info", None).json()
    assert (health["status"], health["worker_type"]) == ("healthy", "pure_inference_engine")
    assert (health["no_hardcoded_prompts"], health["model_loaded"]) == (True, True)
    assert info["capabilities"]["pure_inference"]
    assert not info["capabilities"]["hardcoded_prompts"]
    assert not info["capabilities"]["prompt_modification"]
    assert info["message_format"]["required"] == ["messages"]
    assert "/chat" in info["endpoints"]


def _events(text: str) -> list[Any]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


def test_stream() -> None:
    """A stream: first the hash, then the pieces, at last why it ended."""
    reply = asked("/chat", {**ASKED, "stream": True}, "One two three.")
    head, *pieces, last = _events(reply.text)
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert head["prompt_sha256"] == last["prompt_sha256"] == messages_sha256(HELLO)
    assert "".join(piece["delta"] for piece in pieces) == "One two three."
    assert last["finish_reason"] == "stop"
    assert reply.text.rstrip().endswith("data: [DONE]")


def test_stream_faults() -> None:
    """What goes wrong before the first word is a status; what goes wrong later is told in the stream, which has no end then."""
    assert asked("/chat", {**ASKED, "stream": True}, Fault.status(503)).status_code == 503
    cut = asked("/chat", {**ASKED, "stream": True}, Fault.cut(700, "One two three four five six seven."))
    assert "error" in _events(cut.text)[-1]
    assert "[DONE]" not in cut.text


def test_refusal() -> None:
    """A refusal is passed on."""
    body = asked("/chat", ASKED, FakeReply(content=None, extra={"refusal": "I cannot."})).json()
    assert (body["output"], body["finish_reason"]) == ("I cannot.", "refusal")


def test_keys_and_draining() -> None:
    """With a key nobody gets in without it, but to see that it is there; one that drains says so and takes nothing."""

    async def use(client: httpx.AsyncClient, engine: WorkerEngine) -> list[int]:
        key = {"authorization": "Bearer k"}
        found = [await client.post("/chat", json=ASKED), await client.post("/chat", json=ASKED, headers=key)]
        found.append(await client.get("/health"))
        engine.drain()
        found += [await client.post("/chat", json=ASKED, headers=key), await client.get("/health")]
        return [reply.status_code for reply in found]

    assert served(use, "Yes.", keys=Keys("k")) == [401, 200, 200, 503, 503]
