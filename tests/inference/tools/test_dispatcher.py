"""The dispatcher: every call ends in an envelope, whatever the executor is and does."""

import asyncio
import threading
from typing import Any

import pytest

from innkeeper.inference.errors import AnswerError
from innkeeper.inference.tools.definition import ToolRegistry
from innkeeper.inference.tools.dispatcher import AsyncToolDispatcher, ToolDispatcher
from innkeeper.prompt import UsageError

REGISTRY = ToolRegistry(
    [{"name": name} for name in ("look", "map_open", "a.b", "a_b")] + [{"name": "hidden", "exposed_to_model": False}]
)


def raising(error: BaseException) -> Any:
    """An executor that fails."""

    def execute(name: str, args: dict[str, Any]) -> Any:
        raise error

    return execute


def run(executor: Any, name: str = "look", args: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """The envelope of one call."""
    return ToolDispatcher(REGISTRY, executor, **options).run(name, args or {}, "c1")


NAMES = {
    "itself": ("look", "look"),
    "spaces": (" look ", "look"),
    "alias": ("peek", "look"),
    "dots": ("map.open", "map_open"),
    "dots_that_are_meant": ("a.b", "a.b"),
    "unknown": ("nobody", "nobody"),
    "unknown_with_dots": ("no.body", "no.body"),
}


@pytest.mark.parametrize(("written", "ours"), NAMES.values(), ids=NAMES)
def test_names(written: str, ours: str) -> None:
    """Names are stripped, aliases followed, dots read as underscores where only that exists."""
    assert ToolDispatcher(REGISTRY, print, aliases={"peek": "look"}).resolve(written) == ours


class Caller:
    """An executor with a method."""

    def call(self, *, name: str, args: dict[str, Any], tool_call_id: str) -> Any:
        return {"name": name, "args": args, "id": tool_call_id}


EXECUTORS = {
    "plain": (lambda name, args: {"name": name, "args": args}, {"name": "look", "args": {"x": 1}}),
    "with_an_id": (lambda tool_call_id, **_: tool_call_id, {"value": "c1"}),
    "with_anything": (lambda **all_of_it: sorted(all_of_it), {"value": ["args", "name", "tool_call_id"]}),
    "object": (Caller(), {"name": "look", "args": {"x": 1}, "id": "c1"}),
    "built_in_without_a_signature": ({"look": dict}, {"x": 1}),
    "functions": ({"look": lambda x: {"seen": x}}, {"seen": 1}),
}


@pytest.mark.parametrize(("executor", "data"), EXECUTORS.values(), ids=EXECUTORS)
def test_executors(executor: Any, data: dict[str, Any]) -> None:
    """A function, an object with ``call``, or functions by name; the call's id goes to those who ask for it."""
    assert run(executor, args={"x": 1}) == {"ok": True, "tool_name": "look", "data": data, "warnings": [], "errors": []}


FAILURES = {
    "unknown": (print, "nobody", {}, "TOOL_NOT_ALLOWED", "nobody"),
    "hidden": (print, "hidden", {}, "TOOL_NOT_ALLOWED", "hidden"),
    "value_error": (raising(ValueError("x must be positive")), "look", {}, "ARGUMENT_ERROR", "x must be positive"),
    "usage_error": (raising(UsageError("no such room")), "look", {}, "ARGUMENT_ERROR", "no such room"),
    "argument_missing": ({"look": lambda x: x}, "look", {}, "ARGUMENT_ERROR", "do not fit"),
    "argument_too_many": ({"look": lambda: 1}, "look", {"x": 1}, "ARGUMENT_ERROR", "do not fit"),
    "anything_else": (raising(KeyError("postgres://user:secret@db")), "look", {}, "INTERNAL_ERROR", "KeyError"),
    "type_error_inside": ({"look": lambda: len(3)}, "look", {}, "INTERNAL_ERROR", "TypeError"),  # type: ignore[arg-type]
    "no_function": ({"other": print}, "look", {}, "INTERNAL_ERROR", "LookupError"),
    "recursion": (raising(RecursionError()), "look", {}, "INTERNAL_ERROR", "RecursionError"),
}


@pytest.mark.parametrize(("executor", "name", "args", "code", "words"), FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("timeout", [None, 30.0], ids=["here", "in_a_thread"])
def test_failures(executor: Any, name: str, args: dict[str, Any], code: str, words: str, timeout: float | None) -> None:
    """Each failure has its code; the words of unexpected errors, which may hold secrets, stay here."""
    found = run(executor, name, args, timeout=timeout)
    assert (found["ok"], [error["code"] for error in found["errors"]]) == (False, [code])
    assert words in found["errors"][0]["message"]
    assert "secret" not in str(found)


def test_arguments_error_of_a_tool() -> None:
    """A tool may refuse its arguments with our error."""
    found = run(raising(AnswerError("odd", code="ODD")))
    assert found["errors"] == [{"code": "ARGUMENT_ERROR", "message": "odd"}]


def test_timeout() -> None:
    """A tool that takes too long is left behind, and the model is told."""
    go_on = threading.Event()
    found = run(lambda **_: go_on.wait(30), timeout=0.05)
    go_on.set()
    assert [error["code"] for error in found["errors"]] == ["TOOL_TIMEOUT"]


@pytest.mark.parametrize("timeout", [None, 30.0])
def test_the_end_of_the_process_is_not_caught(timeout: float | None) -> None:
    """What is meant to end the process does."""
    with pytest.raises(KeyboardInterrupt):
        run(raising(KeyboardInterrupt()), timeout=timeout)


def test_executor_that_is_none() -> None:
    """What cannot be called is a mistake, found when the dispatcher is made."""
    with pytest.raises(UsageError, match="must be callable"):
        ToolDispatcher(REGISTRY, 3)


def run_async(executor: Any, name: str = "look", **settings: Any) -> dict[str, Any]:
    """The envelope of one call in an event loop."""
    dispatcher = AsyncToolDispatcher(ToolRegistry([{"name": "look"}]), executor, **settings)
    return asyncio.run(dispatcher.run(name, {"room": "cellar"}, "c1"))


async def look_async(room: str) -> dict[str, Any]:
    """An asynchronous tool."""
    await asyncio.sleep(0)
    return {"room": room, "thread": threading.current_thread() is threading.main_thread()}


class AsyncCaller:
    """An object that is called by a coroutine function."""

    async def __call__(self, name: str, args: dict[str, Any], tool_call_id: str) -> dict[str, Any]:
        return {"asked": [name, args["room"], tool_call_id]}


def hidden(room: str) -> Any:
    """A tool of which only its result tells that it is asynchronous."""
    return look_async(room)


ASYNC = {
    "coroutine_function": ({"look": look_async}, {"room": "cellar", "thread": True}),
    "sync_function": (
        {"look": lambda room: {"room": room, "thread": threading.current_thread() is threading.main_thread()}},
        {"room": "cellar", "thread": False},
    ),
    "returns_a_coroutine": ({"look": hidden}, {"room": "cellar", "thread": True}),
    "executor": (AsyncCaller(), {"asked": ["look", "cellar", "c1"]}),
}


@pytest.mark.parametrize(("executor", "data"), ASYNC.values(), ids=ASYNC)
def test_async(executor: Any, data: dict[str, Any]) -> None:
    """Asynchronous tools run in the event loop, others beside it; both give an envelope."""
    assert run_async(executor)["data"] == data


async def fail_async(room: str) -> None:
    """A tool that fails."""
    raise KeyError(room)


async def hang_async(room: str) -> None:
    """A tool that never ends."""
    await asyncio.Event().wait()


ASYNC_FAILURES = {
    "error": ({"look": fail_async}, "look", "INTERNAL_ERROR"),
    "sync_error": ({"look": lambda room: {}[room]}, "look", "INTERNAL_ERROR"),
    "stop_iteration": ({"look": lambda room: next(iter(room[:0]))}, "look", "INTERNAL_ERROR"),
    "arguments": ({"look": lambda: None}, "look", "ARGUMENT_ERROR"),
    "unknown": ({"look": look_async}, "go", "TOOL_NOT_ALLOWED"),
    "hangs": ({"look": hang_async}, "look", "TOOL_TIMEOUT"),
    "hangs_in_a_thread": ({"look": lambda room: threading.Event().wait(len(room) * 5)}, "look", "TOOL_TIMEOUT"),
}


@pytest.mark.parametrize(("executor", "name", "code"), ASYNC_FAILURES.values(), ids=ASYNC_FAILURES)
def test_async_failures(executor: Any, name: str, code: str) -> None:
    """The failures of the other dispatcher; a tool that hangs is left, wherever it runs."""
    timeout = 0.05 if "hang" in str(executor) or code == "TOOL_TIMEOUT" else None
    assert [error["code"] for error in run_async(executor, name, timeout=timeout)["errors"]] == [code]


@pytest.mark.parametrize(
    "executor", [{"look": look_async}, look_async, AsyncCaller()], ids=["mapping", "function", "object"]
)
def test_async_tools_are_not_for_the_sync_loop(executor: Any) -> None:
    """A tool that nobody would await is a mistake, found when the loop is built; one that hides it is a failure."""
    with pytest.raises(UsageError, match="asynchronous") as caught:
        ToolDispatcher(ToolRegistry([{"name": "look"}]), executor)
    assert caught.value.hint == "use AsyncToolLoopRunner"
    dispatcher = ToolDispatcher(ToolRegistry([{"name": "look"}]), {"look": hidden})
    assert dispatcher.run("look", {"room": "x"}, "c1")["errors"][0]["code"] == "INTERNAL_ERROR"
