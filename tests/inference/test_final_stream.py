"""The final answer as a stream: only after tools, never with them, and the first answer stays when it fails."""

from collections.abc import Mapping
from typing import Any

import pytest

from innkeeper.inference.fake import FakeClient, FakeReply, Fault
from innkeeper.inference.response import Response
from innkeeper.inference.runner_config import RunnerConfig
from innkeeper.inference.tool_loop import ToolLoopResult, ToolLoopRunner

LOOK = FakeReply(content=None, tool_calls=(("look", "{}"),))


def run(client: Any, heard: list[Mapping[str, Any]], **config: Any) -> ToolLoopResult:
    """A run with a streamed end."""
    context = {"output_tags": {"enabled": True, "rules": [{"tag": "b", "action": "strip"}]}}
    settings = RunnerConfig.build("somebody", "m", context, **config)
    loop = ToolLoopRunner.build(client, settings, lambda **_: "seen", registry=[{"name": "look"}], system="Be brief.")
    return loop.run("Look.", on_event=heard.append, final_stream=True)


def test_stream() -> None:
    """The streamed text takes the place of the answer; the request has no tools and says so; tags are dealt with."""
    heard: list[Mapping[str, Any]] = []
    client = FakeClient(LOOK, "First.", "It <b>is</b> a door.")
    result = run(client, heard)
    assert result.assistant_text == result.history[-1].content == "It is a door."
    assert [event["delta"] for event in heard if event["type"] == "final_stream_delta"] == [
        "It ",
        "<b>is</b> ",
        "a ",
        "door.",
    ]
    assert [event["type"] for event in heard if "delta" not in event][-3:] == [
        "final_stream_start",
        "final_stream_end",
        "final",
    ]
    assert "finish_reason" in result.trace[-1].final_stream
    last = client.requests[-1]
    assert last["stream"] is True
    assert not last.keys() & {"tools", "tool_choice", "parallel_tool_calls"}
    assert last["messages"][0]["content"].startswith("Be brief.\n\nTools are off")


FAILURES = {
    "error": ([Fault.status(500)], "http"),
    "cut": ([Fault.cut(300)], "stream_cut"),
    "turned_down": ([Fault.status(429)], "http"),
}


@pytest.mark.parametrize(("script", "error"), FAILURES.values(), ids=FAILURES)
def test_failures(script: list[Any], error: str) -> None:
    """When the stream fails the first answer is the answer, and the trace says why."""
    heard: list[Mapping[str, Any]] = []
    result = run(FakeClient(LOOK, "First.", *script), heard)
    assert (result.assistant_text, result.trace[-1].final_stream) == ("First.", {"error": error})
    assert [event["error"] for event in heard if event["type"] == "final_stream_error"] == [error]


def test_a_blank_stream_is_no_answer() -> None:
    """The first answer stays when the stream says nothing."""
    assert run(FakeClient(LOOK, "First.", " "), []).assistant_text == "First."


class Plain:
    """A client that cannot stream."""

    def __init__(self, *script: Any) -> None:
        self._client = FakeClient(*script)

    def chat_completions(self, **request: Any) -> Response:
        return self._client.chat_completions(**request)


SKIPPED = {
    "no_tools": (FakeClient("First."), {}, "no tools were used"),
    "no_streaming": (
        FakeClient(LOOK, "First."),
        {"capabilities_overrides": {"supports_streaming": False}},
        "the model cannot stream",
    ),
    "no_method": (Plain(LOOK, "First."), {}, "the client cannot stream"),
}


@pytest.mark.parametrize(("client", "config", "reason"), SKIPPED.values(), ids=SKIPPED)
def test_skipped(client: Any, config: dict[str, Any], reason: str) -> None:
    """Where there is no need or no way, no second request is made, and the reason is told."""
    heard: list[Mapping[str, Any]] = []
    result = run(client, heard, **config)
    assert (result.assistant_text, result.trace[-1].final_stream) == ("First.", {"skipped": reason})
    assert [event["reason"] for event in heard if event["type"] == "final_stream_skipped"] == [reason]
