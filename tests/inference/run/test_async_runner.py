"""AsyncPromptRunner: the requests, answers and errors of `PromptRunner`, awaited."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from innkeeper.inference.client.clients import AsyncClient
from innkeeper.inference.client.endpoint import Response
from innkeeper.inference.errors import DecodeError, HttpError, PreflightError, RequestCancelledError
from innkeeper.inference.fake.provider import AsyncFakeClient, EchoServer, FakeClient
from innkeeper.inference.fake.script import FakeReply, Fault
from innkeeper.inference.run.config import RunnerConfig
from innkeeper.inference.run.request import PromptResult
from innkeeper.inference.run.runner import AsyncPromptRunner, PromptRunner
from innkeeper.prompt import InMemoryHooks, InMemoryVariables, Plan, Ports, UsageError

CONFIG = RunnerConfig.build("openai", "gpt-4o", tavern="vibe")
SILLY = RunnerConfig.build("openai", "gpt-4o", tavern="silly")
CHAT = [{"role": "user", "content": "Hi"}]


def whole(work: Coroutine[Any, Any, Any]) -> Any:
    """What ``work`` gives, within a time that nothing here takes."""
    return asyncio.run(asyncio.wait_for(work, 20))


async def asked(*script: Any, **inputs: Any) -> PromptResult:
    """The answer of a script to the chat."""
    runner = AsyncPromptRunner(AsyncFakeClient(*script))
    return await runner.perform(await runner.build_request(CONFIG, CHAT, **inputs))


def test_the_same_request_and_answer() -> None:
    """Requests and results are those of the sync runner."""
    reply = FakeReply(content="Late.", reasoning="clock")
    sync = PromptRunner(FakeClient(reply))
    expected = sync.perform(sync.build_request(CONFIG, CHAT, message="Late?", system="Be brief."))
    found = whole(asked(reply, message="Late?", system="Be brief."))
    assert found.prompt_request.request == expected.prompt_request.request
    assert found.assistant_message == expected.assistant_message
    assert found.usage == expected.usage


def test_errors_pass_through() -> None:
    """Errors are the client's own, after one request."""
    for script, error in ((Fault.status(500), HttpError), ({"choices": 3}, DecodeError)):
        with pytest.raises(error):
            whole(asked(script))


def test_variables_are_committed() -> None:
    """A build in a thread writes to the caller's store as any other."""
    store = InMemoryVariables()
    whole(asked("x", variables_store=store, meta={"system_template": "{% setvar x = 1 %}x"}))
    assert store.get("x") == 1


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_streams(kind: str) -> None:
    """By callback of either kind, or by iterator: the same pieces and the same result."""

    async def go(url: str) -> None:
        heard: list[str] = []

        async def hear(delta: str) -> None:
            await asyncio.sleep(0)
            heard.append(delta)

        async with AsyncClient(url) as client:
            runner = AsyncPromptRunner(client)
            made = await runner.build_request(CONFIG, CHAT)
            called = await runner.perform_stream(made, heard.append if kind == "sync" else hear)
            async with runner.stream(made) as pieces:
                assert [piece async for piece in pieces] == heard == ["It ", "is ", "late."]
        assert pieces.result.assistant_message == called.assistant_message
        assert (pieces.partial, called.content) == ("It is late.", "It is late.")

    with EchoServer("It is late.", "It is late.") as server:
        whole(go(server.base_url))


def test_a_stream_left_early() -> None:
    """It has no result, but what came."""

    async def go() -> None:
        runner = AsyncPromptRunner(AsyncFakeClient("It is late."))
        async with runner.stream(await runner.build_request(CONFIG, CHAT)) as pieces:
            assert await anext(pieces) == "It "
        with pytest.raises(UsageError, match="has not ended"):
            _ = pieces.result
        assert pieces.partial == "It "

    whole(go())


def test_streams_with_tools_are_refused() -> None:
    """Preflight is the same."""

    async def go() -> None:
        runner = AsyncPromptRunner(AsyncFakeClient("x"))
        made = await runner.build_request(CONFIG, CHAT, llm_options={"tools": [{"type": "function"}]})
        with pytest.raises(PreflightError):
            await runner.perform_stream(made)

    whole(go())


