"""ToolRun: what a run does, in its order."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.inference.errors import RequestCancelledError, ToolUseError
from innkeeper.inference.fake.provider import FakeClient
from innkeeper.inference.fake.script import FakeReply
from innkeeper.inference.run.callers import completed
from innkeeper.inference.run.config import RunnerConfig
from innkeeper.inference.run.request import PromptRequest, PromptResult
from innkeeper.inference.run.tool_loop import ToolLoopRunner
from innkeeper.inference.run.tool_run import ToolLoopResult, ToolRun
from innkeeper.inference.tools.calls import ModelCall
from innkeeper.prompt import Message, freeze


class Recorded(ToolRun):
    """A run that writes down what it does; its tools end with ``outcome``."""

    outcome = True

    def __init__(self, loop: ToolLoopRunner, *inputs: Any) -> None:
        super().__init__(loop, *inputs)
        self.steps: list[str] = []

    async def tell(self, kind: str, turn: int, **facts: Any) -> None:
        """Write an event down."""
        self.steps.append(kind)

    async def build(self, history: list[Message], **turn: Any) -> PromptRequest:
        """Build a request without the loop's own inputs."""
        self.steps.append("build")
        request: PromptRequest = self.loop.runner.build_request(self.loop.config, history, commit=False)
        return request

    async def answer(self, request: PromptRequest, turn: int) -> PromptResult:
        """Ask the script."""
        self.steps.append("answer")
        result: PromptResult = self.loop.runner.perform(request)
        return result

    async def use(self, call: ModelCall, args: dict[str, Any]) -> dict[str, Any]:
        """Run no tool."""
        self.steps.append("use")
        return {"ok": self.outcome, "tool_name": call.name, "data": args, "errors": [], "warnings": []}


class Driver:
    """A run whose model answers by a script, whose tools end with ``outcome``."""

    def __init__(self, *script: Any, outcome: bool = True, **tool_calling: Any) -> None:
        config = RunnerConfig.build("somebody", "m", {"tool_calling": tool_calling})
        self.loop = ToolLoopRunner.build(FakeClient(*script), config, lambda *_: None, registry=[{"name": "look"}])
        self.run = Recorded(self.loop, "Look.", ())
        self.run.outcome = outcome

    @property
    def steps(self) -> list[str]:
        """What the run did."""
        return self.run.steps

    def drive(self, turns: int = 3) -> ToolLoopResult:
        """The result of the run."""
        return completed(self.run.go(turns, final_stream=False))


CALL = FakeReply(content=None, tool_calls=(("look", {"far": True}),))


def test_an_answer_without_tools() -> None:
    """A request is built, told and sent; its answer ends the run."""
    driver = Driver("A door.")
    result = driver.drive()
    assert driver.steps == ["build", "llm_request_start", "answer", "llm_request_end", "final"]
    assert [message.role for message in result.history] == ["user", "assistant"]
    assert result.assistant_text == "A door."


def test_arguments_that_cannot_be_read_run_no_tool() -> None:
    """The call fails with a code in its result, and the run ends at its last turn."""
    driver = Driver(FakeReply(content=None, tool_calls=(("look", "{"),)))
    with pytest.raises(ToolUseError) as caught:
        driver.drive(turns=1)
    assert "use" not in driver.steps
    assert [message.role for message in caught.value.history] == ["user", "assistant", "tool"]
    assert '"ok":false' in caught.value.history[-1].content.replace(" ", "")


@pytest.mark.parametrize("outcome", [True, False])
def test_a_tool_is_used_once_a_call(outcome: bool) -> None:
    """A call is told before and after it runs, and its result goes into the chat, whatever came of it."""
    driver = Driver(CALL, outcome=outcome)
    with pytest.raises(ToolUseError) as caught:
        driver.drive(turns=1)
    assert driver.steps[4:] == ["tool_call_start", "use", "tool_call_end"]
    assert caught.value.history[-1].tool_call_id == "call_1"


def test_enforced_tools_must_be_called() -> None:
    """In enforced mode an answer without a call is an error that knows how far the run came."""
    with pytest.raises(ToolUseError) as caught:
        Driver("A door.", tool_use_mode="enforced").drive()
    assert (caught.value.code, len(caught.value.trace)) == ("NO_TOOL_CALLS", 1)


def test_a_request_that_is_cancelled_ends_the_run() -> None:
    """A cancelled request is the loop's own error, with the chat so far."""

    class Cancelled(Recorded):
        async def build(self, history: list[Message], **turn: Any) -> PromptRequest:
            raise RequestCancelledError("stop")

    run = Cancelled(Driver("A door.").loop, None, (Message("user", "Hi"),))
    with pytest.raises(ToolUseError) as caught:
        completed(run.go(3, final_stream=False))
    assert [message.content for message in caught.value.history] == ["Hi"]


@pytest.mark.parametrize(
    ("results", "outcomes"),
    [
        (('{"ok": true, "tool_name": "seek"}', '{"ok": false, "tool_name": "find"}'), {"seek": True, "find": False}),
        (('{"ok": true}', "Error: no such city"), {"look": True, "hear": False}),
        (('{"seen": "a door"}', '{"ok": "yes"}'), {"look": False, "hear": False}),
        (("", "[1]"), {"look": False, "hear": False}),
    ],
)
def test_a_run_that_goes_on_knows_what_was_good(results: tuple[str, str], outcomes: dict[str, bool]) -> None:
    """Only what says ``ok`` is good; the others are named by the call that they answer, and enforced mode fails on them."""
    called = [{"id": name[0], "function": {"name": name, "arguments": "{}"}} for name in ("look", "hear")]
    asked = Message.of({"role": "assistant", "content": "", "tool_calls": called})
    answers = [
        Message("tool", text, metadata=freeze({"tool_call_id": at})) for at, text in zip("lh", results, strict=True)
    ]
    driver = Driver("A door.", tool_use_mode="enforced", tool_failure_policy="fatal")
    run = Recorded(driver.loop, None, (Message("user", "Look."), asked, *answers))
    assert run.outcomes == outcomes
    with pytest.raises(ToolUseError, match="tools failed: "):
        run.judge()
