"""Tools of an MCP server: real processes; whatever one does, a call gives an envelope and the block ends."""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
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
from innkeeper.inference.tools import mcp_process
from innkeeper.inference.tools.mcp_tools import open_mcp_tools, open_mcp_tools_async
from innkeeper.inference.tools.toolbox import Toolbox
from innkeeper.prompt import InnkeeperError, LimitError, UnavailableError, UsageError

SERVER = [sys.executable, str(Path(__file__).with_name("a_server.py"))]
RUDE = [sys.executable, str(Path(__file__).with_name("a_rude_server.py"))]
AMPLE = 300.0
"""Seconds for a server that starts: more than any machine needs, however much else it does."""


@pytest.fixture(scope="module")
def tools() -> Iterator[Toolbox]:
    """The tools of a server that runs through all tests."""
    with open_mcp_tools(SERVER, call_seconds=AMPLE, start_seconds=AMPLE) as box:
        yield box


def codes(envelope: dict[str, Any]) -> list[str]:
    """The codes of its errors."""
    return [error["code"] for error in envelope["errors"]]


def test_what_a_server_offers(tools: Toolbox) -> None:
    """Names are such that every provider takes them; schemas and descriptions are the server's."""
    assert list(tools.registry)[:2] == ["add", "list_all_things"]
    add = tools.registry["add"].openai()["function"]
    assert (add["description"], add["parameters"]["required"]) == ("Add two numbers.", ["a"])


def test_calls(tools: Toolbox) -> None:
    """Structured results are data, texts are text, what is neither is named, errors are errors without their insides."""
    functions = tools.functions
    assert functions["add"](a=1)["data"] == {"result": 3}
    assert functions["list_all_things"]()["data"] == {"all": [1, 2]}
    picture = functions["picture"]()
    assert (picture["data"], picture["warnings"]) == ({"text": "here"}, ["left out: image (image/png)"])
    broken = functions["broken"]()
    assert (broken["ok"], codes(broken)) == (False, ["TOOL_ERROR"])
    assert codes(functions["add"](a="one")) == ["TOOL_ERROR"]


