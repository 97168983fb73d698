"""A toolbox: tools from anywhere, for the tool loop."""

import asyncio
import json
from typing import Any

import pytest

from innkeeper.inference import (
    AsyncFakeClient,
    AsyncToolLoopRunner,
    FakeClient,
    FakeReply,
    RunnerConfig,
    ToolLoopRunner,
)
from innkeeper.inference.tools.toolbox import Toolbox
from innkeeper.library.prompts.llm_factory import LLMFactory
from innkeeper.library.prompts.prompt_service import AsyncPromptService, PromptService
from innkeeper.library.prompts.tool_config import Secrets, ToolConfig, Tools
from innkeeper.library.rows import StoredTool
from innkeeper.prompt import UsageError
from innkeeper.prompt.data import freeze
from tests.library.prompts.providers import Provider

SUM = {"type": "function", "name": "sum", "parameters": {"type": "object"}}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def add_later(a: int, b: int) -> int:
    """Add two numbers, in time."""
    return a + b


def row(name: str, **columns: Any) -> StoredTool:
    """A row of the library's table ``tools``."""
    return StoredTool(name=name, **freeze(columns))


def replies(name: str) -> list[Any]:
    """A call of a tool, and an answer."""
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": '{"a": 1, "b": "2"}'}}
    return [FakeReply(tool_calls=(call,)), FakeReply(content="3")]


def test_functions_in_the_loop() -> None:
    """A toolbox is all that a tool loop needs: the model is told of the tools, and their results go back to it."""
    client = FakeClient(*replies("add"))
    config = RunnerConfig.build("openai", "fake")
    result = ToolLoopRunner.build(client, config, Toolbox.of(add)).run("1 + 2?")
    assert result.assistant_text == "3"
    assert [message.role for message in result.history] == ["user", "assistant", "tool", "assistant"]
    assert '"value": 3' in result.history[2].content


def test_functions_in_the_loop_of_an_event_loop() -> None:
    """The asynchronous loop awaits what is to be awaited."""
    runner = AsyncToolLoopRunner.build(
        AsyncFakeClient(*replies("add_later")), RunnerConfig.build("openai", "fake"), Toolbox.of(add, add_later)
    )
    assert '"value": 3' in asyncio.run(runner.run("1 + 2?")).history[2].content


def test_arguments_that_do_not_fit_are_told_to_the_model() -> None:
    """An error of the arguments is a result like any other."""
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": "x"}'}}
    client = FakeClient(FakeReply(tool_calls=(call,)), FakeReply(content="sorry"))
    config = RunnerConfig.build("openai", "fake", {"tool_calling": {"tool_use_mode": "relaxed"}})
    result = ToolLoopRunner.build(client, config, Toolbox.of(add)).run("?")
    assert "ARGUMENT_ERROR" in result.history[2].content


INSIDE = {"parameters": {"type": "object", "properties": {"word": {"type": "string"}}}}
ROWS = [
    row("look", description="Look a word up.", definition={"type": "function", "function": INSIDE}),
    row("find", definition={"name": "other", "description": "Find.", **INSIDE}),
    row("off", definition=INSIDE, is_active=False),
    row("no definition"),
]


def ports(provider: Provider) -> tuple[Tools, Secrets, LLMFactory]:
    """What a prompt service is made of."""
    known = {"provider": "openai", "model": "small", "api_key_secret": "k"}
    tools = [ToolConfig.of(name, {**known, "tools": own}) for name, own in {"look": [], "find": [SUM]}.items()]
    return Tools(*tools), Secrets({"k": "sesame"}), LLMFactory(transport=provider.transport)


def test_rows_of_a_library() -> None:
    """Active rows with a definition are tools; one is run as its row says, and its model gets the arguments."""
    provider = Provider()
    box = Toolbox.of_rows(ROWS, PromptService(*ports(provider)))
    assert {name: one.description for name, one in box.registry.items()} == {"look": "Look a word up.", "find": "Find."}
    looked = box.functions["look"](word="reef")
    assert (looked["ok"], looked["data"], looked["warnings"]) == (True, {"text": "Hello"}, [])
    assert provider.body["model"] == "small"
    assert json.loads(provider.body["messages"][-1]["content"]) == {"word": "reef"}
    assert box.functions["find"]()["warnings"] == ["left out: a call of sum"]


def test_rows_that_are_awaited() -> None:
    """With the service of event loops the functions are awaited."""
    box = Toolbox.of_rows(ROWS, AsyncPromptService(*ports(Provider())))
    assert asyncio.run(box.functions["look"](word="reef"))["data"] == {"text": "Hello"}


def test_rows_in_the_loop() -> None:
    """What a row's model says goes back to the model that asked, as a result like any other."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"word": "reef"}'}}
    box = Toolbox.of_rows(ROWS, PromptService(*ports(Provider())))
    client = FakeClient(FakeReply(tool_calls=(call,)), FakeReply(content="A reef."))
    result = ToolLoopRunner.build(client, RunnerConfig.build("openai", "fake"), box).run("?")
    assert '"text": "Hello"' in result.history[2].content


def test_a_row_that_fails() -> None:
    """A provider's error is a result that failed; its text stays here."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    box = Toolbox.of_rows(ROWS, PromptService(*ports(Provider(status=401))))
    client = FakeClient(FakeReply(tool_calls=(call,)), FakeReply(content="Sorry."))
    config = RunnerConfig.build("openai", "fake", {"tool_calling": {"tool_use_mode": "relaxed"}})
    result = ToolLoopRunner.build(client, config, box).run("?")
    assert "INTERNAL_ERROR" in result.history[2].content
    assert "sesame" not in result.history[2].content


def test_together() -> None:
    """Two toolboxes are one; a name that both have is refused."""
    both = Toolbox.of(add).with_(Toolbox.of(add_later))
    assert (list(both.registry), sorted(both.functions), len(both)) == (["add", "add_later"], ["add", "add_later"], 2)
    with pytest.raises(UsageError, match="add"):
        both.with_(Toolbox.of(add))
    with pytest.raises(UsageError):
        Toolbox.of(add, add)
