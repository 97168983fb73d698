"""RouteClient: every provider of the table answers whoever has a client: plans, chats, runners, tool loops, directives."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from innkeeper.inference import FunctionTool, PromptRunner, RunnerConfig, Toolbox, ToolLoopRunner, function_tool
from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.adapters.providers import PROVIDERS
from innkeeper.inference.client.clients import Retries
from innkeeper.inference.client.model_clients import RouteClient, answered
from innkeeper.inference.errors import HttpError
from innkeeper.inference.routing.route import Route
from innkeeper.prompt import UsageError
from tests.inference.adapters.answers import WIRES, Said

MESSAGES = [{"role": "user", "content": "Is it late?"}]
QUICK = Retries(chance=lambda: 0.0)


class Provider:
    """A provider of any protocol, which says these things one after the other; a number is a status."""

    def __init__(self, name: str, *script: Said | int) -> None:
        self.route = Route.of("r", f"{name}:big")
        self.requests: list[httpx.Request] = []
        self._wire, self._script = WIRES[self.route.adapter], list(script)

    def client(self, **options: Any) -> RouteClient:
        """A client of it."""
        return RouteClient(self.route, "sk-1", transport=httpx.MockTransport(self._answer), **options)

    @property
    def bodies(self) -> list[Any]:
        """What it was sent."""
        return [json.loads(request.content) for request in self.requests]

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        said = self._script.pop(0)
        if isinstance(said, int):
            return httpx.Response(said, json={"error": {"message": "not now"}})
        streams = json.loads(request.content).get("stream") or "stream" in request.url.path
        kind = self._wire.kind if streams else "application/json"
        content = self._wire.stream(said) if streams else self._wire.whole(said)
        return httpx.Response(200, headers={"content-type": kind}, content=content)


NAMES = pytest.mark.parametrize("name", PROVIDERS)


@NAMES
def test_events(name: str) -> None:
    """The stack: a request of the route's own dialect, the events of its answer; a busy provider is asked again."""
    provider = Provider(name, 503, Said(text=("It is ", "late.")))
    heard: list[str] = []
    with provider.client(retries=QUICK) as client:
        request = ModelRequest.of(client.adapter, {"model": "big", "messages": MESSAGES}, model="big", stream=True)
        response = answered(client.events(request), "big", heard.append)
    assert (response.text, "".join(heard), response.finish) == ("It is late.", "It is late.", "stop")
    assert [request.content for request in provider.requests] == [provider.requests[0].content] * 2


@NAMES
def test_chats(name: str) -> None:
    """As a client of chat completions, whole and streamed, with usage and the reason by OpenAI's names."""
    provider = Provider(name, Said(), Said(text=("It is ", "late.")), Said(text=("It is ", "late.")))
    heard: list[str] = []
    with provider.client() as client:
        whole = client.chat("big", MESSAGES, max_tokens=9)
        streamed = client.chat("big", MESSAGES, stream=True, include_usage=True, on_delta=heard.append)
        with client.chat_stream("big", MESSAGES) as pieces:
            assert "".join(pieces) == "It is late."
            assert pieces.reply.content == "It is late."
    assert (whole.content, whole.finish_reason) == ("It is late.", "stop")
    assert (streamed.content, "".join(heard)) == ("It is late.", "It is late.")
    assert whole.usage is not None
    assert (whole.usage["prompt_tokens"], whole.usage["completion_tokens"]) == (7, 3)
    assert streamed.usage == whole.usage
    assert whole.response.body["choices"][0]["message"]["content"] == "It is late."


@NAMES
def test_runner(name: str) -> None:
    """A runner builds a prompt and reads the answer, whatever the protocol."""
    provider = Provider(name, Said(), Said(text=("It is ", "late.")))
    with provider.client() as client:
        runner = PromptRunner(client)
        request = runner.build_request(RunnerConfig.build(name, "big"), MESSAGES)
        assert runner.perform(request).content == "It is late."
        with runner.stream(request) as pieces:
            assert "".join(pieces) == "It is late."
        assert pieces.result.content == "It is late."


def tide(harbour: str) -> str:
    """When the tide turns."""
    return f"at nine in {harbour}"


@NAMES
@pytest.mark.parametrize("stream", [False, True])
def test_tools(name: str, stream: bool) -> None:
    """A tool loop runs what the model calls and sends the result back in the provider's own shape."""
    tool: FunctionTool = function_tool(tide)
    provider = Provider(name, Said(text=(), calls=(("c1", "tide", {"harbour": "Skerrow"}),)), Said(text=("At nine.",)))
    with provider.client() as client:
        config = RunnerConfig.build(name, "big", capabilities_overrides={"supports_tools": True})
        loop = ToolLoopRunner.build(client, config, Toolbox.of(tool))
        result = loop.run("When?", stream=stream)
    assert result.assistant_text == "At nine."
    assert "at nine in Skerrow" in json.dumps(provider.bodies[1])


def test_what_a_provider_cannot_be_told() -> None:
    """Is in the notes of the answer's body; several answers at once are refused."""
    provider = Provider("anthropic", Said())
    with provider.client() as client:
        response = client.chat_completions(model="big", messages=MESSAGES, max_tokens=9, logit_bias={"1": 2})
        assert any("logit_bias" in note for note in response.body["innkeeper"]["notes"])
        with pytest.raises(UsageError, match="one answer"):
            client.chat_completions(model="big", messages=MESSAGES, n=2)
        with pytest.raises(UsageError, match="whole answers"):
            client.chat_completions(model="big", messages=MESSAGES, stream=True)


def test_errors() -> None:
    """A refusal is the provider's error; nothing of the key is in it."""
    provider = Provider("anthropic", 401)
    with provider.client(retries=QUICK) as client, pytest.raises(HttpError) as caught:
        client.chat("big", MESSAGES, max_tokens=9)
    assert caught.value.status == 401
    assert "sk-1" not in f"{caught.value!r}{client!r}"
    assert provider.requests[0].headers["x-api-key"] == "sk-1"
