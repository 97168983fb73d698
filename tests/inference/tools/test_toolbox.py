"""A toolbox: tools from anywhere, for the tool loop."""

import asyncio
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
from innkeeper.inference.prompts.tool_config import ToolConfig
from innkeeper.inference.tools.toolbox import Toolbox
from innkeeper.prompt import UsageError


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def add_later(a: int, b: int) -> int:
    """Add two numbers, in time."""
    return a + b


def row(name: str, **columns: Any) -> dict[str, Any]:
    """A row of the library's table ``tools``."""
    usual = {"description": "", "definition": {}, "is_active": True, "provider": None, "model": None, "base_url": None}
    return {"name": name, **usual, "secret_name": None, "settings": {}, **columns}


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


def test_rows_of_a_library() -> None:
    """Active rows with a definition are tools; one is run as its row says, with the model's arguments."""
    inside = {"parameters": {"type": "object", "properties": {"word": {"type": "string"}}}}
    rows = [
        row("look", description="Look a word up.", definition={"type": "function", "function": inside}, model="small"),
        row("find", definition={"name": "other", "description": "Find.", **inside}, settings={"temperature": 0}),
        row("off", definition=inside, is_active=False),
        row("no definition"),
    ]

    def run(config: ToolConfig, arguments: dict[str, Any]) -> Any:
        return config.name, config.model, config.temperature, arguments

    box = Toolbox.of_rows(rows, run)
    assert {name: one.description for name, one in box.registry.items()} == {"look": "Look a word up.", "find": "Find."}
    assert box.functions["look"](word="a") == ("look", "small", None, {"word": "a"})
    assert box.functions["find"]() == ("find", "", 0.0, {})


def test_rows_that_are_awaited() -> None:
    """What runs a row may be asynchronous."""

    async def run(config: ToolConfig, arguments: dict[str, Any]) -> str:
        return config.name

    assert asyncio.run(Toolbox.of_rows([row("look", definition={"name": "look"})], run).functions["look"]()) == "look"


def test_together() -> None:
    """Two toolboxes are one; a name that both have is refused."""
    both = Toolbox.of(add).with_(Toolbox.of(add_later))
    assert (list(both.registry), sorted(both.functions), len(both)) == (["add", "add_later"], ["add", "add_later"], 2)
    with pytest.raises(UsageError, match="add"):
        both.with_(Toolbox.of(add))
    with pytest.raises(UsageError):
        Toolbox.of(add, add)