def test_the_wrong_client() -> None:
    """Each runner refuses the other's client at once, and names the runner that takes it."""
    with pytest.raises(UsageError, match="AsyncFakeClient is asynchronous") as caught:
        PromptRunner(AsyncFakeClient())
    assert "AsyncPromptRunner" in str(caught.value.hint)
    with pytest.raises(UsageError, match="hold up the event loop") as caught:
        AsyncPromptRunner(FakeClient())
    assert "AsyncClient" in str(caught.value.hint)
    with pytest.raises(UsageError, match="chat_completions"):
        AsyncPromptRunner(object())


def test_clients_of_other_kinds() -> None:
    """Anything whose ``chat_completions`` can be awaited serves."""

    class Plain:
        async def chat_completions(self, **request: Any) -> Response:
            return Response(200, {}, {"choices": [{"message": {"content": request["model"]}}]})

    async def go() -> str:
        runner = AsyncPromptRunner(Plain())
        made = await runner.build_request(CONFIG, CHAT)
        with pytest.raises(PreflightError, match="chat_stream"):
            await runner.perform_stream(made)
        return (await runner.perform(made)).content

    assert whole(go()) == "gpt-4o"


@pytest.mark.parametrize("kind", ["event", "function"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_cancel(stream: bool, kind: str) -> None:
    """A request that waits for its first byte stops when it is told to, and the server is left."""
    told = threading.Event()

    async def is_told() -> bool:
        return told.is_set()

    def answer(request: dict[str, Any]) -> Fault:
        threading.Timer(0.05, told.set).start()
        return Fault.stall()

    async def go(url: str) -> None:
        async with AsyncClient(url) as client:
            runner = AsyncPromptRunner(client)
            made = await runner.build_request(CONFIG, CHAT)
            perform = runner.perform_stream if stream else runner.perform
            with pytest.raises(RequestCancelledError):
                await perform(made, cancel=told if kind == "event" else is_told)

    with EchoServer(answer) as server:
        whole(go(server.base_url))
        assert server.requests


def test_cancel_between_pieces() -> None:
    """A cancel that the reader of a piece gives is the last that it hears."""

    async def go() -> list[str]:
        told, heard = asyncio.Event(), []
        runner = AsyncPromptRunner(AsyncFakeClient("It is late."))
        made = await runner.build_request(CONFIG, CHAT)

        def hear(delta: str) -> None:
            heard.append(delta)
            told.set()

        with pytest.raises(RequestCancelledError):
            await runner.perform_stream(made, hear, cancel=told)
        return heard

    assert whole(go()) == ["It "]


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_hooks(kind: str) -> None:
    """Hooks of a build are awaited where they can be, one after the other, before and after."""
    hooks, order = InMemoryHooks(), []

    async def slow(context: Any) -> None:
        await asyncio.sleep(0.01)
        order.append(kind)
        context.user_message = "Later?"

    def quick(context: Any) -> None:
        order.append(kind)
        context.user_message = "Later?"

    async def after(context: Any) -> None:
        assert isinstance(context.plan, Plan)
        order.append("after")

    hooks.before_build(slow if kind == "async" else quick)
    hooks.after_build(after)

    async def go() -> list[Any]:
        runner = AsyncPromptRunner(AsyncFakeClient())
        made = await runner.build_request(SILLY, message="Late?", ports=Ports(hooks=hooks), request={"user": "Ann"})
        return made.messages

    assert "Later?" in str(whole(go()))
    assert order == [kind, "after"]


def test_an_asynchronous_hook_is_not_for_the_sync_runner() -> None:
    """Nobody would await it: a mistake that names the runner that does."""
    hooks = InMemoryHooks()

    @hooks.before_build
    async def slow(context: Any) -> None:
        raise AssertionError(context)

    with pytest.raises(Exception, match="asynchronous hook") as caught:
        PromptRunner(FakeClient()).build_request(SILLY, message="Late?", ports=Ports(hooks=hooks))
    assert "AsyncPromptRunner" in caught.value.render()  # type: ignore[attr-defined]
