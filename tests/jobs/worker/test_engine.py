"""The worker's engine: what goes to its backend is what came, and nothing else; faults of the backend have one outcome each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from innkeeper.inference.errors import ProviderTimeoutError
from innkeeper.inference.fake import EchoServer, FakeReply, Fault
from innkeeper.inference.requests.worker_protocol import WorkerMessage, WorkerRequest, messages_sha256
from innkeeper.inference.routing.models import ModelNotFoundError, RouteModels
from innkeeper.inference.routing.route import Route, Routes
from innkeeper.jobs.worker.engine import WorkerEngine
from innkeeper.jobs.worker.slots import MAX_QUEUE, WorkerDrainingError, WorkerQueueError
from innkeeper.library.workers.states import WorkerState
from innkeeper.prompt.errors import ConfigError, InnkeeperError

HELLO = [WorkerMessage("user", "Hello there")]
Use = Callable[[WorkerEngine], Coroutine[Any, Any, Any]]


def used(server: EchoServer, use: Use, **options: Any) -> Any:
    """What a function gives that uses an engine in front of this backend."""

    async def run() -> Any:
        route = Route(name="big", model="real", base_url=server.base_url, provider="own")
        engine = WorkerEngine({"big": route}, RouteModels(Routes()), **options)
        try:
            await engine.start()
            return await use(engine)
        finally:
            await engine.close()

    return asyncio.run(run())


def test_executes() -> None:
    """The answer, what it took, why it ended, and the hash of the messages; the first model where none is named."""
    request = WorkerRequest(messages=HELLO, temperature=0.0, request_id="r1")
    with EchoServer("Hi.") as server:
        answer = used(server, lambda engine: engine.execute(request), revisions={"big": "abc"})
        assert server.requests[-1].body == {
            "model": "real",
            "messages": [{"role": "user", "content": "Hello there"}],
            "temperature": 0.0,
        }
    facts = answer.to_dict()
    assert (facts["output"], facts["finish_reason"], facts["request_id"]) == ("Hi.", "stop", "r1")
    assert (facts["model"], facts["model_revision"]) == ("big", "abc")
    assert facts["usage"] == {"prompt_tokens": 2, "completion_tokens": 1}
    assert facts["prompt_sha256"] == messages_sha256(HELLO)
    assert all(value >= 0 for value in facts["timings"].values())


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(
    st.lists(st.builds(WorkerMessage, st.sampled_from(["system", "user", "assistant"]), _TEXT), min_size=1, max_size=4),
    st.dictionaries(st.sampled_from(["top_p", "min_p", "temperature"]), st.floats(0, 1)),
)
def test_nothing_is_added_or_changed(messages: list[WorkerMessage], sampling: dict[str, float]) -> None:
    """*Data Flow Security*: the backend gets the messages in their order, word for word, and the samplers that were given."""
    with EchoServer("Yes.") as server:
        used(server, lambda engine: engine.execute(WorkerRequest(messages=messages, **sampling)))  # type: ignore[arg-type]
        sent = json.loads(server.requests[-1].raw)
    assert [(one["role"], one["content"]) for one in sent.pop("messages")] == [
        (one.role, one.content) for one in messages
    ]
    assert sent == {"model": "real", **sampling}


def test_a_refusal_is_an_answer() -> None:
    """What a model refuses is passed on word for word, and called a refusal."""
    with EchoServer(FakeReply(content=None, extra={"refusal": "I cannot."})) as server:
        answer = used(server, lambda engine: engine.execute(WorkerRequest(messages=HELLO)))
    assert (answer.output, answer.finish_reason) == ("I cannot.", "refusal")


def test_states() -> None:
    """Failures in a row degrade a worker, an answer mends it, a bad request does nothing; one that drains takes nothing more."""
    states: list[WorkerState] = []

    async def use(engine: WorkerEngine) -> None:
        for _ in range(5):
            with suppress(InnkeeperError):
                await engine.execute(WorkerRequest(messages=HELLO))
            states.append(engine.state)
        engine.drain()
        with pytest.raises(WorkerDrainingError):
            await engine.execute(WorkerRequest(messages=HELLO))
        assert engine.idle

    with EchoServer(Fault.status(400), Fault.status(400), Fault.status(500), Fault.status(500), "Well.") as server:
        used(server, use)
    ready, degraded = WorkerState.READY, WorkerState.DEGRADED
    assert states == [ready, ready, ready, degraded, ready]


def test_deadline() -> None:
    """An answer that comes too late is not waited for; its place is free again."""

    async def use(engine: WorkerEngine) -> None:
        with pytest.raises(ProviderTimeoutError):
            await engine.execute(WorkerRequest(messages=HELLO, deadline_ms=1_500))
        assert engine.idle
        assert (await engine.execute(WorkerRequest(messages=HELLO))).output == "Later."

    with EchoServer(Fault.stall(0), "Later.") as server:
        used(server, use)


def test_queue() -> None:
    """So many wait for a slot; the next is turned away at once."""

    async def use(engine: WorkerEngine) -> None:
        waiting = [asyncio.ensure_future(engine.execute(WorkerRequest(messages=HELLO))) for _ in range(MAX_QUEUE + 1)]
        await asyncio.sleep(0.05)
        with pytest.raises(WorkerQueueError):
            await engine.execute(WorkerRequest(messages=HELLO))
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert engine.idle

    with EchoServer(Fault.stall(0)) as server:
        used(server, use)


def test_models() -> None:
    """A model that is not there is said so; a backend whose messages would have to be rewritten is none."""
    with EchoServer() as server, pytest.raises(ModelNotFoundError):
        used(server, lambda engine: engine.execute(WorkerRequest(messages=HELLO, model="small")))
    for backends in ({}, {"c": Route(name="c", model="c", adapter="anthropic-messages")}):
        with pytest.raises(ConfigError):
            WorkerEngine(backends, RouteModels(Routes()))
