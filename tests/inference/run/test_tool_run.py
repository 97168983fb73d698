"""ToolRun: the wishes of a run in their order, answered by hand and without a client."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.inference.errors import RequestCancelledError, ToolUseError
from innkeeper.inference.fake.provider import FakeClient
from innkeeper.inference.fake.script import FakeReply
from innkeeper.inference.run.config import RunnerConfig
from innkeeper.inference.run.tool_loop import ToolLoopRunner
from innkeeper.inference.run.tool_run import Ask, Build, Tell, ToolLoopResult, ToolRun, Use
from innkeeper.prompt import Message


class Driver:
    """Answers a run's wishes and writes them down; models answer by a script, tools with ``outcome``."""

    def __init__(self, *script: Any, outcome: bool = True, **tool_calling: Any) -> None:
        config = RunnerConfig.build("somebody", "m", {"tool_calling": tool_calling})
        self.loop = ToolLoopRunner.build(FakeClient(*script), config, lambda *_: None, registry=[{"name": "look"}])
        self.outcome = outcome
        self.wishes: list[str] = []

    def drive(self, turns: int = 3) -> ToolLoopResult:
        """The result of the run."""
        run = ToolRun(self.loop, "Look.", ()).go(turns, final_stream=False)
        answer: Any = None
        while True:
            try:
                wish = run.send(answer)
            except StopIteration as stop:
                result: ToolLoopResult = stop.value
                return result
            answer = self.answered(wish)

    def answered(self, wish: Any) -> Any:
        """What comes of a wish."""
        self.wishes.append(wish.event["type"] if isinstance(wish, Tell) else type(wish).__name__)
        match wish:
            case Build():
                return self.loop.runner.build_request(self.loop.config, wish.history, commit=False)
            case Ask():
                return self.loop.runner.perform(wish.request)
            case Use():
                return {
                    "ok": self.outcome,
                    "tool_name": wish.call.name,
                    "data": wish.args,
                    "errors": [],
                    "warnings": [],
                }
        return None


CALL = FakeReply(content=None, tool_calls=(("look", {"far": True}),))


def test_an_answer_without_tools() -> None:
    """A request is built, told and sent; its answer ends the run."""
    driver = Driver("A door.")
    result = driver.drive()
    assert driver.wishes == ["Build", "llm_request_start", "Ask", "llm_request_end", "final"]
    assert [message.role for message in result.history] == ["user", "assistant"]
    assert result.assistant_text == "A door."


def test_arguments_that_cannot_be_read_run_no_tool() -> None:
    """The call fails with a code in its result, and the run ends at its last turn."""
    driver = Driver(FakeReply(content=None, tool_calls=(("look", "{"),)))
    with pytest.raises(ToolUseError) as caught:
        driver.drive(turns=1)
    assert "Use" not in driver.wishes
    assert [message.role for message in caught.value.history] == ["user", "assistant", "tool"]
    assert '"ok":false' in caught.value.history[-1].content.replace(" ", "")


@pytest.mark.parametrize("outcome", [True, False])
def test_a_tool_is_used_once_a_call(outcome: bool) -> None:
    """A call is told before and after it runs, and its result goes into the chat, whatever came of it."""
    driver = Driver(CALL, outcome=outcome)
    with pytest.raises(ToolUseError) as caught:
        driver.drive(turns=1)
    assert driver.wishes[4:] == ["tool_call_start", "Use", "tool_call_end"]
    assert caught.value.history[-1].tool_call_id == "call_1"


def test_enforced_tools_must_be_called() -> None:
    """In enforced mode an answer without a call is an error that knows how far the run came."""
    with pytest.raises(ToolUseError) as caught:
        Driver("A door.", tool_use_mode="enforced").drive()
    assert (caught.value.code, len(caught.value.trace)) == ("NO_TOOL_CALLS", 1)


def test_a_wish_that_is_cancelled_ends_the_run() -> None:
    """A cancelled request is the loop's own error, with the chat so far."""
    run = ToolRun(Driver("A door.").loop, None, (Message("user", "Hi"),)).go(3, final_stream=False)
    assert isinstance(next(run), Build)
    with pytest.raises(ToolUseError) as caught:
        run.throw(RequestCancelledError("stop"))
    assert [message.content for message in caught.value.history] == ["Hi"]
