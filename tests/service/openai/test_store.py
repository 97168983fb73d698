"""Stored responses: each its owner's; in memory so many and so large, in the database for some weeks."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from innkeeper.library.db.engine import Database
from innkeeper.library.log.stored_responses import StoredResponses
from innkeeper.prompt import Message
from innkeeper.prompt.parts import Attachment
from innkeeper.service.openai.store import (
    ResponseMissingError,
    ResponseStore,
    StoredResponse,
    responses_in_memory,
)


def stored(text: str = "x") -> StoredResponse:
    """A response of a conversation with all that a message can have."""
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    said = (
        Message.of({"role": "user", "content": text, "attachments": [Attachment("image", data="AAAA")]}),
        Message.of({"role": "assistant", "content": "", "tool_calls": [call], "reasoning": [{"signature": "s"}]}),
        Message.of({"role": "tool", "content": "ok", "tool_call_id": "call_1"}),
    )
    return StoredResponse(response={"id": "r", "output": []}, input=({"role": "user"},), conversation=said)


@pytest.fixture(params=["memory", "database"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ResponseStore]:
    """Either store."""
    if request.param == "memory":
        yield responses_in_memory()
        return
    with Database.open(tmp_path / "library.db") as db:
        yield ResponseStore(lambda: StoredResponses(db))


def test_owners(store: ResponseStore) -> None:
    """What one has stored comes back as it was; another does not find it, and cannot delete it."""

    async def run() -> None:
        await store.put("a", "r", stored())
        assert await store.get("a", "r") == stored()
        for forbidden in (store.get, store.delete):
            with pytest.raises(ResponseMissingError):
                await forbidden("b", "r")
        await store.delete("a", "r")
        with pytest.raises(ResponseMissingError):
            await store.get("a", "r")

    asyncio.run(run())


@pytest.mark.parametrize(
    ("store", "size"),
    [(responses_in_memory(most=2), 1), (responses_in_memory(volume=90_000), 30_000)],
    ids=["number", "bytes"],
)
def test_the_oldest_go_first(store: ResponseStore, size: int) -> None:
    """Beyond the number or the bytes that memory keeps, what came first goes."""

    async def run() -> None:
        for name in ("1", "2", "3"):
            await store.put("a", name, stored("x" * size))
        with pytest.raises(ResponseMissingError):
            await store.get("a", "1")
        assert await store.get("a", "3") == stored("x" * size)

    asyncio.run(run())


def test_old_ones_are_forgotten(tmp_path: Path) -> None:
    """After some weeks a response goes from the database."""
    with Database.open(tmp_path / "library.db") as db:
        rows = StoredResponses(db)
        rows.put("a", "r", "{}")
        assert rows.forget() == 0
        assert rows.forget(days=-1) == 1
        assert rows.get("a", "r") is None