def test_a_server_gets_no_keys(tools: Toolbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the environment a server sees what any program needs, and what it is given."""
    names = set(tools.functions["variables"]()["data"]["result"])
    assert "PATH" in names
    assert not {name for name in names if "KEY" in name or name.startswith("INNKEEPER")}


def test_in_the_loop(tools: Toolbox) -> None:
    """The tool loop runs them like any other; results go back as messages of the role tool."""
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 40}'}}
    client = FakeClient(FakeReply(tool_calls=(call,)), FakeReply(content="42"))
    result = ToolLoopRunner.build(client, RunnerConfig.build("openai", "fake"), tools).run("40 + 2?")
    assert (result.history[2].role, result.assistant_text) == ("tool", "42")
    assert '"result": 42' in result.history[2].content


def test_in_the_loop_of_an_event_loop() -> None:
    """The asynchronous loop awaits them."""
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}

    async def use() -> str:
        client = AsyncFakeClient(FakeReply(tool_calls=(call,)), FakeReply(content="3"))
        async with open_mcp_tools_async(RUDE, start_seconds=AMPLE) as box:
            loop = AsyncToolLoopRunner.build(client, RunnerConfig.build("openai", "fake"), box)
            return (await loop.run("1 + 2?")).history[2].content

    assert '"text": "3"' in asyncio.run(use())


def test_late_and_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that takes too long ends; a server that says too much is not asked again."""
    monkeypatch.setattr(mcp_process, "_GRACE", 0.3)
    with open_mcp_tools(RUDE, call_seconds=0.3, start_seconds=AMPLE) as box:
        assert codes(box.functions["slow"]()) == ["TOOL_TIMEOUT"]
    with open_mcp_tools(RUDE, start_seconds=AMPLE) as box:
        assert box.functions["add"](a=1)["ok"]
        assert codes(box.functions["large"]()) == ["TOOL_UNAVAILABLE"]
        assert "MAX_MCP_LINE_BYTES" in box.functions["add"](a=1)["errors"][0]["message"]


def test_a_server_that_ends() -> None:
    """The death of a server is told by each call, and nothing hangs."""
    with open_mcp_tools(RUDE, start_seconds=AMPLE) as box:
        assert codes(box.functions["die"]()) == ["TOOL_UNAVAILABLE"]
        assert codes(box.functions["add"](a=1)) == ["TOOL_UNAVAILABLE"]


CANNOT: dict[str, tuple[Any, type[InnkeeperError], str]] = {
    "no program": (["no-such-program"], UnavailableError, "cannot be run"),
    "crash": ([*RUDE, "crash"], UnavailableError, "exit code 1"),
    "silent": ([*RUDE, "silent"], UnavailableError, "did not answer within"),
    "no MCP": ([sys.executable, "-c", "print('hello')"], UnavailableError, "does not answer as one"),
    "empty": ("", UsageError, "empty"),
}


@pytest.mark.parametrize(("command", "kind", "said"), CANNOT.values(), ids=CANNOT)
def test_what_cannot_be_used(command: Any, kind: type[InnkeeperError], said: str) -> None:
    """A command that is no MCP server is told as an error of ours, with what it said last, without secrets."""
    with pytest.raises(kind) as caught, open_mcp_tools(command, start_seconds=0.5 if "silent" in command else AMPLE):
        pass
    assert said in caught.value.message
    if "crash" in command:
        assert "no such database" in (caught.value.hint or "")
        assert "sk-abc" not in str(caught.value.to_dict())


def test_noise_is_passed_over() -> None:
    """What a server prints that is no message is ignored."""
    with open_mcp_tools([*RUDE, "noise"], start_seconds=AMPLE) as box:
        assert box.functions["add"](a=1)["ok"]


def test_a_bad_tool_costs_no_other() -> None:
    """Tools whose schema, name or kind cannot be used are left out, each with a note that prints; the others are there."""
    with open_mcp_tools([*RUDE, "bad"], start_seconds=AMPLE) as box:
        assert list(box.functions) == ["a_dd", "add", "slow", "die", "large"]
        assert box.functions["add"](a=1)["ok"]
        notes = [note.message for note in box.notes]
    assert len(notes) == 6
    assert all(message.isprintable() and message.endswith("it is left out") for message in notes)


def test_too_many_tools() -> None:
    """A server whose list of tools has no end is refused."""
    with pytest.raises(LimitError), open_mcp_tools([*RUDE, "endless"], start_seconds=AMPLE):
        pass


def test_errors_of_the_block_come_through() -> None:
    """What is raised in the block is what is caught around it, and the process has ended."""

    async def use() -> None:
        async with open_mcp_tools_async(RUDE, start_seconds=AMPLE) as box:
            assert (await box.functions["add"](a=1))["ok"]
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        asyncio.run(use())


def test_a_cancelled_task_stops_a_call() -> None:
    """In an event loop a call is cancelled like anything else that is awaited."""

    async def use() -> float:
        async with open_mcp_tools_async(RUDE, start_seconds=AMPLE) as box:
            started = time.monotonic()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(box.functions["slow"](), 0.2)
            return time.monotonic() - started

    assert asyncio.run(use()) < 5


def test_ctrl_c_stops_a_call(tools: Toolbox) -> None:
    """Ctrl-C while a tool runs comes through at once; the server lives on and answers the next call."""
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        tools.functions["slow"]()
    assert tools.functions["add"](a=1)["ok"]


def test_a_server_that_will_not_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A server that ignores its input's end and SIGTERM is ended by force, with what it has started."""
    monkeypatch.setattr(mcp_process, "_GRACE", 0.2)
    pids = tmp_path / "pids"
    code = (
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "time.sleep(600)\n"
    )
    with pytest.raises(UnavailableError), open_mcp_tools([sys.executable, "-c", code], start_seconds=4):
        pass
    for pid in map(int, pids.read_text().split()):
        until = time.monotonic() + 120
        while _runs(pid) and time.monotonic() < until:
            time.sleep(0.05)
        assert not _runs(pid)


def _runs(pid: int) -> bool:
    """Whether a process is there, and no zombie that waits to be fetched."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
