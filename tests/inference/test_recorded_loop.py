"""The tool loop against a recorded conversation: another library's requests and ours carry the same chat."""

import json
from typing import Any

import httpx

from innkeeper import RunnerConfig
from innkeeper.inference.client.blocking import Client
from innkeeper.inference.run.tool_loop import ToolLoopRunner
from innkeeper.inference.tools.calls import parse_arguments
from tests import shared
from tests.inference.cassettes import interactions

CHAIN = "fixtures/llm_cassettes/test_tool_use_chain_of_two_calls.yaml"


def outline(messages: list[dict[str, Any]]) -> list[Any]:
    """Who says what: roles, texts, calls with read arguments, and which call a result answers."""
    return [
        (
            message["role"],
            message.get("tool_call_id"),
            [
                (call["id"], call["function"]["name"], parse_arguments(call["function"]["arguments"]))
                for call in message.get("tool_calls", ())
            ],
            message.get("content") if message["role"] == "user" else None,
        )
        for message in messages
    ]


def test_chain_of_two_calls() -> None:
    """Two calls, each needing the one before: our requests have the recorded messages, tools and order."""
    recorded = interactions(shared.need(CHAIN))
    answers = iter([httpx.Response(one.status, headers=one.headers, content=one.raw) for one in recorded])
    sent: list[dict[str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        return next(answers)

    tools = {
        "lookup_population": lambda country: {"Crumpet": 123124}[country],
        "can_have_dragons": lambda population: population > 10_000,
    }
    config = RunnerConfig.build("openai", recorded[0].request["model"], tavern="vibe")
    client = Client("http://recorded", transport=httpx.MockTransport(answer))
    loop = ToolLoopRunner.build(client, config, tools, registry=recorded[0].request["tools"])
    result = loop.run(recorded[0].request["messages"][0]["content"])

    assert result.assistant_text == "YES"
    assert [outline(one["messages"]) for one in sent] == [outline(one.request["messages"]) for one in recorded]
    assert [one["tools"] for one in sent] == [one.request["tools"] for one in recorded]
    results = [json.loads(message.content) for message in result.history if message.role == "tool"]
    assert [one["data"]["value"] for one in results] == [123124, True]
