"""ModelHandle: what names a model, and its answer to a plan, blocking and in an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import aclosing
from typing import Any

import pytest

from innkeeper.inference import AsyncFakeClient, EchoServer, FakeClient, Fault, ModelHandle, Route
from innkeeper.inference.response.events import ModelEvent, TextDelta
from innkeeper.prompt import BuildRequest, Plan
from innkeeper.prompt.errors import UnknownNameError
from innkeeper.prompt.machine import Secret
from innkeeper.prompt.tier import TierBlockedError
from innkeeper.taverns import build


def plan_of(message: str) -> Plan:
    """A prompt with one message."""
    return build(BuildRequest(message=message, dialect="openai"))


async def pieces(handle: ModelHandle, message: str, most: int = 1_000) -> list[str]:
    """The pieces of an answer, as many as are wanted."""
    texts = []
    async with aclosing(handle.events(plan_of(message))) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                texts.append(event.text)
            if len(texts) >= most:
                break
    return texts


NAMES: list[tuple[str, str, str, str]] = [
    ("anthropic:claude-sonnet-4", "anthropic", "claude-sonnet-4", "anthropic-messages"),
    ("gemini:gemini-2.5-pro", "gemini", "gemini-2.5-pro", "gemini-generateContent"),
    ("openai:gpt-4o", "openai", "gpt-4o", "openai-chat"),
    ("ollama:llama3:8b", "ollama", "llama3:8b", "ollama-chat"),
    ("http://127.0.0.1:8080:big", "own", "big", "openai-chat"),
]


@pytest.mark.parametrize(("name", "provider", "model", "adapter"), NAMES, ids=[row[0] for row in NAMES])
def test_a_model_by_its_name(name: str, provider: str, model: str, adapter: str) -> None:
    """The route has provider, model and protocol."""
    handle = ModelHandle.of(name, 8_192)
    assert handle.route is not None
    assert (handle.route.provider, handle.model, handle.window) == (provider, model, 8_192)
    assert handle.route.adapter == adapter
    handle.close()


def test_what_names_no_model() -> None:
    """A provider that there is not is said with those that there are."""
    with pytest.raises(UnknownNameError, match="provider"):
        ModelHandle.of("nobody:model")


def test_the_key_is_sent() -> None:
    """That of the caller, and else of the environment."""
    with EchoServer("Aye.", api_key="secret") as provider:
        handle = ModelHandle.of(f"{provider.base_url}:big", key=Secret("secret"))
        assert handle.answer(plan_of("Hello"), len).text == "Aye."
        handle.close()


@pytest.mark.parametrize("client", [FakeClient, AsyncFakeClient])
class TestAnswers:
    """A blocking client and one of an event loop, each asked both ways."""

    def test_the_same_answer(self, client: Callable[..., Any]) -> None:
        """Piece by piece."""
        blocking: list[str] = []
        ModelHandle.of(client("At low water, yes.")).answer(plan_of("Hello"), blocking.append)
        assert asyncio.run(pieces(ModelHandle.of(client("At low water, yes.")), "Hello")) == blocking
        assert "".join(blocking) == "At low water, yes."

    def test_left_early(self, client: Callable[..., Any]) -> None:
        """The client can be asked again."""
        handle = ModelHandle.of(client("At low water, yes. " * 50, "No."))
        assert len(asyncio.run(pieces(handle, "Hello", most=1))) == 1
        assert "".join(asyncio.run(pieces(handle, "Again"))) == "No."

    def test_what_is_blocked_reaches_nobody(self, client: Callable[..., Any]) -> None:
        """The gate judges the prompt before it is sent."""
        model = client("No.")
        with pytest.raises(TierBlockedError):
            asyncio.run(pieces(ModelHandle.of(model), "She is 13 years old, and they have sex."))
        assert model.requests == []


def test_a_cancelled_task_stops_a_blocking_client() -> None:
    """Also while it waits for its first byte: the connection is closed, and the provider sees it."""
    asked = threading.Event()

    def stall(_: Any) -> Any:
        asked.set()
        return Fault.stall()

    async def cancelled(handle: ModelHandle) -> None:
        task = asyncio.create_task(pieces(handle, "Hello"))
        await asyncio.to_thread(asked.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with EchoServer(stall, "Aye.") as provider:
        handle = ModelHandle.of(Route.at(provider.base_url, "big"))
        asyncio.run(cancelled(handle))
        assert "".join(asyncio.run(pieces(handle, "Again"))) == "Aye."
        handle.close()


def test_many_answers_at_once() -> None:
    """No thread waits for an answer: far more are under way than a loop has threads."""
    together = threading.Barrier(48, timeout=120)

    def reply(_: Any) -> str:
        together.wait()
        return "Aye."

    async def all_of_them(handle: ModelHandle) -> list[list[str]]:
        return await asyncio.gather(*(pieces(handle, f"Hello {number}") for number in range(together.parties)))

    with EchoServer(*[reply] * together.parties) as provider:
        handle = ModelHandle.of(Route.at(provider.base_url, "big"))
        assert {"".join(answer) for answer in asyncio.run(all_of_them(handle))} == {"Aye."}
        handle.close()


class StandIn:
    """A blocking client of a program's own."""

    def events(self, _: Any) -> Generator[ModelEvent]:
        """Say one word."""
        yield TextDelta(text="Aye.")

    def close(self) -> None:
        """Do nothing."""


def test_a_stand_in() -> None:
    """Whatever has events answers."""
    assert asyncio.run(pieces(ModelHandle.of(StandIn()), "Hello")) == ["Aye."]
